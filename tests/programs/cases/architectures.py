"""Small training programs of one architecture each, in the usual style: architectures.py NAME [STEPS]. They are
deterministic on one thread, and print their losses."""

import random
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
torch.set_num_threads(1)

PROGRAMS = {}


def program(make):
    """`make` returns the parameters and a function that computes a loss."""
    PROGRAMS[make.__name__] = make
    return make


# ---- sequences


class ConvLSTMCell(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Conv2d(channels + hidden, 4 * hidden, 3, padding=1)

    def forward(self, x, state):
        h, c = state
        i, f, o, g = torch.chunk(self.gates(torch.cat([x, h], 1)), 4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)


@program
def convlstm():
    cells = nn.ModuleList([ConvLSTMCell(1, 16), ConvLSTMCell(16, 16)])
    head = nn.Conv2d(16, 1, 1)
    frames = torch.rand(4, 6, 1, 32, 32)

    def loss():
        states = [(torch.zeros(4, 16, 32, 32), torch.zeros(4, 16, 32, 32)) for _ in cells]
        total = 0.0
        for t in range(frames.shape[1] - 1):
            x = frames[:, t]
            for i, cell in enumerate(cells):
                x, states[i] = cell(x, states[i])
            total = total + F.binary_cross_entropy_with_logits(head(x), frames[:, t + 1])
        return total

    return [*cells.parameters(), *head.parameters()], loss


@program
def convlstm_split():
    """Gates as slices of one activation, the state's update in place."""
    gates, head = nn.Conv2d(24, 64, 3, padding=1), nn.Conv2d(16, 8, 1)
    frames = torch.rand(4, 5, 8, 32, 32)

    def loss():
        h = c = torch.zeros(4, 16, 32, 32)
        out = []
        for t in range(frames.shape[1]):
            z = gates(torch.cat([frames[:, t], h], 1))
            i, f, o, g = z.split(16, 1)
            c = f.sigmoid() * c
            c.add_(i.sigmoid() * g.tanh())
            h = o.sigmoid() * c.tanh()
            out.append(head(h))
        return F.mse_loss(torch.stack(out[:-1], 1), frames[:, 1:])

    return [*gates.parameters(), *head.parameters()], loss


@program
def gru_packed():
    embed, rnn, head = nn.Embedding(200, 64), nn.GRU(64, 96, 2, batch_first=True, bidirectional=True), nn.Linear(192, 20)
    words = torch.randint(0, 200, (16, 40))
    lengths = torch.arange(40, 8, -2)
    tags = torch.randint(0, 20, (16, 40))

    def loss():
        packed = pack_padded_sequence(embed(words), lengths, batch_first=True)
        out, _ = pad_packed_sequence(rnn(packed)[0], batch_first=True)
        mask = torch.arange(40)[None] < lengths[:, None]
        return F.cross_entropy(head(out)[mask], tags[mask])

    return [*embed.parameters(), *rnn.parameters(), *head.parameters()], loss


@program
def lstm_cells():
    """A hand-written loop over LSTMCell with layer normalisation between."""
    cells = nn.ModuleList([nn.LSTMCell(128, 192), nn.LSTMCell(192, 192)])
    norms = nn.ModuleList([nn.LayerNorm(192), nn.LayerNorm(192)])
    head = nn.Linear(192, 128)
    x = torch.randn(12, 96, 128)

    def loss():
        states = [(torch.zeros(96, 192), torch.zeros(96, 192)) for _ in cells]
        total = 0
        for t in range(len(x) - 1):
            y = x[t]
            for i, (cell, norm) in enumerate(zip(cells, norms)):
                states[i] = cell(y, states[i])
                y = F.silu(norm(states[i][0]))
            total = total + (head(y) - x[t + 1]).square().mean()
        return total / len(x)

    return [*cells.parameters(), *norms.parameters(), *head.parameters()], loss


class CausalBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.ln1(x)).split(w, 2))
        att = (q @ k.transpose(-2, -1)) * (k.shape[-1] ** -0.5)
        att = att.masked_fill(torch.ones(t, t).tril() == 0, float("-inf"))
        y = F.dropout(F.softmax(att, -1), 0.1) @ v
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, w))
        return x + self.mlp(self.ln2(x))


@program
def gpt():
    embed, place = nn.Embedding(300, 96), nn.Parameter(torch.randn(128, 96) * 0.02)
    blocks = nn.Sequential(*[CausalBlock(96, 4) for _ in range(3)], nn.LayerNorm(96))
    head = nn.Linear(96, 300, bias=False)
    head.weight = embed.weight
    tokens = torch.randint(0, 300, (4, 129))

    def loss():
        logits = head(blocks(embed(tokens[:, :-1]) + place))
        # Not F.cross_entropy(): advise does not predict the rewrite loss-rows.
        return F.nll_loss(F.log_softmax(logits.view(-1, 300), 1), tokens[:, 1:].reshape(-1))

    return [*embed.parameters(), place, *blocks.parameters()], loss


# ---- experts


class Experts(nn.Module):
    def __init__(self, width, hidden, count, chosen):
        super().__init__()
        self.chosen = chosen
        self.gate = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)) for _ in range(count))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        scores = self.gate(flat).softmax(-1)
        weights, picked = scores.topk(self.chosen, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, slot = (picked == number).nonzero(as_tuple=True)
            if rows.numel():
                out.index_add_(0, rows, weights[rows, slot, None] * expert(flat[rows]))
        balance = len(self.experts) * (scores.mean(0) ** 2).sum()
        return out.view_as(x), balance


class Gated(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(width, hidden), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.c(F.silu(self.a(x)) * self.b(x))


@program
def experts():
    blocks = nn.ModuleList([Experts(96, 256, 4, 2) for _ in range(2)])
    norms = nn.ModuleList([nn.LayerNorm(96) for _ in range(2)])
    x, y = torch.randn(4, 160, 96), torch.randn(4, 160, 96)

    def loss():
        h, extra = x, 0
        for norm, block in zip(norms, blocks):
            out, balance = block(norm(h))
            h, extra = h + out, extra + 0.01 * balance
        return F.mse_loss(h, y) + extra

    return [*blocks.parameters(), *norms.parameters()], loss


@program
def experts_gated():
    """Dense dispatch: every expert sees every token, and a soft gate mixes them."""
    gate, branches, norm = nn.Linear(64, 4), nn.ModuleList([Gated(64, 160) for _ in range(4)]), nn.RMSNorm(64)
    x = torch.randn(8, 96, 64)

    def loss():
        h = norm(x)
        mix = F.softmax(gate(h), -1)
        out = torch.stack([branch(h) for branch in branches], -1)
        return ((out * mix.unsqueeze(-2)).sum(-1) + x - x.flip(1)).pow(2).mean()

    return [*gate.parameters(), *branches.parameters(), *norm.parameters()], loss


# ---- pictures


class Residual(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, inner), nn.GroupNorm(8, outer)
        self.conv1, self.conv2 = nn.Conv2d(inner, outer, 3, padding=1), nn.Conv2d(outer, outer, 3, padding=1)
        self.skip = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        return self.conv2(F.silu(self.norm2(h))) + self.skip(x)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), Residual(16, 16), nn.Conv2d(16, 32, 3, 2, 1), Residual(32, 32))
        self.moments, self.back = nn.Conv2d(32, 16, 1), nn.Conv2d(8, 32, 1)
        self.decoder = nn.Sequential(Residual(32, 32), nn.Upsample(scale_factor=2), nn.Conv2d(32, 16, 3, padding=1), Residual(16, 16),
                                     nn.GroupNorm(8, 16), nn.SiLU(), nn.Conv2d(16, 3, 3, padding=1))

    def forward(self, x):
        mean, log_variance = self.moments(self.encoder(x)).chunk(2, 1)
        log_variance = log_variance.clamp(-30, 20)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(self.back(z)), mean, log_variance


def vae_loss(model, x):
    seen, mean, log_variance = model(x)
    divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).mean()
    return F.l1_loss(seen, x) + 0.1 * divergence


@program
def vae():
    model, x = VAE(), torch.rand(4, 3, 48, 48)
    return [*model.parameters()], lambda: vae_loss(model, x)


@program
def vae_autocast():
    model, x = VAE(), torch.rand(4, 3, 48, 48)

    def loss():
        with torch.autocast("cpu", torch.bfloat16):
            return vae_loss(model, x)

    return [*model.parameters()], loss


@program
def vae_linear_autocast():
    """Fully connected with wide layers: most tensors that autocast casts are weights."""
    encoder = nn.Sequential(nn.Linear(784, 400), nn.ReLU(), nn.Linear(400, 400), nn.ELU(), nn.Linear(400, 64))
    decoder = nn.Sequential(nn.Linear(32, 400), nn.ReLU(), nn.Linear(400, 400), nn.LeakyReLU(0.1), nn.Linear(400, 784))
    x = torch.rand(256, 784)

    def loss():
        with torch.autocast("cpu", torch.bfloat16):
            mean, log_variance = encoder(x).chunk(2, -1)
            z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
            seen = decoder(z).sigmoid().float()
            divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum(-1).mean()
            return F.mse_loss(seen, x, reduction="sum") / len(x) + divergence

    return [*encoder.parameters(), *decoder.parameters()], loss


def conv_block(inner, outer):
    return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(inplace=True),
                         nn.Conv2d(outer, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(inplace=True))


@program
def unet():
    down = nn.ModuleList([conv_block(3, 12), conv_block(12, 24), conv_block(24, 48)])
    up = nn.ModuleList([nn.ConvTranspose2d(48, 24, 2, 2), nn.ConvTranspose2d(24, 12, 2, 2)])
    joined = nn.ModuleList([conv_block(48, 24), conv_block(24, 12)])
    head = nn.Conv2d(12, 2, 1)
    x, y = torch.rand(4, 3, 64, 64), torch.randint(0, 2, (4, 64, 64))

    def loss():
        h, skips = x, []
        for i, block in enumerate(down):
            h = block(h if i == 0 else F.max_pool2d(h, 2))
            skips.append(h)
        for i, block in enumerate(joined):
            h = block(torch.cat([up[i](h), skips[1 - i]], 1))
        seen = head(h)
        chance = seen.softmax(1)[:, 1]
        dice = 1 - 2 * (chance * y).sum() / (chance.sum() + y.sum() + 1)
        return F.cross_entropy(seen, y) + dice

    return [*down.parameters(), *up.parameters(), *joined.parameters(), *head.parameters()], loss


@program
def squeeze_excite():
    """Inverted residuals with hard activations and a gate a channel, as in MobileNet V3."""
    class Block(nn.Module):
        def __init__(self, width, wide):
            super().__init__()
            self.expand = nn.Sequential(nn.Conv2d(width, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
            self.depth = nn.Sequential(nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
            self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, wide // 4, 1), nn.ReLU(), nn.Conv2d(wide // 4, wide, 1),
                                      nn.Hardsigmoid())
            self.project = nn.Sequential(nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width))

        def forward(self, x):
            h = self.depth(self.expand(x))
            return x + self.project(h * self.gate(h))

    model = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), *[Block(16, 48) for _ in range(3)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    x, y = torch.rand(4, 3, 96, 96), torch.randint(0, 10, (4,))
    return [*model.parameters()], lambda: F.cross_entropy(model(x), y)


# ---- others


@program
def message_passing():
    encode = nn.Linear(32, 64)
    messages = nn.ModuleList([nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 64)) for _ in range(3)])
    updates = nn.ModuleList([nn.Sequential(nn.Linear(128, 64), nn.SiLU(), nn.LayerNorm(64)) for _ in range(3)])
    attend = nn.ModuleList([nn.Linear(128, 1) for _ in range(3)])
    head = nn.Linear(64, 5)
    nodes = torch.randn(600, 32)
    source, target = torch.randint(0, 600, (2, 3000))
    y = torch.randint(0, 5, (600,))

    def loss():
        h = encode(nodes)
        for message, update, score in zip(messages, updates, attend):
            pairs = torch.cat([h.index_select(0, source), h[target]], -1)
            weight = F.leaky_relu(score(pairs), 0.2)
            most = torch.full((600, 1), -1e9).scatter_reduce(0, target[:, None], weight.detach(), "amax")
            weight = (weight - most[target]).exp()
            total = torch.zeros(600, 1).index_add(0, target, weight)
            weight = weight / (total[target] + 1e-9)
            sent = message(pairs) * weight
            gathered = torch.zeros(600, 64).scatter_add(0, target[:, None].expand_as(sent), sent)
            h = h + update(torch.cat([h, gathered], -1))
        return F.cross_entropy(head(h), y)

    return [*encode.parameters(), *messages.parameters(), *updates.parameters(), *attend.parameters(), *head.parameters()], loss


def train_chains(steps):
    """A thousand random chains of cheap operators between layers, 25 in each step; in each step others."""
    choose = random.Random(7)
    layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(5)])
    norm = nn.LayerNorm(64)
    x = torch.randn(512, 64)
    operators = [torch.relu, torch.sigmoid, torch.tanh, F.gelu, F.silu, F.elu, torch.neg, torch.abs, norm, lambda y: y * 0.5,
                 lambda y: y.clamp(-1, 1), lambda y: y + 1, F.hardswish, lambda y: F.dropout(y, 0.1)]
    for _ in range(steps):
        total, before = 0, x
        for _ in range(25):
            y = layers[choose.randrange(5)](before if choose.random() < 0.5 else x)
            first = y
            for _ in range(choose.randrange(1, 8)):
                kind = choose.random()
                y = y * first if kind < 0.15 else y + before if kind < 0.3 else choose.choice(operators)(y)
                del kind
            del first
            before = y
            total = total + layers[choose.randrange(5)](y).mean()
            del y
        del before
        total.backward()
        print(f"{total.item():.6f}")
        del total


def gan_parts():
    made = nn.Sequential(nn.ConvTranspose2d(32, 48, 4), nn.BatchNorm2d(48), nn.ReLU(True), nn.ConvTranspose2d(48, 24, 4, 2, 1),
                         nn.BatchNorm2d(24), nn.ReLU(True), nn.ConvTranspose2d(24, 12, 4, 2, 1), nn.BatchNorm2d(12), nn.ReLU(True),
                         nn.ConvTranspose2d(12, 3, 4, 2, 1), nn.Tanh())
    judge = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(16, 32, 4, 2, 1), nn.BatchNorm2d(32),
                          nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(1024, 1))
    return made, judge


def train_gan(steps):
    made, judge = gan_parts()
    optimizers = [torch.optim.Adam(part.parameters(), 2e-4) for part in (judge, made)]
    real = torch.rand(24, 3, 32, 32)
    for _ in range(steps):
        fake = made(torch.randn(24, 32, 1, 1))
        optimizers[0].zero_grad()
        judged = F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()
        judged.backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        fooled = F.softplus(-judge(fake)).mean()
        fooled.backward()
        optimizers[1].step()
        print(f"{judged.item():.6f} {fooled.item():.6f}")


def train(name, steps):
    parameters, loss = PROGRAMS[name]()
    optimizer = torch.optim.AdamW(parameters, 1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        print(f"{value.item():.6f}")


def main():
    name, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if name == "gan":
        train_gan(steps)
    elif name == "chains":
        train_chains(steps)
    else:
        train(name, steps)


if __name__ == "__main__":
    main()
