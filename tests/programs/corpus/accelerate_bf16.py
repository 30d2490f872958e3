"""Mixed precision and a schedule with accelerate; validated on gathered outputs."""
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True, mixed_precision="bf16")
    model = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = TensorDataset(torch.randn(256, 128), torch.randint(0, 10, (256,)))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=64), schedule)
    for _ in range(2):
        model.train()
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
        model.eval()
        correct = 0
        for inputs, labels in loader:
            with torch.no_grad():
                guess = model(inputs).argmax(-1)
            guess, labels = accelerator.gather_for_metrics((guess, labels))
            correct += (guess == labels).sum().item()
        print(loss.item(), correct)


main()
