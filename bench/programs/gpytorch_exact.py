"""A Gaussian process: Cholesky, and custom autograd functions."""
import gpytorch
import torch

torch.manual_seed(0)
torch.set_num_threads(1)


class Process(gpytorch.models.ExactGP):
    def __init__(self, places, values, likelihood):
        super().__init__(places, values, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=3))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


places = torch.rand(400, 3)
values = torch.sin(places.sum(1) * 4) + 0.1 * torch.randn(400)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Process(places, values, likelihood)
model.train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
for step in range(5):
    optimizer.zero_grad()
    loss = -mll(model(places), values)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
