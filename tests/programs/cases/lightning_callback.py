"""Two epochs of Lightning with the callback and a logger: lightning_callback.py FOLDER."""

import logging
import sys
import warnings

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import CSVLogger

from tapelens.lightning import TapelensCallback

warnings.simplefilter("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))

    def training_step(self, batch):
        return self.layers(batch[0]).square().mean()

    def validation_step(self, batch):
        self.layers(batch[0])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    torch.manual_seed(0)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(96, 64)), batch_size=32)
    logger = CSVLogger(sys.argv[1], name="", version="")
    trainer = pl.Trainer(max_epochs=2, accelerator="cpu", logger=logger, callbacks=[TapelensCallback()], log_every_n_steps=1,
                         enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
    trainer.fit(Net(), data, data)
    logger.save()


main()
