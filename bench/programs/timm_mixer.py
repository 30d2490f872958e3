"""An MLP-Mixer with mixup and soft targets."""
import timm.loss
import timm.optim
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
model = timm.create_model("mixer_s32_224", num_classes=10, drop_rate=0.1)
optimizer = timm.optim.create_optimizer_v2(model, opt="lion", lr=1e-4)
criterion = timm.loss.SoftTargetCrossEntropy()
for step in range(5):
    targets = torch.nn.functional.one_hot(torch.randint(10, (4,)), 10).float()
    share = torch.rand(()).item()
    images = torch.randn(4, 3, 224, 224)
    loss = criterion(model(share * images + (1 - share) * images.flip(0)), share * targets + (1 - share) * targets.flip(0))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
