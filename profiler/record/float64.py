# The probe runs this after python_hooks.py, in the same globals, if the gradients are requested. VALUES is set to the
# path of a folder, as bytes, and FLOAT64 to True or False (trace/recording_options.h). Writes the gradients of the first
# step of the first optimizer to the folder. `tapelens verify` compares them to get the distance of two runs.
#
# With FLOAT64, every operator also runs on float64 copies of its arguments, to get each gradient without its
# rounding errors. The program's own operators and results do not change.
import json
import os

value_names = {}  # by the id of a parameter: its name in its module


def float64_mode():
    """A mode in which each floating-point storage on the CPU has a float64 shadow with as many elements."""
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten, tree_map

    NARROW = (torch.float32, torch.bfloat16, torch.float16)
    PLAIN = (torch.Tensor, torch.nn.Parameter)

    class Float64(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.shadows = {}  # by a storage's address: reference that prevents reuse of the address, dtype, shadow
            self.swept_at = 1024
            self.is_over = False

        def known(self, tensor):
            reference, dtype, shadow = self.shadows.get(StorageWeakRef(tensor.untyped_storage()).cdata, (None, None, None))
            if reference is None or reference.expired() or dtype != tensor.dtype:
                return None
            return shadow if shadow.numel() * tensor.element_size() == tensor.untyped_storage().nbytes() else None

        def keep(self, tensor, shadow):
            if len(self.shadows) >= self.swept_at:
                self.shadows = {key: entry for key, entry in self.shadows.items() if not entry[0].expired()}
                self.swept_at = 1024 + 2 * len(self.shadows)
            reference = StorageWeakRef(tensor.untyped_storage())
            self.shadows[reference.cdata] = (reference, tensor.dtype, shadow)

        def forget(self, tree):
            for tensor in tree_flatten(tree)[0]:
                if isinstance(tensor, torch.Tensor) and type(tensor) in PLAIN and tensor.dtype in NARROW:
                    self.shadows.pop(StorageWeakRef(tensor.untyped_storage()).cdata, None)

        def wide(self, value):
            """The tensor's elements in float64, from its shadow; other values unchanged."""
            if isinstance(value, torch.dtype):
                return torch.float64 if value in NARROW else value
            if not isinstance(value, torch.Tensor) or value.dtype not in NARROW:
                return value
            if type(value) not in PLAIN or value.device.type != "cpu" or value.layout != torch.strided:
                raise TypeError("no ordinary tensor")
            shadow = self.known(value)
            if shadow is None:
                count = value.untyped_storage().nbytes() // value.element_size()
                shadow = torch.as_strided(value.detach(), (count,), (1,), 0).to(torch.float64)
                self.keep(value, shadow)
            return torch.as_strided(shadow, value.size(), value.stride(), value.storage_offset())

        def follow(self, results, wide_results):
            """Makes the float64 results shadows of new storages; the operator itself wrote the other shadows."""
            results, wide_results = tree_flatten(results)[0], tree_flatten(wide_results)[0]
            if len(results) != len(wide_results):
                raise TypeError("other results")
            for result, wide in zip(results, wide_results):
                if not isinstance(result, torch.Tensor) or result.dtype not in NARROW or self.known(result) is not None:
                    continue
                if not isinstance(wide, torch.Tensor) or wide.dtype != torch.float64 or wide.size() != result.size():
                    raise TypeError("another result")
                count = result.untyped_storage().nbytes() // result.element_size()
                shadow = torch.zeros(count, dtype=torch.float64)
                torch.as_strided(shadow, result.size(), result.stride(), result.storage_offset()).copy_(wide)
                self.keep(result, shadow)

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if self.is_over:  # it cannot be popped: the program may have modes above it
                return func(*args, **kwargs)
            wide = None
            try:
                if torch.Tag.nondeterministic_seeded not in func.tags:  # a second draw would change the program's next
                    wide = tree_map(self.wide, (args, kwargs))
            except Exception as error:
                let_out(error)
                wide = None
            results = func(*args, **kwargs)
            try:
                if wide is None:
                    raise TypeError("cannot be run in float64")
                self.follow(results, func(*wide[0], **wide[1]))
            except Exception as error:  # continue from the values of its results
                let_out(error)
                self.forget(results)
                if func._schema.is_mutable:
                    self.forget((args, kwargs))
            return results

    return Float64()


def start_values():
    """Returns the function to call before an optimizer's step; it writes once."""
    folder = os.fsdecode(VALUES)
    mode = float64_mode() if FLOAT64 else None
    if mode is not None:
        mode.__enter__()

    def write(opt):
        import ctypes

        import torch

        if mode is not None:
            mode.is_over = True

        def numbers(tensor):
            tensor = tensor.detach().to(torch.float64).contiguous()
            return ctypes.string_at(tensor.data_ptr(), 8 * tensor.numel())

        path = os.path.join(folder, f"{os.getpid()}.values")
        with open(path + ".part", "xb") as file:
            parameters = [parameter for group in opt.param_groups for parameter in group["params"]]
            for number, parameter in enumerate(parameters):
                gradient = parameter.grad
                if gradient is None:
                    continue
                head = {"name": value_names.get(id(parameter), f"#{number + 1}"), "count": 0, "float64": False}
                if type(gradient) in (torch.Tensor, torch.nn.Parameter) and gradient.is_floating_point() \
                        and gradient.layout == torch.strided and gradient.device.type == "cpu":
                    head["count"] = gradient.numel()
                    shadow = mode.known(gradient) if mode is not None else None
                    head["float64"] = shadow is not None
                file.write(json.dumps(head).encode() + b"\n")
                if head["count"]:
                    file.write(numbers(gradient))
                if head["float64"]:
                    file.write(numbers(torch.as_strided(shadow, gradient.size(), gradient.stride(), gradient.storage_offset())))
            file.write(b"end\n")
        os.rename(path + ".part", path)

    return write
