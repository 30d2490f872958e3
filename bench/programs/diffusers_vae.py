"""A variational autoencoder with a discriminator on top: two optimizers in turn."""
import torch
from diffusers import AutoencoderKL
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
vae = AutoencoderKL(in_channels=3, out_channels=3, block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2,
                    up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=8, layers_per_block=1)
judge = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.BatchNorm2d(64),
                      nn.LeakyReLU(0.2), nn.Conv2d(64, 1, 4))
vae_optimizer, judge_optimizer = torch.optim.Adam(vae.parameters(), lr=1e-4), torch.optim.Adam(judge.parameters(), lr=1e-4)
for step in range(4):
    images = torch.rand(4, 3, 64, 64) * 2 - 1
    posterior = vae.encode(images).latent_dist
    restored = vae.decode(posterior.sample()).sample
    loss = F.l1_loss(restored, images) + 1e-6 * posterior.kl().mean() - 0.1 * judge(restored).mean()
    vae_optimizer.zero_grad()
    loss.backward()
    vae_optimizer.step()
    judgement = F.relu(1 - judge(images)).mean() + F.relu(1 + judge(restored.detach())).mean()
    judge_optimizer.zero_grad()
    judgement.backward()
    judge_optimizer.step()
    print(step, loss.item(), judgement.item())
