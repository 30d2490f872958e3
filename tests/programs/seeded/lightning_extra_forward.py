"""A LightningModule that computes a metric of unmixed images in its training step, with a graph."""
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(256, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 10))

    def training_step(self, batch, _):
        inputs, labels = batch
        clean = self.net(inputs)  # bug
        # fixed: with torch.no_grad():
        # fixed:     clean = self.net(inputs)
        loss = nn.functional.cross_entropy(self.net(inputs + 0.1 * torch.randn_like(inputs)), labels)
        self.log("accuracy", (clean.argmax(1) == labels).float().mean())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    pl.seed_everything(1)
    loader = DataLoader(TensorDataset(torch.randn(2048, 256), torch.randint(0, 10, (2048,))), batch_size=512)
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Classifier(), loader)


main()
