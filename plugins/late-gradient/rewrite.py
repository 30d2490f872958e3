# The probe runs this file with separate globals when the first backward begins. rewrite.cpp has the `tapelens_late_*`
# functions. If one returns a text, the text is the reason for a refusal.
#
# Steps a parameter as soon as its gradient is complete, and frees the gradient. The program's own step() handles the
# remaining parameters. This begins only after one whole observed step of the program in which no code could have
# noticed the difference.
import gc
import sys
import weakref

OBSERVING, STEPPING, OFF = "observing", "stepping", "off"
PER_PARAMETER = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax", "Rprop", "ASGD")

known = weakref.WeakKeyDictionary()  # optimizer -> Late
numbered = []  # one entry for each Late
torch = None
module = None  # torch.optim.optimizer
tied = set()  # ids of parameters that two modules share at the begin of the first backward


def options_of(optimizer):
    return [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]


def parameters_of(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def is_ours(hook):
    """The probe runs its code in globals without a name."""
    return "__name__" not in getattr(hook, "__globals__", {"__name__": None})


def reason_against(optimizer):
    """The reason, if the optimizer's attributes show that its parameters cannot be stepped one by one."""
    kind = type(optimizer)
    if kind not in {getattr(torch.optim, name) for name in PER_PARAMETER}:
        return "its step may need all gradients at once"
    patched = vars(optimizer).get("step")
    if patched is not None and not getattr(patched, "_wrapped_by_lr_sched", False):
        return "the program replaced its step"
    if getattr(kind.step, "__globals__", None) is not vars(module) or not hasattr(kind.step, "__wrapped__"):
        return "the program replaced its step"
    everyone = [*module._global_optimizer_pre_hooks.values(), *module._global_optimizer_post_hooks.values(),
                *optimizer._optimizer_step_pre_hooks.values(), *optimizer._optimizer_step_post_hooks.values()]
    if not all(is_ours(hook) for hook in everyone):
        return "the program has hooks on its steps"
    if any(isinstance(value, torch.Tensor) for options in options_of(optimizer) for value in options.values()):
        return "one of its options is a tensor"
    if any(options.get("differentiable") for options in options_of(optimizer)):
        return "its step is differentiated"
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return "the gradients may be reduced over several processes"
    parameters = parameters_of(optimizer)
    if len({id(p) for p in parameters}) != len(parameters):
        return "it has a parameter twice"
    return None


def reason_alone(optimizer, p):
    """The reason, if a foreach step of several parameters on CUDA might compute this one with other kernels than a step of
    this one alone."""
    state = (value for value in (optimizer.state.get(p) or {}).values() if isinstance(value, torch.Tensor))
    tensors = [p, p.grad, *state]
    return tapelens_late_may_be_alone(len(tensors), *(tensor._cdata for tensor in tensors))


def is_foreach_on_gpu(group):
    """Whether the step of this group may compute with lists of tensors of a GPU."""
    return group.get("foreach") is not False and not group.get("fused") and any(p.is_cuda for p in group["params"])


def reason_against_group(optimizer, group):
    """The reason, if the kernels of an observed step of the group might depend on the number of its parameters."""
    if not is_foreach_on_gpu(group):
        return None
    if group.get("capturable"):
        return "its step may be part of a CUDA graph"
    stepped = [p for p in group["params"] if p.grad is not None]
    if not all(p.is_cuda and type(p) in (torch.Tensor, torch.nn.Parameter) for p in stepped):
        return "its parameters are not all ordinary tensors of a GPU"
    if isinstance(optimizer, torch.optim.SGD) and len(stepped) < len(group["params"]):
        return "not all parameters have a gradient"  # SGD computes with single tensors while one has no momentum
    return next(filter(None, (reason_alone(optimizer, p) for p in stepped)), None)


class Late:
    """The state of one optimizer. Keeps neither the optimizer nor its parameters alive."""

    def __init__(self, optimizer, number):
        self.optimizer = weakref.ref(optimizer, self.release)
        self.number = number
        self.phase = OBSERVING
        self.handles = []
        self.places = {}   # id of a parameter -> group, place in it
        self.in_step = False    # inside an observed step of the program
        self.observed = False   # one whole step
        self.counts = {}   # id of a parameter -> gradients since the last step
        self.grads = {}    # id of a parameter -> weak reference to the gradient as it was accumulated
        self.options = None  # at the first gradient of this step
        self.stepped = set()
        self.left = set()  # ids of parameters for the program's step

    def start(self):
        optimizer = self.optimizer()
        reason = reason_against(optimizer)
        for other in rivals(optimizer):
            reason = reason or "something else reads the gradients"
            other.refuse("something else reads the gradients")
        if reason is None:
            tapelens_late_begin(self.number)
            for at, group in enumerate(optimizer.param_groups):
                for place, p in enumerate(group["params"]):
                    reason = reason or self.add(p, at, place)
        if reason is not None:
            self.refuse(reason)

    def add(self, p, at, place):
        if not p.requires_grad or not p.is_leaf:
            return None
        if id(p) in tied:
            tapelens_late_skipped(self.number, "two modules have the parameter", p.nbytes)
            return None
        if not all(is_ours(hook) for hook in (p._post_accumulate_grad_hooks or {}).values()):
            return "the program has hooks on gradients"
        self.places[id(p)] = at, place
        self.handles.append(p.register_post_accumulate_grad_hook(self.accumulated))
        return None

    def refuse(self, reason):
        if self.phase == OFF:
            return
        self.phase = OFF
        tapelens_late_end(self.number)
        optimizer = self.optimizer()
        size = 0 if optimizer is None else sum(p.nbytes for p in parameters_of(optimizer) if p.requires_grad)
        tapelens_late_skipped(self.number, reason, size)

    def accumulated(self, p):
        """The gradient of a parameter is there."""
        try:
            if self.phase == OBSERVING:
                reason = self.observe_gradient(p)
                if reason is not None:
                    self.refuse(reason)
            if self.phase == STEPPING:
                self.step(p)
        except Exception as error:  # the program's step() will say what is wrong, if anything is
            if tapelens_is_of_handler(error):
                raise
            self.refuse(f"an error: {type(error).__name__}")

    def observe_gradient(self, p):
        if not self.counts:
            optimizer = self.optimizer()
            last = self.grads.get(id(p))
            if last is not None and last() is p.grad:
                return "the gradients are kept from step to step"
            self.grads.clear()
            if any(q.grad is not None for q in parameters_of(optimizer) if id(q) in self.places and q is not p):
                return "the gradients are kept from step to step"
            self.options = options_of(optimizer)
            if self.observed:
                reason = tapelens_late_seen(self.number) or reason_against(optimizer)
                if reason is None:
                    tapelens_late_end(self.number)
                    self.phase = STEPPING
                return reason
        self.counts[id(p)] = self.counts.get(id(p), 0) + 1
        if self.counts[id(p)] > 1:
            return "the gradients are accumulated over several backwards"
        self.grads[id(p)] = weakref.ref(p.grad)
        return tapelens_late_accumulated(self.number, p._cdata)

    def step(self, p):
        optimizer = self.optimizer()
        if id(p) in self.stepped:
            self.broken("a second backward came before the step")
            return
        if id(p) in self.left:
            return
        at, place = self.places[id(p)]
        groups = optimizer.param_groups
        if at >= len(groups) or place >= len(groups[at]["params"]) or groups[at]["params"][place] is not p:
            reason = "the optimizer has other parameters now"
        elif not all(is_ours(hook) for hook in p._post_accumulate_grad_hooks.values()):
            reason = "the program has hooks on gradients"
        else:
            reason = tapelens_late_may_step(p._cdata)
        if reason is not None:
            self.left.add(id(p))
            tapelens_late_skipped(self.number, reason, p.grad.nbytes)
            return
        if is_foreach_on_gpu(groups[at]) and (reason := reason_alone(optimizer, p)) is not None:
            (self.broken if self.stepped else self.refuse)(reason)
            return
        if not self.stepped:
            self.options = options_of(optimizer)
        tapelens_late_stepping(self.number, p._cdata)
        # Runs the class's step without hooks and counters, on an optimizer with the same state and only this parameter.
        alone = object.__new__(type(optimizer))
        alone.__dict__.update(optimizer.__dict__)
        alone.param_groups = [dict(groups[at], params=[p])]
        type(optimizer).step.__wrapped__(alone)
        self.stepped.add(id(p))
        p.grad = None

    def broken(self, reason):
        """A later step differs from the observed one, and the program may notice the rewrite."""
        tapelens_late_broken(reason)
        self.stepped.clear()
        self.refuse(reason)

    def before_step(self, optimizer, arguments, keywords):
        if any(one is not None for one in (*arguments[1:], *keywords.values())):  # the first is the optimizer
            # The closure runs a backward inside the step.
            (self.broken if self.stepped else self.refuse)("its step is given a closure")
        elif self.phase == OBSERVING and self.counts:
            reason = self.observe_step(optimizer)
            if reason is not None:
                self.refuse(reason)
            else:
                tapelens_late_window(self.number, 1)
                self.in_step = True
        elif self.phase == STEPPING and self.stepped and options_of(optimizer) != self.options:
            self.broken("the options of the optimizer changed between the backward and the step")

    def observe_step(self, optimizer):
        if options_of(optimizer) != self.options:
            return "its options change between the backward and the step"
        if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
            return "its step runs under autocast"
        for group in optimizer.param_groups:
            reason = reason_against_group(optimizer, group)
            if reason is not None:
                return reason
            for p in group["params"]:
                grad = self.grads.get(id(p))
                if (p.grad is None) != (grad is None) or (grad is not None and grad() is not p.grad):
                    if id(p) in self.places:
                        return "the program replaces gradients before the step"
                if grad is not None and not p.grad.untyped_storage().resizable():  # numpy() was called
                    return "something else reads the gradients"
        return None

    def after_step(self):
        self.stepped.clear()
        self.left.clear()
        if self.phase == OBSERVING and self.counts:
            tapelens_late_window(self.number, 0)
            self.observed = self.in_step
            self.in_step = False
            self.counts.clear()
        if self.phase == OFF:
            self.release()

    def release(self, _=None):
        """Removes the hooks of the parameters: the optimizer was freed or refused."""
        self.phase = OFF
        tapelens_late_end(self.number)
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


def meet(optimizer):
    late = known.get(optimizer)
    if late is None:
        late = known[optimizer] = Late(optimizer, next_number())
        late.start()
    return late


def next_number():
    """A number that no other thread gets. Without a lock: a fork would copy a held one."""
    mine, least = object(), len(numbered)
    numbered.append(mine)
    return numbered.index(mine, least) + 1


def rivals(optimizer):
    """Other optimizers that share a parameter with this one."""
    parameters = {id(p) for p in parameters_of(optimizer)}
    others = [other for reference in known.keyrefs() if (other := reference()) is not None and other is not optimizer]
    return [known[other] for other in others if not parameters.isdisjoint(id(p) for p in parameters_of(other))]


def before(optimizer, arguments, keywords):
    late = meet(optimizer)
    for rival in rivals(optimizer):
        if rival.stepped:
            rival.broken("another optimizer has the same parameters")
    late.before_step(optimizer, arguments, keywords)


def after(optimizer, arguments, keywords):
    meet(optimizer).after_step()


def hook(of_step):
    """The program's step runs even if `of_step` fails."""
    def run(optimizer, arguments, keywords):
        try:
            if not torch.compiler.is_compiling():
                of_step(optimizer, arguments, keywords)
        except Exception as error:
            if tapelens_is_of_handler(error):
                raise
            known[optimizer].refuse(f"an error: {type(error).__name__}")
    return run


def install():
    """None during the import of torch."""
    global torch, module
    torch, module = sys.modules.get("torch"), sys.modules.get("torch.optim.optimizer")
    if torch is None or module is None or getattr(torch.__spec__, "_initializing", False):
        return None
    found, owners = [], {}
    for thing in gc.get_objects():
        if issubclass(type(thing), module.Optimizer):
            found.append(thing)
        elif issubclass(type(thing), torch.nn.Module):
            for p in thing.__dict__.get("_parameters", {}).values():
                owners[id(p)] = owners.get(id(p), 0) + (p is not None)
    tied.update(owner for owner, count in owners.items() if count > 1)
    for optimizer in found:
        if "param_groups" in optimizer.__dict__:
            meet(optimizer)
    module.register_optimizer_step_pre_hook(hook(before))
    module.register_optimizer_step_post_hook(hook(after))
    return True
