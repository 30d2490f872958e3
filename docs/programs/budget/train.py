import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


torch.manual_seed(0)
model = torch.compile(torch.nn.Sequential(*[Block(128) for _ in range(6)]), backend="aot_eager")
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100):
    model(torch.randn(4096, 128)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
