"""Images and texts side by side: the contrastive loss of CLIP."""
import torch
from transformers import CLIPConfig, CLIPModel


def main():
    torch.manual_seed(1)
    size = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = CLIPModel(CLIPConfig(
        text_config={**size, "vocab_size": 300, "max_position_embeddings": 16, "eos_token_id": 299},
        vision_config={**size, "image_size": 32, "patch_size": 8}, projection_dim=32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(3):
        output = model(input_ids=torch.randint(0, 299, (16, 16)), pixel_values=torch.randn(16, 3, 32, 32),
                       return_loss=True)
        optimizer.zero_grad()
        output.loss.backward()
        optimizer.step()
        print(step, output.loss.item())


main()
