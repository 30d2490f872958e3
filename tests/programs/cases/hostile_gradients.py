"""Gradients taken in ways that a rewrite could get wrong: hostile_gradients.py [NAME...]

hostile.py says what it prints."""

import contextlib
import copy
import ctypes
import ctypes.util
import gc
import io
import mmap
import os
import tempfile
import threading
import warnings
import weakref

import numpy
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

import hostile
from hostile import CASES, N, case, changing, leaf, number, side, square, text_of

warnings.simplefilter("ignore")


def net():
    return nn.Sequential(nn.Linear(N, N), nn.GELU(), nn.Linear(N, N), nn.ReLU(), nn.LayerNorm(N), nn.Linear(N, 8))


def gradients(model):
    return [p.grad for p in model.parameters()]


def error_of(function):
    """For programs that continue after the error."""
    try:
        function()
        return "no error"
    except Exception as error:
        return text_of(error)


def cheap(w):
    """The saves can be recomputed from w: the operators are cheap, and so are the operators of their inputs."""
    x = torch.relu(w @ w)
    y = x * 2
    return x, y, (y * y).sum()


# ---- in place, on views

@case
def a_row_of_a_copy_is_written():
    w = leaf()
    x = w * 1
    x[3].mul_(2)
    (x * x.sin()).sum().backward()
    return [w.grad]


@case
def a_base_is_written_after_its_view_was_saved():
    w = leaf()
    x = w * 2
    y = x[1:].exp().sin()
    x.add_(1)
    return [error_of(y.sum().backward), w.grad, error_of((x[1:] * x[1:]).sum().backward)]


@case
def a_view_is_written_after_its_base_was_saved():
    w = leaf()
    x = w.sigmoid()
    y = x * x
    x.view(-1)[::2].zero_()
    y.sum().backward()


@case
def views_of_views_are_written():
    w = leaf()
    x = w * 1
    x.t()[2:].view(-1, N)[::2, 5:].mul_(3).add_(1)
    (x.tanh() * x).sum().backward()
    return [w.grad]


@case
def an_expanded_tensor_is_written():
    w = leaf(N, 1)
    x = (w * 1).expand(N, N)
    x.mul_(2)
    x.sum().backward()


@case
def an_expanded_tensor_is_saved():
    w, v = leaf(N, 1), leaf()
    ((w * 2).expand(N, N).sin() * v.exp() * (w * 2).expand(N, N)).sum().backward()
    return [w.grad, v.grad]


@case
def overlapping_strides_are_saved():
    w = leaf(N * 2)
    x = (w * 2).as_strided((N, N), (1, 1))
    (x * x.cos()).sum().backward()
    return [w.grad]


@case
def strides_of_its_own_are_written():
    w = leaf()
    x = w * 1
    x.as_strided((N,), (N + 1,), 0).exp_()
    (x * x).sum().backward()
    return [w.grad]


def changed_piece(split):
    def run():
        w = leaf()
        pieces = split(w * 2)
        said = error_of(lambda: pieces[0].mul_(2))
        again = [p for p in split((w * 2).sin())]
        (again[0] * again[1]).sum().backward()
        return [said, w.grad]
    return run


for name, split in {"unbind": lambda t: t.unbind(0), "split": lambda t: t.split(N // 2), "chunk": lambda t: t.chunk(2, 1),
                    "tensor_split": lambda t: t.tensor_split(3), "hsplit": lambda t: t.hsplit(2), "unsafe_split": lambda t: t.unsafe_split(N // 2)}.items():
    CASES[f"a_piece_of_{name}_is_written"] = changed_piece(split)


@case
def pieces_that_were_made_without_gradients_are_written():
    w = leaf()
    x = w.detach() * 1
    with torch.no_grad():
        pieces = x.unbind(0)
    x.requires_grad_()
    return [error_of(lambda: pieces[0].mul_(w[0])), error_of(lambda: pieces[1].add_(1))]


@case
def a_view_made_without_gradients_is_written():
    w = leaf()
    x = w * 1
    with torch.no_grad():
        y = x.view(-1)
    said = error_of(lambda: y.mul_(w.view(-1)))
    (x * x).sum().backward()
    return [said, w.grad]


@case
def rows_are_put_scattered_and_masked_in_place():
    w, v = leaf(), leaf()
    x = w.tanh()
    mask, index = v.detach() > 0, torch.arange(0, N, 3)
    y = x * 1
    y.index_put_((index,), v[index] * 2)
    y.masked_fill_(mask, 0.5)
    y.scatter_(1, torch.zeros(N, 1, dtype=torch.long), v[:, :1])
    y[5:9] = v[:4].exp()
    y.diagonal().copy_(v[0])
    (y * y.sin()).sum().backward()
    return [w.grad, v.grad]


@case
def activations_are_written_in_place():
    w = leaf()
    x = F.hardtanh_(F.leaky_relu_(torch.relu_(w @ w) - 0.5, 0.1))
    y = F.dropout(x * 1, 0.3, inplace=True).sigmoid_().exp_().tanh_()
    (y * y).sum().backward()
    return [w.grad]


@case
def what_sigmoid_saved_is_written():
    w = leaf()
    y = (w * 2).sigmoid()
    y.mul_(2)
    y.sum().backward()


@changing
def an_index_is_written(change):
    w = square()
    index = torch.arange(len(w)).flip(0)
    y = (w * 2).index_select(0, index).sin()
    if change:
        index.zero_()
    y.sum().backward()
    return [w.grad]


@changing
def an_index_is_written_by_numpy(change):
    w = square()
    index = torch.arange(len(w)).flip(0)
    alias = index.numpy()
    y = ((w * 2)[index] * torch.gather(w, 0, index.expand(len(w), len(w)))).sin()
    if change:
        alias[:] = 3
    y.sum().backward()
    return [w.grad]


@changing
def a_mask_is_written(change):
    w = square()
    mask = w.detach() > 0
    y = torch.where(mask, w * 2, w.sin())
    if change:
        mask.logical_not_()
    return [error_of(y.sum().backward)]


@changing
def a_mask_is_written_by_numpy(change):
    w = square()
    mask = w.detach() > 0
    alias = mask.numpy()
    y = torch.where(mask, w * 2, w.sin()).masked_fill(mask, 1.0) * 3
    if change:
        alias[:] = ~alias
    y.sum().backward()
    return [w.grad]


@case
def transposed_in_place():
    w = leaf()
    x = w * 2
    y = x.exp()
    x.t_()
    said = error_of((y * y).sum().backward)
    x.unsqueeze_(0).squeeze_(0)
    return [said, w.grad, x]


@case
def a_view_by_a_custom_function_is_written():
    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def backward(ctx, gradient):
            return gradient.view(N, N)

    w = leaf()
    y = View.apply(w * 2)
    return [error_of(lambda: y.mul_(2)), error_of(lambda: (y * y).sum().backward()), w.grad]


# ---- detached, resized, replaced between forward and backward

@case
def detached_in_place():
    """A wrong truncated backpropagation: PyTorch refuses a save of an output (cases: detach_inplace)."""
    w = leaf(300, 300)
    a = w * 2
    b = a.sin()
    a.detach_()
    b.sum().backward()
    return [w.grad]


@case
def detached_in_place_in_a_loop():
    w, state, said = leaf(), torch.zeros(N, N), []
    for _ in range(4):
        state = torch.tanh(state * 0.5 + w)
        y = (state * state).sum()
        said.append(error_of(y.backward))
        state.detach_()
    return [*said, w.grad]


@case
def a_view_is_detached_in_place():
    w = leaf()
    x = w * 2
    return [error_of(lambda: x[0].detach_()), error_of((x * x).sum().backward), w.grad]


@case
def a_gradient_is_no_longer_required():
    w, v = leaf(), leaf()
    y = (w * v).sin() * (w * 2)
    w.requires_grad_(False)
    said = error_of(y.sum().backward)
    return [said, v.grad, w.grad]


@case
def a_gradient_is_required_later():
    w, c = leaf(), torch.randn(N, N)
    y = (w * c).exp() * c
    c.requires_grad_(True)
    y.sum().backward()
    return [w.grad, c.grad]


@case
def an_activation_is_resized():
    w = leaf()
    x = w * 2
    y = x.detach()
    z = (x * x).sin()
    said = error_of(lambda: y.resize_(2 * N, N))
    return [said, error_of(z.sum().backward), w.grad]


@changing
def a_storage_is_resized_and_filled_again(change):
    w, c = square(), torch.randn(side(), side())
    x = c * 2
    y = (w * x).sin()
    storage = x.untyped_storage()
    size = storage.nbytes()
    if change:
        storage.resize_(0)
        storage.resize_(size)
        storage.fill_(0)
    y.sum().backward()
    return [w.grad]


def replaced(write):
    def run(change):
        w = torch.arange(1.0, 2049 + side()).div(2048).requires_grad_()
        x = w * 2
        y = torch.sin(x).sum()
        if change:
            write(x)
        del x
        y.backward()
        return [w.grad]
    return run


# setdata.py: PyTorch counts no version, and the gradient uses the new values.
changing(replaced(lambda x: setattr(x, "data", torch.zeros_like(x))), "data_is_replaced")
changing(replaced(lambda x: x.data.mul_(0.5)), "data_is_written")
changing(replaced(lambda x: setattr(x, "data", torch.zeros(7))), "data_is_resized")
changing(replaced(lambda x: setattr(x, "data", torch.zeros(len(x), dtype=torch.float64))), "data_has_another_type")
changing(replaced(lambda x: torch.no_grad()(x.set_)(torch.zeros(len(x)))), "set_without_gradients")
changing(replaced(lambda x: x.data.set_(torch.zeros(len(x)))), "set_through_data")
changing(replaced(lambda x: x.untyped_storage().copy_(torch.zeros(len(x)).untyped_storage())), "swapped")


@changing
def data_of_a_leaf_is_replaced(change):
    w = square()
    x = w * 2
    y = (x.sin() * x).sum()
    if change:
        w.data = torch.zeros_like(w)
    del x
    y.backward()
    return [w.grad]


@changing
def data_of_a_leaf_is_replaced_and_the_old_one_is_written(change):
    w = square()
    old = w.data
    x = w * 2
    y = (x.sin() * x).sum()
    if change:
        w.data = torch.zeros_like(w)
    del x
    if change:
        old.mul_(0)
    y.backward()
    return [w.grad]


def alias_by_set(when):
    """set_alias.py: the same storage with a separate version counter."""
    def run(change):
        w = square()
        x, y, loss = cheap(w)
        v = torch.empty(0).set_(x.detach().untyped_storage(), 0, x.shape)
        if change and when == "before":
            v.mul_(0.5)
        del x, y
        torch.zeros(1)
        if change and when == "after":
            v.mul_(0.5)
        loss.backward()
        return [w.grad]
    return run


for when in ("never", "before", "after"):
    changing(alias_by_set(when), f"an_alias_by_set_is_written_{when}")


# ---- alias_writes.py: after the forward, the program writes memory that PyTorch does not watch and no longer needs

def by_dlpack(t):
    d = torch.from_dlpack(t)
    return lambda: d.mul_(0.5)


def by_numpy(t):
    a = t.numpy()
    return lambda: numpy.multiply(a, 0.5, out=a)


def by_asarray(t):
    a = numpy.asarray(t)
    return lambda: numpy.multiply(a, 0.5, out=a)


def by_numpys_dlpack(t):
    a = numpy.from_dlpack(t)
    if not a.flags.writeable:
        a = numpy.ctypeslib.as_array(ctypes.cast(a.ctypes.data, ctypes.POINTER(ctypes.c_float)), (t.numel(),))
    return lambda: numpy.multiply(a, 0.5, out=a)


def by_address(t):
    a = numpy.ctypeslib.as_array(ctypes.cast(t.data_ptr(), ctypes.POINTER(ctypes.c_float)), (t.numel(),))
    return lambda: numpy.multiply(a, 0.5, out=a)


def by_frombuffer(t):
    s = t.untyped_storage()
    return lambda: torch.frombuffer((ctypes.c_char * s.nbytes()).from_address(s.data_ptr()), dtype=torch.float32).mul_(0.5)


def by_storage(t):
    s = t.untyped_storage()
    return lambda: s.fill_(0)


def by_typed_storage(t):
    s = t.storage()
    return lambda: s.fill_(0.25)


def by_set(t):
    v = torch.empty(0).set_(t.untyped_storage(), 0, t.shape)
    return lambda: v.mul_(0.5)


def by_memmove(t):
    zeros = bytes(4 * t.numel())
    address = t.data_ptr()
    return lambda: ctypes.memmove(address, zeros, len(zeros))


def by_ctypes_of_numpy(t):
    a = t.numpy().ctypes.data_as(ctypes.POINTER(ctypes.c_float))

    def write():
        a[0], a[1] = 7.0, -7.0
    return write


def by_shared_memory(t):
    s = t.untyped_storage().share_memory_()
    return lambda: s.fill_(0)


def written_by(take, order, target):
    def run(change):
        w = square()
        x, y, loss = cheap(w)
        write = take({"x": x, "y": y, "w": w}[target].detach()) if change else lambda: None
        if order == "held":
            write()
            loss.backward()
            return [w.grad]
        if order == "before":
            write()
        del x, y
        torch.zeros(1)
        if order == "after":
            write()
        loss.backward()
        del write
        return [w.grad]
    return run


# PyTorch before 2.15 has no notification of these (docs/rewrites.md).
UNTOLD = {by_address, by_frombuffer, by_memmove} if torch.__version__ < "2.15" else set()
for take in (by_dlpack, by_numpy, by_asarray, by_numpys_dlpack, by_address, by_frombuffer, by_storage, by_typed_storage, by_set, by_memmove,
             by_ctypes_of_numpy, by_shared_memory):
    for order in ("before", "after", "held"):
        if order == "after" and take in UNTOLD:
            continue
        for target in "xyw":
            changing(written_by(take, order, target), f"written_{take.__name__}_{order}_{target}")


@changing
def a_picture_is_normalised_in_numpy(change):
    """numpy_alias.py: PyTorch's gradient does not need its values any more."""
    w = square()
    x = torch.relu(w @ w)
    loss = (x * 2).square().sum()
    picture = x.detach().numpy()
    if change:
        picture *= 0.5
    del x
    loss.backward()
    return [w.grad]


@changing
def a_picture_is_normalised_through_dlpack(change):
    """dlpack_second.py."""
    w = square()
    x, y, loss = cheap(w)
    d = torch.from_dlpack(x.detach())
    if change:
        d.mul_(0.5)
    del x, y, d
    loss.backward()
    return [w.grad]


@changing
def an_array_that_a_tensor_was_made_from_is_written(change):
    array = numpy.random.default_rng(0).standard_normal((side(), side())).astype(numpy.float32)
    w = square()
    c = torch.from_numpy(array)
    x = c * 2
    y = (w * x).sin() * (x * w)
    del x
    if change:
        array[:] = 3
    y.sum().backward()
    return [w.grad]


@changing
def a_buffer_that_a_tensor_was_made_from_is_written(change):
    buffer = bytearray(numpy.ones((side(), side()), dtype=numpy.float32).tobytes())
    w = square()
    c = torch.frombuffer(buffer, dtype=torch.float32).view(side(), side())
    y = (w * (c * 2)).sin() * (c * 3)
    if change:
        buffer[:] = bytes(len(buffer))
    y.sum().backward()
    return [w.grad]


@changing
def a_file_that_a_tensor_maps_is_written(change):
    with tempfile.NamedTemporaryFile() as file:
        file.write(numpy.ones((side(), side()), dtype=numpy.float32).tobytes())
        file.flush()
        c = torch.from_file(file.name, shared=True, size=side() ** 2).view(side(), side())
        w = square()
        y = (w * (c * 2)).sin() * (c * 3)
        if change:
            os.pwrite(file.fileno(), bytes(4 * side() ** 2), 0)
        y.sum().backward()
    return [w.grad]


@changing
def a_map_that_a_tensor_was_made_from_is_written(change):
    memory = mmap.mmap(-1, 4 * side() ** 2)
    memory[:] = numpy.ones((side(), side()), dtype=numpy.float32).tobytes()
    w = square()
    y = (w * (torch.frombuffer(memory, dtype=torch.float32).view(side(), side()) * 2)).sin()
    if change:
        memory[:] = bytes(4 * side() ** 2)
    y.sum().backward()
    return [w.grad]


@case
def addresses_stay():
    w = leaf()
    x, y, loss = cheap(w)
    before = [t.data_ptr() for t in (w, x, y)]
    torch.zeros(1)
    with torch.no_grad():
        w.add_(0)
    same = [a == t.data_ptr() for a, t in zip(before, (w, x, y))]
    return [str(same), error_of(loss.backward), w.grad]


# ---- second and third order

@case
def a_gradient_of_a_gradient():
    w = leaf()
    x, y, loss = cheap(w)
    (g,) = torch.autograd.grad(loss, w, create_graph=True)
    del x, y
    (g * g).sum().backward()
    return [w.grad]


@case
def a_third_gradient():
    w = leaf(8, 8)
    value = (F.gelu(w @ w) * torch.sin(w * 2)).sum()
    for _ in range(2):
        (g,) = torch.autograd.grad(value, w, create_graph=True)
        value = (g * g).sum()
    value.backward()
    return [w.grad]


@case
def a_penalty_on_gradients():
    """Of WGAN-GP."""
    critic = nn.Sequential(nn.Linear(N, N), nn.LeakyReLU(0.2), nn.Linear(N, 1))
    x = leaf(16, N)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    ((g.norm(2, dim=1) - 1) ** 2).mean().backward()
    return [x.grad, *gradients(critic)[:-1]]


@case
def a_step_inside_of_the_loss():
    """MAML."""
    model, x = nn.Linear(N, N), torch.randn(8, N)
    weight = model.weight * 1
    for _ in range(3):
        (g,) = torch.autograd.grad(F.linear(x, weight).tanh().square().mean(), weight, create_graph=True)
        weight = weight - 0.1 * g
    F.linear(x, weight).sin().sum().backward()
    return [model.weight.grad]


@case
def a_product_with_the_hessian():
    w, v = leaf(), torch.randn(N, N)
    (g,) = torch.autograd.grad((w.exp() * w.sin()).sum(), w, create_graph=True)
    once = torch.autograd.grad(g, w, v, retain_graph=True)
    return [*once, *torch.autograd.grad(g, w, v)]


@case
def forward_mode_by_two_backwards():
    w, v = leaf(), torch.randn(N, N)
    y = torch.tanh(w * 2) * w
    dummy = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, w, dummy, create_graph=True)
    return list(torch.autograd.grad(g, dummy, v))


@case
def jacobians_and_hessians():
    w = torch.randn(6, 6)
    function = lambda t: (torch.relu(t @ t) * torch.sigmoid(t * 2)).sum(0)
    return [torch.autograd.functional.jacobian(function, w), torch.autograd.functional.jacobian(function, w, create_graph=True),
            torch.autograd.functional.hessian(lambda t: function(t).sum(), w), torch.autograd.functional.vhp(lambda t: function(t).sum(), w, w)[1]]


@case
def functional_transforms():
    w = torch.randn(6, 6)
    function = lambda t: (torch.relu(t @ t) * torch.sigmoid(t * 2)).sum()
    return [torch.func.grad(function)(w), torch.func.hessian(function)(w), torch.func.vmap(torch.func.grad(function))(torch.randn(3, 6, 6)),
            torch.func.vjp(function, w)[1](torch.ones(()))[0], torch.func.jvp(function, (w,), (w,))[1]]


@case
def gradients_in_batches():
    w = leaf(6, 6)
    y = torch.sin(w * 2) * w
    return list(torch.autograd.grad(y, w, torch.eye(36).view(36, 6, 6), is_grads_batched=True))


# ---- graphs that are kept, freed, shared

@case
def two_backwards_of_a_kept_graph():
    w = leaf()
    x, y, loss = cheap(w)
    del x, y
    loss.backward(retain_graph=True)
    once = w.grad.clone()
    loss.backward()
    return [once, w.grad]


@case
def a_second_backward_of_a_graph_that_is_gone():
    w = leaf()
    loss = cheap(w)[2]
    loss.backward()
    loss.backward()


@case
def a_parameter_is_stepped_between_two_backwards():
    model, x = net(), torch.randn(4, N)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loss = model(x).square().sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    return [error_of(loss.backward), *gradients(model)]


@case
def two_losses_share_a_trunk():
    w = leaf()
    trunk = torch.relu(w @ w) * 2
    first, second = (trunk * 3).sin().sum(), (trunk * trunk).sum()
    del trunk
    first.backward(retain_graph=True)
    second.backward()
    return [w.grad]


@case
def two_losses_share_a_trunk_that_is_gone():
    w = leaf()
    trunk = (w.exp() * 2).tanh()
    first, second = (trunk * trunk).sum(), trunk.sin().sum()
    first.backward()
    return [w.grad.clone(), error_of(second.backward), w.grad]


@case
def subsets_of_gradients():
    w, v, u = leaf(), leaf(), leaf()
    x = torch.relu(w * v)
    y = x * u.sigmoid()
    loss = (y * y).sum()
    grads = [*torch.autograd.grad(loss, [u], retain_graph=True), *torch.autograd.grad(loss, [x, v], retain_graph=True)]
    loss.backward(inputs=[w])
    return [*grads, w.grad, str(v.grad)]


@case
def an_input_that_is_not_used():
    w, v = leaf(), leaf()
    loss = cheap(w)[2]
    return [error_of(lambda: torch.autograd.grad(loss, [w, v], retain_graph=True)),
            *torch.autograd.grad(loss, [w, v], retain_graph=True, allow_unused=True),
            *torch.autograd.grad(loss, [w, v], materialize_grads=True)]


@case
def an_edge_of_the_graph_is_asked():
    w = leaf()
    x = w * 2
    edge = torch.autograd.graph.get_gradient_edge(x)
    loss = (x.sin() * x).sum()
    del x
    return list(torch.autograd.grad(loss, edge))


@case
def only_the_graph_is_kept():
    w = leaf()
    node = cheap(w)[2].grad_fn
    gc.collect()
    torch.autograd.graph.Node  # noqa: B018  a name that exists
    edge = torch.autograd.graph.GradientEdge(node, 0)
    return list(torch.autograd.grad((edge,), w, torch.ones(())))


@case
def a_graph_is_dropped_and_its_leaves_go_on():
    w = leaf()
    for _ in range(5):
        x, y, loss = cheap(w)
        alive = weakref.ref(x)
        del x, y, loss
        assert alive() is None
    loss = cheap(w)[2]
    loss.backward()
    return [w.grad]


@case
def gradients_are_added_in_place_and_swapped():
    w = leaf()
    cheap(w)[2].backward()
    kept = w.grad
    cheap(w)[2].backward()
    w.grad = kept * 2
    cheap(w)[2].backward(create_graph=True)
    return [kept, w.grad]


@case
def a_gradient_is_saved_for_the_next_graph():
    w = leaf()
    cheap(w)[2].backward()
    loss = (w.grad * w).sin().sum()
    w.grad.zero_()
    return [error_of(loss.backward)]


@case
def accumulated_without_zeroing():
    model, answers = net(), []
    for _ in range(4):
        model(torch.randn(4, N)).square().sum().backward()
    for p in model.parameters():
        answers.append(p.grad.clone())
        p.grad.zero_()
    model(torch.randn(4, N)).sum().backward()
    return answers + gradients(model)


# ---- checkpoints and hooks on saves

@case
def checkpoints_inside_of_checkpoints():
    model, x = nn.Sequential(net()[:5], nn.Dropout(0.2), net()[:5]), leaf(8, N)
    inner = lambda t: checkpoint(model[2], checkpoint(model[0], t, use_reentrant=False), use_reentrant=False)
    checkpoint(inner, x, use_reentrant=False).sin().sum().backward()
    return [x.grad, *gradients(model)]


@case
def reentrant_checkpoints():
    model, x = nn.Sequential(net()[:5], nn.Dropout(0.2), net()[:5]), leaf(8, N)
    checkpoint(lambda t: checkpoint(model, t, use_reentrant=True).exp(), x, use_reentrant=True).sum().backward()
    return [x.grad, *gradients(model)]


@case
def a_checkpoint_whose_input_is_written():
    w = leaf()
    x = w * 2
    y = checkpoint(lambda t: torch.sin(t) * t, x, use_reentrant=False)
    with torch.no_grad():
        x.mul_(0.5)
    return [error_of(y.sum().backward), w.grad]


@case
def a_checkpoint_whose_result_is_retained():
    w = leaf()
    y = checkpoint(lambda t: torch.relu(t @ t) * torch.sin(t), w, use_reentrant=False)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return [w.grad]


@case
def what_is_saved_goes_through_numpy():
    w = leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), torch.from_numpy):
        loss = cheap(w)[2]
    loss.backward()
    return [w.grad]


@case
def what_is_saved_is_scaled_by_a_hook():
    w, seen = leaf(), []

    def pack(t):
        seen.append(tuple(t.shape))
        return t * 2

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 0.5):
        loss = (w.exp() * w.sigmoid() * (w * 3)).sum()
    loss.backward()
    return [w.grad, str(seen)]


@case
def a_hook_on_what_is_saved_writes_it():
    w = leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        return [error_of(lambda: w.exp().sin())]


@case
def hooks_on_what_is_saved_inside_of_each_other():
    w = leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t + 1, lambda t: t - 1):
        x = w.exp()
        with torch.autograd.graph.save_on_cpu():
            y = x.sin() * x
        z = (y * y).sum()
    z.backward()
    return [w.grad]


@case
def hooks_on_what_is_saved_are_forbidden():
    w = leaf()
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        said = error_of(lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__())
        cheap(w)[2].backward()
    return [said, w.grad]


@case
def what_is_saved_may_be_written():
    w = leaf()
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        x = w * 2
        y = x.sin()
        x.mul_(3)
        (y * x).sum().backward()
    return [w.grad]


@changing
def no_version_is_counted(change):
    w = square()
    x = w * 2
    y = (x.sin() * x).sum()
    with torch.autograd._unsafe_preserve_version_counter(x):
        if change:
            x.data.mul_(0.5)
    del x
    y.backward()
    return [w.grad]


@case
def a_version_is_counted_by_hand():
    w = leaf()
    x = w * 2
    y = x.sin()
    torch.autograd.graph.increment_version(x)
    y.sum().backward()


# ---- hooks

@case
def hooks_change_gradients():
    w, seen = leaf(), []
    x = w.exp()
    x.register_hook(lambda g: g * 0.5)
    y = x.sin() * x
    y.register_hook(lambda g: seen.append(g.clone()))
    y.retain_grad()
    w.register_hook(lambda g: g.clamp(-1, 1))
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    y.sum().backward()
    return [w.grad, y.grad, *seen]


@case
def a_hook_writes_its_gradient_in_place():
    w = leaf()
    x = torch.relu(w * 2)
    x.register_hook(lambda g: g.mul_(0.5))
    (x * 3).sum().backward()
    return [w.grad]


@case
def a_hook_writes_what_is_saved():
    w = leaf()
    x = w.exp()
    y = x * x

    def write(gradient):
        with torch.no_grad():
            x.mul_(2)
    y.register_hook(write)
    y.sum().backward()


@case
def hooks_of_nodes():
    w, seen = leaf(), []
    x = torch.relu(w @ w)
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (g[0] * 2,))
    x.grad_fn.register_hook(lambda into, out: seen.append(into[0].clone()))
    (y * y).sum().backward()
    return [w.grad, *seen]


@case
def hooks_of_modules():
    model, seen = net(), []
    for layer in model:
        layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 1.5,))
        layer.register_full_backward_hook(lambda m, into, out: seen.append(out[0].clone()))
        layer.register_forward_hook(lambda m, given, out: out * 1)
        layer.register_forward_pre_hook(lambda m, given: (given[0] * 1,))
    model(leaf(4, N)).square().sum().backward()
    return gradients(model) + seen


@case
def a_hook_for_several_gradients():
    w, v, seen = leaf(), leaf(), []
    handle = torch.autograd.graph.register_multi_grad_hook([w, v], lambda grads: seen.extend(g.clone() for g in grads))
    (w.exp() * v.sin()).sum().backward()
    handle.remove()
    return [w.grad, v.grad, *seen]


@case
def a_hook_takes_itself_away():
    w, handles = leaf(), []
    x = w.exp()
    handles.append(x.register_hook(lambda g: handles[0].remove() or g * 2))
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    once = w.grad.clone()
    loss.backward()
    return [once, w.grad]


@case
def a_backward_inside_of_a_hook():
    w, v = leaf(), leaf()
    inner = (v.exp() * v.sin()).sum()
    x = torch.relu(w * 2)
    x.register_hook(lambda g: inner.backward(retain_graph=True))
    loss = (x * x.sigmoid()).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return [w.grad, v.grad]


@case
def backwards_inside_of_backwards_inside_of_backwards():
    """Deeper than the engine nests backwards in one thread."""
    w = leaf(8, 8)

    def nested(depth):
        x = torch.relu(w * (1 + depth))
        if depth > 0:
            x.register_hook(lambda g: nested(depth - 1))
        (x * x).sum().backward()
    nested(70)
    return [w.grad]


@case
def a_hook_raises_and_the_backward_is_tried_again():
    w, tries = leaf(), []
    x = torch.relu(w @ w)

    def once(gradient):
        tries.append(0)
        if len(tries) == 1:
            raise ValueError("on purpose")
    x.register_hook(once)
    loss = (x * x * 2).sum()
    return [error_of(lambda: loss.backward(retain_graph=True)), error_of(loss.backward), w.grad]


# ---- custom functions

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y, gradient * x


@case
def a_custom_function_saves_what_it_is_given():
    w = leaf()
    x = torch.relu(w * 2)
    y = Product.apply(x, x.exp())
    del x
    (y * y).sum().backward()
    return [w.grad]


@case
def what_a_custom_function_saved_is_written():
    w = leaf()
    x = w * 2
    y = Product.apply(x, w)
    x.add_(1)
    y.sum().backward()


@case
def a_custom_function_saves_its_result():
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0]

    w = leaf()
    y = Exp.apply(w * 2)
    z = (y * y).sum()
    (g,) = torch.autograd.grad(z, w, create_graph=True)
    g.sum().backward()
    return [g, w.grad]


@case
def a_custom_function_keeps_a_tensor_of_its_own():
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = x * 2
            return ctx.kept.sin()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.kept.cos() * 2

    w = leaf()
    y = Keeps.apply(w * 1)
    y.grad_fn.kept.mul_(0.5)
    (y * y).sum().backward()
    return [w.grad]


@case
def a_custom_function_writes_its_input():
    class Doubles(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    w = leaf()
    x = w * 1
    y = x.sin()
    z = Doubles.apply(x)
    return [error_of(lambda: (z * z).sum().backward()), error_of(y.sum().backward), w.grad]


@case
def a_custom_function_returns_its_input_and_no_gradient():
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            index = y.argmax(1)
            ctx.mark_non_differentiable(index)
            return x, y * 2, index

        @staticmethod
        def backward(ctx, a, b, _):
            return a, None if b is None else b * 2

    w = leaf()
    x, y, index = Odd.apply(w * 2, w.exp())
    (x.sin() * x).sum().backward()
    return [w.grad, index]


@case
def a_custom_function_trains_inside_of_its_backward():
    class Trains(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sum()

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                return torch.autograd.grad(cheap(x)[2] * gradient, x)[0]

    w = leaf()
    Trains.apply(torch.relu(w * 2)).backward()
    return [w.grad]


@case
def a_backward_raises_and_is_tried_again():
    class Fails(torch.autograd.Function):
        tries = 0

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            Fails.tries += 1
            if Fails.tries == 1:
                raise KeyError("on purpose")
            return gradient * ctx.saved_tensors[0]

    w = leaf()
    x = torch.relu(w @ w) * 2
    loss = (Fails.apply(x).exp() * 1e-3).tanh().sum()
    del x
    return [error_of(lambda: loss.backward(retain_graph=True)), error_of(loss.backward), w.grad]


@case
def a_forward_raises_in_the_middle():
    w = leaf()

    def half():
        x, y, loss = cheap(w)
        return loss + x @ torch.zeros(3, 3)
    said = error_of(half)
    cheap(w)[2].backward()
    return [said, w.grad]


@case
def a_custom_operator_of_a_library():
    # Can be registered only once in a process.
    if not hasattr(torch.ops, "hostile") or not hasattr(torch.ops.hostile, "scaled"):
        @torch.library.custom_op("hostile::scaled", mutates_args=())
        def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
            return x * by

        scaled.register_autograd(lambda ctx, gradient: (gradient * ctx.saved_tensors[0].cos(), None),
                                 setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    w = leaf()
    x = torch.relu(w * 2)
    (torch.ops.hostile.scaled(x, 3.0) * x).sum().backward()
    return [w.grad]


# ---- other tensors

@case
def sparse_gradients():
    table = nn.Embedding(64, N, sparse=True)
    other = nn.Embedding(64, N)
    index = torch.randint(0, 64, (32,))
    (table(index).sin() * other(index).exp() * (table(index) * 2)).sum().backward()
    return [table.weight.grad.coalesce().indices(), table.weight.grad.coalesce().values(), other.weight.grad]


@case
def products_with_sparse_matrices():
    w = leaf()
    sparse = (torch.eye(N) * 3).to_sparse()
    x = torch.sparse.mm(sparse, w * 2)
    y = torch.sparse.mm(sparse.to_sparse_csr(), x.sin())
    (y * x).sum().backward()
    return [w.grad]


@case
def dense_to_sparse_and_back():
    w = leaf()
    x = torch.relu(w * 2).to_sparse()
    (x.to_dense().sin() * w).sum().backward()
    return [w.grad]


@case
def complex_numbers():
    w = leaf(dtype=torch.complex64)
    x = (w * 2).conj() * w.exp()
    (x.abs() * torch.angle(w) + x.real * torch.view_as_real(w * 1j)[..., 1]).sum().backward()
    return [w.grad]


@case
def fourier_transforms():
    w = leaf()
    spectrum = torch.fft.rfft2(w * 2)
    (torch.fft.irfft2(spectrum * spectrum.abs()).tanh() * w).sum().backward()
    return [w.grad]


@case
def a_part_of_a_complex_tensor_is_written():
    w = leaf(dtype=torch.complex64)
    x = w * 1
    x.real.mul_(2)
    torch.view_as_real(x)[..., 1].add_(1)
    (x * x.conj()).real.sum().backward()
    return [w.grad]


@case
def negative_and_conjugate_views_are_saved():
    w, v = leaf(dtype=torch.complex64), leaf(dtype=torch.complex64)
    x = (w * 2).conj()
    y = x.imag * v.abs()
    (y * x.real + (x * v).abs()).sum().backward()
    return [w.grad, v.grad]


@case
def nothing_and_a_single_number():
    w, s, e = leaf(), leaf(1), torch.randn(0, 4, requires_grad=True)
    scalar = s.squeeze() * 2
    ((w * scalar).sin() * scalar).sum().backward()
    (e.exp() * e).sum().backward()
    return [w.grad, s.grad, e.grad]


@case
def other_layouts_of_memory():
    x = torch.randn(2, 8, 12, 12).to(memory_format=torch.channels_last).requires_grad_()
    conv = nn.Conv2d(8, 8, 3, padding=1).to(memory_format=torch.channels_last)
    y = F.gelu(conv(x * 2))
    z = y.permute(0, 2, 3, 1)[:, ::2] * 3
    (z.sin() * z).sum().backward()
    return [x.grad, *gradients(conv)]


@case
def small_types():
    answers = []
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        w = torch.randn(N, N).to(dtype).requires_grad_()
        x = torch.relu(w * 2).float().sin().to(dtype)
        (x * w.exp()).float().sum().backward()
        answers.append(w.grad)
    return answers


@case
def values_that_are_not_finite():
    w = torch.randn(N, N)
    w[0], w[1], w[2], w[3] = float("nan"), float("inf"), -float("inf"), -0.0
    w.requires_grad_()
    x = w * 2
    (torch.relu(x) + F.hardtanh(x) * x + x.clamp(-1, 1).exp() + x.sigmoid() * x.sign()).sum().backward()
    return [w.grad]


class Tagged(torch.Tensor):
    pass


@case
def tensors_of_a_class_of_its_own():
    w = leaf()
    x = (w * 2).as_subclass(Tagged)
    y = torch.relu(x) * x.exp()
    (y * y).sum().backward()
    return [w.grad, type(y).__name__]


@case
def modes_see_the_operators_of_the_program_alone():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counts(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.seen.append(str(function))
            return function(*args, **(kwargs or {}))

    w = leaf()
    x, y, loss = cheap(w)
    del x, y
    with Counts() as counts:
        loss.backward()
    # PyTorch detaches the result of a saved-tensor hook: docs/rewrites.md has this limit.
    return [w.grad, " ".join(name for name in counts.seen if name != "aten.detach.default")]


@case
def functions_see_the_operators_of_the_program_alone():
    from torch.overrides import TorchFunctionMode

    class Counts(TorchFunctionMode):
        seen = ()

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.seen = (*self.seen, function.__name__)
            return function(*args, **(kwargs or {}))

    w = leaf()
    with Counts() as counts:
        x, y, loss = cheap(w)
        del x, y
        loss.backward()
    return [w.grad, " ".join(counts.seen)]


@case
def a_script_of_torchscript():
    scripted = torch.jit.script(scripted_function)
    w = leaf()
    for _ in range(3):
        scripted(w * 2).sum().backward()
    return [w.grad]


def scripted_function(x):
    y = torch.relu(x) * 2
    return torch.sin(y) * y + x.exp()


# ---- without gradients, on parameters

@case
def a_parameter_is_written_without_gradients():
    w, v = leaf(), leaf()
    y = torch.relu(w * v) * w.sin()
    with torch.no_grad():
        w.mul_(0.9)
    y.sum().backward()


@case
def parameters_are_clamped_through_data():
    model, x = net(), torch.randn(4, N)
    loss = (model(x) * model[0].weight.exp().sum()).sum()
    for p in model.parameters():
        p.data.clamp_(-0.05, 0.05)
    loss.backward()
    return gradients(model)


@case
def parameters_are_averaged_between_forward_and_backward():
    model, x = net(), torch.randn(4, N)
    average = copy.deepcopy(model).requires_grad_(False)
    for _ in range(3):
        loss = model(x).square().sum() + (model(x) - average(x)).exp().mean()
        with torch.no_grad():
            for p, a in zip(model.parameters(), average.parameters()):
                a.data = a.data * 0.9 + p.data * 0.1
        loss.backward()
    return gradients(model) + list(average.parameters())


@case
def an_optimizer_steps_before_the_backward():
    model, x = net(), torch.randn(4, N)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    model(x).sum().backward()
    loss = model(x).square().sum()
    optimizer.step()
    return [error_of(loss.backward), *gradients(model)]


@case
def tensors_of_inference_mode():
    w = leaf()
    with torch.inference_mode():
        c = torch.ones(N, N) * 2
    y = w + c
    (y * y).sum().backward()
    return [w.grad, error_of(lambda: w * c)]


@case
def a_saved_weight_is_loaded_anew():
    model, x = net(), leaf(4, N)
    state = copy.deepcopy(model.state_dict())
    loss = model(x).square().sum()
    model.load_state_dict(state)
    return [error_of(loss.backward), x.grad]


@case
def statistics_move_between_forward_and_backward():
    norm, x = nn.BatchNorm1d(N), leaf(16, N)
    loss = (norm(x * 2).exp() * x).sum()
    norm(torch.randn(16, N))
    norm.eval()
    norm(torch.randn(16, N))
    said = error_of(loss.backward)
    evaluated = norm(x * 2).sum()
    norm.train()
    norm(torch.randn(16, N))
    return [said, error_of(evaluated.backward), x.grad, norm.running_mean, *gradients(norm)]


@case
def normalised_weights():
    model = nn.Sequential(parametrizations.spectral_norm(nn.Linear(N, N)), nn.ReLU(), parametrizations.weight_norm(nn.Linear(N, N)))
    for _ in range(2):
        model(torch.randn(4, N)).sin().sum().backward()
    return gradients(model)


@case
def tensors_are_swapped():
    w, other = leaf(), torch.randn(N, N)
    c = torch.randn(N, N)
    y = (w * c).sin() * (c * 2)
    said = error_of(lambda: torch.utils.swap_tensors(c, other))
    c.zero_()
    return [said, error_of(y.sum().backward), w.grad]


# ---- numeric state that differs between forward and backward

def backward_under(state, function, scale=1.0):
    def run(change):
        w = (torch.randn(N, 4 * side()) * scale).requires_grad_()
        loss = function(w)
        with state() if change else contextlib.nullcontext():
            loss.backward()
        return [w.grad]
    return run


def forward_under(state, function, scale=1.0):
    def run(change):
        w = (torch.randn(N, 4 * side()) * scale).requires_grad_()
        with state() if change else contextlib.nullcontext():
            loss = function(w)
        loss.backward()
        return [w.grad]
    return run


@contextlib.contextmanager
def threads(before, after):
    torch.set_num_threads(after)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def flushed():
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextlib.contextmanager
def rounded(mode):
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    libm.fesetround(mode)
    try:
        yield
    finally:
        libm.fesetround(0)


UPWARD = 0x800 if os.uname().machine == "x86_64" else 0x400000
TOWARD_ZERO = 0xC00


@contextlib.contextmanager
def without_onednn():
    with torch.backends.mkldnn.flags(enabled=False):
        yield


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextlib.contextmanager
def another_default_type():
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def another_precision():
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


def products(w):
    x = torch.relu(w @ w.t() @ w)
    y = F.gelu(x * 2)
    return (y * F.softplus(x) * F.mish(w)).sum()


def normalised(w):
    x = F.batch_norm((w * 2).view(1, len(w), -1), None, None, training=True)
    y = F.layer_norm(x, x.shape[-1:]).sin()
    return (x * y * F.group_norm(x, 4)).sum()


def tiny_products(w):
    x = w * 1e-20
    y = x * 1e25
    return (y * torch.relu(x + 1) * x).sum()


STATES = {"two_threads": lambda: threads(1, 2), "flushed_denormals": flushed, "rounding_upward": lambda: rounded(UPWARD),
          "rounding_toward_zero": lambda: rounded(TOWARD_ZERO), "without_onednn": without_onednn, "deterministic_algorithms": deterministic,
          "another_default_type": another_default_type, "another_precision_of_products": another_precision}
VALUES = {"products": (products, 1.0), "norms": (normalised, 1.0), "tiny_values": (tiny_products, 1e-20)}
for state, enter in STATES.items():
    for values, (function, scale) in VALUES.items():
        changing(backward_under(enter, function, scale), f"a_backward_with_{state}_of_{values}")
        changing(forward_under(enter, function, scale), f"a_forward_with_{state}_of_{values}")


@case
def fewer_threads_in_the_backward_of_channels_last():
    """bn_threads.py: a channels-last batch norm sums in another order."""
    torch.set_num_threads(2)
    try:
        c, b, d = nn.Conv2d(8, 64, 3, padding=1), nn.BatchNorm2d(64), nn.Conv2d(64, 8, 1)
        x = torch.randn(4, 8, 37, 41).contiguous(memory_format=torch.channels_last)
        loss = (d(torch.relu(b(c(x)))) ** 2).sum()
        torch.set_num_threads(1)
        loss.backward()
        return [d.weight.grad, b.weight.grad, c.weight.grad]
    finally:
        torch.set_num_threads(1)


def under_another_setting(kind, function):
    """rw_state.py: the forward and the backward run under another process-wide setting."""
    def run():
        size = 7 * (4286 + number())
        torch.set_num_threads(2 if kind == "threads" else 1)
        try:
            scale = 1e-38 if kind == "denormals" else 1.0
            w, x = (torch.randn(size) * scale).requires_grad_(), torch.randn(size) * scale
            answers = []
            for _ in range(4):
                w.grad = None
                with torch.backends.mkldnn.flags(enabled=kind != "onednn"):
                    loss = (function(w + x) * w).sum()
                if kind == "threads":
                    torch.set_num_threads(1)
                torch.set_flush_denormal(kind == "denormals")
                loss.backward()
                torch.set_flush_denormal(False)
                if kind == "threads":
                    torch.set_num_threads(2)
                answers.append(w.grad)
            return answers
        finally:
            torch.set_num_threads(1)
            torch.set_flush_denormal(False)
    return run


FUNCTIONS = {"gelu": F.gelu, "gelu_by_tanh": lambda t: F.gelu(t, approximate="tanh"), "softplus": F.softplus, "elu": F.elu, "mish": F.mish,
             "product": lambda t: t * 0.5, "batch_norm": lambda t: F.batch_norm(t.view(7, -1, 1), None, None, training=True).view(-1)}
for kind in ("onednn", "threads", "denormals"):
    for name, function in FUNCTIONS.items():
        CASES[f"another_setting_of_{kind}_for_{name}"] = under_another_setting(kind, function)


@case
def denormals_are_flushed_in_the_forward_alone():
    """ftz.py."""
    w = torch.full((300, 300), 1e-20, requires_grad=True)
    torch.set_flush_denormal(True)
    x = w * 1e-20
    y = x * 1e25
    loss = (y * torch.relu(x + 1) * x).sum()
    del x, y
    torch.set_flush_denormal(False)
    loss.backward()
    return [w.grad]


@case
def autocast_around_the_forward_the_backward_or_both():
    answers = []
    for forward, backward in ((True, False), (False, True), (True, True)):
        model, x = net(), torch.randn(4, N)
        with torch.autocast("cpu", torch.bfloat16, enabled=forward):
            loss = model(x).float().square().sum()
        with torch.autocast("cpu", torch.bfloat16, enabled=backward):
            loss.backward()
        answers += gradients(model)
    return answers


@case
def autocast_whose_copies_are_shared():
    model, x = nn.Linear(N, N), torch.randn(4, N)
    with torch.autocast("cpu", torch.bfloat16):
        y = model(x)
        for _ in range(3):
            y = model(torch.relu(y)) + y
        with torch.no_grad():
            model(x)
        with torch.autocast("cpu", enabled=False):
            y = y.float() * 2
    y.square().sum().backward()
    return gradients(model)


@case
def seeded_between_forward_and_backward():
    w = leaf()
    y = F.dropout(w * 2, 0.5) * w.exp()
    torch.manual_seed(7)
    y.sum().backward()
    return [w.grad, torch.rand(4)]


@case
def random_numbers_of_a_generator_and_a_fork():
    generator = torch.Generator().manual_seed(3)
    w = leaf()
    x = w * torch.bernoulli(torch.full((N, N), 0.5), generator=generator)
    with torch.random.fork_rng():
        y = F.rrelu(x, training=True) * F.dropout(w, 0.1)
    (y * x).sum().backward()
    return [w.grad, torch.rand(4), torch.rand(4, generator=generator)]


@case
def gradients_are_switched_off_and_on():
    w = leaf()
    x = w * 2
    with torch.no_grad():
        c = x.sin()
        with torch.enable_grad():
            y = x.exp() * c
    with torch.set_grad_enabled(False):
        z = (y * y).sum()
    return [error_of(z.backward), error_of((y * y).sum().backward), w.grad]


# ---- threads

def in_thread(function):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(error_of(function)))
    thread.start()
    thread.join()
    return answers[0]


@case
def a_forward_here_and_a_backward_there():
    w = leaf()
    x, y, loss = cheap(w)
    del x, y
    said = in_thread(loss.backward)
    other = []
    in_thread(lambda: other.append(cheap(w)[2]))
    other[0].backward()
    return [said, w.grad]


@case
def threads_that_share_a_parameter():
    w, answers = leaf(), [None] * 6

    def take(number):
        x = torch.relu(w @ w) * (1 + number)
        answers[number] = torch.autograd.grad((x * x.sin()).sum(), w)[0]
    everyone = [threading.Thread(target=take, args=(number,)) for number in range(6)]
    [t.start() for t in everyone]
    [t.join() for t in everyone]
    return answers


@case
def threads_that_share_a_graph():
    w, answers = leaf(), [None] * 4
    x, y, loss = cheap(w)
    del x, y

    def take(number):
        answers[number] = torch.autograd.grad(loss, w, retain_graph=True)[0]
    everyone = [threading.Thread(target=take, args=(number,)) for number in range(4)]
    [t.start() for t in everyone]
    [t.join() for t in everyone]
    return answers


@case
def a_thread_ends_and_its_graph_lives_on():
    held = []

    def make():
        w = leaf()
        held.append((w, cheap(w)[2]))
    in_thread(make)
    gc.collect()
    w, loss = held.pop()
    loss.backward()
    return [w.grad]


@case
def a_thread_with_another_grad_mode():
    w = leaf()
    x = w * 2
    with torch.no_grad():
        said = in_thread(lambda: (x * x.sin()).sum().backward())
    return [said, w.grad]


# ---- deep graphs, anomalies, garbage

@case
def a_very_deep_graph():
    w = leaf(4, 4)
    x = w
    for _ in range(30_000):
        x = x * 1.00001
    (x * x).sum().backward()
    return [w.grad]


@case
def a_very_deep_graph_is_dropped():
    w = leaf(4, 4)
    x = w
    for _ in range(30_000):
        x = torch.sin(x) * 1.1
    del x
    cheap(w)[2].backward()
    return [w.grad]


@case
def a_very_long_loop_without_gradients():
    """chain_crash.py, deep_state.py: a tensor is written very often, then freed."""
    state, w = torch.ones(4, 4), leaf(4, 4)
    with torch.no_grad():
        for _ in range(30_000):
            state.mul_(0.9999)
            state.add_(w, alpha=1e-5)
    y = (w * state).sin()
    del state
    y.sum().backward()
    return [w.grad]


@case
def anomaly_mode():
    w = leaf()
    with torch.autograd.detect_anomaly(check_nan=True):
        cheap(w)[2].backward()
    return [w.grad]


@case
def an_anomaly_is_found():
    w = leaf()
    with torch.autograd.detect_anomaly():
        x = torch.sqrt(-torch.abs(w * 2) - 1)
        y = torch.relu(x * 0 + 1) * x
        y.sum().backward()


@case
def an_anomaly_after_a_change_in_place():
    w = leaf()
    with torch.autograd.detect_anomaly():
        x = w.exp()
        y = x.sin()
        x.add_(1)
        y.sum().backward()


def changed_after(make, mode):
    """The text of the version error, for each kind of node that made the changed tensor: output 0 of Clone."""
    def run():
        w = leaf()
        x = make(w)
        y = x.sin() * x
        with mode():
            x.add_(1)
        y.sum().backward()
    return run


MADE_BY = {"relu": torch.relu, "product": lambda w: w * 2, "copy": lambda w: w.clone(), "cast": lambda w: w.double(), "matmul": lambda w: w @ w,
           "transpose": lambda w: w.t() * 1, "contiguous": lambda w: w.t().contiguous(), "to": lambda w: w.to(torch.float64, copy=True),
           "cat": lambda w: torch.cat([w, w]), "norm": lambda w: F.layer_norm(w, (N,)), "add_in_place": lambda w: (w * 1).add_(w),
           "view": lambda w: (w * 2).view(-1), "dropout": lambda w: F.dropout(w, 0.5), "detached": lambda w: (w * 1).detach().requires_grad_() * 1}
for name, make in MADE_BY.items():
    CASES[f"what_{name}_made_is_changed"] = changed_after(make, torch.enable_grad)
    CASES[f"what_{name}_made_is_changed_without_gradients"] = changed_after(make, torch.no_grad)


@case
def garbage_with_graphs_in_it():
    class Node:
        pass

    w = leaf()
    for _ in range(20):
        node = Node()
        node.own, node.loss = node, cheap(w)[2]
        node.loss.register_hook(lambda g, node=node: None)
    del node
    gc.collect()
    cheap(w)[2].backward()
    return [w.grad]


@case
def an_activation_is_looked_at_before_the_backward():
    w = leaf()
    x, y, loss = cheap(w)
    buffer = io.BytesIO()
    torch.save(x, buffer)
    said = [repr(x)[:60], str(x.tolist()[0][:2]), str(copy.deepcopy(x.detach()).sum().item()), str(len(buffer.getvalue()) > 0)]
    view = memoryview(y.detach().numpy())
    del x, y
    loss.backward()
    del view
    return [w.grad, *said]


@changing
def an_activation_comes_back_by_a_weak_reference(change):
    w = square()
    x, y, loss = cheap(w)
    held = weakref.ref(x)
    again = held()
    del x, y
    if change:
        again.data.mul_(0.5)
    del again
    loss.backward()
    return [w.grad]


# ---- trainings of the suite of public cases, a few steps of each: every parameter has the same bits

def trained(optimizer, steps=12, clip=False, average=None):
    """sgd_plain.py, sgd_leak.py, leak2.py, leak_gpt.py."""
    def run():
        model, x = net(), torch.randn(4, N)
        teacher = copy.deepcopy(model).requires_grad_(False)
        made = optimizer(list(model.parameters()))

        def closure():
            made.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            return loss
        for _ in range(steps):
            made.step(closure)
            if average is not None:
                with torch.no_grad():
                    for p, t in zip(model.parameters(), teacher.parameters()):
                        average(p, t)
        return [*model.parameters(), *teacher.parameters()]
    return run


def in_place_average(p, t):
    """ema_train.py."""
    t.mul_(0.999).add_(p, alpha=0.001)


def mocos_average(p, t):
    """moco_ema.py."""
    t.data = t.data * 0.999 + p.data * 0.001


def polyaks_average(p, t):
    """polyak.py."""
    t.data.mul_(0.995)
    t.data.add_((1 - 0.995) * p.data)


SGD = torch.optim.SGD
TRAININGS = {
    "sgd": (lambda p: SGD(p, 1e-2), {}), "momentum": (lambda p: SGD(p, 1e-2, momentum=0.9), {"clip": True}),
    "weight_decay": (lambda p: SGD(p, 1e-2, momentum=0.9, weight_decay=1e-2, nesterov=True), {}),
    "momentum_by_lists": (lambda p: SGD(p, 1e-2, momentum=0.9, foreach=True), {"clip": True}),
    "fused_sgd": (lambda p: SGD(p, 1e-2, momentum=0.9, fused=True), {}), "adamw": (lambda p: torch.optim.AdamW(p, 1e-3), {"clip": True}),
    "fused_adam": (lambda p: torch.optim.Adam(p, 1e-3, fused=True), {}), "rmsprop": (lambda p: torch.optim.RMSprop(p, 1e-3, momentum=0.5), {}),
    "lbfgs": (lambda p: torch.optim.LBFGS(p, 0.1, max_iter=3), {"steps": 4}),
    "a_teacher": (lambda p: SGD(p, 1e-2), {"average": in_place_average}), "moco": (lambda p: SGD(p, 1e-2), {"average": mocos_average}),
    "polyak": (lambda p: SGD(p, 1e-2), {"average": polyaks_average}),
}
for name, (optimizer, options) in TRAININGS.items():
    CASES[f"trained_with_{name}"] = trained(optimizer, **options)


@case
def trained_on_gradients_that_are_given():
    """chain_sgd.py, sgd_crash.py."""
    p = torch.randn(N, N, requires_grad=True)
    optimizer = torch.optim.SGD([p], 1e-3, momentum=0.9)
    for _ in range(50):
        p.grad = torch.ones(N, N)
        optimizer.step()
    (p * p.sin()).sum().backward()
    return [p, p.grad]


@case
def a_small_cnn():
    """leak_cnn.py."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1, bias=False),
                          nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    x, t = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(x), t).backward()
        optimizer.step()
    return list(model.state_dict().values())


@case
def a_state_that_is_made_anew():
    """leak_state.py."""
    w = leaf()
    optimizer, average = torch.optim.SGD([w], 1e-3), w.detach().clone()
    for _ in range(10):
        optimizer.zero_grad()
        ((w * w).mean() + (average * w).sin().mean()).backward()
        optimizer.step()
        average = 0.999 * average + 0.001 * w.detach()
    return [w, average]


if __name__ == "__main__":
    hostile.main()
