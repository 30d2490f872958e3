"""How each output of a small network depends on each input: all rows of the Jacobian at once."""
import torch
from torch.func import jacrev

torch.manual_seed(0)
first, second = torch.randn(32, 1024) / 6, torch.randn(1024, 128) / 32


def network(x):
    return (torch.tanh(x @ first) @ second).flatten()


print(tuple(jacrev(network)(torch.randn(8, 32)).shape))
