"""A transformer's layers, sharded by FSDP2 over as many ranks as there are."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("nccl")
torch.manual_seed(0)
with torch.device("cuda"):
    net = nn.Sequential(*(nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True) for _ in range(8)))
for layer in net:
    fully_shard(layer)
fully_shard(net)
optimizer = torch.optim.AdamW(net.parameters())
for step in range(2):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = net(torch.randn(4, 512, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"peak {torch.cuda.max_memory_allocated() / 2**20:.1f} MiB, {dist.get_world_size()} ranks")
dist.destroy_process_group()
