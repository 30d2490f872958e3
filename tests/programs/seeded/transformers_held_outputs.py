"""A GPT-2 that is trained by hand; the model's output, with its logits, is held over the backward."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=4096, n_positions=64, n_embd=64, n_layer=2, n_head=2))
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(4):
    tokens = torch.randint(0, 4096, (8, 64))
    outputs = model(tokens, labels=tokens, use_cache=False)  # bug
    loss = outputs.loss
    # fixed: loss = outputs.loss
    # fixed: del outputs
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
