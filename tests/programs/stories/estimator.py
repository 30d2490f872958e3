"""fit() and predict() of an estimator in the manner of skorch, which keeps the history of its batches."""
import torch
from torch import nn


class NeuralNetClassifier:
    def __init__(self, module, lr, epochs, batch_size):
        self.module, self.epochs, self.batch_size = module, epochs, batch_size
        self.optimizer = torch.optim.SGD(module.parameters(), lr=lr, momentum=0.9)
        self.history = []

    def batches(self, *tensors):
        return zip(*(tensor.split(self.batch_size) for tensor in tensors))

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        y_pred = self.module(x)
        loss = nn.functional.cross_entropy(y_pred, y)
        loss.backward()
        self.optimizer.step()
        return {"loss": loss, "y_pred": y_pred}

    def fit(self, x, y):
        for _ in range(self.epochs):
            for batch in self.batches(x, y):
                step = self.train_step(*batch)
                self.history.append(step)
        return self

    def predict(self, x):
        return torch.cat([self.module(batch).argmax(1) for batch, in self.batches(x)])


torch.manual_seed(0)
inputs, labels = torch.randn(2048, 128), torch.randint(0, 100, (2048,))
net = NeuralNetClassifier(nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 100)), 0.1, 2, 256)
print(net.fit(inputs, labels).predict(inputs).shape)
