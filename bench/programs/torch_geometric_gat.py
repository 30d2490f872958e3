"""Nodes of a graph classified by attention over their neighbours."""
import torch
from torch.nn import functional as F
from torch_geometric.nn import GATv2Conv, GCNConv

torch.manual_seed(0)
torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GATv2Conv(64, 32, heads=4, dropout=0.2), GCNConv(128, 7)

    def forward(self, x, edges):
        x = F.dropout(F.elu(self.first(x, edges)), 0.5, self.training)
        return self.second(x, edges)


features, edges, labels = torch.randn(2000, 64), torch.randint(2000, (2, 10000)), torch.randint(7, (2000,))
seen = torch.rand(2000) < 0.5
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
for step in range(5):
    loss = F.cross_entropy(model(features, edges)[seen], labels[seen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
