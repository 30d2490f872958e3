"""Short CUDA programs that end right after a backward in different ways: `cuda_endings.py NAME`. Each prints "done";
endings.py has the exit codes.

The main thread holds the GIL from its last backward to its end. The engine's device thread releases the rest of that
backward. It usually requests the GIL when the interpreter already finalizes."""

import atexit
import sys
import threading
import time

import torch
from torch.utils.checkpoint import checkpoint

sys.setswitchinterval(1000)


def loss_of(count=8):
    x = torch.ones(count, device="cuda", requires_grad=True)
    return x, (x * x).sum()


def model():
    return torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(6))).cuda()


def train(net, steps=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.ones(4, 16, device="cuda")).sum().backward()
        optimizer.step()


def returns():
    _, loss = loss_of()
    loss.backward()


def exits():
    _, loss = loss_of()
    loss.backward()
    print("done", flush=True)
    sys.exit(3)


def raises():
    _, loss = loss_of()
    loss.backward()
    print("done", flush=True)
    raise ValueError("as it is meant to")


def keeps_its_graph():
    global kept
    x, loss = loss_of()
    (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
    kept = [gradient, (gradient * gradient).sum()]
    kept[1].backward(retain_graph=True)


def hooks():
    net = model()
    for parameter in net.parameters():
        parameter.register_hook(lambda gradient: gradient * 2)
        parameter.register_post_accumulate_grad_hook(lambda of: None)
    net.register_full_backward_hook(lambda *_: None)
    train(net)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.kept = [x.shape, object()]
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient


def custom_function():
    x = torch.ones(8, device="cuda", requires_grad=True)
    torch.autograd.grad(Square.apply(Square.apply(x)).sum(), x)


class Packed:
    def __init__(self, tensor):
        self.tensor = tensor


def packs_saves():
    net = model()
    with torch.autograd.graph.saved_tensors_hooks(Packed, lambda packed: packed.tensor):
        net(torch.ones(4, 16, device="cuda")).sum().backward()
    checkpoint(
        net, torch.ones(4, 16, device="cuda", requires_grad=True), use_reentrant=True
    ).sum().backward()


def loads_data():
    data = torch.utils.data.TensorDataset(torch.ones(8, 16))
    net = model()
    for (batch,) in torch.utils.data.DataLoader(
        data, batch_size=4, num_workers=1, pin_memory=True
    ):
        net(batch.cuda(non_blocking=True)).sum().backward()


def trains_at_exit():
    atexit.register(train, model())


def trains_in_a_thread():
    thread = threading.Thread(target=train, args=(model(),))
    thread.start()
    thread.join()


def daemon_still_trains():
    threading.Thread(target=train, args=(model(), 10**9), daemon=True).start()
    train(model())


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        begun.set()
        time.sleep(3)
        return gradient


begun = threading.Event()


def daemon_is_in_its_backward():
    x = torch.ones(8, device="cuda", requires_grad=True)
    threading.Thread(target=Slow.apply(x).sum().backward, daemon=True).start()
    begun.wait()


def daemon_computes():
    def compute():
        while True:
            torch.ones(64, 64) @ torch.ones(64, 64)
            begun.set()

    threading.Thread(target=compute, daemon=True).start()
    begun.wait()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("done", flush=True)
