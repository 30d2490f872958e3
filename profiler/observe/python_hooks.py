# The probe runs this inside the recorded program, in separate globals, after the import of torch. It does not hook
# module calls: the probe sees them in the interpreter's frames, and hooks on modules would appear in tracebacks and
# cause warnings of torch.compile. It hooks the steps of optimizers.
# The probe provides the `tapelens_*` functions.
import collections
import math
import sys
import weakref

PARAMETER, BUFFER, OPTIMIZER_STATE, GRADIENT_ROLE = 0, 1, 2, 3  # observers.h, Role
CONTAINERS = (list, tuple, set, frozenset, collections.deque)
DEEPEST = 6  # nesting depth of containers in an optimizer's state
OWN, GRADIENT = 0, 1  # observers.h, Values
set_eval_frame = None  # of torch._dynamo, for unseen.h
value_names = None  # set by the recording's Python: profiler/record/float64.py
kept_before = weakref.WeakKeyDictionary()  # by mode of selective checkpointing: number of kept results, by operator
set_budget = None  # likewise: profiler/record/activation_budget.py
look_for_variables = look_before_backward = None  # likewise: profiler/record/referrers.py
watch_graphs = is_compilers_graph = None  # set if the process is recorded: compiled_graphs.py
told_shardings = set()  # (tensor, its reported sharding)
hooked = []  # handles of hooks on optimizers, and (module, name, PyTorch's function, ours): attached.py
awaited = []  # (weak reference to an FSDPParam, name) of those not gathered yet


def place_in(taken):
    """Appends to the list. Returns the place, which no other thread gets. Without a lock: a fork would copy a held one, and
    a handler of a signal may come here again."""
    mine, least = object(), len(taken)
    taken.append(mine)
    return taken.index(mine, least)


def let_out(error):
    """Re-raises an exception of one of the program's signal handlers, which belongs to the program."""
    if tapelens_is_of_handler(error):
        raise error


def inner_tensors(tensor, path="", are_read=False):
    """(path, tensor) for the ordinary tensors of a wrapper subclass (DTensor). are_read: the caller reads their values,
    which a collective may still be writing."""
    if are_read and hasattr(tensor, "trigger_wait"):
        tensor.trigger_wait()
    for name in tensor.__tensor_flatten__()[0]:  # also contains DTensor's mesh
        one = getattr(tensor, name)
        if not isinstance(one, sys.modules["torch"].Tensor):
            continue
        if hasattr(type(one), "__tensor_flatten__"):
            yield from inner_tensors(one, f"{path}.{name}", are_read)
        else:
            yield f"{path}.{name}", one


def answer(named):
    """For named_tensors.cpp: (count, name, tensor, its address, name, ...)."""
    return (len(named), *(part for name, tensor in named for part in (name, tensor, tensor._cdata)))


def flattened(tensor):
    """The inner tensors of a wrapper subclass, by path."""
    return answer(list(inner_tensors(tensor)) if hasattr(type(tensor), "__tensor_flatten__") else [])


def held_in(value, depth=4):
    """The ordinary tensors in a value and in its containers. Does not search objects of the program's own classes."""
    if isinstance(value, sys.modules["torch"].Tensor):
        if hasattr(type(value), "__tensor_flatten__"):
            for _, one in inner_tensors(value):
                yield one
        else:
            yield value
    elif depth > 0 and isinstance(value, (*CONTAINERS, dict)):
        for one in list(value.values() if isinstance(value, dict) else value):
            yield from held_in(one, depth - 1)


def packed_in(value):
    """The tensors in the result of a saved-tensor hook: a tensor, a container, or an object with tensors as
    attributes."""
    held = list(held_in(value))
    if not held:
        held = list(held_in(getattr(value, "__dict__", None)))
    return answer([("", tensor) for tensor in held])


def attributes_of(context):
    """The tensors that a custom function's forward put on its ctx. Excludes the attribute with a compiled function's
    unchecked saves: unchecked_of()."""
    attributes = getattr(context, "__dict__", None) or {}
    return answer([(str(name), tensor) for name, value in list(attributes.items()) if name != "_tensors_no_vc_check"
                   for tensor in held_in(value)])


def kept_by_mode(mode):
    """The tensors that selective checkpointing has kept since the last call."""
    checkpoint = sys.modules.get("torch.utils.checkpoint")
    if checkpoint is None or not isinstance(mode, checkpoint._CachingTorchDispatchMode):
        return (0,)
    seen = kept_before.setdefault(mode, {})
    held = []
    for key, entries in mode.storage.items():
        before = seen.get(key, 0)
        if len(entries) == before:
            continue
        seen[key] = len(entries)
        name = str(key[0] if isinstance(key, tuple) else key)
        for index in range(before, len(entries)):
            kept = entries[index]
            values = kept if isinstance(kept, (list, tuple)) else [kept]
            held += [(name, tensor) for value in values for tensor in held_in(getattr(value, "val", value))]
    return answer(held)


def tell_role(tensor, name, role, of=0, tell=None):
    """Reports a role. A wrapper subclass has no memory, so its inner tensors get the role."""
    tell = tell or tapelens_role
    if not hasattr(type(tensor), "__tensor_flatten__"):
        tell(tensor._cdata, name, role, of)
        return
    try:
        parts = list(inner_tensors(tensor))
    except Exception as error:  # raised by the subclass
        let_out(error)
        return
    for _, one in parts:
        tell(one._cdata, name, role, of or tensor._cdata)


def sharding(tensor):
    """A DTensor's mesh, this process's coordinate and the placements, as text for analyzer/peak/sharding.h."""
    mesh = tensor.device_mesh
    sizes, at, names = list(mesh.shape), mesh.get_coordinate(), mesh.mesh_dim_names
    named = [f"{one}=" for one in names] if names else [""] * len(sizes)
    told = ((" " if names else " x ").join(f"{one}{size}" for one, size in zip(named, sizes)),
            (" " if names else ", ").join(f"{one}{index}" for one, index in zip(named, at)) if at else "",
            ", ".join(map(repr, tensor.placements)))
    here = [math.prod(one.shape) * one.dtype.itemsize for one in (tensor._local_tensor, tensor)]
    return "\t".join(map(str, (*told, *here)))


def tell_shardings(parameters):
    """Reports each parameter once, even if several called modules have it. Uses no weak references: a tensor with one
    cannot be swapped, as Module.to() does with DTensors."""
    of = sys.modules["torch.distributed.tensor"].DTensor
    for name, tensor in dict(parameters).items():
        if not issubclass(type(tensor), of):
            continue
        key = tensor._cdata, sharding(tensor)
        if key not in told_shardings:
            told_shardings.add(key)
            tapelens_information("sharding", f"{key[1]}\t{name}")


def learn_shards(root, prefixes, parameters):
    """Learns FSDP's second tensor of each parameter: the gathered one, whose storage is allocated and freed
    repeatedly."""
    for module in root.modules():
        state = module._get_fsdp_state() if hasattr(type(module), "_get_fsdp_state") else None
        groups = getattr(state, "_fsdp_param_groups", None) or [getattr(state, "_fsdp_param_group", None)]
        for group in groups:
            for one in getattr(group, "fsdp_params", ()):
                info = one._module_info
                if id(info.module) in prefixes:
                    name = prefixes[id(info.module)] + info.param_name
                    awaited.append((weakref.ref(one), name))
                    parameters.append((name, one.sharded_param))
    tapelens_awaits_shards(len(awaited))


def tell_shards(_=None):
    """Reports those that were gathered since the last call."""
    left = []
    for reference, name in awaited:
        one = reference()
        if one is None:
            continue
        if not hasattr(one, "_unsharded_param"):
            left.append((reference, name))
            continue
        tell_role(one._unsharded_param, name, PARAMETER, tell=tapelens_resized_role)
    awaited[:] = left
    tapelens_awaits_shards(len(awaited))


def uncompiled(name):
    """Removes the wrapper module of torch.compile(module) from a path."""
    return name if "_orig_mod" not in name else ".".join(part for part in name.split(".") if part != "_orig_mod")


def learn(root):
    """Reports the names of a called module, of all modules in it, and of their parameters and buffers."""
    if is_compilers_graph is not None and is_compilers_graph(root):
        return
    kind = type(getattr(root, "_orig_mod", root)).__name__
    prefixes = {}
    for name, module in root.named_modules():
        name = uncompiled(name)
        tapelens_module(module, f"{kind}.{name}" if name else kind, type(module).__name__)
        prefixes[id(module)] = f"{name}." if name else ""
    parameters = [(uncompiled(name), tensor) for name, tensor in root.named_parameters()]
    for name, tensor in parameters:
        tell_role(tensor, name, PARAMETER)
        if value_names is not None:
            value_names.setdefault(id(tensor), name)
    for name, tensor in root.named_buffers():
        tell_role(tensor, uncompiled(name), BUFFER)
    if "torch.distributed.fsdp" in sys.modules:
        try:
            learn_shards(root, prefixes, parameters)
        except Exception as error:  # a PyTorch version whose FSDP keeps its parameters differently
            let_out(error)
            tapelens_say(f"gathered parameters of FSDP have no names ({type(error).__name__}: {error})")
    if "torch.distributed.tensor" in sys.modules:
        try:
            tell_shardings(parameters)
        except Exception as error:  # a PyTorch version with another DTensor interface
            let_out(error)
            tapelens_say(f"how parameters are sharded is not recorded ({type(error).__name__}: {error})")


def install():
    """Returns the code of Module.__call__, or None while torch is being imported."""
    torch = sys.modules.get("torch")
    module = sys.modules.get("torch.nn.modules.module")
    optimizer = sys.modules.get("torch.optim.optimizer")
    if torch is None or module is None or optimizer is None or getattr(torch.__spec__, "_initializing", False):
        return None
    if set_budget is not None and not set_budget():
        return None

    global set_eval_frame
    set_eval_frame = getattr(getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None), "set_eval_frame", None)
    is_compiling = torch.compiler.is_compiling
    Tensor = torch.Tensor
    names = weakref.WeakKeyDictionary()
    told = weakref.WeakKeyDictionary()
    of_kind = {}  # by the class's name: a list with one entry for each optimizer
    tells_state = True

    def name_of(opt):
        name = names.get(opt)
        if name is None:
            kind = type(opt).__name__
            number = place_in(of_kind.setdefault(kind, [])) + 1
            name = names.setdefault(opt, kind if number == 1 else f"{kind}#{number}")
        return name

    def tell_values(parameter, of):
        tensor = parameter if of == OWN else parameter.grad
        if tensor is None or not hasattr(type(tensor), "__tensor_flatten__"):
            tapelens_values(parameter._cdata, of)
            return
        try:
            parts = [one for _, one in inner_tensors(tensor, are_read=True)]
        except Exception as error:  # raised by the subclass; the program's step continues
            let_out(error)
            parts = [tensor]
        for one in parts:
            tapelens_part_values(parameter._cdata, of, one._cdata)

    def tell_all_values(opt, of):
        for group in opt.param_groups:
            for parameter in group["params"]:
                tell_values(parameter, of)

    group_told = []

    def is_distributed():
        distributed = sys.modules.get("torch.distributed")
        return distributed is not None and distributed.is_available() and distributed.is_initialized()

    def tell_gradients(opt):
        """Gradients come not only from AccumulateGrad: DDP points them into its buckets, FSDP scatters them."""
        for group in opt.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    tell_role(parameter.grad, "", GRADIENT_ROLE, parameter._cdata)

    def tell_group():
        """Reports the rank of this process once it is known: a program that starts its own processes may not set
        RANK."""
        distributed = sys.modules["torch.distributed"]
        group_told.append(True)
        if distributed.get_rank() >= 0:
            tapelens_information("rank", str(distributed.get_rank()))
            tapelens_information("world_size", str(distributed.get_world_size()))

    def tensors_in(name, container, depth=1):
        """(name, tensor) for tensors in containers: LBFGS's history, Shampoo's factors."""
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
            # A reference, because another tensor may later have the same address.
            known = seen.get(id(tensor))
            if known is None or known() is not tensor:
                known = weakref.ref(tensor)
                tell_role(tensor, name, OPTIMIZER_STATE, parameter)
            now[id(tensor)] = known

        # LBFGS keeps state for all parameters with the first one.
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

    writers = [start_values()] if value_names is not None else []

    def write_values(opt):
        """Before the first step. Of threads that begin theirs at once, one writes."""
        try:
            write = writers.pop()
        except IndexError:
            return
        write(opt)

    def before(opt, args, kwargs):
        if is_compiling():
            return
        if writers:
            write_values(opt)
        if is_distributed():
            if not group_told:
                tell_group()
            with torch._C.DisableTorchFunction():
                tell_gradients(opt)
        if tapelens_wants_values:
            tell_all_values(opt, GRADIENT)
        if look_for_variables is not None:
            look_for_variables(name_of(opt))
        tapelens_optimizer_begin(name_of(opt))

    def after(opt, args, kwargs):
        if is_compiling():
            return
        nonlocal tells_state
        if tells_state:
            try:
                tell_state(opt)
            except Exception as error:  # a state of the program's own class with unexpected behavior
                let_out(error)
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
        """Keeps errors of the hook from the program's step."""
        def run(opt, args, kwargs):
            nonlocal is_sound
            if not is_sound:
                return
            try:
                hook(opt, args, kwargs)
            except Exception as error:
                let_out(error)
                is_sound = False
                tapelens_say(f"an error inside Tapelens: no optimizer's steps are seen from here on ({type(error).__name__}: {error})")
        return run

    if watch_graphs is not None:
        watch_graphs(torch)
    hooked.append(optimizer.register_optimizer_step_pre_hook(guarded(before)))
    hooked.append(optimizer.register_optimizer_step_post_hook(guarded(after)))
    return module.Module._wrapped_call_impl.__code__


def calibrate():
    """Calls the probe from a frame with a known first local."""

    def frame(self):
        tapelens_calibrate(self)

    for _ in range(2):
        frame(object())
