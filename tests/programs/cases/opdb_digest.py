"""Gradients of PyTorch's own samples, as digests: opdb_digest.py DTYPE PART PARTS SAMPLES
Every differentiable operator with CPU samples; each input alone and all together; first and second order. One JSON line
for each: run with and without rewrites, the lines must be the same."""
import hashlib
import json
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def digest(tensors):
    hashed = hashlib.blake2b(digest_size=12)
    for tensor in tensors:
        if tensor is None:
            hashed.update(b"none")
        else:
            tensor = tensor.detach().resolve_conj().resolve_neg()
            hashed.update(repr((tuple(tensor.shape), tensor.stride(), tensor.dtype)).encode())
            if tensor.numel() > 0:
                hashed.update(bytes(tensor.contiguous().view(torch.uint8).flatten().tolist()))
    return hashed.hexdigest()


def masks(count):
    return [[i == j for j in range(count)] for i in range(count)] * (count > 1) + [[True] * count]


def gradients(op, sample, wanted):
    """The gradients of one sample; a string if the backward raises."""
    torch.manual_seed(0)
    leaves, taken = [], iter(wanted)

    def leaf(value):
        if isinstance(value, torch.Tensor) and value.requires_grad:
            # Not a leaf, so that operators may write their input in place.
            base = value.detach().clone().requires_grad_(next(taken))
            if base.requires_grad:
                leaves.append(base)
                return base * 1
            return base
        return value

    try:
        out = op(leaf(sample.input) if isinstance(sample.input, torch.Tensor) else tree_map(leaf, sample.input),
                 *tree_map(leaf, sample.args), **tree_map(leaf, sample.kwargs))
        if sample.output_process_fn_grad is not None:
            out = sample.output_process_fn_grad(out)
        outs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
        if not outs:
            return "no gradient", None
        outs, out = [t * 1 for t in outs], None  # only the graph holds the results
        generator = torch.Generator().manual_seed(1)
        seeds = [torch.randn(t.shape, generator=generator).to(t.dtype) for t in outs]
        first = torch.autograd.grad(outs, leaves, seeds, create_graph=True, allow_unused=True)
        values = [digest(t.detach() for t in outs), digest(first)]
        again = [t for t in first if t is not None and t.requires_grad]
        if again:
            try:
                second = torch.autograd.grad(again, leaves, [torch.ones_like(t) for t in again], allow_unused=True)
                values.append(digest(second))
            except (RuntimeError, NotImplementedError) as error:
                values.append(str(error)[:200])
        return values, None
    except (RuntimeError, NotImplementedError, ValueError, TypeError, IndexError) as error:
        return "raises " + str(error)[:200], None


def main():
    dtype, part, parts, most = getattr(torch, sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    for number, op in enumerate(op_db):
        if number % parts != part or not op.supports_autograd or dtype not in op.supported_backward_dtypes("cpu"):
            continue
        torch.manual_seed(number)
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=True))[:most]
        except Exception as error:  # the sample maker needs a missing package or device
            print(json.dumps([op.formatted_name, "samples: " + str(error)[:100]]))
            continue
        for at, sample in enumerate(samples):
            tensors = [t for t in tree_flatten((sample.input, sample.args, sample.kwargs))[0]
                       if isinstance(t, torch.Tensor) and t.requires_grad]
            for wanted in masks(len(tensors)):
                print(json.dumps([op.formatted_name, at, wanted, gradients(op, sample, wanted)[0]]), flush=True)


if __name__ == "__main__":
    main()
