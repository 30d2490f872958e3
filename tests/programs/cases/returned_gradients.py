"""Trainings that take their gradients from torch.autograd.grad, without an optimizer. The argument selects one."""

import sys

import torch

torch.manual_seed(0)
HOW = sys.argv[1]
X, Y = torch.randn(256, 64), torch.randn(256, 64)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 128), torch.nn.Linear(128, 64)
        self.unused = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.second(2 * torch.relu(torch.tanh(self.first(x))))


net = Net()
parameters = list(net.parameters())


def loss_of(weights, x=X, y=Y):
    return (torch.func.functional_call(net, dict(zip((name for name, _ in net.named_parameters()), weights)), (x,)) - y).square().mean()


def step(gradients):
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients):
            if gradient is not None:
                parameter -= 0.1 * gradient


for _ in range(3):
    if HOW == "own":  # a custom update rule; one parameter has no gradient
        step(torch.autograd.grad((net(X) - Y).square().mean(), parameters, allow_unused=True))
    elif HOW == "materialized":
        step(torch.autograd.grad((net(X) - Y).square().mean(), parameters, allow_unused=True, materialize_grads=True))
    elif HOW == "maml":  # the inner loop's weights are new tensors each time, and the outer gradient goes through it
        fast = parameters
        for _ in range(2):
            inner = torch.autograd.grad(loss_of(fast), fast, create_graph=True, allow_unused=True)
            fast = [weight if g is None else weight - 0.1 * g for weight, g in zip(fast, inner)]
        step(torch.autograd.grad(loss_of(fast, X.flip(0)), parameters, allow_unused=True))
    elif HOW == "pinn":  # derivatives by the input are part of the loss
        x = X.clone().requires_grad_()
        out = net(x)
        (by_x,) = torch.autograd.grad(out, x, torch.ones_like(out), create_graph=True)
        (by_xx,) = torch.autograd.grad(by_x, x, torch.ones_like(by_x), create_graph=True)
        step(torch.autograd.grad((by_xx + out - Y).square().mean(), parameters, allow_unused=True))
    elif HOW == "batched":  # one call for several gradients, by vmap
        x = X[:4].clone().requires_grad_()
        out = net(x)
        torch.autograd.grad(out, x, torch.stack([torch.ones_like(out), 2 * torch.ones_like(out)]), is_grads_batched=True)
    elif HOW == "func":
        step(torch.func.grad(loss_of)(tuple(parameters)))
    elif HOW == "inside":  # in the backward of a custom function
        class Inside(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return net(x).detach()

            @staticmethod
            def backward(ctx, gradient):
                (x,) = ctx.saved_tensors
                with torch.enable_grad():
                    x = x.detach().requires_grad_()
                    return torch.autograd.grad(net(x), x, gradient)[0]

        x = X.clone().requires_grad_()
        Inside.apply(x).square().mean().backward()
print("done")
