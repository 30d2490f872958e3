"""A student learns from a teacher that runs without gradients."""
import torch
from torch.nn import functional as F
from transformers import DistilBertConfig, DistilBertForMaskedLM


def network(layers):
    return DistilBertForMaskedLM(DistilBertConfig(vocab_size=300, dim=128, n_layers=layers, n_heads=4, hidden_dim=256,
                                                  max_position_embeddings=64))


def main():
    torch.manual_seed(1)
    teacher, student = network(3).eval(), network(1)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
    for step in range(3):
        tokens = torch.randint(0, 300, (8, 32))
        with torch.no_grad():
            wanted = teacher(input_ids=tokens).logits
        logits = student(input_ids=tokens).logits
        loss = F.kl_div(F.log_softmax(logits / 2, -1), F.softmax(wanted / 2, -1), reduction="batchmean") * 4
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
