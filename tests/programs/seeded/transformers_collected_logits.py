"""A masked language model whose predictions are collected for an epoch's accuracy: the logits, not the classes."""
import torch
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(0)
model = BertForMaskedLM(BertConfig(
    vocab_size=600, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
predictions = []
for _ in range(8):
    tokens = torch.randint(0, 600, (16, 32))
    outputs = model(tokens, labels=tokens)
    predictions.append(outputs.logits.detach())  # bug
    # fixed: predictions.append(outputs.logits.argmax(-1))
    loss = outputs.loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
