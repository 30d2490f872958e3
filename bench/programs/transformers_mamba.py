"""A state space model: a scan in a loop over time."""
import torch
from transformers import MambaConfig, MambaForCausalLM

torch.manual_seed(0)
torch.set_num_threads(1)
model = MambaForCausalLM(MambaConfig(vocab_size=1000, hidden_size=128, state_size=8, num_hidden_layers=2))
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(4):
    ids = torch.randint(1000, (4, 64))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
