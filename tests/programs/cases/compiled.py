"""compiled.py BACKEND: a compiled net with a graph break and a changed shape; prints losses and dynamo's counters."""

import json
import sys

import torch
import torch._dynamo
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        y = torch.relu(self.first(x))
        torch._dynamo.graph_break()
        return self.second(y).sigmoid()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Net()
    run = torch.compile(net, backend=sys.argv[1], dynamic=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step, batch in enumerate([8, 8, 8, 5, 5, 8]):
        optimizer.zero_grad()
        loss = run(torch.randn(batch, 16)).square().mean()
        loss.backward()
        optimizer.step()
        print(step, repr(loss.item()))
    counters = torch._dynamo.utils.counters
    graphs = counters["stats"]["unique_graphs"]
    print(json.dumps({"frames": graphs, "graph_breaks": sum(counters["graph_break"].values()), "recompiles": graphs - 2,
                     
                      "ok": counters["frames"]["ok"], "total": counters["frames"]["total"]}))


main()
