"""A physics-informed net: the loss depends on second derivatives by the coordinates, computed with create_graph."""
import torch
from siren_pytorch import SirenNet

torch.manual_seed(0)
torch.set_num_threads(1)
model = SirenNet(dim_in=2, dim_hidden=128, dim_out=1, num_layers=4, w0_initial=10.0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
for step in range(5):
    places = torch.rand(2048, 2, requires_grad=True)
    value = model(places)
    slope, = torch.autograd.grad(value.sum(), places, create_graph=True)
    bend = torch.autograd.grad(slope[:, 0].sum(), places, create_graph=True)[0][:, 0]
    loss = (slope[:, 1] - 0.1 * bend).square().mean() + (model(torch.tensor([[0.0, 0.0]])) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
