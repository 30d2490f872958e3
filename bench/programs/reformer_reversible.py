"""Reversible layers, which recompute their inputs in a custom backward; hashed attention."""
import torch
from reformer_pytorch import ReformerLM
from torch.nn import functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
model = ReformerLM(num_tokens=500, dim=128, depth=2, max_seq_len=256, heads=4, bucket_size=32, n_hashes=2, causal=True,
                   ff_dropout=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(4):
    ids = torch.randint(500, (2, 256))
    loss = F.cross_entropy(model(ids).transpose(1, 2)[..., :-1], ids[:, 1:])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
