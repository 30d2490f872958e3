"""States that are written very often, and then freed: soak_chains.py WRITES SIDE [KIND...]. It does not use Tapelens.

Prints a line for each kind: a digest of the values, and after a backward that follows "end". soak.py runs this with a
small stack and compares: the memory kept for each write must be freed without recursion."""

import copy
import hashlib
import sys
import threading

import soak_worker
import torch

KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


class Growth(Exception):
    pass


def numbers(writes):
    """Yields up to `writes` times. Stops a program that grows without limit before the machine is out of memory."""
    begin = soak_worker.anonymous_kb()
    for number in range(writes):
        if number % 1000 == 999 and soak_worker.anonymous_kb() - begin > soak_worker.STOP_AT_KB:
            raise Growth(f"grew by more than {soak_worker.STOP_AT_KB >> 10} MiB")
        yield number


def digest(tensor):
    return hashlib.sha256(tensor.detach().contiguous().numpy().tobytes()).hexdigest()[:12]


def later_writes(side):
    for _ in range(3000):
        torch.zeros(side, side).add_(1)
    w = torch.ones(side, side, requires_grad=True)
    (w * 2).sum().backward()
    return digest(w.grad)


@kind
def written_in_place(writes, side):
    """A decaying trace."""
    x = torch.ones(side, side)
    for _ in numbers(writes):
        x.mul_(0.9999)
    return digest(x)


@kind
def made_anew(writes, side):
    """The states of a simulation: each one is computed from the one before."""
    x = torch.ones(side, side)
    for _ in numbers(writes):
        x = x * 0.999 + 0.001
    return digest(x)


@kind
def averaged(writes, side):
    """An average of the weights, which never change."""
    p = torch.nn.Parameter(torch.ones(side, side))
    average = torch.zeros(side, side)
    with torch.no_grad():
        for _ in numbers(writes):
            average.mul_(0.999).add_(p, alpha=0.001)
    return digest(average)


@kind
def two_that_read_each_other(writes, side):
    """A leapfrog integrator."""
    x, v = torch.ones(side, side), torch.zeros(side, side)
    for _ in numbers(writes // 2):
        v.sub_(x, alpha=1e-3)
        x.add_(v, alpha=1e-3)
    return digest(x)


@kind
def written_by_views(writes, side):
    """A ring buffer, a row at a time."""
    x = torch.zeros(side, side)
    for number in numbers(writes):
        x[number % side].mul_(0.5).add_(1)
    return digest(x)


@kind
def trained_with_momentum(writes, side):
    p = torch.nn.Parameter(torch.ones(side, side))
    optimizer = torch.optim.SGD([p], 1e-6, momentum=0.9, foreach=False)
    gradient = torch.ones(side, side)
    for _ in numbers(writes // 4):
        p.grad = gradient * 1
        optimizer.step()
    return digest(p)


@kind
def trained_with_a_teacher(writes, side):
    """The mean teacher of ema_train.py: the next backward comes after the teacher was freed."""
    net = torch.nn.Linear(side, side, bias=False)
    torch.nn.init.eye_(net.weight)
    teacher, optimizer = copy.deepcopy(net).requires_grad_(False), torch.optim.SGD(net.parameters(), 1e-2)
    ones = torch.ones(1, side)
    for _ in numbers(writes // 8):
        optimizer.zero_grad()
        net(ones).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            for p, t in zip(net.parameters(), teacher.parameters()):
                t.mul_(0.999).add_(p, alpha=0.001)
    return digest(teacher.weight)


@kind
def with_a_graph_that_is_dropped(writes, side):
    """A forward as long as the chain, without a backward: PyTorch frees such a graph without recursion, too."""
    w = torch.ones(side, side, requires_grad=True)
    x = w
    for _ in numbers(writes // 4):
        x = torch.tanh(x) * 1.0001
    return digest(x)


@kind
def freed_by_a_thread(writes, side):
    """A thread's stack is smaller."""
    held = [torch.ones(side, side)]
    for _ in numbers(writes):
        held[0].mul_(0.9999)
    answer = digest(held[0])
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    return answer


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    writes, side, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(KINDS)
    for name in names:
        try:
            answer = KINDS[name](writes, side)
        except Growth as growth:
            answer = growth
        print(name, answer, later_writes(side), "end", flush=True)
    # Objects that live to the end of the process are freed with the interpreter and the libraries.
    for _ in range(writes):
        LEFT.mul_(0.9999)
    print("exit", digest(LEFT), flush=True)


LEFT = torch.ones(16, 16)

if __name__ == "__main__":
    main()
