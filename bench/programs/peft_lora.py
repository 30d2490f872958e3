"""Adapters on a frozen OPT."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import OPTConfig, OPTForCausalLM

torch.manual_seed(0)
torch.set_num_threads(1)
model = OPTForCausalLM(OPTConfig(vocab_size=2000, hidden_size=192, num_hidden_layers=4, ffn_dim=768, num_attention_heads=6,
                                 max_position_embeddings=128, word_embed_proj_dim=192))
adapters = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.1, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
model = get_peft_model(model, adapters)
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for step in range(5):
    ids = torch.randint(2000, (8, 96))
    loss = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
