"""The files of hostile programs share this. Each program runs several times, because Tapelens compares results in the first step and
then decides. FILE [NAME...] prints one JSON line for each: its name, and for each round a digest of the result or the text of the
raised error. The lines are the same with and without Tapelens. FILE --list prints the names. With --cuda the programs of some files use a GPU."""

import hashlib
import json
import re
import sys

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if "--cuda" in sys.argv else "cpu"
CASES = {}
CHANGING = {}
N = 48  # a side


def case(function):
    CASES[function.__name__] = function
    return function


def changing(function, name=None):
    """A program that changes something between forward and backward if its argument is true. The first run has no
    change, because Tapelens compares recomputed values in the first step. Each program has another `side()`: after one
    difference, Tapelens no longer rewrites that chain of operators."""
    CASES[name or function.__name__] = CHANGING[name or function.__name__] = function
    return function


def number():
    """The running program's place in its file."""
    return list(CASES).index(running)


def side():
    return 60 + number()


def randn(*shape, requires_grad=False):
    """A simulated GPU draws no random numbers."""
    return torch.randn(*shape).to(DEVICE).requires_grad_(requires_grad)


def leaf(*shape, dtype=torch.float32):
    return torch.randn(*(shape or (N, N)), dtype=dtype, requires_grad=True)


def square():
    return leaf(side(), side())


def text_of(error):
    return f"{type(error).__name__}: {re.sub('0x[0-9a-f]+', '0x', str(error))[:600]}"


def digest(values):
    if values is None:
        return "nothing"
    hashed, texts = hashlib.blake2b(digest_size=8), []
    for value in values:
        if isinstance(value, torch.Tensor):
            value = value.detach().cpu()
            value = (value.to_dense() if value.layout is not torch.strided else value).resolve_conj().resolve_neg()
            hashed.update(repr((tuple(value.shape), value.stride(), value.dtype)).encode())
            if value.numel():
                hashed.update(value.contiguous().flatten().view(torch.uint8).numpy().tobytes())
        else:
            texts.append(str(value))
            hashed.update(str(value).encode())
    return " | ".join([hashed.hexdigest(), *texts])


def answer(function):
    torch.manual_seed(0)
    try:
        return digest(function())
    except Exception as error:
        return text_of(error)


def main():
    """Runs the programs that the command line names, or all."""
    if "--list" in sys.argv:
        print("\n".join(CASES))
        return
    global running
    named = [word for word in sys.argv[1:] if not word.startswith("--")]
    for name, function in CASES.items():
        if named and name not in named:
            continue
        running = name
        rounds = [lambda change=change: function(change) for change in (False, False, True, True)] if name in CHANGING else [function] * 3
        print(json.dumps([name, [answer(run) for run in rounds]]), flush=True)
