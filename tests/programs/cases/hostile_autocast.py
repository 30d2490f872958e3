"""Uses of autocast's copies of weights that a rewrite could get wrong: hostile_autocast.py [NAME...]; hostile.py says what it prints.

Autocast keeps a copy of each weight until its context ends. `run --apply` frees its memory when its operator has ended. Here the
copies are read again, and their weights are written, in each way that the rewrites must notice."""

import os
import threading
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import hostile
from hostile import DEVICE, N, case, randn, text_of

warnings.simplefilter("ignore")
HALF = torch.bfloat16


def net():
    return nn.Sequential(nn.Linear(N, N), nn.GELU(), nn.Linear(N, N), nn.ReLU(), nn.Linear(N, 8)).to(DEVICE)


def gradients(model):
    return [p.grad for p in model.parameters()]


def loss_of(model, x):
    return model(x).float().square().sum()


def autocast(**more):
    return torch.autocast(DEVICE, HALF, **more)


@case
def one_use_of_each_weight():
    model, answers = net(), []
    for _ in range(3):
        with autocast():
            loss = loss_of(model, randn(4, N))
        loss.backward()
        answers.append(loss)
    return [*answers, *gradients(model)]


@case
def several_uses_in_one_context():
    model, x = net(), randn(4, N)
    with autocast():
        y = model[0](x)
        for _ in range(4):
            y = model[0](torch.relu(y)) + model[2](y)
    y.float().square().sum().backward()
    return [y, *gradients(model)]


@case
def micro_batches_in_one_context():
    model = net()
    with autocast():
        for _ in range(3):
            loss_of(model, randn(4, N)).backward()
    return gradients(model)


def written(write):
    """The copies of the context keep the values from before the write."""
    def program():
        model, x = net(), randn(4, N)
        with autocast():
            first = loss_of(model, x)
            write(model)
            second = loss_of(model, x)
        (first + second).backward()
        return [first, second, loss_of(model, x), *gradients(model)]
    return program


def in_place(model):
    with torch.no_grad():
        model[0].weight.mul_(2)


def by_data(model):
    model[2].weight.data.add_(1)


def other_data(model):
    model[2].weight.data = torch.ones(N, N, device=DEVICE)


def by_copy(model):
    with torch.no_grad():
        model[0].weight.copy_(torch.ones(N, N, device=DEVICE))


def by_numpy(model):
    model[0].weight.detach().numpy()[:] = 3


def by_address(model):
    import ctypes
    weight = model[0].weight
    ctypes.memset(weight.data_ptr(), 0, weight.nbytes)


def by_set(model):
    with torch.no_grad():
        model[0].weight.set_(torch.ones(N, N, device=DEVICE))


def resized(model):
    storage = model[0].weight.untyped_storage()
    size = storage.nbytes()
    storage.resize_(0)
    storage.resize_(size)
    with torch.no_grad():
        model[0].weight.fill_(0.5)


def swapped(model):
    with torch.no_grad():
        model[0].weight.set_(model[2].weight.clone())
        model[2].weight.zero_()


def loaded(model):
    model.load_state_dict({name: torch.ones_like(value) for name, value in model.state_dict().items()})


def moved_to_shared_memory(model):
    model.share_memory()
    with torch.no_grad():
        model[0].weight.add_(1)


def by_foreach(model):
    with torch.no_grad():
        torch._foreach_mul_(list(model.parameters()), 0.5)


for write in (in_place, by_data, other_data, by_copy, by_numpy, by_address, by_set, resized, swapped, loaded, moved_to_shared_memory, by_foreach):
    hostile.CASES[f"weights_are_written_{write.__name__}"] = written(write)


@case
def the_training_loop_is_in_one_context():
    model, answers = net(), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    with autocast():
        for _ in range(3):
            optimizer.zero_grad()
            loss = loss_of(model, randn(4, N))
            loss.backward()
            optimizer.step()
            answers.append(loss)
    return [*answers, *model.parameters()]


@case
def the_weight_is_deleted_in_the_context():
    model, x = net(), randn(4, N)
    with autocast():
        y = model[0](x)
        y.float().sum().backward()
        grad = model[0].weight.grad
        del model[0].weight
        model[0].weight = nn.Parameter(torch.ones(N, N, device=DEVICE))
        loss = loss_of(model, x)
    loss.backward()
    return [grad, loss, *gradients(model)]


@case
def the_context_ends_before_and_after_others():
    model, x = net(), randn(4, N)
    with autocast():
        with autocast():
            first = model[0](x)
        with autocast(enabled=False):
            second = model[0](x)
        third = model[0](x)
    with autocast(cache_enabled=False):
        fourth = model[0](x)
    torch.clear_autocast_cache()
    (first.float() + second + third + fourth).square().sum().backward()
    return [first, second, third, fourth, *gradients(model)]


@case
def the_cache_is_cleared_in_the_context():
    model, x = net(), randn(4, N)
    with autocast():
        first = loss_of(model, x)
        torch.clear_autocast_cache()
        second = loss_of(model, x)
    (first * second).backward()
    return gradients(model)


@case
def without_gradients_between_uses():
    model, x = net(), randn(4, N)
    with autocast():
        first = loss_of(model, x)
        with torch.no_grad():
            between = loss_of(model, x)
        with torch.inference_mode():
            inferred = float(loss_of(model, x))
        second = loss_of(model, x)
    (first + second).backward()
    return [between, inferred, *gradients(model)]


@case
def without_a_backward():
    model, answers = net(), []
    for _ in range(40):
        with autocast():
            answers.append(loss_of(model, randn(4, N)).detach())
    return answers


@case
def the_graph_is_kept():
    model, x = net(), randn(4, N)
    with autocast():
        loss = loss_of(model, x)
        loss.backward(retain_graph=True)
        loss.backward(retain_graph=True)
    loss.backward()
    return gradients(model)


@case
def second_derivatives():
    model, x = net(), randn(4, N, requires_grad=True)
    with autocast():
        loss = model(x).float().tanh().square().sum()
        grad, = torch.autograd.grad(loss, x, create_graph=True)
        grad.square().sum().backward()
    return gradients(model)


@case
def what_a_node_saved_is_looked_at():
    model, x = net(), randn(4, N, requires_grad=True)
    with autocast():
        y = model[0](x)
        saved = y.grad_fn._saved_mat2
        z = model[0](y)
    z.float().sum().backward()
    return [saved, *gradients(model)]


@case
def checkpoints_in_the_context():
    answers = []
    for reentrant in (False, True):
        model, x = net(), randn(4, N, requires_grad=True)
        with autocast():
            h = checkpoint(model[0], x, use_reentrant=reentrant)
            h = checkpoint(model[2], model[0](h), use_reentrant=reentrant)
            loss = h.float().square().sum()
        loss.backward()
        answers += gradients(model)
    return answers


@case
def packed_by_hooks_of_the_program():
    model, x = net(), randn(4, N)
    kept = []

    def pack(tensor):
        kept.append(tensor)
        return tensor

    with autocast():
        first = loss_of(model, x)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor * 1):
            second = loss_of(model, x)
    (first + second).backward()
    return [*kept, *gradients(model)]


@case
def under_a_mode():
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.extend(argument.detach().clone() for argument in args if isinstance(argument, torch.Tensor) and argument.dtype == HALF)
            return function(*args, **(kwargs or {}))

    model, x = net(), randn(4, N)
    with autocast():
        first = loss_of(model, x)
        with Mode():
            second = loss_of(model, x)
        third = loss_of(model, x)
    (first + second + third).backward()
    return [*seen, *gradients(model)]


@case
def by_several_threads():
    """All get the copies of one cache, which the first that ends its context clears. So sums of gradients have no fixed order."""
    model, losses = net(), [None] * 4
    inputs = [randn(4, N) for _ in losses]

    def forward(i):
        with autocast():
            for _ in range(5):
                losses[i] = loss_of(model, inputs[i])

    threads = [threading.Thread(target=forward, args=(i,)) for i in range(len(losses))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sum(losses).backward()
    return losses


@case
def with_equal_copies_of_the_program():
    """Autocast's copies equal these, which keep their memory."""
    model, x = net(), randn(4, N)
    own = [layer.weight.to(HALF) for layer in (model[0], model[2])]
    randn(3).requires_grad_().sum().backward()
    answers = []
    for _ in range(2):
        with autocast():
            loss = loss_of(model, x) + loss_of(model, x)
        answers += [loss, *[copy.detach().clone() for copy in own]]
        loss.backward()
    sum(copy.float().sum() for copy in own).backward()
    return [*answers, *own, *gradients(model)]


@case
def in_a_forked_child():
    model, x = net(), randn(4, N)
    with autocast():
        first = loss_of(model, x)
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writes, repr(float(loss_of(model, x).detach())).encode())
            except Exception as error:
                os.write(writes, text_of(error).encode())
            os._exit(0)
        os.close(writes)
        with os.fdopen(reads) as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        second = loss_of(model, x)
    (first + second).backward()
    return [said, *gradients(model)]


@case
def other_kinds_of_weights():
    conv, embedding, norm = nn.Conv2d(3, 8, 3).to(DEVICE), nn.Embedding(16, N).to(DEVICE), nn.LayerNorm(N).to(DEVICE)
    projection = nn.utils.parametrizations.weight_norm(nn.Linear(N, N).to(DEVICE))
    q, k = randn(N, N, requires_grad=True), randn(N, N, requires_grad=True)
    answers = []
    with autocast():
        for _ in range(2):
            h = norm(embedding(torch.arange(8, device=DEVICE)))
            h = projection(h) @ q
            h = torch.baddbmm(torch.zeros(1, 8, N, device=DEVICE), h[None], k[None])[0] + F.linear(h, k)
            images = conv(randn(2, 3, 8, 8))
            answers.append(h.float().square().sum() + images.float().sum())
    sum(answers).backward()
    return [*answers, q.grad, k.grad, *gradients(conv), *gradients(embedding), *gradients(projection)]


@case
def cells_and_recurrent_layers():
    cell, layer = nn.GRUCell(N, N).to(DEVICE), nn.LSTM(N, N).to(DEVICE)
    with autocast():
        h = torch.zeros(4, N, device=DEVICE)
        for _ in range(5):
            h = cell(randn(4, N), h)
        y, _ = layer(randn(3, 4, N))
    (h.float().sum() + y.float().sum()).backward()
    return [*gradients(cell), *gradients(layer)]


@case
def a_weight_in_two_modules():
    first, second = nn.Linear(N, N).to(DEVICE), nn.Linear(N, N).to(DEVICE)
    second.weight = first.weight
    with autocast():
        loss = loss_of(nn.Sequential(first, nn.ReLU(), second), randn(4, N))
    loss.backward()
    return gradients(first)


def text_of_mixed(model, x):
    """The cache of the outer context has copies in its own type; this context finds them."""
    try:
        return loss_of(model, x)
    except RuntimeError as error:
        return torch.tensor(float(len(text_of(error))))


@case
def float16_and_float32_by_turns():
    model, x = net(), randn(4, N)
    losses = []
    for kind in (torch.float16, HALF, torch.float16):
        with torch.autocast(DEVICE, kind):
            losses.append(loss_of(model, x))
    with torch.autocast(DEVICE, torch.float16):
        losses.append(loss_of(nn.Linear(N, N).to(DEVICE), x))
        with autocast():
            losses.append(text_of_mixed(model, x))
    sum(losses).backward()
    return gradients(model)


if __name__ == "__main__":
    hostile.main()
