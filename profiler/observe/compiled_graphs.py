# The probe runs this after python_hooks.py, in the same globals, if the process is recorded. It finds which tensors a
# compiled function saves for its backward. AOTAutograd passes the text of its forward graph to PyTorch's structured
# trace, also for graphs from a cache and without a listener. This code reads the text there and leaves the trace
# unchanged. It also finds the kernel, and the line of the program, that a line of an Inductor file belongs to.
import bisect
import linecache
import re
import sys
import tokenize

IS_SAVED, IS_SAVED_UNCHECKED = "SavedForBackwardsAOTOutput(", "SavedForBackwardsNoVcCheckAOTOutput("
# A part of the backward that the forward computes names the line that it is the backward of.
PLACE = re.compile(r"\s*# (?:Backward of forward node: )?File: (.+?):(\d+) in ([\w<>.]+)(?:, code: (.*)|$)")
INPUT = re.compile(r'\s*(\w+): "([^"]*)",(?:\s*# (.*))?$')
VALUE = re.compile(r'\s*(\w+)(?:: "([^"]*)")? = ([\w.]+)(.*)$')
FIRST_ARGUMENT = re.compile(r"\((\w+)")
OUTPUT = re.compile(r"\s*(\w+),\s*# (.*)$")
# Operators that return a view of their input.
VIEWS = {"alias", "as_strided", "detach", "diagonal", "expand", "permute", "select", "slice", "split", "squeeze", "t",
         "transpose", "unbind", "unsqueeze", "view", "view_as_complex", "view_as_real", "_reshape_alias", "_unsafe_view"}


class GraphValue:
    """A value of a graph: its operator, the value that it is a part or a view of, and its place in the program."""
    __slots__ = ("name", "is_view", "of", "part", "place", "is_tensor")

    def __init__(self, name, is_tensor, place=None, of=None, part="", is_view=False):
        self.name, self.is_tensor, self.place, self.of, self.part, self.is_view = name, is_tensor, place, of, part, is_view


def operator_name(called):
    """torch.ops.aten.addmm.default -> addmm; torch.ops.mine.scaled.default -> mine::scaled."""
    parts = called.split(".")
    if parts[:2] == ["torch", "ops"] and len(parts) > 3:
        return parts[3] if parts[2] in ("aten", "prims", "higher_order") else f"{parts[2]}::{parts[3]}"
    return parts[-1]


def is_of_tensor(annotation):
    """"f32[32, 64][64, 1]cpu" is a tensor, "Sym(s77)" is not."""
    return annotation is not None and "[" in annotation and not annotation.startswith("Sym")


def input_name(name, described):
    target = re.search(r"target='([^']+)'", described or "")
    number = re.search(r"idx=(\d+)", described or "")
    return target[1] if target else f"graph input {number[1]}" if number else name


def saved_by_graph(text):
    """The saves of the forward graph: for each tensor in order (operator, (file, line, function, code) or None). First
    those passed to save_for_backward(), then those kept beside them. Raises ValueError for an unknown form of graph."""
    values, place = {}, None
    saved, unchecked = [], []
    is_output = False
    for line in text.split("\n"):
        if is_output:
            found = OUTPUT.match(line)
            if found is None:
                if line.strip() == ")":
                    break
                continue
            for kind, of in ((IS_SAVED, saved), (IS_SAVED_UNCHECKED, unchecked)):
                if found[2].startswith(kind):
                    of.append(values[found[1]])
        elif line.lstrip().startswith("return ("):
            is_output = True
        elif (found := VALUE.match(line)) is not None:
            name, annotation, called, behind = found.groups()
            argument = FIRST_ARGUMENT.match(behind)
            is_tensor = is_of_tensor(annotation)
            if behind.startswith("["):
                values[name] = GraphValue(called, is_tensor, place, values.get(called), behind[:behind.find("]") + 1])
            else:
                what = operator_name(called)
                of = values.get(argument[1]) if argument is not None else None
                values[name] = GraphValue(what, is_tensor, place, of, is_view=what in VIEWS)
        elif (found := PLACE.match(line)) is not None:
            place = (found[1], int(found[2]), found[3], found[4])
        elif line.lstrip().startswith("#") and ("File: " in line or "No stacktrace" in line):
            place = None  # another form without a place
        elif (found := INPUT.match(line)) is not None:
            values[found[1]] = GraphValue(input_name(found[1], found[3]), is_of_tensor(found[2]))
    if not is_output:
        raise ValueError("the graph has no outputs")
    return [described(value) for value in saved if value.is_tensor], [described(value) for value in unchecked]


def described(value):
    """Describes the base of a view, because the base's memory keeps the view."""
    while value.is_view and value.of is not None:
        value = value.of
    if value.part and value.of is not None:
        return f"{value.of.name}{value.part}", value.place
    return value.name, value.place


def functions_in(module):
    """The code of a module's functions, of its classes and of definitions inside them. Reads no attributes of the
    program's objects: a proxy in a module may run code for an attribute."""
    waiting, seen = [module.__dict__], set()
    while waiting:
        for one in list(waiting.pop().values()):
            kind = type(one)
            if issubclass(kind, type):
                names = type.__dict__["__dict__"].__get__(one)
                if names.get("__module__") == module.__dict__.get("__name__") and id(one) not in seen:
                    seen.add(id(one))
                    waiting.append(names)
                continue
            if issubclass(kind, (staticmethod, classmethod)):
                one = one.__func__
            elif issubclass(kind, property):
                one = one.fget
            while type(one) is type(functions_in) and id(one) not in seen:
                seen.add(id(one))
                yield one.__code__, one.__qualname__
                one = one.__dict__.get("__wrapped__")


def lines_of(file):
    known = linecache.cache.get(file)
    if known is not None and len(known) > 2:
        return known[2]
    try:
        with tokenize.open(file) as text:
            return text.readlines()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return []


def qualified(places):
    """(file, line, "Net.forward") for (file, line, "forward", code), as frames name functions. Only for places of the
    running program: a cached graph may come from a version before an edit, or from another copy of the program."""
    loaded, known = set(linecache.cache), {}
    for module in list(sys.modules.values()):
        if not issubclass(type(module), type(sys)):
            continue
        file = module.__dict__.get("__file__")
        if not isinstance(file, str) or not any(place[0] == file for place in places):
            continue
        loaded.add(file)
        for code, name in functions_in(module):
            inner = [(code, name)]
            while inner:
                code, name = inner.pop()
                name = getattr(code, "co_qualname", name)
                known.setdefault((code.co_filename, code.co_name), []).append((code, name))
                inner += [(one, f"{name}.<locals>.{one.co_name}") for one in code.co_consts if hasattr(one, "co_code")]
    texts = {file: lines_of(file) for file in {place[0] for place in places} & loaded}
    found = {}
    for place in places:
        file, line, function, code = place
        text = texts.get(file, [])
        if code is None or line > len(text) or text[line - 1].strip() != code:
            continue
        names = [(one.co_firstlineno, name) for one, name in known.get((file, function), ())
                 if any(line == at for _, _, at in one.co_lines())]
        found[place] = (file, line, max(names)[1] if names else function)
    return found


def fields_of(saved, kind, names):
    """(field, file, function, line) of each save, as one flat list."""
    told = []
    for number, (what, place) in enumerate(saved):
        file, line, function = names.get(place, ("", 0, ""))
        where = f" ({file.rpartition('/')[2]}:{line} {function})" if file else ""
        told += [f"{what}{where} {kind}[{number}]", file, function, line]
    return told


is_graph_told = True


def graph_traced(arguments, keywords):
    """The calling frame passed a graph to the trace."""
    global is_graph_told
    if not is_graph_told:
        return
    try:
        config = sys._getframe(1).f_locals["aot_config"]
        saved, unchecked = saved_by_graph(keywords["payload_fn"]())
        names = qualified({place for _, place in saved + unchecked if place})
        tapelens_graph(config.aot_id, len(saved), len(unchecked), *fields_of(saved, "saved_tensors", names),
                       *fields_of(unchecked, "_tensors_no_vc_check", names))
    except Exception as error:
        let_out(error)
        is_graph_told = False
        tapelens_say(f"what compiled functions save is not named from here on ({type(error).__name__}: {error})")


def graph_of(node):
    """For compiled_graphs.cpp: the number of the node's graph; -1 if the node is not a compiled function's."""
    number = getattr(getattr(type(node), "_forward_cls", None), "_aot_id", None)
    return number if type(number) is int else -1


def unchecked_of(node):
    """Likewise: the tensors that the node keeps beside its saves."""
    return answer([("", tensor) for tensor in getattr(node, "_tensors_no_vc_check", None) or ()])


# In an Inductor file: the allocation of a buffer, and a statement with a call.
ALLOCATION = re.compile(r"(\w+) = empty_strided\w*\(")
CALL = re.compile(r"(?:\w+ = )?([\w.]+)\(")
NO_KERNELS = ("assert_", "reinterpret_tensor", "return", "alloc_from_pool")
FRAME = re.compile(r'  File "(.+)", line (\d+), in (.+)\n(.*)')


def called_in(statement):
    """extern_kernels.mm(...) -> mm; triton_poi_fused_add_0.run(...) -> triton_poi_fused_add_0."""
    found = CALL.match(statement)
    if found is None or found[1].startswith(NO_KERNELS):
        return None
    called = found[1].removesuffix(".run").removeprefix("extern_kernels.")
    return operator_name("torch.ops." + called if called.startswith("aten.") else called)


def kernel_at(lines, number):
    """The kernel of a line in such a file. For the allocation of a buffer: the first kernel that gets the buffer
    later."""
    statement = lines[number - 1].strip() if number <= len(lines) else ""
    buffer = ALLOCATION.match(statement)
    if buffer is None:
        return called_in(statement)
    given = re.compile(rf"\b{buffer[1]}\b")
    for line in lines[number:]:
        line = line.strip()
        if line.startswith("def "):
            break
        if given.search(line) and not line.startswith("#") and (called := called_in(line)) is not None:
            return called
    return None


class Generated:
    """An Inductor file, and Inductor's own map from its lines to places in the program."""

    def __init__(self, file, linemap):
        self.lines = lines_of(file)
        self.begins, traces = linemap or ((), ())
        self.places = [[(found[1], int(found[2]), found[3], found[4].strip()) for found in FRAME.finditer(trace or "")]
                       for trace in traces]
        self.names = qualified({place for places in self.places for place in places})

    def places_of(self, line):
        """(file, function, line, ...), innermost first; empty if a place does not belong to the running program."""
        at = bisect.bisect_right(self.begins, line)
        places = self.places[at - 1] if at > 0 else ()
        if not all(place in self.names for place in places):
            return []
        return [part for file, number, function in (self.names[place] for place in reversed(places))
                for part in (file, function, number)]


generated_files = {}
are_generated_told = True


def generated_of(frame):
    """For python_stack.cpp, about the running frame: (number of places, kernel, places). None if Inductor did not write
    its file."""
    global are_generated_told
    file = frame.f_code.co_filename
    codecache = sys.modules.get("torch._inductor.codecache")
    linemap = getattr(getattr(codecache, "PyCodeCache", None), "linemaps", {}).get(file)
    if linemap is None or not are_generated_told:
        return None
    try:
        if file not in generated_files:
            generated_files[file] = Generated(file, linemap)
        generated = generated_files[file]
        places = generated.places_of(frame.f_lineno)
        return (len(places) // 3, kernel_at(generated.lines, frame.f_lineno) or "buffer", *places)
    except Exception as error:
        let_out(error)
        are_generated_told = False
        tapelens_say(f"buffers of Inductor are not named from here on ({type(error).__name__}: {error})")
        return None


def is_compilers_graph(module):
    """Whether AOTAutograd made this module to run a graph that no other compiler takes: it is not the program's."""
    if not type(module).__name__.startswith("GraphModule"):
        return False
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.endswith("/_functorch/_aot_autograd/runtime_wrappers.py"):
        frame = frame.f_back
    return frame is not None


def watch_graphs(torch):
    original = getattr(torch._logging, "trace_structured", None)
    if original is None:
        return
    traced = tapelens_traced((original, graph_traced))
    for module in (torch._logging, sys.modules.get("torch._functorch._aot_autograd.graph_compile")):
        if getattr(module, "trace_structured", None) is original:
            module.trace_structured = traced
            hooked.append((module, "trace_structured", original, traced))
