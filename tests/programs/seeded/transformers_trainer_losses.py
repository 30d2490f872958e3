"""A Trainer that keeps the losses of its batches."""
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __init__(self, count):
        self.tokens = torch.randint(5, 300, (count, 32))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": index % 2}


class Remembering(Trainer):
    history = []

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        loss = super().compute_loss(model, inputs, **kwargs)
        self.history.append(loss)  # bug
        # fixed: self.history.append(loss.detach())
        return loss


def main():
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128))
    with tempfile.TemporaryDirectory() as folder:
        Remembering(model=model, train_dataset=Texts(96), args=TrainingArguments(
            output_dir=folder, per_device_train_batch_size=16, num_train_epochs=1, use_cpu=True, report_to=[],
            save_strategy="no", disable_tqdm=True, logging_strategy="no", seed=1)).train()


main()
