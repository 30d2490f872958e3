"""Reinforcement learning: the trainer is the package's, and so is the loop."""
import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO

torch.set_num_threads(1)


class Chase(gymnasium.Env):
    """A picture with a dot: push towards it."""
    observation_space = gymnasium.spaces.Box(0, 255, (1, 36, 36), np.uint8)
    action_space = gymnasium.spaces.Discrete(4)

    def seen(self):
        picture = np.zeros((1, 36, 36), np.uint8)
        picture[0, self.place[0], self.place[1]] = 255
        return picture

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.left = self.np_random.integers(36, size=2), 20
        return self.seen(), {}

    def step(self, action):
        self.place = np.clip(self.place + [(1, 0), (-1, 0), (0, 1), (0, -1)][int(action)], 0, 35)
        self.left -= 1
        return self.seen(), -float(np.abs(self.place - 18).sum()) / 36, False, self.left == 0, {}


model = PPO("CnnPolicy", Chase(), n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu")
model.learn(128)
print(model.logger.name_to_value.get("train/loss"))
