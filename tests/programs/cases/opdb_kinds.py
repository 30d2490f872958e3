"""Gradients of PyTorch's operator database, computed in the ways that programs use, as digests. It does not use
Tapelens.

    opdb_kinds.py CHUNK CHUNKS sampled|all SEED             one JSON line for each run: [name, answer]
    opdb_kinds.py OPERATOR DTYPE SAMPLE SUBSET KIND [...]   these runs alone

A name has the operator, the type, the number of the sample, the inputs that require a gradient, and the kind of the
run. An answer is a digest of the results and the gradients, or the text of the error. With up to four inputs that can
have gradients, every subset of them requires gradients; otherwise each input alone, and all together. The kinds:

- plain, chained (cheap operators before and after), in_place, nan, twice (two graphs), retained (two backwards of one graph),
  double (a backward of the gradients);
- changed between forward and backward: "changed TARGET WRITER ORDER". The target is the leaves, what the operator was given
  (made of the leaves by cheap operators) or its results. The program keeps the tensors up to the backward, lets them go after
  the change, or before it, where the writer has an alias. Changed is the second of two rounds, for Tapelens learns in the first."""

import hashlib
import itertools
import json
import random
import re
import sys
import warnings

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

warnings.simplefilter("ignore")
SAMPLED_RUNS = 14  # samples per operator
# All samples run with the earlier kinds. This many also run with changes between forward and backward.
CHANGED_SAMPLES = 4
KINDS = ["plain", "chained", "in_place", "nan", "twice", "retained", "double"]
# These operators use uninitialized memory, have no gradients, or print addresses.
LEFT_OUT = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"}

# PyTorch's kernels read outside of their tensors if the grid is not finite.
NO_NANS = {"grid_sampler_2d", "grid_sampler_3d", "nn.functional.grid_sample"}


# ---- ways to change a tensor: each takes an alias if it needs one, and returns a function that writes

def writes_in_place(t):
    def write():
        with torch.no_grad():
            t.mul_(0.5)
    return write


def writes_data(t):
    alias = t.data
    return lambda: alias.mul_(0.5)


def sets_data(t):
    def write():
        t.data = torch.full_like(t.detach(), 0.25)
    return write


def sets(t):
    def write():
        with torch.no_grad():
            t.set_(torch.full_like(t.detach(), 0.25))
    return write


def writes_an_alias_by_set(t):
    alias = torch.empty(0, dtype=t.dtype).set_(t.detach().untyped_storage(), t.storage_offset(), t.shape, t.stride())
    return lambda: alias.mul_(0.5)


def writes_numpy(t):
    alias = t.detach().numpy()
    return lambda: numpy.multiply(alias, alias.dtype.type(0.5), out=alias)


def writes_dlpack(t):
    alias = torch.from_dlpack(t.detach())
    return lambda: alias.mul_(0.5)


WRITERS = {"in_place": writes_in_place, "data": writes_data, "set_data": sets_data, "set": sets, "set_alias": writes_an_alias_by_set,
           "numpy": writes_numpy, "dlpack": writes_dlpack}
ALIASES = {"data", "set_alias", "numpy", "dlpack"}
TARGETS = ["leaf", "input", "output"]
CHANGED = [f"changed {target} {writer} {order}" for target in TARGETS for writer in WRITERS for order in ("kept", "released", "after")
           if order != "after" or writer in ALIASES and target != "leaf"]


# ---- a run

def digest(tensors):
    hashed = hashlib.blake2b(digest_size=8)
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            hashed.update(repr(tensor).encode())
            continue
        tensor = tensor.detach()
        if tensor.layout is not torch.strided:
            tensor = tensor.to_dense()
        tensor = tensor.resolve_conj().resolve_neg()
        hashed.update(repr((tuple(tensor.shape), tensor.stride(), tensor.dtype)).encode())
        if tensor.numel() > 0:
            hashed.update(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return hashed.hexdigest()


def cheap_before(t):
    return (t * 2) * 0.5


def cheap_after(t):
    return torch.sin(t * 0.5) * t


def differentiable(tree):
    return [t for t in tree_flatten(tree)[0] if isinstance(t, torch.Tensor) and t.requires_grad]


class Graph:
    """One forward. `given` are the tensors that the operator was given, `out` its results, `finals` where backwards begin."""

    def __init__(self, op, sample, subset, kind):
        self.leaves, self.given, wanted = [], [], iter(subset)
        chained = kind != "plain"

        def take(value):
            if not isinstance(value, torch.Tensor) or not value.requires_grad:
                return value
            base = value.detach().clone()
            if kind == "nan" and base.numel() > 0:
                flat = base.flatten()
                flat[::3] = float("nan")
                flat[1::5] = float("inf")
                base = flat.view(base.shape) if base.is_contiguous() else flat.reshape(base.shape)
            base.requires_grad_(next(wanted))
            if base.requires_grad:
                self.leaves.append(base)
            given = cheap_before(base) if chained else base
            self.given.append(given)
            return given

        function = op.inplace_variant if kind == "in_place" else op
        args, kwargs = tree_map(take, (sample.input, *sample.args)), tree_map(take, sample.kwargs)
        out = function(*args, **kwargs)
        del args, kwargs
        if sample.output_process_fn_grad is not None:
            out = sample.output_process_fn_grad(out)
        self.out = differentiable(out)
        del out
        self.values = digest(self.out)
        self.finals = [cheap_after(t) for t in self.out] if chained else list(self.out)

    def release(self):
        self.given.clear()
        self.out.clear()
        torch.zeros(1)  # runs the work that is deferred to the next operator

    def seeds(self):
        generator = torch.Generator().manual_seed(1)
        return [torch.randn(t.shape, generator=generator).to(t.dtype) for t in self.finals]

    def gradients(self, **options):
        return torch.autograd.grad(self.finals, self.leaves, self.seeds(), allow_unused=True, **options)


def text_of(error):
    text = re.sub(r"0x[0-9a-f]+", "0x", str(error))
    return f"{type(error).__name__}: {text[:400]}"


def attempt(function):
    """A digest, or the text of the error."""
    try:
        return function()
    except Exception as error:  # an operator may raise any exception
        return text_of(error)


def changed(op, sample, subset, kind):
    _, target, writer, order = kind.split()
    answers = []
    for change in (False, True):
        torch.manual_seed(0)
        graph = Graph(op, sample, subset, "chained")
        if not graph.finals:
            return "no gradient"
        answers.append(graph.values)
        # Writes each tensor once: a second write tests nothing new, and an input may be the result.
        own = {id(t): t for t in {"leaf": graph.leaves, "input": graph.given, "output": graph.out}[target]}.values()
        if change:
            writes = [attempt(lambda t=t: WRITERS[writer](t)) for t in own]
            del own
            if order == "after":
                graph.release()
            answers += [attempt(write) if callable(write) else write for write in writes]
            if order == "kept":
                answers.append(attempt(lambda: digest(graph.gradients())))
                continue
            writes = None if order == "released" else writes
        else:
            del own
        graph.release()
        answers.append(attempt(lambda: digest(graph.gradients())))
    return [answer if isinstance(answer, str) else "" for answer in answers]


def run(op, sample, subset, kind):
    if kind.startswith("changed"):
        return changed(op, sample, subset, kind)
    torch.manual_seed(0)
    answers = []
    for _ in range(2 if kind == "twice" else 1):
        graph = Graph(op, sample, subset, kind)
        if not graph.finals:
            return "no gradient"
        graph.release()
        answers.append(graph.values)
        if kind == "retained":
            answers.append(digest(graph.gradients(retain_graph=True)))
        if kind == "double":
            first = graph.gradients(create_graph=True)
            answers.append(digest(first))
            again = differentiable(first)
            if again:
                answers.append(attempt(lambda: digest(torch.autograd.grad(again, graph.leaves, [torch.ones_like(t) for t in again],
                                                                          allow_unused=True))))
        else:
            answers.append(digest(graph.gradients()))
    return answers


# ---- list of runs

def subsets(count):
    if count <= 4:
        return [list(bits) for bits in itertools.product([True, False], repeat=count) if any(bits)]
    return [[True] * count] + [[i == j for j in range(count)] for i in range(count)]


def dtypes(op, everything):
    supported = op.supported_backward_dtypes("cpu")
    found = [d for d in (torch.float32, torch.float64, torch.complex64) if d in supported]
    return [d for d in found if d != torch.float64 or torch.float32 not in found] if everything else found[:1]


def samples_of(op, dtype, number):
    torch.manual_seed(number)
    return op.sample_inputs("cpu", dtype, requires_grad=True)


def cases(op, number, everything, seed):
    """The cases of one operator: type, number of the sample, sample, subset, kind."""
    pick = random.Random(f"{seed} {op.formatted_name}")
    for dtype in dtypes(op, everything):
        taken = samples_of(op, dtype, number)
        taken = list(taken if everything else itertools.islice(taken, 6))
        kinds = [kind for kind in KINDS if (kind != "in_place" or op.inplace_variant is not None) and (kind != "nan" or op.name not in NO_NANS)]
        every = [(at, subset, kind) for at, sample in enumerate(taken)
                 for subset in subsets(len(differentiable((sample.input, sample.args, sample.kwargs))))
                 for kind in kinds + (CHANGED if not everything or at < CHANGED_SAMPLES else [])]
        if not everything:
            # Half of the sampled runs have a change in between. They keep the order of all runs.
            changing = [case for case in every if case[2].startswith("changed")]
            still = [case for case in every if not case[2].startswith("changed")]
            kept = pick.sample(changing, min(len(changing), SAMPLED_RUNS // 2)) + pick.sample(still, min(len(still), SAMPLED_RUNS // 2))
            every = [case for case in every if case in kept]
        for at, subset, kind in every:
            yield dtype, at, taken[at], subset, kind


def say(op, dtype, at, sample, subset, kind):
    bits = "".join("x" if bit else "." for bit in subset)
    name = f"{op.formatted_name} {str(dtype)[6:]} {at} {bits}"
    print(json.dumps([f"{name} {kind}", attempt(lambda: run(op, sample, subset, kind))]), flush=True)


def main():
    torch.set_num_threads(1)
    chosen = [(number, op) for number, op in enumerate(op_db) if op.supports_autograd and op.name not in LEFT_OUT]
    if not sys.argv[1].isdigit():
        name, dtype, at, bits = sys.argv[1:5]
        for number, op in chosen:
            if op.formatted_name == name:
                samples = list(samples_of(op, getattr(torch, dtype), number))
                for kind in sys.argv[5:]:
                    say(op, getattr(torch, dtype), int(at), samples[int(at)], [bit == "x" for bit in bits], kind)
        return
    chunk, chunks, everything, seed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "all", sys.argv[4]
    for number, op in chosen:
        if number % chunks != chunk:
            continue
        try:
            for dtype, at, sample, subset, kind in cases(op, number, everything, seed):
                say(op, dtype, at, sample, subset, kind)
        except Exception as error:  # its samples need a missing package or device
            print(json.dumps([f"{op.formatted_name} samples", text_of(error)]), flush=True)


if __name__ == "__main__":
    main()
