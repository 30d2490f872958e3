"""A LightningModule that fine-tunes a head on a backbone, and validates."""
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitClassifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU())
        self.head = nn.Linear(512, 10)

    def training_step(self, batch, batch_idx):
        x, y = batch
        features = self.backbone(x)
        loss = nn.functional.cross_entropy(self.head(features), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self.head(self.backbone(x)), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.head.parameters(), lr=1e-3)


def main():
    pl.seed_everything(1)
    data = TensorDataset(torch.randn(1024, 256), torch.randint(0, 10, (1024,)))
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(LitClassifier(), DataLoader(data, batch_size=256), DataLoader(data, batch_size=256))


main()
