"""Embeddings: hard triplets are mined, and the margin's loss has learned weights."""
import torch
from pytorch_metric_learning import losses, miners
from torchvision.models import squeezenet1_1

torch.manual_seed(0)
torch.set_num_threads(1)
model = squeezenet1_1(num_classes=64)
miner, triplets = miners.MultiSimilarityMiner(), losses.TripletMarginLoss()
faces = losses.ArcFaceLoss(num_classes=8, embedding_size=64)
optimizer = torch.optim.AdamW([*model.parameters(), *faces.parameters()], lr=1e-3)
for step in range(5):
    images, labels = torch.randn(16, 3, 96, 96), torch.randint(8, (16,))
    embeddings = model(images)
    loss = triplets(embeddings, labels, miner(embeddings, labels)) + 0.1 * faces(embeddings, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
