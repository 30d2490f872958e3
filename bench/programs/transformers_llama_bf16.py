"""Llama under autocast to bfloat16."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
torch.set_num_threads(1)
model = LlamaForCausalLM(LlamaConfig(vocab_size=2000, hidden_size=192, intermediate_size=512, num_hidden_layers=4,
                                     num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=128))
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(5):
    ids = torch.randint(2000, (4, 128))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
