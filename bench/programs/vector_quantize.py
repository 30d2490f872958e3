"""An autoencoder whose codes are quantised, straight through."""
import torch
from torch import nn
from vector_quantize_pytorch import VectorQuantize

torch.manual_seed(0)
torch.set_num_threads(1)
encoder = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.GELU(), nn.Conv2d(32, 32, 4, 2, 1))
quantise = VectorQuantize(dim=32, codebook_size=128, accept_image_fmap=True, commitment_weight=1.0, kmeans_init=False)
decoder = nn.Sequential(nn.ConvTranspose2d(32, 32, 4, 2, 1), nn.GELU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))
optimizer = torch.optim.AdamW([*encoder.parameters(), *quantise.parameters(), *decoder.parameters()], lr=1e-3)
for step in range(5):
    images = torch.rand(8, 3, 64, 64)
    quantised, _, commitment = quantise(encoder(images))
    loss = (decoder(quantised) - images).abs().mean() + commitment.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
