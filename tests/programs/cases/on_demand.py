"""Trains many small steps: `on_demand.py PROGRESS STEPS [AT [END]]`. In step AT it waits until the file PROGRESS.go
exists. Then it trains on, or does END: "kill" (itself), "raise". A rank adds its number to PROGRESS."""

import os
import pathlib
import signal
import sys
import time

import torch

progress = pathlib.Path(sys.argv[1] + os.environ.get("RANK", ""))
steps, at = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else -1
end = sys.argv[4] if len(sys.argv) > 4 else ""
print("handlers", *(int(signal.getsignal(one)) for one in (signal.SIGUSR1, signal.SIGUSR2)), signal.pthread_sigmask(signal.SIG_BLOCK, []))
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters())
losses = 0.0
for step in range(steps):
    loss = net(torch.ones(16, 32)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses += loss.item()
    if step % 100 == 0 and step != at:
        progress.write_text(f"step {step}")
    if step == at:
        progress.write_text(f"waits {os.getpid()}")
        while not progress.with_suffix(".go").exists():
            time.sleep(0.02)
        if end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if end == "raise":
            raise ValueError(f"in step {step}")
print("sum", losses)
