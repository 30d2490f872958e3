"""A language model of transformers whose gradients are accumulated over two batches."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup


def main():
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=300, n_positions=64, n_embd=128, n_layer=2, n_head=4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = get_linear_schedule_with_warmup(optimizer, 1, 4)
    model.train()
    for step in range(8):
        tokens = torch.randint(0, 300, (4, 64))
        loss = model(input_ids=tokens, labels=tokens).loss / 2
        loss.backward()
        if step % 2 == 1:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            print(step, loss.item())
    model.eval()
    with torch.inference_mode():
        print(model.generate(torch.randint(0, 300, (1, 4)), max_new_tokens=8, do_sample=False, pad_token_id=0).shape)


main()
