"""Autograd features besides one forward and one backward. Each function returns tensors or raises. One JSON line for
each has a digest of their bits, or the error. With and without rewrites the lines must be the same."""
import copy
import gc
import hashlib
import json
import sys
import threading
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

warnings.simplefilter("ignore")
torch.set_num_threads(1)
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def net():
    """One saved tensor for each rewrite."""
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1).requires_grad_(False),
                         nn.ReLU6(), nn.MaxPool2d(2), nn.Conv2d(16, 16, 3, padding=1), nn.LeakyReLU(0.1), nn.GELU(),
                         nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.LayerNorm(256), nn.Linear(256, 256), nn.SiLU(),
                         nn.Dropout(0.2), nn.Linear(256, 8))


def batch(count=4):
    return torch.randn(count, 3, 32, 32)


def grads(model):
    return [p.grad for p in model.parameters() if p.grad is not None]


@case
def plain():
    model = net()
    model(batch()).square().sum().backward()
    return grads(model)


@case
def input_gradient_of_a_frozen_net():
    model, x = net().requires_grad_(False).eval(), batch().requires_grad_()
    model(x).square().sum().backward()
    return [x.grad]


@case
def retain_graph():
    model = net()
    loss = model(batch()).square().sum()
    loss.backward(retain_graph=True)
    once = [g.clone() for g in grads(model)]
    loss.backward(retain_graph=True)
    loss.backward()
    return once + grads(model)


@case
def backward_twice_is_an_error():
    loss = net()(batch()).square().sum()
    loss.backward()
    loss.backward()


@case
def create_graph():
    model, x = net(), batch().requires_grad_()
    (g,) = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
    g.square().sum().backward()
    return [x.grad, *grads(model)]


@case
def triple_backward():
    x = torch.randn(64, 64, requires_grad=True)
    y = F.gelu(F.relu(x @ x)).sum() + F.silu(x).pow(3).sum()
    for _ in range(2):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        y = y.square().sum()
    y.backward()
    return [x.grad]


@case
def hooks_on_saved_tensors():
    model = net()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        model(batch()).square().sum().backward()
    return grads(model)


@case
def saved_on_the_cpu():
    model = net()
    with torch.autograd.graph.save_on_cpu():
        model(batch()).square().sum().backward()
    return grads(model)


@case
def checkpointed():
    model, x = net(), batch().requires_grad_()
    checkpoint(model, x, use_reentrant=False).square().sum().backward()
    return [x.grad, *grads(model)]


@case
def checkpointed_reentrant():
    model, x = net(), batch().requires_grad_()
    checkpoint(model, x, use_reentrant=True).square().sum().backward()
    return [x.grad, *grads(model)]


@case
def part_of_it_checkpointed():
    model, x = net(), batch()
    checkpoint(model[4:], model[:4](x), use_reentrant=False).square().sum().backward()
    return grads(model)


@case
def anomaly_mode():
    model = net()
    with torch.autograd.detect_anomaly(check_nan=True):
        model(batch()).square().sum().backward()
    return grads(model)


@case
def anomaly_is_found():
    x = torch.full((64, 64), -1.0, requires_grad=True)
    with torch.autograd.detect_anomaly():
        F.relu(x.sqrt()).sum().backward()


@case
def four_threads():
    models = [net() for _ in range(4)]
    inputs = [batch() for _ in models]

    def train(model, x):
        for _ in range(3):
            model.eval()(x).square().sum().backward()

    threads = [threading.Thread(target=train, args=pair) for pair in zip(models, inputs)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return [g for model in models for g in grads(model)]


@case
def backward_in_another_thread():
    model = net()
    loss = model(batch()).square().sum()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    return grads(model)


@case
def functional_gradients():
    model, x = net().eval(), batch()
    parameters = dict(model.named_parameters())

    def loss(parameters, x):
        return torch.func.functional_call(model, parameters, (x.unsqueeze(0),)).square().sum()

    per_sample = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)
    return [per_sample[name] for name in sorted(per_sample)]


@case
def jacobians():
    x = torch.randn(32, 32)
    function = lambda x: F.relu(F.gelu(x @ x)).sum(0)
    return [torch.func.jacrev(function)(x), torch.func.jacfwd(function)(x), torch.func.hessian(lambda x: function(x).sum())(x[:8, :8])]


@case
def forward_mode():
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.randn(64, 64, requires_grad=True), torch.randn(64, 64))
        out = torch.autograd.forward_ad.unpack_dual(F.relu(F.gelu(x)) * x)
        return [out.primal, out.tangent]


@case
def compiled():
    model = net().eval()
    torch.compile(model, backend="aot_eager")(batch()).square().sum().backward()
    return grads(model)


@case
def compiled_in_part():
    model = net().eval()
    model[0] = torch.compile(model[0], backend="eager")
    model(batch()).square().sum().backward()
    return grads(model)


@case
def traced():
    model, x = net().eval(), batch()
    traced = torch.jit.trace(model, x)
    traced(x).square().sum().backward()
    return [*grads(model), torch.tensor(len(str(traced.graph)))]


@case
def autocast():
    model = net()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(batch()).float().square().sum()
    loss.backward()
    return grads(model)


@case
def backward_inside_of_autocast():
    model = net()
    with torch.autocast("cpu", torch.bfloat16):
        model(batch()).float().square().sum().backward()
    return grads(model)


class Tagged(torch.Tensor):
    pass


@case
def subclass():
    model = net()
    model(batch().as_subclass(Tagged)).square().sum().backward()
    return grads(model)


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        unwrap = lambda t: t.inner if isinstance(t, Wrapped) else t
        out = function(*torch.utils._pytree.tree_map(unwrap, args), **torch.utils._pytree.tree_map(unwrap, kwargs or {}))
        return torch.utils._pytree.tree_map(lambda t: Wrapped(t) if isinstance(t, torch.Tensor) else t, out)


@case
def wrapper_subclass():
    x = Wrapped(torch.randn(64, 64)).requires_grad_()
    F.relu(F.gelu(x) * 2).sum().backward()
    return [x.grad.inner]


@case
def in_place_after_save():
    x = torch.randn(128, 128, requires_grad=True)
    y = F.relu(x * 2)
    y.add_(1)
    y.sum().backward()


@case
def in_place_on_what_a_convolution_saved():
    x = batch()
    model = net()
    y = model[0](x)
    x.mul_(2)
    y.sum().backward()
    return grads(model)


@case
def in_place_on_what_a_frozen_layer_does_not_need():
    model = net()
    h = model[:3](batch())
    y = model[3](h)
    y.sum().backward()
    return grads(model)


@case
def in_place_on_a_view():
    x = torch.randn(128, 128, requires_grad=True)
    y = F.gelu(x)
    z = y @ y
    y[:, 0].zero_()
    z.sum().backward()


@case
def writes_through_data():
    x = torch.randn(128, 128, requires_grad=True)
    weight = torch.randn(128, 128, requires_grad=True)
    y = F.gelu(x)
    y.data.mul_(3)
    (y @ weight).sum().backward()
    return [x.grad, weight.grad]


@case
def writes_through_a_detached_alias():
    x = torch.randn(128, 128, requires_grad=True)
    weight = torch.randn(128, 128, requires_grad=True)
    y = F.gelu(x)
    with torch.no_grad():
        y.detach()[:4] = 7
    (y @ weight).sum().backward()
    return [x.grad, weight.grad]


@case
def writes_through_numpy():
    x = torch.randn(128, 128, requires_grad=True)
    weight = torch.randn(128, 128, requires_grad=True)
    y = F.gelu(x)
    y.detach().numpy()[:4] = 7
    (y @ weight).sum().backward()
    return [x.grad, weight.grad]


@case
def parameters_stepped_before_the_backward():
    model = net()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model[12:](torch.randn(64, 256)).float().square().sum()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.5)
    loss.backward()
    return grads(model)


@case
def source_written_before_the_backward():
    x = torch.randn(256, 256, requires_grad=True)
    weight = torch.randn(256, 256, requires_grad=True)
    h = x * 2
    y = h.to(torch.bfloat16).float() @ weight
    h.add_(1)
    y.sum().backward()
    return [x.grad, weight.grad]


@case
def in_place_activations():
    x = batch().requires_grad_()
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.Conv2d(16, 16, 3), nn.BatchNorm2d(16),
                          nn.Hardtanh(inplace=True), nn.Conv2d(16, 16, 3), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(16, 4, 3),
                          nn.SiLU(inplace=True), nn.Conv2d(4, 4, 3))
    model(x).square().sum().backward()
    return [x.grad, *grads(model)]


@case
def residual_blocks():
    blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                                         nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16)) for _ in range(6))
    x = torch.randn(2, 16, 32, 32)
    for block in blocks:
        out = block(x)
        out += x
        x = F.relu(out, inplace=True)
    x.square().sum().backward()
    return grads(blocks)


@case
def running_statistics_move_once():
    model = net()
    for _ in range(3):
        model(batch()).square().sum().backward()
    return [model[1].running_mean, model[1].running_var, model[1].num_batches_tracked, *grads(model)]


@case
def random_numbers_go_on_alike():
    model = net()
    model(batch()).square().sum().backward()
    return [torch.rand(8), *grads(model)]


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y, gradient * x


@case
def custom_function():
    x = torch.randn(128, 128, requires_grad=True)
    h = F.relu(x)
    Twice.apply(h, F.gelu(h)).sum().backward()
    return [x.grad]


@case
def outputs_that_the_program_keeps():
    model, x, kept = net(), batch(), []
    for layer in model:
        x = layer(x)
        kept.append(x)
    x.square().sum().backward()
    return grads(model) + [t.detach().clone() for t in kept]


@case
def outputs_looked_at_in_between():
    model, x = net(), batch()
    seen = []
    for layer in model:
        x = layer(x)
        seen.append(x.detach().mean())
    x.square().sum().backward()
    return grads(model) + seen


@case
def gradient_hooks():
    model, seen = net(), []
    x = batch()
    for layer in model:
        x = layer(x)
        if x.requires_grad:
            x.register_hook(lambda g: seen.append(g.clone()) or g * 0.5)
    x.square().sum().backward()
    return grads(model) + seen


@case
def a_part_of_the_gradients():
    model, x = net(), batch().requires_grad_()
    h = model[:6](x)
    return list(torch.autograd.grad(model[6:](h).square().sum(), [h, x, model[0].weight, model[12].weight]))


@case
def not_finite_values():
    x = torch.randn(256, 256)
    x[0, 0], x[1, 1], x[2, 2] = float("nan"), float("inf"), -float("inf")
    x.requires_grad_()
    y = F.relu(x) + F.hardtanh(x) + F.leaky_relu(x) + x.clamp(-0.5, 0.5) + F.hardsigmoid(x) + F.threshold(x, 0.1, 2) + F.relu6(x)
    y.sum().backward()
    return [x.grad]


@case
def zeros_and_bounds():
    x = torch.tensor([-3.0, -1.0, -0.0, 0.0, 1e-45, 0.5, 1.0, 3.0, 6.0]).repeat(4096)
    out = []
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        y = x.to(dtype).clone().requires_grad_()
        (F.relu(y) + F.hardtanh(y) + F.leaky_relu(y) + y.clamp(-1, 1) + y.clamp(min=0) + y.clamp(max=1) + F.hardsigmoid(y) +
         F.threshold(y, 0.5, 2) + F.relu6(y)).sum().backward()
        out.append(y.grad)
    return out


@case
def masks_and_indices():
    x = torch.randn(256, 512, requires_grad=True)
    mask = torch.rand(256, 512) > 0.5
    y = torch.where(mask, x, x * 2) + x.masked_fill(mask, 1.5)
    values, indices = x.sort(dim=1)
    top, places = x.topk(200, dim=1)
    (y.sum() + (values * torch.arange(512)).sum() + top.square().sum() + x.gather(1, places).pow(3).sum()).backward()
    return [x.grad]


@case
def attention():
    torch.manual_seed(3)
    layer = nn.MultiheadAttention(64, 4, dropout=0.1, batch_first=True)
    x = torch.randn(4, 64, 64, requires_grad=True)
    causal = torch.triu(torch.ones(64, 64, dtype=torch.bool), 1)
    layer(x, x, x, attn_mask=causal, need_weights=True)[0].square().sum().backward()
    return [x.grad, *grads(layer)]


@case
def transformer():
    layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
    x = torch.randn(8, 64, 64, requires_grad=True)
    layer(layer(x)).square().sum().backward()
    return [x.grad, *grads(layer)]


@case
def recurrent():
    out = []
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        model = kind(64, 64, 2, dropout=0.1)
        model(torch.randn(32, 16, 64))[0].square().sum().backward()
        out += grads(model)
    return out


@case
def views_of_what_is_made_again():
    x = torch.randn(64, 32, 32, requires_grad=True)
    weight = torch.randn(32, 32, requires_grad=True)
    h = F.gelu(x)
    y = h.transpose(1, 2) @ weight + h[:, :, 1:].sum() + torch.bmm(h, h.transpose(1, 2)) + h.reshape(32, 64, 32).permute(1, 0, 2) @ weight
    y.sum().backward()
    return [x.grad, weight.grad]


@case
def channels_last():
    model = net().to(memory_format=torch.channels_last)
    model(batch().to(memory_format=torch.channels_last)).square().sum().backward()
    return grads(model)


@case
def training_goes_on():
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(6):
        loss = model(batch(2 + step % 3)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses + list(model.state_dict().values())


@case
def copies_of_the_model():
    model = net()
    model(batch()).square().sum().backward()
    twin = copy.deepcopy(model)
    twin(batch()).square().sum().backward()
    return grads(model) + grads(twin)


@case
def graph_dropped_without_a_backward():
    model = net()
    for _ in range(3):
        model(batch())
    gc.collect()
    model(batch()).square().sum().backward()
    return grads(model)


@case
def inference():
    model = net().eval()
    with torch.inference_mode():
        out = model(batch())
    with torch.no_grad():
        return [out.clone(), model(batch())]


@case
def an_operator_that_raises():
    model, x = net(), batch()
    try:
        model[4:](model[0](x))
    except RuntimeError:
        pass
    model(x).square().sum().backward()
    return grads(model)


def digest(tensors):
    hashed = hashlib.blake2b(digest_size=12)
    for tensor in tensors or ():
        tensor = tensor.detach()
        hashed.update(repr((tuple(tensor.shape), tensor.stride(), tensor.dtype)).encode())
        hashed.update(bytes(tensor.contiguous().flatten().view(torch.uint8).numpy()))
    return hashed.hexdigest()


if __name__ == "__main__":
    for name, function in CASES.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        torch.manual_seed(0)
        try:
            answer = digest(function())
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".split("\n")[0]
        print(json.dumps([name, answer]), flush=True)
