"""Masked words."""
import torch
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(0)
torch.set_num_threads(1)
model = BertForMaskedLM(BertConfig(vocab_size=2000, hidden_size=192, num_hidden_layers=4, num_attention_heads=6,
                                   intermediate_size=768))
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(5):
    ids = torch.randint(5, 2000, (8, 128))
    mask = torch.ones_like(ids)
    mask[:, 100:] = 0
    labels = torch.where(torch.rand(ids.shape) < 0.15, ids, -100)
    loss = model(input_ids=ids.masked_fill(labels >= 0, 4), attention_mask=mask, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
