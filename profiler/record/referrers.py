# Run in the globals of python_hooks.py, for `record --referrers`: finds the program's variables that have tensors or
# storages. It walks from the variables of the searching thread, and from the program's modules, to the objects that
# they refer to, nearest first, for a limited time. A search runs before a step of the first optimizer (or
# before a backward), near the peak, and after an out of memory (searches.cpp). It reads containers and attributes and runs no
# code of the program: no property, no __getattr__, no __eq__. The probe reads frames, because `f_locals` would keep the
# values alive.
import functools
import gc
import os
import re
import sysconfig
import threading
import time
import types
import weakref

LONGEST = 0.1  # seconds of processor time for one walk
LONGEST_OUT_OF_MEMORY = 1.0  # the same after an out of memory, which most programs have once
PASSES, SHARE_OF_PASSES = 1.0, 0.05  # seconds of processor time for passes over all objects, and their share of all time
OBJECTS_A_CHECK = 64
LIBRARIES = tuple({form(path) + os.sep for name, path in sysconfig.get_paths().items()
                   if name in ("stdlib", "platstdlib", "purelib", "platlib") for form in (os.path.abspath, os.path.realpath)})
SUBMODULE = re.compile(r"(?<=\w)\._(?:modules|parameters|buffers)\['([^']*)'\]")
FUNCTIONS = (types.FunctionType, types.LambdaType)
GENERATORS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
OPAQUE = (str, bytes, bytearray, int, float, complex, bool, type(None), types.ModuleType, types.CodeType,
          types.BuiltinFunctionType, property, range, slice, weakref.ref)
PLAIN = ("builtins", "collections", "itertools", "functools")  # types of these modules without attributes are searched
slots_of = {}  # by type: its attributes outside of a dictionary
is_of_program = {}  # by file
is_cut_said = False
border = None  # the optimizer before whose steps the walk runs
backwards = 0  # outermost backwards that have begun
is_sound = True  # False after an error in a search: none follows


# Attributes of a class, independent of its metaclass.
attributes_of_type = type.__dict__["__dict__"].__get__
bases_of_type = type.__dict__["__mro__"].__get__


class OutOfTime(Exception):
    pass


def let_through(error):
    """Discards errors from reading an object, but re-raises exceptions of signal handlers and of the time limit."""
    if isinstance(error, OutOfTime):
        raise error
    let_out(error)


def of_program(file):
    answer_ = is_of_program.get(file)
    if answer_ is None:
        answer_ = is_of_program[file] = not file.startswith(("<", *LIBRARIES))
    return answer_


def is_module_of_program(name):
    module = sys.modules.get(name) if type(name) is str else None
    file = vars(module).get("__file__") if type(module) is types.ModuleType else None
    return name == "__main__" or (type(file) is str and of_program(file))


def place_of(code):
    """The first line of a function. With the running line, a variable would have another name at each search."""
    file = os.path.basename(code.co_filename)
    return file if code.co_name == "<module>" else f"{file}:{code.co_firstlineno} {code.co_name}"


def locals_of(frame):
    """(name, value) of its variables, without `f_locals`."""
    code = frame.f_code
    names = code.co_varnames + tuple(name for name in code.co_cellvars if name not in code.co_varnames) + code.co_freevars
    for name, value in zip(names, tapelens_locals(frame, len(names))):
        if type(value) is types.CellType:
            try:
                value = value.cell_contents
            except ValueError:  # no value yet
                continue
        if not name.startswith("."):
            yield name, value


def dictionary_of(value):
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def attributes_in(value):
    """(name, value) for attributes that are not properties."""
    kind = type(value)
    slots = slots_of.get(kind)
    if slots is None:
        slots = slots_of[kind] = tuple(
            (name, member) for base in bases_of_type(kind) for name, member in list(attributes_of_type(base).items())
            if type(member) is types.MemberDescriptorType and attributes_of_type(base).get("__module__") is not None)
    for name, member in slots:
        try:
            yield name, member.__get__(value)
        except AttributeError:  # has no value
            pass
    for name, one in list((dictionary_of(value) or {}).items()):
        yield name if type(name) is str else "?", one


def key_text(key):
    text = repr(key) if type(key) in (str, int, bool, float) else type(key).__name__
    return text if len(text) <= 40 else text[:37] + "..."


def step_into(value, Tensor):
    """(suffix, value) for each object that a value refers to: `[3]`, `.cache`."""
    kind = type(value)
    if issubclass(kind, Tensor):
        # Hooks, and attributes set by the program.
        for one in gc.get_referents(value):
            if issubclass(type(one), dict):
                yield "", one
    elif issubclass(kind, dict):
        for key, one in list(dict.items(value)):
            yield f"[{key_text(key)}]", one
    elif issubclass(kind, (list, tuple)):
        fields = attributes_of_type(kind).get("_fields")
        for index, one in enumerate(list.copy(value) if issubclass(kind, list) else tuple(value)):
            yield f".{fields[index]}" if type(fields) is tuple and index < len(fields) else f"[{index}]", one
    elif issubclass(kind, (set, frozenset, collections.deque)):
        for index, one in enumerate(gc.get_referents(value)):
            yield f"[{index}]" if issubclass(kind, collections.deque) else "[*]", one
    elif issubclass(kind, FUNCTIONS):
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            try:
                yield f" -> {name} of the closure of {value.__name__}()", cell.cell_contents
            except ValueError:
                pass
        for one in value.__defaults__ or ():
            yield f" -> a default of {value.__name__}()", one
    elif issubclass(kind, types.MethodType):
        yield "", value.__self__
        yield "", value.__func__
    elif issubclass(kind, functools.partial):
        yield " -> partial", value.func
        yield " -> partial", value.args
        yield " -> partial", value.keywords
    elif issubclass(kind, BaseException):
        trace = value.__traceback__
        while trace is not None:
            at = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
            for name, one in locals_of(trace.tb_frame):
                yield f" -> {name} of the frame at {at}, kept by the traceback of {kind.__name__}", one
            trace = trace.tb_next
        for name in ("args", "__context__", "__cause__"):
            yield f".{name}", getattr(BaseException, name).__get__(value)
        for name, one in attributes_in(value):
            yield f".{name}", one
    elif issubclass(kind, GENERATORS):
        frame = getattr(value, "gi_frame", None) or getattr(value, "cr_frame", None) or getattr(value, "ag_frame", None)
        if frame is not None:
            for name, one in locals_of(frame):
                yield f" -> {name} of {frame.f_code.co_name}()", one
    elif issubclass(kind, type):
        attributes = attributes_of_type(value)
        if is_module_of_program(attributes.get("__module__")):
            for name, one in list(attributes.items()):
                if not issubclass(type(one), (*FUNCTIONS, staticmethod, classmethod, property)):
                    yield f".{name}", one
    else:
        is_empty = True
        for name, one in attributes_in(value):
            is_empty = False
            yield f".{name}", one
        if is_empty and kind.__module__ in PLAIN:
            for one in gc.get_referents(value):
                yield "", one
        elif is_empty and kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            yield "", attributes_of_type(kind)["base"].__get__(value)  # the tensor of tensor.numpy()


class Look:
    """One walk. `ways` has for each object in `queue` the (index of the object that refers to it, suffix)."""

    def __init__(self, torch, longest):
        self.Tensor = torch.Tensor
        self.kinds = (torch.Tensor, torch.UntypedStorage)
        self.end = time.thread_time() + longest
        self.queue, self.ways, self.at = [], [], 0
        self.seen = {id(self.queue), id(self.ways), id(self.__dict__), id(self)}
        self.places = {}  # of roots, by index
        self.found = []  # (index, tensor or storage)

    def add(self, value, way, suffix, place=None):
        if issubclass(type(value), OPAQUE) or id(value) in self.seen:
            return
        self.seen.add(id(value))
        if place is not None:
            self.places[len(self.queue)] = place
        self.queue.append(value)
        self.ways.append((way, suffix))

    def add_roots(self, caller, is_out_of_memory):
        """Adds the program's variables before those of libraries, so that shared objects get the program's names. The
        frames of other threads would keep their values alive when they end, so they are searched only if memory ran
        out. `caller`: not the frame of this function, which would be in a reference cycle with its variables."""
        tops = [caller]
        if is_out_of_memory:
            tops += [top for thread, top in sys._current_frames().items() if thread != threading.get_ident()]
        frames = []
        for frame in tops:
            while frame is not None:
                frames.append(frame)
                frame = frame.f_back
        is_global = set()
        later = []
        for frame in frames:
            if frame.f_code.co_name == "<module>":
                if id(frame.f_globals) not in is_global:
                    is_global.add(id(frame.f_globals))
                    self.add_globals(frame.f_globals, place_of(frame.f_code))
            elif frame.f_globals is globals():
                continue
            elif of_program(frame.f_code.co_filename):
                self.add_locals(frame)
            else:
                later.append(frame)
        for name, module in list(sys.modules.items()):
            if type(module) is types.ModuleType and id(vars(module)) not in is_global and is_module_of_program(name):
                self.add_globals(vars(module), os.path.basename(vars(module).get("__file__") or name))
        for frame in later:
            self.add_locals(frame)

    def add_locals(self, frame):
        place = place_of(frame.f_code)
        for name, value in locals_of(frame):
            self.add(value, -1, name, f"in {place}" if name != "self" else f"of {type(value).__name__}, {place}")

    def add_globals(self, variables, place):
        for name, value in list(variables.items()):
            if not name.startswith("__"):
                self.add(value, -1, name, f"in {place}")

    def walk(self):
        while self.at < len(self.queue):
            if self.at % OBJECTS_A_CHECK == 0 and time.thread_time() > self.end:
                raise OutOfTime
            value = self.queue[self.at]
            if issubclass(type(value), self.kinds):
                self.found.append((self.at, value))
            try:
                for suffix, one in step_into(value, self.Tensor):
                    self.add(one, self.at, suffix)
            except Exception as error:  # a class of the program; its references stay unknown
                let_through(error)
            self.at += 1

    def name(self, index):
        suffixes = []
        while index >= 0:
            way, suffix = self.ways[index]
            suffixes.append(suffix)
            place = self.places.get(index)
            index = way
        return SUBMODULE.sub(r".\1", "".join(reversed(suffixes))) + " " + place


class Unreached:
    """Tensors that no variable leads to: in a reference cycle, or behind an extension that does not report its
    references. Finding them takes a pass over all objects; finding their referrers takes another pass, in the next
    step. A pass cannot be interrupted, so none begins if the last one took longer than the remaining time."""

    def __init__(self):
        self.found = []  # weak references: those of the previous step
        self.asked = {}  # by id, weak references: tensors whose referrers were searched
        self.takes, self.spent = 0.0, 0.0  # processor time of the last pass and of all
        self.started = time.monotonic()

    def is_affordable(self, fixed):
        usual = self.takes or 0.1  # about that of an import of torch
        return self.spent + usual <= fixed + SHARE_OF_PASSES * (time.monotonic() - self.started)

    def look(self, seen, end, Tensor):
        """(name, tensor) for such tensors, in every second call."""
        begin = time.thread_time()
        if begin + self.takes > end:
            raise OutOfTime
        named = []
        if self.found:
            lone = [one for one in (reference() for reference in self.found) if one is not None and id(one) not in seen]
            self.found = []
            if lone:
                self.asked.update((id(one), weakref.ref(one)) for one in lone)
                named = self.named(lone, seen, end, Tensor)
        else:
            kinds = [Tensor]  # an object refers to its class: this is the fastest search
            for kind in kinds:
                kinds += [one for one in type.__subclasses__(kind) if one not in kinds]
            self.asked = {key: reference for key, reference in self.asked.items() if reference() is not None}
            self.found = [weakref.ref(one) for one in gc.get_referrers(*kinds)
                          if type(one) in kinds and id(one) not in seen and id(one) not in self.asked]
        self.takes = time.thread_time() - begin
        self.spent += self.takes
        return named

    def named(self, lone, seen, end, Tensor):
        begin = time.thread_time()
        missing = {id(one) for one in lone}
        holders = [one for one in gc.get_referrers(*lone)
                   if one is not lone and id(one) not in seen and type(one) is not types.FrameType]
        owners = {}  # by id of a dictionary: the object whose attributes it has
        dictionaries = [one for one in holders if type(one) is dict]
        now = time.thread_time()
        if dictionaries and now + (now - begin) < end:
            for owner in gc.get_referrers(*dictionaries):
                if owner is dictionaries or owner is holders or type(owner) is types.FrameType:
                    continue
                mine = dictionary_of(owner)
                if mine is not None:
                    owners[id(mine)] = owner
        named = []
        for holder in holders:
            owner = owners.get(id(holder), holder)
            try:
                for suffix, one in step_into(owner, Tensor):
                    for inner, tensor in within(suffix, one, 2):
                        if id(tensor) not in missing:
                            continue
                        missing.remove(id(tensor))
                        where = "in a reference cycle" if is_in_cycle(owner) else "that no variable leads to"
                        named.append((f"{inner} of a {type(owner).__name__} {where}", tensor))
            except Exception as error:  # a class of the program
                let_through(error)
        return named


unreached = Unreached()


def within(suffix, value, depth):
    yield suffix, value
    if depth > 0 and type(value) in (list, tuple, dict):
        items = enumerate(list(value)) if type(value) is not dict else list(value.items())
        for key, one in items:
            yield from within(f"{suffix}[{key_text(key)}]", one, depth - 1)


def is_in_cycle(value, most=1000):
    """Whether an object refers to itself through a few objects."""
    seen, queue = set(), [value]
    while queue and len(seen) < most:
        for one in gc.get_referents(queue.pop()):
            if one is value:
                return True
            if not issubclass(type(one), (*OPAQUE, type)) and id(one) not in seen:
                seen.add(id(one))
                queue.append(one)
    return False


def cut():
    global is_cut_said
    if not is_cut_said:
        is_cut_said = True
        tapelens_say(f"variables: this program has more of them than {1000 * LONGEST:.0f} ms of processor time are enough for; what was not "
                     f"reached is without a name in the report")


def tell(named):
    """Reports the first name of each storage. The recording omits those that it already has. Without weak references: a
    parameter with one cannot be swapped, as Module.to() does with DTensors."""
    told = {0}
    for name, one in named:
        is_storage = not issubclass(type(one), sys.modules["torch"].Tensor)
        for inner in [one] if is_storage else held_in(one):
            address = tapelens_address(inner._cdata, is_storage)
            if address not in told:
                told.add(address)
                tapelens_variable(inner._cdata, is_storage, name)


def search(passes, is_out_of_memory):
    """Finds and reports the variables. `passes`: over all objects, at most."""
    is_collecting = gc.isenabled()
    gc.disable()  # our allocations must not trigger an earlier collection of the program's cycles
    try:
        look = Look(sys.modules["torch"], LONGEST_OUT_OF_MEMORY if is_out_of_memory else LONGEST)
        named = []
        try:
            look.add_roots(sys._getframe(), is_out_of_memory)
            look.walk()
            for _ in range(passes):
                named += unreached.look(look.seen, look.end, look.Tensor)
        except OutOfTime:
            cut()
        tell([(look.name(index), one) for index, one in look.found] + named)
    finally:
        if is_collecting:
            gc.enable()


def look(passes, is_out_of_memory=False):
    """Searches. Catches all errors but those of the program's signal handlers."""
    global is_sound
    if not is_sound:
        return
    try:
        with sys.modules["torch"]._C.DisableTorchFunction():
            search(passes, is_out_of_memory)
    except Exception as error:
        let_out(error)
        is_sound = False
        tapelens_say(f"an error inside Tapelens: variables are not searched from here on ({type(error).__name__}: {error})")


def look_for_variables(name):
    """Before steps: searches before those of the first optimizer that steps, whose steps are borders."""
    global border
    border = border or name
    if name == border:
        look(int(unreached.is_affordable(PASSES)))


def look_before_backward(_):
    """For programs with optimizers that PyTorch does not know: searches before each outermost backward, from the second
    one on, because the first often comes before the first step."""
    global backwards
    backwards += 1
    if border is None and backwards > 1:
        look(int(unreached.is_affordable(PASSES)))


def search_at_peak(_):
    """Passes over all objects only if no step does, and not while a program fills its memory in its first second."""
    look(int(border is None and unreached.is_affordable(0)))


def search_out_of_memory(_):
    look(2, is_out_of_memory=True)


if "t" in getattr(sys, "abiflags", ""):
    # Free-threaded CPython: other threads run and drop objects while their variables are read.
    look_for_variables = look_before_backward = search_at_peak = search_out_of_memory = None
    tapelens_say("--referrers is left out: this Python runs its threads at once (free threading)")
