"""A net of einops' layers."""
import torch
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


def block(tokens, width):
    return nn.ModuleList([
        nn.Sequential(nn.LayerNorm(width), EinMix("b t c -> b h c", weight_shape="t h", bias_shape="h", t=tokens, h=2 * tokens),
                      nn.GELU(), EinMix("b h c -> b t c", weight_shape="h t", bias_shape="t", t=tokens, h=2 * tokens),
                      nn.Dropout(0.1)),
        nn.Sequential(nn.LayerNorm(width), EinMix("b t c -> b t h", weight_shape="c h", bias_shape="h", c=width, h=4 * width),
                      nn.GELU(), EinMix("b t h -> b t c", weight_shape="h c", bias_shape="c", c=width, h=4 * width),
                      nn.Dropout(0.1))])


class Mixer(nn.Module):
    def __init__(self, tokens=64, width=192, depth=4, classes=10):
        super().__init__()
        self.patches = nn.Sequential(Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=8, q=8), nn.Linear(192, width))
        self.blocks = nn.ModuleList(block(tokens, width) for _ in range(depth))
        self.head = nn.Sequential(nn.LayerNorm(width), Reduce("b t c -> b c", "mean"), nn.Linear(width, classes))

    def forward(self, x):
        x = self.patches(x)
        for tokens, channels in self.blocks:
            x = x + tokens(x)
            x = x + channels(x)
        return self.head(x)


model = Mixer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 3, 64, 64)), torch.randint(10, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
