"""ConvNeXt, in channels_last."""
import timm.loss
import timm.optim
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
model = timm.create_model("convnext_atto", num_classes=10, drop_path_rate=0.1).to(memory_format=torch.channels_last)
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
criterion = timm.loss.LabelSmoothingCrossEntropy()
for step in range(5):
    images = torch.randn(4, 3, 128, 128).to(memory_format=torch.channels_last)
    loss = criterion(model(images), torch.randint(10, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
