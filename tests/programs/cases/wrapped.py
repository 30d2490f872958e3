"""wrapped.py CASE: programs whose tensors wrap others (sharded, nested, packed, bucketed, kept by checkpointing). The
bytes of each parameter of a rank, by name, and the placements of DTensors go to $TRUTH.RANK, if set."""

import functools
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from ranks import WORLD, launch

WIDTH, ROWS = 384, 512


class Mlp(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        # Without biases: the engine sums the gradient of a bias after the node's evaluation and before the release of
        # its saves.
        self.up, self.down = nn.Linear(width, 2 * width, bias=False), nn.Linear(2 * width, width, bias=False)
        self.gate = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x)))) * self.gate


def parts(tensor):
    """The ordinary tensors that a tensor consists of."""
    if not hasattr(type(tensor), "__tensor_flatten__"):
        return [tensor]
    attributes = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
    return [one for attribute in attributes if isinstance(attribute, torch.Tensor) for one in parts(attribute)]


def tell(net):
    if "TRUTH" not in os.environ:
        return
    rank = dist.get_rank() if dist.is_initialized() else 0
    truth = {"bytes": {name: sum(one.numel() * one.element_size() for one in parts(p)) for name, p in net.named_parameters()},
             "spread": {name: [str(tuple(p.device_mesh.mesh.shape)), p.device_mesh.get_coordinate(), [str(type(one).__name__) for one in p.placements],
                               p.to_local().numel() * p.element_size(), p.numel() * p.element_size()]
                        for name, p in net.named_parameters() if hasattr(p, "placements")}}
    with open(f"{os.environ['TRUTH']}.{rank}", "w", encoding="utf-8") as file:
        json.dump(truth, file)


def train(net, forward=None, steps=3, x=None):
    tell(net)
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        (forward or net)(torch.randn(ROWS, WIDTH) if x is None else x).square().mean().backward()
        optimizer.step()


def stack():
    return nn.Sequential(*(Mlp() for _ in range(3)))


class Called(nn.Sequential):
    """The same net with a custom call of its blocks."""

    def __init__(self, call):
        super().__init__(*stack())
        self.call = call

    def forward(self, x):
        for block in self:
            x = self.call(block, x)
        return x


def fsdp2(_rank):
    from torch.distributed.fsdp import fully_shard
    net = stack()
    for block in net:
        fully_shard(block)
    fully_shard(net)
    train(net)


def tensor_parallel(_rank):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh("cpu", (WORLD,))
    net = stack()
    for block in net:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    train(net)


def ddp(_rank, views=False):
    train(nn.parallel.DistributedDataParallel(stack(), gradient_as_bucket_view=views))


class Quantized(torch.Tensor):
    """Rows of bytes with a scale each: a frozen weight, as libraries of quantization keep it."""

    @staticmethod
    def __new__(cls, data, scale):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=scale.dtype)

    def __init__(self, data, scale):
        self.data_, self.scale_ = data, scale

    def __tensor_flatten__(self):
        return ["data_", "scale_"], None

    @staticmethod
    def __tensor_unflatten__(inner, _context, _size, _stride):
        return Quantized(inner["data_"], inner["scale_"])

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function, _types, arguments=(), keywords=None):
        def plain(value):
            return value.data_ * value.scale_ if isinstance(value, cls) else value
        if function is torch.ops.aten.detach.default:
            return cls(arguments[0].data_, arguments[0].scale_)
        return function(*map(plain, arguments), **(keywords or {}))


def quantized():
    net = stack()
    for block in net:
        for layer in (block.up, block.down):
            data = torch.randint(-127, 127, layer.weight.shape, dtype=torch.int8)
            scale = torch.full((len(data), 1), 1e-3)
            layer.weight = nn.Parameter(Quantized(data, scale), requires_grad=False)
    train(net)


def nested():
    net = stack()
    lengths = torch.tensor([31, 170, 44, 267])
    sentences = [torch.randn(length, WIDTH) for length in lengths]
    tokens = torch.nested.nested_tensor(sentences, layout=torch.jagged)
    del sentences
    train(net, lambda x: net(x).values(), x=tokens)


def save_on_cpu():
    net = stack()

    def forward(x):
        with torch.autograd.graph.save_on_cpu():
            return net(x)
    train(net, forward)


def offloaded():
    """Hooks that keep packed tensors in a private table, as offloading libraries do."""
    net, table = stack(), {}

    def pack(tensor):
        table[len(table)] = tensor.clone()
        return len(table) - 1

    def forward(x):
        with torch.autograd.graph.saved_tensors_hooks(pack, table.pop):
            return net(x)
    train(net, forward)


def selective():
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

    def policy(_context, function, *_arguments, **_keywords):
        keeps = function in (torch.ops.aten.mm.default, torch.ops.aten.gelu.default)
        return CheckpointPolicy.MUST_SAVE if keeps else CheckpointPolicy.PREFER_RECOMPUTE
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    train(Called(functools.partial(checkpoint, use_reentrant=False, context_fn=contexts)))


class Stashing(torch.autograd.Function):
    """Keeps tensors on ctx itself instead of save_for_backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.mask = (x > 0).to(x.dtype)
        ctx.parts = [x.abs(), {"root": x.abs().sqrt()}]
        return x * ctx.mask

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.mask + 0 * ctx.parts[0] + 0 * ctx.parts[1]["root"]


def stashed():
    train(Called(lambda block, x: Stashing.apply(block(x))))


RANKED = {"fsdp2": fsdp2, "tensor_parallel": tensor_parallel, "ddp": ddp,
          "ddp_views": functools.partial(ddp, views=True)}
ALONE = {"quantized": quantized, "nested": nested, "save_on_cpu": save_on_cpu, "offloaded": offloaded,
         "selective": selective, "stashed": stashed}

if __name__ == "__main__":
    if sys.argv[1] in RANKED:
        launch(RANKED[sys.argv[1]])
    else:
        from common import start
        start()
        ALONE[sys.argv[1]]()
