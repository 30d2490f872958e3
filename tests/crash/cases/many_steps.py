"""Trains many small steps: `many_steps.py PROGRESS STEPS [END [AT]]`. Step 10 has by far the highest peak. One step of
each 1000 leaks a tensor. END is the action in step AT: "kill" (itself), "wait", "raise"."""

import os
import signal
import sys
import time

import torch

progress = open(sys.argv[1], "w", buffering=1)
steps = int(sys.argv[2])
end, at = (sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 4 else ("", -1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters())
kept = []
print("pid", os.getpid(), file=progress)
for step in range(steps):
    if step == 10:
        much = torch.zeros(64 << 20, dtype=torch.uint8)
        del much
    loss = net(torch.ones(16, 32)).pow(2).mean()
    if step % 1000 == 7:
        kept.append(torch.full((3000,), float(step)))  # the leak
    optimizer.zero_grad()
    loss.backward()
    if step == at and end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if step == at and end == "wait":
        print("waits", file=progress)
        time.sleep(3600)
    if step == at and end == "raise":
        raise SystemExit(7)
    optimizer.step()
    print("ended", step, file=progress)
