"""One small training step in the words of a framework: transformers, trainer, diffusers, accelerate, lightning, PyTorch's
own attention; checkpointed."""

import sys
import tempfile

import torch
from torch import nn

KIND = sys.argv[1]


def gpt():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=64, n_embd=64, n_layer=6, n_head=2, bos_token_id=0,
                                      eos_token_id=0))


def loop(model):
    optimizer = torch.optim.AdamW(model.parameters())
    rows = torch.randint(0, 128, (16, 64))
    for _ in range(2):
        model(input_ids=rows, labels=rows).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def transformers():
    loop(gpt())


def checkpointed():
    model = gpt()
    model.gradient_checkpointing_enable()
    model.train()
    loop(model)


def weights():
    attention, x = nn.MultiheadAttention(64, 4, batch_first=True), torch.randn(4, 256, 64)
    attention(x, x, x)[0].square().mean().backward()


def trainer():
    from transformers import Trainer, TrainingArguments
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 128, (32, 64))]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, max_steps=2, per_device_train_batch_size=16, use_cpu=True, report_to="none",
                                      disable_tqdm=True, save_strategy="no")
        Trainer(gpt(), arguments, train_dataset=rows).train()


def diffusers():
    from diffusers import UNet2DModel
    model = UNet2DModel(sample_size=32, in_channels=1, out_channels=1, layers_per_block=2, block_out_channels=(32, 32),
                        down_block_types=("DownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "UpBlock2D"),
                        norm_num_groups=8)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(torch.randn(8, 1, 32, 32), torch.randint(0, 1000, (8,))).sample.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def accelerate():
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64)) for _ in range(4)))
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    for _ in range(2):
        accelerator.backward(model(torch.randn(256, 64)).square().mean())
        optimizer.step()
        optimizer.zero_grad()


def lightning():
    import pytorch_lightning as pl
    from torch.utils.data import DataLoader, TensorDataset

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(*(nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64)) for _ in range(4)))

        def training_step(self, batch, index):
            return self.net(batch[0]).square().mean()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    fit = pl.Trainer(max_steps=2, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
    fit.fit(Model(), DataLoader(TensorDataset(torch.randn(512, 64)), batch_size=256))


torch.manual_seed(0)
globals()[KIND]()
