"""A diffusion model learns the noise."""
import torch
from diffusers import DDPMScheduler, UNet2DModel

torch.manual_seed(0)
torch.set_num_threads(1)
model = UNet2DModel(sample_size=32, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64),
                    norm_num_groups=8, attention_head_dim=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                    up_block_types=("AttnUpBlock2D", "UpBlock2D"))
noises = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(5):
    images, noise, times = torch.randn(4, 3, 32, 32), torch.randn(4, 3, 32, 32), torch.randint(100, (4,))
    loss = torch.nn.functional.mse_loss(model(noises.add_noise(images, noise, times), times).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
