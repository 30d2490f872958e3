"""A policy gradient with a baseline: the loss weights the log-probabilities of an episode by returns that exist at its end."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 4))
baseline = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
for _ in range(4):
    log_probabilities, states, rewards = [], [], []
    for step in range(200):
        state = torch.randn(1, 8)
        actions = torch.distributions.Categorical(logits=policy(state))
        action = actions.sample()
        log_probabilities.append(actions.log_prob(action))
        states.append(state)
        rewards.append(float(action) - step % 3)
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + 0.99 * total
        returns.append(total)
    with torch.no_grad():
        values = baseline(torch.cat(states)).squeeze(1)
    advantages = torch.tensor(returns[::-1]) - values
    loss = -(torch.cat(log_probabilities) * advantages).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
