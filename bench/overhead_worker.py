"""One measured process of overhead.py: overhead_worker.py CASE PROFILER. It does not use Tapelens.

Builds a case, then, for each line "K" on standard input, runs K steps and answers with one line of JSON: the
nanoseconds of each, by the wall clock and of this process's CPU time. A step on CUDA ends when the GPU has done it."""

import contextlib
import json
import pathlib
import sys
import time

import torch
from torch.nn import functional as F

SAMPLES = pathlib.Path(__file__).resolve().parents[1] / "samples"


def resnet18():
    """ResNet-18, batch 8, 112x112."""
    from torchvision.models import resnet18 as make
    net = make(weights=None)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(8, 3, 112, 112), torch.randint(0, 1000, (8,))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()
        optimizer.step()
    return step


def transformer(backend=None):
    """Four layers, d 256, sequence 128, batch 8: the sample's network."""
    sys.path.insert(0, str(SAMPLES))
    from gpt import GPT
    net = GPT(vocabulary=1024, length=128, width=256, heads=8, layers=4, fused=False)
    run = torch.compile(net, backend=backend) if backend else net
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    tokens = torch.randint(0, 1024, (8, 129))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(run(tokens[:, :-1]).reshape(-1, 1024), tokens[:, 1:].reshape(-1)).backward()
        optimizer.step()
    return step


def compiled():
    """The same, compiled by Inductor."""
    return transformer("inductor")


def aot_eager():
    """The same in the graphs of AOTAutograd, without generated code."""
    return transformer("aot_eager")


def tiny():
    """2,000 operators on 16 elements each, and their backward."""
    w = torch.ones(16, requires_grad=True)

    def step():
        x = w
        for _ in range(2000):
            x = x * 1.0001
        x.sum().backward()
        w.grad = None
    return step


def gpt_cuda():
    """GPT-2 small's layers, batch 4 of 512 tokens, bfloat16 autocast: the network of samples/cuda/gpt.py."""
    sys.path.insert(0, str(SAMPLES / "cuda"))
    from gpt import GPT
    with torch.device("cuda"):
        net = GPT(vocabulary=50304, length=512, width=768, heads=12, layers=12)
        tokens = torch.randint(0, 50304, (4, 513))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
    return step


def resnet50_cuda():
    """ResNet-50, batch 64, 224x224, bfloat16 autocast."""
    from torchvision.models import resnet50
    with torch.device("cuda"):
        net, images, labels = resnet50(weights=None), torch.randn(64, 3, 224, 224), torch.randint(0, 1000, (64,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
    return step


CASES = {case.__name__: case for case in (resnet18, transformer, compiled, aot_eager, tiny, gpt_cuda, resnet50_cuda)}
# Arguments of torch.cuda.memory._record_memory_history().
HISTORIES = {"history": {"context": None}, "history python": {"stacks": "python"}, "history all": {"stacks": "all"}}


@contextlib.contextmanager
def history(options):
    """PyTorch's own recording of CUDA's allocator, as in its documentation."""
    torch.cuda.memory._record_memory_history(max_entries=100_000, **options)
    try:
        yield
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)


def profiler(name):
    """A fresh context for each turn; its start and stop are outside of the measured time."""
    if name == "none":
        return contextlib.nullcontext()
    if name in HISTORIES:
        return history(HISTORIES[name])
    from torch.profiler import ProfilerActivity, profile
    return profile(activities=[ProfilerActivity.CPU], profile_memory=True, with_stack=name == "stack")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = CASES[sys.argv[1]]()
    answers = sys.stdout
    for line in sys.stdin:
        times = []
        with profiler(sys.argv[2]):
            for _ in range(int(line)):
                begin, cpu = time.perf_counter_ns(), time.process_time_ns()
                step()
                times.append([time.perf_counter_ns() - begin, time.process_time_ns() - cpu])
        print(json.dumps(times), file=answers, flush=True)


if __name__ == "__main__":
    main()
