# The probe runs this after python_hooks.py, in the same globals, in a program that `tapelens attach` attached to. It finds
# the memory that is alive already, and takes the hooks back when it detaches.
import gc
import sys


def adopt_alive(_=None):
    """Reports the memory of all tensors that Python has: parameters, buffers, gradients, the state of optimizers, and
    those of the program's variables. Runs no code of the program."""
    torch = sys.modules["torch"]
    blocks = total = 0
    for one in gc.get_objects():
        kinds = type(one).__mro__
        if torch.Tensor in kinds:
            is_storage = False
            gradient = one.grad if one.is_leaf and one.requires_grad else None
        elif torch.UntypedStorage in kinds:
            is_storage, gradient = True, None
        else:
            continue
        for found in (one, gradient):
            taken = 0 if found is None else tapelens_adopt(found._cdata, is_storage)
            blocks += taken > 0
            total += taken
    tapelens_information("attached", f"{blocks} {total}")


def nothing(*_):
    """In place of a hook that is being called."""


def take_back(_=None):
    """Removes what install() put into PyTorch. While an optimizer steps, its hooks are being iterated over and their
    number must not change: then a function that does nothing stays."""
    source = sys.modules["torch.optim.optimizer"].__file__
    is_stepping = False
    for frame in sys._current_frames().values():
        while frame is not None and not is_stepping:
            is_stepping = frame.f_code.co_filename == source
            frame = frame.f_back
    for one in hooked:
        if isinstance(one, tuple):
            module, name, theirs, ours = one
            if getattr(module, name, None) is ours:
                setattr(module, name, theirs)
            continue
        hooks = one.hooks_dict_ref()
        if hooks is None or one.id not in hooks:
            continue
        if is_stepping:
            hooks[one.id] = nothing
        else:
            one.remove()
    hooked.clear()
