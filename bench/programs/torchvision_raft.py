"""Optical flow: the same update applied again and again, a loss over all its results."""
import torch
from torchvision.models.optical_flow import raft_small

torch.manual_seed(0)
torch.set_num_threads(1)
model = raft_small()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(4):
    first, second, flow = torch.rand(1, 3, 128, 128) * 2 - 1, torch.rand(1, 3, 128, 128) * 2 - 1, torch.randn(1, 2, 128, 128)
    predictions = model(first, second, num_flow_updates=4)
    loss = sum(0.8 ** (len(predictions) - i - 1) * (p - flow).abs().mean() for i, p in enumerate(predictions))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(step, loss.item())
