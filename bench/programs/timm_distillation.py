"""A student learns from a frozen teacher."""
import timm
import torch
from torch.nn import functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
teacher = timm.create_model("resnet26d", num_classes=10).eval()
student = timm.create_model("regnety_002", num_classes=10)
optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
for step in range(5):
    images, labels = torch.randn(4, 3, 128, 128), torch.randint(10, (4,))
    with torch.no_grad():
        wanted = teacher(images)
    given = student(images)
    imitation = F.kl_div(F.log_softmax(given / 2, 1), F.log_softmax(wanted / 2, 1), reduction="batchmean", log_target=True)
    loss = F.cross_entropy(given, labels) + 4 * imitation
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
