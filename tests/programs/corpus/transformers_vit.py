"""Images with a vision transformer of transformers, in a custom loop with accelerate."""
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
from transformers import ViTConfig, ViTForImageClassification


def main():
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = ViTForImageClassification(ViTConfig(hidden_size=96, num_hidden_layers=2, num_attention_heads=4,
                                                intermediate_size=192, image_size=64, patch_size=16, num_labels=10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(32, 3, 64, 64), torch.randint(0, 10, (32,))), batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for images, labels in loader:
        with accelerator.accumulate(model):
            loss = model(pixel_values=images, labels=labels).loss
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        print(loss.item())


main()
