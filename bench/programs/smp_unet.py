"""Segmentation with a U-Net and a Dice loss."""
import segmentation_models_pytorch as smp
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
model = smp.Unet("resnet18", encoder_weights=None, classes=3, decoder_attention_type="scse")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = smp.losses.DiceLoss(mode="multiclass")
for step in range(4):
    loss = criterion(model(torch.randn(2, 3, 96, 96)), torch.randint(3, (2, 96, 96)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
