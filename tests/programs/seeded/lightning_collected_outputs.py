"""A callback that collects the predictions of every batch of the training."""
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Predictions(pl.Callback):
    def __init__(self):
        self.all = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.all.append(outputs["logits"])  # bug
        # fixed: self.all.append(outputs["logits"].mean().item())


class Segmenter(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 12, 3, padding=1))

    def training_step(self, batch, _):
        images, labels = batch
        logits = self.net(images)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}  # bug

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    pl.seed_everything(1)
    loader = DataLoader(TensorDataset(torch.randn(24, 3, 64, 64), torch.randint(0, 12, (24, 64, 64))), batch_size=4)
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False, callbacks=[Predictions()])
    trainer.fit(Segmenter(), loader)


main()
