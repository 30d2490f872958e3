# The probe runs this file with separate globals when the first backward begins. rewrite.cpp has the `tapelens_steps_*`
# functions.
#
# Before a foreach step of a large parameter group, a stand-in takes the optimizer's place for the call: it has the same
# class, attributes and state, but several groups with the same options, each with some of the parameters. So the
# temporaries of one part are freed before the next part begins. The program's optimizer is not changed.
import sys

# Optimizers whose foreach step computes each parameter separately.
PER_PARAMETER = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax", "Rprop", "ASGD")

torch = None
module = None  # torch.optim.optimizer
failed = False


def is_ours(hook):
    """The probe runs its code in globals without a name."""
    return "__name__" not in getattr(hook, "__globals__", {"__name__": None})


def is_of_torch(kind):
    """Whether the class's step, and the functions that it calls, are those of PyTorch."""
    differentiable = getattr(kind.step, "__wrapped__", None)
    step = getattr(differentiable, "__wrapped__", None)
    home = getattr(step, "__globals__", {})
    name = home.get("__name__", "")
    if not name.startswith("torch.optim.") or vars(sys.modules[name]) is not home:
        return False
    entry = home.get(name.rpartition(".")[2])  # torch.optim.adam.adam, which may have a decorator of PyTorch
    parts = [value for key, value in home.items() if key.startswith(("_multi_tensor_", "_single_tensor_"))]
    return (all(getattr(part, "__globals__", None) is home for part in (*parts, getattr(entry, "__wrapped__", entry)))
            and all(getattr(part, "__globals__", None) is vars(module) for part in (kind.step, differentiable))
            and any(entry.__globals__ is known for known in (home, vars(module))))


def is_foreach(group, parameters):
    """Whether the step of this group would use the foreach operators, as PyTorch decides that."""
    foreach = group.get("foreach")
    if foreach is None:
        return group.get("fused") is None and all(type(p) in module._foreach_supported_types and p.is_cuda for p in parameters)
    return foreach and not group.get("fused")


def reason_against(optimizer, arguments, keywords):
    kind = type(optimizer)
    if not is_of_torch(kind):
        return "the program replaced its step"
    if any(one is not None for one in (*arguments[1:], *keywords.values())):
        return "its step is given a closure"  # which makes the gradients
    everyone = [*module._global_optimizer_pre_hooks.values(), *module._global_optimizer_post_hooks.values(),
                *optimizer._optimizer_step_pre_hooks.values(), *optimizer._optimizer_step_post_hooks.values()]
    if not all(is_ours(hook) for hook in everyone):
        return "the program has hooks on its steps"
    if any(type(mode) is not torch.utils._device.DeviceContext for mode in torch.overrides._get_current_function_mode_stack()):
        return "its step runs under a mode"
    return None


def reason_against_group(optimizer, group, parameters):
    if any(type(p) not in (torch.Tensor, torch.nn.Parameter) or type(p.grad) is not torch.Tensor for p in parameters):
        return "a parameter, its gradient or its state is not an ordinary tensor"
    options = {key: value for key, value in group.items() if key != "params"}
    if any(isinstance(value, torch.Tensor) for value in options.values()):
        return "one of its options is a tensor"
    if options.get("capturable"):
        return "its step may be part of a CUDA graph"
    if options.get("differentiable"):
        return "its step is differentiated"
    if type(optimizer) is torch.optim.SGD:
        # SGD computes with single tensors while a parameter has no momentum.
        has_momentum = {(optimizer.state.get(p) or {}).get("momentum_buffer") is not None for p in parameters}
        if len(has_momentum) > 1:
            return "only some parameters have a momentum"
    return None


def tensors_of(optimizer, parameters):
    """For each parameter the number of its tensors, then the parameter, its gradient and its state."""
    numbers = []
    for p in parameters:
        state = optimizer.state.get(p) or {}
        tensors = [p, p.grad, *(value for value in state.values() if isinstance(value, torch.Tensor))]
        numbers.append(len(tensors))
        numbers += [tensor._cdata for tensor in tensors]
    return len(parameters), *numbers


def parts_of(optimizer, group, arguments, keywords):
    """The groups for the stand-in; only the group itself, if its step does not change."""
    parameters = [p for p in group["params"] if p.grad is not None]
    if not parameters or not is_foreach(group, parameters):
        return [group]
    numbers = tensors_of(optimizer, parameters)
    if not tapelens_steps_wants(numbers):
        return [group]
    reason = reason_against(optimizer, arguments, keywords) or reason_against_group(optimizer, group, parameters)
    ends = tapelens_steps_split(numbers) if reason is None else reason
    if isinstance(ends, str):
        tapelens_steps_skipped(numbers, ends)
        return [group]
    return [dict(group, params=parameters[begin:end]) for begin, end in zip((0, *ends), (*ends, len(parameters)))]


def in_parts(optimizer, arguments, keywords):
    """Other arguments for the step; None: it does not change."""
    if type(optimizer) not in {getattr(torch.optim, name) for name in PER_PARAMETER}:
        return None
    groups = [parts_of(optimizer, group, arguments, keywords) for group in optimizer.param_groups]
    if all(len(parts) == 1 for parts in groups):
        return None
    stand_in = object.__new__(type(optimizer))
    stand_in.__dict__.update(optimizer.__dict__)
    stand_in.param_groups = [part for parts in groups for part in parts]
    return (stand_in, *arguments[1:]), keywords


def before(optimizer, arguments, keywords):
    """The program's step runs unchanged if this fails."""
    global failed
    if failed or torch.compiler.is_compiling():
        return None
    try:
        return in_parts(optimizer, arguments, keywords)
    except Exception as error:
        if tapelens_is_of_handler(error):
            raise
        failed = True
        tapelens_steps_skipped((0,), f"an error: {type(error).__name__}")
        return None


def install():
    """None during the import of torch."""
    global torch, module
    torch, module = sys.modules.get("torch"), sys.modules.get("torch.optim.optimizer")
    if torch is None or module is None or getattr(torch.__spec__, "_initializing", False):
        return None
    module.register_optimizer_step_pre_hook(before)
    return True
