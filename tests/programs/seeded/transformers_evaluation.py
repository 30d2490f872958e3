"""A BERT classifier that is evaluated with gradients on."""
import torch
from transformers import BertConfig, BertForSequenceClassification


def evaluate(model, batches):
    model.eval()
    right = 0
    for tokens, labels in batches:
        logits = model(tokens).logits  # bug
        right += int((logits.argmax(-1) == labels).sum())
    model.train()
    return right


def batches(count, size):
    return [(torch.randint(0, 300, (size, 32)), torch.randint(0, 2, (size,))) for _ in range(count)]


def main():
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for tokens, labels in batches(3, 4):
        loss = model(tokens, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.4f}")
    print(evaluate(model, batches(2, 32)))


main()
