"""Shifted windows."""
import timm.optim
import torch
from timm.models.swin_transformer import SwinTransformer

torch.manual_seed(0)
torch.set_num_threads(1)
model = SwinTransformer(img_size=128, patch_size=4, window_size=4, embed_dim=48, depths=(2, 2, 2), num_heads=(2, 4, 8),
                        num_classes=10, proj_drop_rate=0.1, attn_drop_rate=0.1)
optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=1e-3)
for step in range(5):
    loss = torch.nn.functional.cross_entropy(model(torch.randn(4, 3, 128, 128)), torch.randint(10, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
