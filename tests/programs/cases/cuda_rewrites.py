"""cuda_rewrites.py FUNCTION: programs with rewritten saves on CUDA. Each prints a digest of its gradients, or one line
of JSON: how much the allocator's bytes at the begin of a backward and at the peak exceed those before the step."""

import hashlib
import json
import os
import sys
import threading

import torch
from torch import nn
from torch.nn import functional as F

SIDE = 64


def digest(*tensors):
    return hashlib.sha256(b"".join(t.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() for t in tensors)).hexdigest()[:16]


def tell(net, loss):
    grads = [p.grad for p in net.parameters() if p.grad is not None]
    print(loss.item().hex(), digest(*grads), sum(g.abs().sum().item() for g in grads) > 0)


def trained(net, x, steps=3):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        loss = net(x).float().square().mean()
        loss.backward()
        tell(net, loss)
        optimizer.step()
        optimizer.zero_grad()


class Branches(nn.Module):
    """Saves that rewrites replace by bits, small integers, nothing, a recomputation or a shared copy. A simulated GPU
    computes the values of these tensors."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(SIDE, SIDE), nn.Linear(SIDE, SIDE)
        self.norm, self.frozen = nn.LayerNorm(SIDE), nn.Linear(SIDE, SIDE).requires_grad_(False)

    def forward(self, x):
        h = F.relu(self.up(x))
        h = F.leaky_relu(self.down(F.gelu(self.norm(h))), 0.2) + F.hardtanh(self.up(h), -0.5, 0.25)
        h = self.frozen(F.relu6(h.clamp(-0.75, 0.5) + h.clamp_min(0.1) * 2))
        h = torch.where(h > 0.1, h, h * h.sigmoid()).masked_fill(h < -1, 0.5)
        pooled = F.max_pool2d(h.view(1, 1, SIDE, SIDE), 2).flatten()
        padded = F.avg_pool2d(F.pad(h.view(1, 1, SIDE, SIDE), (1, 1, 1, 1), mode="reflect"), 2).flatten()
        return torch.cat([pooled, padded, (h.clone() * h.clone()).flatten()])


def values():
    torch.manual_seed(0)
    net, x = Branches(), torch.randn(SIDE, SIDE)
    x[0, 0], x[1, 1], x[2, 2] = 100, -100, 0
    trained(net.cuda(), x.cuda())


def autocast():
    torch.manual_seed(0)
    net, x = Branches().cuda(), torch.randn(SIDE, SIDE).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        with torch.autocast("cuda", torch.bfloat16):
            loss = net(x).float().square().mean()
        with torch.no_grad():
            net.up.weight += 0.125  # must not change the saved copies
        loss.backward()
        tell(net, loss)
        optimizer.step()
        optimizer.zero_grad()


def threads():
    """Two threads run one forward each. A third thread and the engine's thread run the backwards."""
    torch.manual_seed(0)
    nets, inputs, losses = [Branches().cuda() for _ in range(2)], [torch.randn(SIDE, SIDE).cuda() for _ in range(2)], [None, None]

    def forward(i):
        losses[i] = nets[i](inputs[i]).square().mean()

    for _ in range(3):
        for work in ([threading.Thread(target=forward, args=(i,)) for i in range(2)],
                     [threading.Thread(target=lambda: [loss.backward() for loss in losses])]):
            for thread in work:
                thread.start()
            for thread in work:
                thread.join()
        for net, loss in zip(nets, losses):
            tell(net, loss)
            net.zero_grad()


def side_stream():
    """The whole step runs on a stream that the program creates."""
    torch.manual_seed(0)
    net, x = Branches().cuda(), torch.randn(SIDE, SIDE).cuda()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        trained(net, x)


def two_streams():
    """One stream reads the result of another one. Nodes on both streams save the result."""
    torch.manual_seed(0)
    net, x, side = Branches().cuda(), torch.randn(SIDE, SIDE).cuda(), torch.cuda.Stream()
    for _ in range(3):
        h = F.relu(net.up(x))
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            other = F.relu(net.down(h))
        torch.cuda.current_stream().wait_stream(side)
        loss = (F.relu(net.down(h)) * other).square().mean()
        del h, other
        loss.backward()
        tell(net, loss)
        net.zero_grad()


def graphed():
    """Captures the forward and backward of a part of the net, and replays the graph."""
    torch.manual_seed(0)
    net, x = Branches().cuda(), torch.randn(SIDE, SIDE).cuda()
    part = nn.Sequential(nn.Linear(SIDE, SIDE), nn.ReLU(), nn.Linear(SIDE, SIDE), nn.ReLU()).cuda()
    part = torch.cuda.make_graphed_callables(part, (x.clone().requires_grad_(),))
    for _ in range(3):
        loss = net(part(F.relu(net.up(x)))).square().mean()
        loss.backward()
        tell(net, loss)
        net.zero_grad()


def double():
    torch.manual_seed(0)
    net, x = Branches().cuda(), torch.randn(SIDE, SIDE).cuda().requires_grad_()
    for _ in range(2):
        slope, = torch.autograd.grad(net(x).square().mean(), x, create_graph=True)
        loss = slope.square().sum()
        loss.backward()
        tell(net, loss)
        net.zero_grad()


# ---- bytes: kernels compute nothing, and memory is as on a GPU

def requested(what):
    return torch.cuda.memory_stats()[f"requested_bytes.all.{what}"]


def measured(forward):
    """The last of three steps: bytes saved at the begin of the backward, and the peak."""
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        before, saved = requested("current"), []
        loss = forward()
        loss.register_hook(lambda _: saved.append(requested("current") - before))
        loss.backward()
        del loss
    print(json.dumps({"saved": saved[0], "peak": requested("peak") - before}))


def images():
    return torch.randn(4, 8, 128, 128, device="cuda")


def frozen_convolutions():
    first, *others = (nn.Conv2d(8, 8, 3, padding=1, bias=False, device="cuda") for _ in range(4))
    for layer in others:
        layer.requires_grad_(False)
    x = images()
    measured(lambda: nn.Sequential(first, *others)(x).sum())


def relus():
    weight, x = nn.Parameter(torch.ones((), device="cuda")), images()
    measured(lambda: F.relu(F.relu(x + weight) + weight).sum())


def dropouts():
    weight, x = nn.Parameter(torch.ones((), device="cuda")), images()
    measured(lambda: F.dropout(F.dropout(x + weight, 0.5), 0.5).sum())


def dropped(order=lambda x: x):
    """A product saves a dropout's result, whose input exp saves."""
    first, second = (nn.Parameter(torch.randn(128, 128, device="cuda")) for _ in range(2))
    x = images()

    def forward():
        h = order((x @ first).exp())
        return (F.dropout(h, 0.3) * order(x @ second)).sum()

    measured(forward)


def dropped_transposed():
    """The result has another memory format than a recomputed result."""
    dropped(lambda x: x.transpose(1, 2))


def copies():
    """The product of two copies saves both."""
    weight, x = nn.Parameter(torch.ones((), device="cuda")), images()

    def forward():
        h = (x + weight).exp()
        return (h.clone() * h.clone()).sum()

    measured(forward)


def weights_of_autocast(forwards=1):
    """Prints the allocated bytes when each forward of a context has ended, for three contexts."""
    net, x = nn.Sequential(*(nn.Linear(1024, 1024, bias=False) for _ in range(8))).cuda(), torch.randn(64, 1024, device="cuda", requires_grad=True)
    for _ in range(3):
        losses = []
        with torch.autocast("cuda", torch.bfloat16):
            for _ in range(forwards):
                losses.append(net(x).float().square().mean())
                print(torch.cuda.memory_allocated())
        sum(losses).backward()
        net.zero_grad()


def weights_of_autocast_that_are_stepped_in_the_context():
    """Prints the most allocated bytes of three steps in one context: its copies of the weights have the values of the first."""
    net, x = nn.Sequential(*(nn.Linear(1024, 1024, bias=False) for _ in range(8))).cuda(), torch.randn(64, 1024, device="cuda")
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, foreach=False)
    with torch.autocast("cuda", torch.bfloat16):
        for _ in range(3):
            torch.cuda.reset_peak_memory_stats()
            net(x).float().square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            print(torch.cuda.max_memory_allocated())


def weights_of_autocast_that_are_read_again():
    weights_of_autocast(forwards=2)


def weights_of_autocast_between_saves():
    """Prints the bytes that the allocator has after a forward with saves that are smaller than the copies of weights."""
    net = nn.Sequential(*(layer for _ in range(48) for layer in (nn.Linear(1024, 1024, bias=False), nn.Tanh()))).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        loss = net(torch.randn(640, 1024, device="cuda")).float().square().mean()
    print(torch.cuda.memory_reserved())
    loss.backward()


def pooled():
    weight, x = nn.Parameter(torch.ones((), device="cuda")), images()
    measured(lambda: F.max_pool2d(x + weight, 2).sum())


# ---- nets with predictions of rewrites

def stepped(net, x, steps=3):
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for _ in range(steps):
        with torch.autocast("cuda", torch.bfloat16):
            loss = net(x).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def convolutions():
    def block(inner, outer):
        return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU())

    net = nn.Sequential(block(8, 16), nn.MaxPool2d(2), block(16, 16), block(16, 16).requires_grad_(False), nn.Dropout(0.1), nn.Conv2d(16, 4, 1))
    stepped(net.cuda(), images())


def transformer():
    layers = [nn.TransformerEncoderLayer(256, 8, 1024, 0.1, activation=activation, batch_first=True, norm_first=True)
              for activation in ("gelu", "relu", "gelu")]
    stepped(nn.Sequential(*layers).cuda(), torch.randn(8, 256, 256, device="cuda"))


class LanguageModel(nn.Module):
    """`own_loss`: the model returns the loss, so that the program has no logits. `upcast`: as transformers, the logits become float32."""

    def __init__(self, words=32000, width=512, own_loss=False, upcast=False):
        super().__init__()
        self.own_loss, self.upcast = own_loss, upcast
        self.words, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(4))

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = x + layer(x)
        logits = self.head(x).float() if self.upcast else self.head(x)
        return loss_of(logits, tokens) if self.own_loss else logits


def loss_of(logits, tokens, **options):
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten(), **options)


def language_model(autocast=False, dtype=torch.float32, smoothing=0.0, **options):
    with torch.device("cuda"):
        net = LanguageModel(**options).to(dtype)
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(3):
        tokens = torch.randint(0, 32000, (4, 512), device="cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            out = net(tokens)
            loss = out if net.own_loss else loss_of(out, tokens, label_smoothing=smoothing)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def language_model_with_own_loss():
    language_model(own_loss=True)


def language_model_under_autocast():
    language_model(autocast=True)


def language_model_in_bfloat16():
    language_model(dtype=torch.bfloat16, upcast=True)


def language_model_with_smooth_labels():
    language_model(smoothing=0.1)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    sys.stdout.flush()
    os._exit(0)  # another test covers the end of the interpreter
