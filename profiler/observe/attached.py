# The probe runs this after python_hooks.py, in the same globals, in a program that `tapelens attach` attached to. It finds
# the memory that is alive already, and takes the hooks back when it detaches.
import gc
import itertools
import sys


def ids_of_kinds(kind):
    """Returns the ids of a class and of all classes that derive from it. A comparison of classes could run code of a metaclass."""
    kinds, ids = [kind], set()
    for one in kinds:
        if id(one) not in ids:
            ids.add(id(one))
            kinds += type.__subclasses__(one)
    return ids


def adopt_alive(_=None):
    """Reports the memory of all tensors that Python has: parameters, buffers, gradients, the state of optimizers, and
    those of the program's variables. Runs no code of the program. The program waits meanwhile, and may have millions of
    objects: only those that are found are visited by Python code."""
    torch = sys.modules["torch"]
    storages = ids_of_kinds(torch.UntypedStorage)
    searched = storages | ids_of_kinds(torch.Tensor)
    blocks = total = 0
    objects = gc.get_objects()
    for one in itertools.compress(objects, map(searched.__contains__, map(id, map(type, objects)))):
        is_storage = id(type(one)) in storages
        gradient = one.grad if not is_storage and one.is_leaf and one.requires_grad else None
        for found in (one, gradient):
            taken = 0 if found is None else tapelens_adopt(found._cdata, is_storage)
            blocks += taken > 0
            total += taken
    tapelens_information("attached", f"{blocks} {total}")


def nothing(*_):
    """In place of a hook that is being called."""


def take_back(_=None):
    """Removes what install() put into PyTorch. While an optimizer steps, its hooks are being iterated over and their
    number must not change: then a function that does nothing stays. So it does in a Python that runs its threads at once
    (free threading): the frames of running threads cannot be read there, and a step may begin at any time."""
    source = sys.modules["torch.optim.optimizer"].__file__
    is_stepping = not getattr(sys, "_is_gil_enabled", lambda: True)()
    for frame in () if is_stepping else sys._current_frames().values():
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
