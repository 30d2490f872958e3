"""One way to train a net on the CPU: checkpointing_worker.py NET WAY [STEPS]. Without STEPS, each line of standard input is a number
of steps; prints their times by the wall clock and in processor time, ns. Used by bench/checkpointing.py."""
import functools
import json
import pathlib
import sys
import time

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "samples"))
PRODUCTS = {torch.ops.aten.mm.default, torch.ops.aten.bmm.default, torch.ops.aten.addmm.default, torch.ops.aten.convolution.default}


def gpt():
    """The net of `samples/gpt.py --size medium`."""
    from gpt import GPT
    vocabulary, length, batch = 1024, 128, 8
    model = GPT(vocabulary, length, 256, 8, 4, False)

    def loss(logits, tokens):
        return F.cross_entropy(logits.reshape(-1, vocabulary), tokens[:, 1:].reshape(-1))

    return model, model.layers, lambda: torch.randint(0, vocabulary, (batch, length + 1)), lambda tokens: tokens[:, :-1], loss


def resnet50():
    import torchvision
    model = torchvision.models.resnet50()
    blocks = [block for name in ("layer1", "layer2", "layer3", "layer4") for block in getattr(model, name)]
    return model, blocks, lambda: torch.randn(4, 3, 160, 160), lambda images: images, lambda out, images: out.square().mean()


NETS = {"gpt": gpt, "resnet50": resnet50}


def keep_products(ctx, operator, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if operator in PRODUCTS else CheckpointPolicy.PREFER_RECOMPUTE


def train_by(way, model, layers):
    """The model as this way trains it. `layers`: those that checkpointing wraps, each alone."""
    if way in ("full", "selective"):
        more = {"context_fn": functools.partial(create_selective_checkpoint_contexts, keep_products)} if way == "selective" else {}
        for layer in layers:
            layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False, **more)
    elif way.startswith("compile-"):
        import torch._functorch.config
        torch._functorch.config.activation_memory_budget = float(way.removeprefix("compile-"))
        return torch.compile(model)
    elif way != "stock":
        raise SystemExit(f"unknown way: {way}")
    return model


def main():
    net, way, *steps = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, layers, batch, inputs, loss_of = NETS[net]()
    trained = train_by(way, model, layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        data = batch()
        begin, cpu = time.perf_counter_ns(), time.process_time_ns()
        optimizer.zero_grad()
        loss = loss_of(trained(inputs(data)), data)
        loss.backward()
        optimizer.step()
        return time.perf_counter_ns() - begin, time.process_time_ns() - cpu

    for turn in steps or sys.stdin:
        print(json.dumps([step() for _ in range(int(turn))]), flush=True)


if __name__ == "__main__":
    main()
