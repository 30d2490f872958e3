"""A normalising flow by maximum likelihood."""
import normflows as nf
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
flows = []
for _ in range(8):
    flows.append(nf.flows.AffineCouplingBlock(nf.nets.MLP([16, 128, 128, 32], init_zeros=True)))
    flows.append(nf.flows.Permute(32, mode="shuffle"))
    flows.append(nf.flows.ActNorm(32))
model = nf.NormalizingFlow(nf.distributions.DiagGaussian(32), flows)
optimizer = torch.optim.Adamax(model.parameters(), lr=1e-3, weight_decay=1e-5)
for step in range(5):
    loss = model.forward_kld(torch.randn(1024, 32).exp())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
