"""Accumulated and clipped gradients, and a schedule, with Lightning's Trainer."""
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(16, 64, batch_first=True)
        self.out = nn.Linear(64, 1)

    def training_step(self, batch, _):
        series, target = batch
        return nn.functional.mse_loss(self.out(self.rnn(series)[0][:, -1]), target)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2)]


def main():
    pl.seed_everything(1)
    trainer = pl.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, accumulate_grad_batches=2,
                         gradient_clip_val=1.0, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Regression(), DataLoader(TensorDataset(torch.randn(128, 32, 16), torch.randn(128, 1)), batch_size=32))


main()
