"""Translation: an encoder, a decoder, Adafactor."""
import torch
from transformers import Adafactor, T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
torch.set_num_threads(1)
model = T5ForConditionalGeneration(T5Config(vocab_size=2000, d_model=192, d_kv=32, d_ff=512, num_layers=3, num_heads=6,
                                            decoder_start_token_id=0, feed_forward_proj="gated-gelu"))
model.train()
optimizer = Adafactor(model.parameters(), lr=1e-3, relative_step=False, scale_parameter=False)
for step in range(5):
    source, target = torch.randint(2000, (8, 96)), torch.randint(2000, (8, 64))
    loss = model(input_ids=source, labels=target).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
