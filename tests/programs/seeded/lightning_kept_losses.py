"""A LightningModule that keeps the losses of its steps for a plot."""
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 10))
        self.losses = []

    def training_step(self, batch, _):
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self.net(inputs), labels)
        self.losses.append(loss)  # bug
        # fixed: self.losses.append(loss.detach())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    pl.seed_everything(1)
    loader = DataLoader(TensorDataset(torch.randn(2048, 256), torch.randint(0, 10, (2048,))), batch_size=256)
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Classifier(), loader)


main()
