"""Only the head of a LightningModule is trained, but the backbone is differentiated too."""
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Finetuned(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.Tanh(), nn.Conv2d(16, 16, 3, padding=1), nn.Tanh(),
                                      nn.AvgPool2d(8), nn.Flatten())
        self.head = nn.Linear(256, 10)

    def training_step(self, batch, _):
        images, labels = batch
        features = self.backbone(images)  # bug
        return nn.functional.cross_entropy(self.head(features), labels)

    def configure_optimizers(self):
        return torch.optim.Adam(self.head.parameters())


def main():
    pl.seed_everything(1)
    loader = DataLoader(TensorDataset(torch.randn(128, 3, 32, 32), torch.randint(0, 10, (128,))), batch_size=32)
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Finetuned(), loader)


main()
