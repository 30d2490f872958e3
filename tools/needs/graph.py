"""Runs one sample of an operator, and looks at the autograd graph that it made."""

import dataclasses
import random

import numpy
import torch
from torch.utils import _pytree as pytree


NOTHING, ZEROS, VALUES = range(3)


class Unusable(Exception):
    """The sample shows nothing; the words are the reason, counted in the table."""


def seed(number):
    random.seed(number)
    numpy.random.seed(number % 2**32)
    torch.manual_seed(number)


def may_require_grad(sample):
    """The places, among the leaves of the sample's arguments, of the tensors that it differentiates."""
    leaves, _ = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    return [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]


def subsets(places):
    """All subsets of up to four tensors; else each alone, all, and all but one."""
    count = len(places)
    if count <= 4:
        found = [[p for bit, p in enumerate(places) if mask >> bit & 1] for mask in range(1, 1 << count)]
    else:
        found = [[p] for p in places] + [places] + [[q for q in places if q != p] for p in places]
    return [frozenset(subset) for subset in found]


def forward(operator, sample, wanted):
    """Fresh leaves, so that nothing of an earlier run is seen: (outputs that have a gradient, inputs that want one)."""
    leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            if leaf.layout != torch.strided:
                raise Unusable("sparse input")
            leaves[place] = leaf.detach().clone().requires_grad_(place in wanted)
    inputs = [leaves[place] for place in sorted(wanted)]
    first, args, kwargs = pytree.tree_unflatten(leaves, structure)
    seed(1)
    result = operator(first, *args, **kwargs)
    if sample.output_process_fn_grad is not None:
        result = sample.output_process_fn_grad(result)
    outputs = [o for o in pytree.tree_flatten(result)[0] if isinstance(o, torch.Tensor) and o.requires_grad]
    if not outputs:
        raise Unusable("no differentiable output")
    if any(o.layout != torch.strided for o in outputs):
        raise Unusable("sparse output")
    return outputs, inputs


def _gradient(outputs, inputs, vectors, **options):
    return torch.autograd.grad(outputs, inputs, vectors, allow_unused=True, **options)


def _vectors(tensors, number):
    generator = torch.Generator().manual_seed(number)
    return [torch.randn(t.size(), dtype=t.dtype, generator=generator) for t in tensors]


def _bits(tensor):
    if tensor is None:
        return None
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    tensor = tensor.resolve_conj().resolve_neg().contiguous()
    return tuple(tensor.size()), tensor.reshape(-1).view(torch.uint8).numpy(force=True).tobytes() if tensor.numel() else b""


@dataclasses.dataclass
class Gradients:
    first: list  # bits, of each input
    plain: tuple  # tensors

    def tell(self):
        """The strongest kind of values in the gradients, which could show a change: NOTHING (all is empty or NaN),
        ZEROS, or VALUES."""
        most = NOTHING
        for gradient in self.plain:
            if gradient is not None and gradient.numel():
                values = gradient.detach().to_dense() if gradient.layout != torch.strided else gradient.detach()
                if bool((values.isfinite() & (values != 0)).any()):
                    return VALUES
                if bool(values.isfinite().any()):
                    most = ZEROS
        return most


def first_order(outputs, inputs):
    plain = _gradient(outputs, inputs, _vectors(outputs, 2), retain_graph=True)
    return Gradients([_bits(g) for g in plain], plain)


def second_order(outputs, inputs):
    """The gradients again with a graph, and second-order gradients, also with respect to the incoming gradients."""
    above = [v.requires_grad_() for v in _vectors(outputs, 2)]
    first = _gradient(outputs, inputs, above, create_graph=True)
    bits = [_bits(g) for g in first]
    again = [g for g in first if g is not None and g.requires_grad and g.layout == torch.strided]
    if again:
        bits += [_bits(g) for g in _gradient(again, inputs + above, _vectors(again, 3))]
    return bits


def nodes_of(outputs):
    """All nodes that lead to the outputs, in an order that is the same in every run."""
    found, seen = [], set()
    pending = [o.grad_fn for o in outputs]
    while pending:
        node = pending.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        found.append(node)
        pending += [following for following, _ in node.next_functions]
    return found


def wanted_of(node):
    return tuple(i for i, (following, _) in enumerate(node.next_functions) if following is not None)


_names = {}  # type of node -> (fields, attributes)


def _names_of(node):
    kind = type(node)
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return [], []  # a torch.autograd.Function: only LibTorch's own nodes have fields
    if kind not in _names:
        all_names = dir(kind)
        fields = [n[len("_raw_saved_"):] for n in all_names if n.startswith("_raw_saved_")]
        attributes = [n[len("_saved_"):] for n in all_names if n.startswith("_saved_")]
        _names[kind] = fields, [n for n in attributes if n not in fields]
    return _names[kind]


def fields_of(node):
    """The saved fields that hold something: name -> tensor, or list of tensors."""
    found = {}
    for field in _names_of(node)[0]:
        value = getattr(node, "_saved_" + field)
        tensors = [value] if isinstance(value, torch.Tensor) else [v for v in value or () if v is not None]
        if tensors:
            found[field] = tensors
    return found


def attributes_of(node, fields):
    """Attributes that may decide whether a field is needed: booleans, integers, text, and presence."""
    found = {}
    for name in _names_of(node)[1]:
        value = getattr(node, "_saved_" + name)
        if isinstance(value, int) and value >= 1 << 63:  # Python's value of a negative integer
            value -= 1 << 64
        if value is None or isinstance(value, (bool, int, str)):
            found[name] = value
    for name in _names_of(node)[0]:
        found[name] = "Tensor" if name in fields else None
    return tuple(sorted(found.items()))


def replace(node, field, make):
    """Puts stand-ins in the place of a saved field, as the node itself will read them. Keeps the history of the field."""
    raw = getattr(node, "_raw_saved_" + field)
    for saved in raw if isinstance(raw, (tuple, list)) else [raw]:
        try:
            saved.register_hooks(lambda tensor: make(tensor.detach()), lambda stand_in: stand_in)
        except RuntimeError as error:
            if "uninitialized" in str(error) or "None" in str(error) or "undefined" in str(error):
                continue  # an absent optional tensor of a list
            raise
