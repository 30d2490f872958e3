"""REINFORCE with a baseline: one backward for each episode."""
import torch
from torch import nn, optim
from torch.distributions import Categorical
from torch.nn import functional as F


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(4, 128)
        self.action, self.value = nn.Linear(128, 2), nn.Linear(128, 1)

    def forward(self, x):
        x = F.relu(self.affine(x))
        return F.softmax(self.action(x), dim=-1), self.value(x)


def main():
    torch.manual_seed(1)
    model = Policy()
    optimizer = optim.Adam(model.parameters(), lr=3e-2)
    for episode in range(5):
        state, kept, rewards = torch.rand(4), [], []
        for _ in range(30):
            probabilities, value = model(state)
            choice = Categorical(probabilities)
            action = choice.sample()
            kept.append((choice.log_prob(action), value))
            state = torch.rand(4)
            rewards.append(float(state[0] > 0.5))
        returns, sum_of = [], 0.0
        for reward in reversed(rewards):
            sum_of = reward + 0.99 * sum_of
            returns.insert(0, sum_of)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        policy_losses = [-log * (ret - value.item()) for (log, value), ret in zip(kept, returns)]
        value_losses = [F.smooth_l1_loss(value, ret.reshape(1)) for (_, value), ret in zip(kept, returns)]
        optimizer.zero_grad()
        loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
        loss.backward()
        optimizer.step()
        print(episode, loss.item())


main()
