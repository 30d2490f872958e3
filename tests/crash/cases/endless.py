"""endless.py PROGRESS HOW [ITERATIONS]: trains in marked iterations and logs each step in PROGRESS with plain write()
calls. Each logged event has happened when the program dies, and each iteration logged as ended must be in the
recording. HOW: wait (to be killed), abort, segfault, grow (until memory ends)."""

import ctypes
import os
import random
import sys
import threading
import time

import torch
from torch.autograd.profiler import record_function


def dies(how):
    """A separate thread ends the process at a random time during the main thread's backward."""
    delay = random.uniform(0.02, 0.6)  # seeded by the system, so different in each run
    def end():
        time.sleep(delay)
        if how == "abort":
            os.abort()
        ctypes.string_at(0)
    threading.Thread(target=end, daemon=True).start()


def main():
    progress, how = sys.argv[1:3]
    iterations = int(sys.argv[3]) if len(sys.argv) > 3 else sys.maxsize
    file = os.open(progress, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(text):
        os.write(file, (text + "\n").encode())

    torch.set_num_threads(1)
    torch.manual_seed(0)
    weights = [torch.randn(48, 48, requires_grad=True) for _ in range(12)]
    kept = []
    note(f"pid {os.getpid()}")
    for number in range(iterations):
        with record_function(f"mark-{number}"):
            x = torch.ones(64, 48)
            for w in weights:
                x = torch.tanh(x @ w)
            loss = x.square().mean()
            for w in weights:
                w.grad = None
            note(f"backward {number}")
            for _ in range(3):  # most of the time goes into these
                loss.backward(retain_graph=True)
        note(f"ended {number}")
        if number == 2 and how in ("abort", "segfault"):
            dies(how)
        if how == "grow" and number > 2:
            kept.append(torch.ones(random.randrange(1, 16) << 18))  # up to 16 MiB, touched
    print("finished", repr(loss.item()))
    note("finished")


main()
