"""A small GPT-2 under the Trainer of transformers."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer, TrainingArguments

from common import finish, show, start

start()
model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=32, n_embd=64, n_layer=2, n_head=2, bos_token_id=0,
                                   eos_token_id=0))
texts = [{"input_ids": row, "labels": row} for row in torch.randint(0, 128, (24, 32))]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, max_steps=3, per_device_train_batch_size=4, gradient_accumulation_steps=2,
                                  activation_checkpointing=True, use_cpu=True, report_to="none", disable_tqdm=True,
                                  save_strategy="no", logging_steps=1, seed=0)
    trainer = Trainer(model, arguments, train_dataset=texts)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
for entry in trainer.state.log_history[:-1]:
    show(entry["step"], entry["loss"])
finish(model)
