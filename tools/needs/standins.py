"""Stand-ins for a saved tensor: tensors of the same sizes, strides and dtype with other values, or on a read-only page,
or on an unreadable page."""

import ctypes
import mmap

import torch

PROT_NONE = 0
_libc = ctypes.CDLL(None, use_errno=True)
_pages = {}  # protection -> mapping; they live as long as the process, since tensors point into them


def itself(tensor):
    return tensor


def _elements(tensor):
    """How many elements a storage needs for the tensor's sizes and strides."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride()))


def _like(tensor, flat):
    """The values of a flat tensor, with the sizes and strides of another tensor, even if its elements overlap."""
    return torch.as_strided(flat, tensor.size(), tensor.stride())


def _region(size, protection):
    region = _pages.get(protection)
    if region is None or len(region) < size:
        region = mmap.mmap(-1, max(size, 1 << 24))
        start = torch.frombuffer(region, dtype=torch.uint8)
        address = ctypes.c_void_p(start.data_ptr())
        if _libc.mprotect(address, ctypes.c_size_t(len(region)), ctypes.c_int(protection)) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
        _pages[protection] = region
    return region


def _mapped(tensor, protection):
    elements = _elements(tensor)
    if elements == 0:
        return tensor
    region = _region(elements * tensor.element_size(), protection)
    return _like(tensor, torch.frombuffer(region, dtype=tensor.dtype, count=elements))


def nan(tensor):
    """All NaN, in both parts of a complex number: a gradient that uses it becomes NaN."""
    value = complex(float("nan"), float("nan")) if tensor.is_complex() else float("nan")
    return _like(tensor, torch.full((_elements(tensor),), value, dtype=tensor.dtype))


def zero_page(tensor):
    """Read-only zeros, as a profiler would map them to save the memory."""
    return _mapped(tensor, mmap.PROT_READ)


def other(tensor):
    """Other valid values: an index stays in the range of the original values, since kernels do not check it."""
    elements = _elements(tensor)
    generator = torch.Generator().manual_seed(elements)
    if tensor.dtype == torch.bool:
        flat = torch.ones(elements, dtype=torch.bool)
    elif tensor.is_floating_point() or tensor.is_complex():
        flat = 2 * torch.randn(elements, dtype=tensor.dtype, generator=generator)
    else:
        low, high = min(0, int(tensor.min())), int(tensor.max())
        flat = torch.randint(low, high + 1, (elements,), dtype=tensor.dtype, generator=generator)
    return _like(tensor, flat)


def reversed_order(tensor):
    """The same values in the opposite order, and the opposite booleans."""
    elements = _elements(tensor)
    if elements != tensor.numel():  # some overlap, or there are gaps: no order to reverse
        return other(tensor)
    values = tensor.logical_not() if tensor.dtype == torch.bool else tensor.flatten().flip(0).reshape(tensor.size())
    return _like(tensor, torch.zeros(elements, dtype=tensor.dtype)).copy_(values)


def guard_page(tensor):
    """A page without any right: to read it is a segmentation fault."""
    return _mapped(tensor, PROT_NONE)


def fills_of(tensor):
    """The stand-ins to try in turn; the first that makes a difference decides."""
    if tensor.numel() == 0:
        return {"other": itself}
    if tensor.is_floating_point() or tensor.is_complex():
        return {"nan": nan, "other": other, "zero_page": zero_page}
    fills = {"other": other, "reversed": reversed_order}
    # Zero is not always a valid index or size: `other` replaces it there.
    if tensor.dtype == torch.bool or int(tensor.min()) <= 0 <= int(tensor.max()):
        fills["zero_page"] = zero_page
    return fills
