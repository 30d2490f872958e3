# Run by the probe inside the recorded program, in globals of its own, once torch is imported. It leaves module calls
# alone (the probe sees them in the interpreter's frames: hooks on modules would show in tracebacks and make
# torch.compile warn) and asks optimizers to say when they step.
# `tapelens_*` functions are the probe's.
import collections
import sys
import weakref

PARAMETER, BUFFER, OPTIMIZER_STATE = 0, 1, 2  # observers.h, Role
CONTAINERS = (list, tuple, set, frozenset, collections.deque)
DEEPEST = 6  # containers in containers of an optimizer's state
OWN, GRADIENT = 0, 1  # observers.h, Values
value_names = None  # of the Python that the recording may run here: profiler/record/float64.py


def learn(root):
    """Tells the names of a module that was called, of all modules in it, and of their parameters and buffers."""
    kind = type(root).__name__
    for name, module in root.named_modules():
        tapelens_module(module, f"{kind}.{name}" if name else kind, type(module).__name__)
    for name, tensor in root.named_parameters():
        tapelens_role(tensor._cdata, name, PARAMETER, 0)
        if value_names is not None:
            value_names.setdefault(id(tensor), name)
    for name, tensor in root.named_buffers():
        tapelens_role(tensor._cdata, name, BUFFER, 0)


def install():
    """The code of Module.__call__, or None as long as torch is being imported."""
    torch = sys.modules.get("torch")
    module = sys.modules.get("torch.nn.modules.module")
    optimizer = sys.modules.get("torch.optim.optimizer")
    if torch is None or module is None or optimizer is None or getattr(torch.__spec__, "_initializing", False):
        return None

    is_compiling = torch.compiler.is_compiling
    Tensor = torch.Tensor
    names = weakref.WeakKeyDictionary()
    told = weakref.WeakKeyDictionary()
    counts = {}
    tells_state = True

    def name_of(opt):
        name = names.get(opt)
        if name is None:
            kind = type(opt).__name__
            counts[kind] = counts.get(kind, 0) + 1
            name = names[opt] = kind if counts[kind] == 1 else f"{kind}#{counts[kind]}"
        return name

    def inner(tensor):
        """The ordinary tensors that a wrapper subclass (DTensor) consists of."""
        if hasattr(tensor, "trigger_wait"):  # a collective may be writing it
            tensor.trigger_wait()
        if not hasattr(type(tensor), "__tensor_flatten__"):
            return [tensor]
        attributes = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]  # DTensor names its mesh, too
        return [one for attribute in attributes if isinstance(attribute, Tensor) for one in inner(attribute)]

    def tell_values(parameter, of):
        tensor = parameter if of == OWN else parameter.grad
        if tensor is None or not hasattr(type(tensor), "__tensor_flatten__"):
            tapelens_values(parameter._cdata, of)
            return
        try:
            parts = inner(tensor)
        except Exception:  # the subclass's own; the program's step is made
            parts = [tensor]
        for one in parts:
            tapelens_part_values(parameter._cdata, of, one._cdata)

    def tell_all_values(opt, of):
        for group in opt.param_groups:
            for parameter in group["params"]:
                tell_values(parameter, of)

    group_told = []

    def tell_group():
        """Which rank this process is, once it is known: who starts processes himself need not put it in the environment."""
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return
        group_told.append(True)
        if distributed.get_rank() >= 0:
            tapelens_information("rank", str(distributed.get_rank()))
            tapelens_information("world_size", str(distributed.get_world_size()))

    def tensors_in(name, container, depth=1):
        """(name, tensor) of what is in containers: LBFGS's history, Shampoo's factors."""
        if isinstance(container, dict):
            items = [(f"{name}.{key}" if type(key) in (str, int) else name, item) for key, item in container.items()]
        elif isinstance(container, CONTAINERS):
            items = [(name, item) for item in container]
        elif hasattr(type(container), "__dataclass_fields__"):
            items = [(f"{name}.{key}", item) for key, item in getattr(container, "__dict__", {}).items()]
        else:
            return
        for inner, item in items:
            if isinstance(item, Tensor):
                yield inner, item
            elif depth < DEEPEST:
                yield from tensors_in(inner, item, depth + 1)

    def tell_state(opt):
        seen = told.get(opt, {})
        now = told[opt] = {}

        def tell(name, tensor, parameter):
            # A reference, since another tensor may be at the same address after this one.
            known = seen.get(id(tensor))
            if known is None or known() is not tensor:
                known = weakref.ref(tensor)
                tapelens_role(tensor._cdata, name, OPTIMIZER_STATE, parameter)
            now[id(tensor)] = known

        # LBFGS keeps what belongs to all parameters with the first.
        is_of_all = len(opt.state) == 1 and sum(len(group["params"]) for group in opt.param_groups) > 1
        for key, state in opt.state.items():
            if not isinstance(state, dict):
                continue
            parameter = key._cdata if isinstance(key, Tensor) and not is_of_all else 0
            for name, value in state.items():
                if isinstance(value, Tensor):
                    tell(str(name), value, parameter)
                elif value is not None and type(value) not in (int, float, bool, str):
                    for inner, tensor in tensors_in(str(name), value):
                        tell(inner, tensor, parameter)

    write_values = start_values() if value_names is not None else None

    def before(opt, args, kwargs):
        if is_compiling():
            return
        nonlocal write_values
        if write_values is not None:
            write, write_values = write_values, None
            write(opt)
        if not group_told:
            tell_group()
        if tapelens_wants_values:
            tell_all_values(opt, GRADIENT)
        tapelens_optimizer_begin(name_of(opt))

    def after(opt, args, kwargs):
        if is_compiling():
            return
        nonlocal tells_state
        if tells_state:
            try:
                tell_state(opt)
            except Exception as error:  # a state of the program's own, that does what nobody thought of
                tells_state = False
                tapelens_say(f"the state of {type(opt).__name__} is not understood: no optimizer's state is named from here "
                             f"on ({type(error).__name__}: {error})")
        if tapelens_wants_values:
            if kwargs.get("closure", args[1] if len(args) > 1 else None) is not None:
                # Its backward is inside the step.
                tell_all_values(opt, GRADIENT)
            tell_all_values(opt, OWN)
        tapelens_optimizer_end(name_of(opt))

    is_sound = True

    def guarded(hook):
        """What goes wrong in here must not reach the program's step."""
        def run(opt, args, kwargs):
            nonlocal is_sound
            if not is_sound:
                return
            try:
                hook(opt, args, kwargs)
            except Exception as error:
                is_sound = False
                tapelens_say(f"an error inside Tapelens: no optimizer's steps are seen from here on ({type(error).__name__}: {error})")
        return run

    optimizer.register_optimizer_step_pre_hook(guarded(before))
    optimizer.register_optimizer_step_post_hook(guarded(after))
    return module.Module._wrapped_call_impl.__code__


def calibrate():
    """Calls the probe from a frame whose first local it knows."""

    def frame(self):
        tapelens_calibrate(self)

    for _ in range(2):
        frame(object())
