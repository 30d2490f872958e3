"""A sequence model of torch.nn, with a schedule and clipped gradients."""
import torch
from torch import nn


def main():
    torch.manual_seed(1)
    embedding = nn.Embedding(200, 64)
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
    model = nn.Sequential(embedding, encoder, nn.Linear(64, 200))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=5)
    for step in range(5):
        tokens = torch.randint(0, 200, (8, 33))
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        print(step, loss.item())


main()
