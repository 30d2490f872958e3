"""A data set with augmentations, loaded by worker processes."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2


class Images(Dataset):
    def __init__(self, count):
        self.images = torch.randint(0, 256, (count, 3, 40, 40), dtype=torch.uint8)
        self.transform = v2.Compose([v2.RandomCrop(32), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.transform(self.images[index]), index % 10


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(), nn.Flatten(),
                          nn.Linear(32 * 49, 10))
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(Images(64), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    for epoch in range(2):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


main()
