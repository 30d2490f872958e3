"""Text classification with the Trainer of transformers, evaluated after each epoch."""
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __init__(self, count):
        self.tokens = torch.randint(5, 300, (count, 32))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "attention_mask": torch.ones(32, dtype=torch.long), "labels": index % 2}


def main():
    torch.manual_seed(1)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=300, hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256))
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model=model, train_dataset=Texts(32), eval_dataset=Texts(16), args=TrainingArguments(
            output_dir=folder, per_device_train_batch_size=8, num_train_epochs=2, eval_strategy="epoch", use_cpu=True,
            report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no", seed=1))
        trainer.train()


main()
