"""A LightningModule with training, validation and metrics."""
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassAccuracy


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                 nn.Linear(16 * 256, 10))
        self.accuracy = MulticlassAccuracy(10)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        images, labels = batch
        loss = nn.functional.cross_entropy(self(images), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        images, labels = batch
        self.accuracy(self(images), labels)
        self.log("accuracy", self.accuracy, on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    pl.seed_everything(1)
    loader = DataLoader(TensorDataset(torch.randn(48, 3, 32, 32), torch.randint(0, 10, (48,))), batch_size=16)
    trainer = pl.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    model = Classifier()
    trainer.fit(model, loader, loader)


main()
