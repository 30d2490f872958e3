"""The discriminator's step of a GAN in manual optimization, through the generator's graph."""
import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Gan(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 128))
        self.discriminator = nn.Sequential(nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, 1))

    def training_step(self, batch, _):
        real, noise = batch
        optimizer = self.optimizers()
        verdict_of_real = self.discriminator(real)
        verdict = self.discriminator(self.generator(noise))  # bug
        loss = F.softplus(verdict).mean() + F.softplus(-verdict_of_real).mean()
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.discriminator.parameters())


def main():
    pl.seed_everything(1)
    loader = DataLoader(TensorDataset(torch.randn(2048, 128), torch.randn(2048, 64)), batch_size=512)
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Gan(), loader)


main()
