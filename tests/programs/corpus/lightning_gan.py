"""Two optimizers, stepped by hand."""
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GAN(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 256), nn.Tanh())
        self.discriminator = nn.Sequential(nn.Linear(256, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
        self.loss = nn.BCEWithLogitsLoss()

    def training_step(self, batch, _):
        images, = batch
        of_g, of_d = self.optimizers()
        ones, zeros = torch.ones(len(images), 1), torch.zeros(len(images), 1)
        self.toggle_optimizer(of_g)
        of_g.zero_grad()
        self.manual_backward(self.loss(self.discriminator(self.generator(torch.randn(len(images), 32))), ones))
        of_g.step()
        self.untoggle_optimizer(of_g)
        self.toggle_optimizer(of_d)
        of_d.zero_grad()
        fake = self.generator(torch.randn(len(images), 32)).detach()
        self.manual_backward((self.loss(self.discriminator(images), ones) + self.loss(self.discriminator(fake), zeros)) / 2)
        of_d.step()
        self.untoggle_optimizer(of_d)

    def configure_optimizers(self):
        return torch.optim.Adam(self.generator.parameters(), lr=2e-4), torch.optim.Adam(self.discriminator.parameters(), lr=2e-4)


def main():
    pl.seed_everything(1)
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(GAN(), DataLoader(TensorDataset(torch.randn(256, 256)), batch_size=64))


main()
