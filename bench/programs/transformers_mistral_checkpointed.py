"""Mistral with gradient checkpointing."""
import torch
from transformers import MistralConfig, MistralForCausalLM

torch.manual_seed(0)
torch.set_num_threads(1)
model = MistralForCausalLM(MistralConfig(vocab_size=2000, hidden_size=192, intermediate_size=512, num_hidden_layers=4,
                                         num_attention_heads=6, num_key_value_heads=2,
                                         max_position_embeddings=256, sliding_window=64))
model.gradient_checkpointing_enable()
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(5):
    ids = torch.randint(2000, (4, 256))
    loss = model(input_ids=ids, labels=ids, use_cache=False).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
