"""A compact transformer behind convolutions."""
import torch
from torch import nn
from vit_pytorch.cct import CCT

torch.manual_seed(0)
torch.set_num_threads(1)
model = CCT(img_size=64, embedding_dim=192, n_conv_layers=2, kernel_size=5, stride=2, padding=2, num_layers=4, num_heads=6,
            mlp_ratio=2.0, num_classes=10, positional_embedding="learnable")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(5):
    loss = nn.functional.cross_entropy(model(torch.rand(8, 3, 64, 64)), torch.randint(10, (8,)))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
