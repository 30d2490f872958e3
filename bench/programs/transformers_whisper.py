"""Speech: convolutions over a spectrogram, then an encoder and a decoder."""
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

torch.manual_seed(0)
torch.set_num_threads(1)
model = WhisperForConditionalGeneration(WhisperConfig(
    vocab_size=1000, d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=512, decoder_ffn_dim=512, max_source_positions=200, max_target_positions=64, dropout=0.1, pad_token_id=0,
    bos_token_id=1, eos_token_id=2, decoder_start_token_id=1))
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(5):
    spectrogram, labels = torch.randn(4, 80, 400), torch.randint(3, 1000, (4, 48))
    loss = model(input_features=spectrogram, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
