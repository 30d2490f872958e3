"""A student that learns from a teacher whose graph is made and differentiated as well."""
import torch
from torch.nn import functional as F
from transformers import BertConfig, BertForSequenceClassification


def bert(width, layers):
    return BertForSequenceClassification(BertConfig(
        vocab_size=300, hidden_size=width, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=2 * width))


torch.manual_seed(0)
teacher, student = bert(128, 3).eval(), bert(32, 1)
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
for _ in range(3):
    tokens = torch.randint(0, 300, (16, 32))
    wanted = teacher(tokens).logits  # bug
    loss = F.mse_loss(student(tokens).logits, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
