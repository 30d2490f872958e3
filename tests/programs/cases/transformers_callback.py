"""Two epochs of transformers' Trainer with the callback: transformers_callback.py FOLDER. Prints the logged values of
the steps."""

import json
import sys

import torch
from transformers import Trainer, TrainingArguments

from tapelens.transformers import TapelensCallback


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))

    def forward(self, x, labels=None):
        found = self.layers(x)
        return {"loss": (found - labels).square().mean(), "logits": found}


def main():
    torch.manual_seed(0)
    data = [{"x": torch.randn(64), "labels": torch.randn(1)} for _ in range(96)]
    arguments = TrainingArguments(sys.argv[1], num_train_epochs=2, per_device_train_batch_size=32, eval_strategy="epoch", use_cpu=True,
                                  save_strategy="no", report_to=[], disable_tqdm=True, logging_strategy="no")
    trainer = Trainer(Net(), arguments, train_dataset=data, eval_dataset=data[:32], callbacks=[TapelensCallback()])
    trainer.train()
    figures = [entry for entry in trainer.state.log_history if any(key.startswith("memory/") for key in entry)]
    print("figures", json.dumps(figures))


main()
