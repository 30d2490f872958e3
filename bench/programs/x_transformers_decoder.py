"""A decoder with rotary places, RMS norms, SwiGLU and talking heads."""
import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
torch.set_num_threads(1)
model = AutoregressiveWrapper(TransformerWrapper(num_tokens=1000, max_seq_len=128, attn_layers=Decoder(
    dim=192, depth=4, heads=6, attn_dim_head=32, rotary_pos_emb=True, use_rmsnorm=True, ff_swish=True, ff_glu=True,
    attn_dropout=0.1, ff_dropout=0.1, attn_pre_talking_heads=True)))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(5):
    loss = model(torch.randint(1000, (4, 129)))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
