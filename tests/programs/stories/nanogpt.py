"""A trainer as nanoGPT's: attention by hand, logits held, an evaluation that keeps its graphs."""
import math

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, WIDTH, HEADS, LENGTH = 2048, 96, 3, 128


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        b, t, _ = x.shape
        q, k, v = (part.view(b, t, HEADS, -1).transpose(1, 2) for part in self.qkv(x).split(WIDTH, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(torch.ones(t, t).tril() == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(b, t, WIDTH))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.out(F.gelu(self.fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(2)))
        self.ln_f, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, targets):
        x = self.blocks(self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1])))
        logits = self.head(self.ln_f(x))
        loss = F.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))
        return logits, loss


def get_batch():
    data = torch.randint(0, VOCABULARY, (8, LENGTH + 1))
    return data[:, :-1], data[:, 1:]


torch.manual_seed(0)
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
val_losses = []
for step in range(4):
    x, y = get_batch()
    logits, loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    vx, vy = get_batch()
    vlogits, vloss = model(vx, vy)
    val_losses.append(vloss)
