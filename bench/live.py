"""The cost of `tapelens top` for the program that it follows, and the time from an allocation to the screen.

    bench/live.py [--rounds 5] [--steps 60]

Step times are medians over the steps of a small training on the CPU, recorded alone and recorded while `top` draws in a
terminal. The two take turns. The lag is measured with a program that allocates and frees 64 MiB."""

import argparse
import fcntl
import os
import pathlib
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("TAPELENS_BINARY", str(ROOT / "build/release/bin/tapelens"))

TRAIN = """
import statistics, sys, time, torch
torch.set_num_threads(1)
net = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))
                            for _ in range(8)))
optimizer = torch.optim.AdamW(net.parameters())
times = []
for step in range(int(sys.argv[1])):
    begin = time.perf_counter()
    net(torch.randn(64, 256)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    times.append(time.perf_counter() - begin)
print("step", statistics.median(times[len(times) // 4:]))
"""

ALLOCATE = """
import time, torch
for _ in range(int(__import__("sys").argv[1])):
    time.sleep(0.8)
    kept = torch.empty(64 << 20, dtype=torch.uint8)
    print("made", time.monotonic(), flush=True)
    time.sleep(0.8)
    del kept
"""


class Top:
    """`tapelens top` in a terminal of its own. Notes when each frame came."""

    def __init__(self, target):
        self.main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        while not list(target.parent.glob(target.name + ".spool/*.spool")):
            time.sleep(0.02)
        self.begin = time.monotonic()
        self.process = subprocess.Popen([BINARY, "top", str(target)], stdin=side, stdout=side, stderr=side)
        os.close(side)
        self.frames = []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while self.process.poll() is None:
            if select.select([self.main], [], [], 0.05)[0]:
                try:
                    self.frames.append((time.monotonic(), os.read(self.main, 1 << 16).decode(errors="replace")))
                except OSError:
                    return

    def end(self):
        """Its use of a processor core, as a fraction."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - self.begin)
        os.write(self.main, b"q")
        self.process.wait()
        self.thread.join()
        os.close(self.main)
        return used


def recorded(program, count, follow):
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "run.tapelens"
        command = [BINARY, "record", "--quiet", "-o", str(target), "--", sys.executable, "-c", program, str(count)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        top = Top(target) if follow else None
        lines = process.stdout.read()
        used = top.end() if follow else 0
        if process.wait() != 0:
            sys.exit(f"the program ended with {process.returncode}")
        return lines, used, top


def lags(count):
    lines, used, top = recorded(ALLOCATE, count, True)
    found = []
    for made in map(float, re.findall(r"made ([\d.]+)", lines)):
        shown = [when for when, text in top.frames
                 if when >= made and any(float(now) > 60 for now in re.findall(r"now ([\d.]+) MiB", text))]
        found.append((shown[0] if shown else float("inf")) - made)
    return found, used


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    times = {False: [], True: []}
    used = []
    for _ in range(options.rounds):
        for follow in times:
            lines, share, _ = recorded(TRAIN, options.steps, follow)
            times[follow].append(float(lines.split()[-1]))
            if follow:
                used.append(share)
    alone, followed = (statistics.median(times[follow]) * 1000 for follow in (False, True))
    print(f"median step: recorded {alone:.2f} ms, while top follows {followed:.2f} ms ({followed / alone - 1:+.1%})")
    print(f"top: {statistics.median(used):.1%} of a core while it follows")
    found, idle = lags(10)
    print(f"lag: median {statistics.median(found):.2f} s, at most {max(found):.2f} s; top: {idle:.1%} of a core")


if __name__ == "__main__":
    main()
