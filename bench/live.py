"""The cost of following a run while it is recorded, for the program and for the observer, and the lag of the screen.

    bench/live.py [--rounds 5] [--steps 60] [--seconds 20] [--rate 200000]

The observers are `tapelens top` in a terminal, the window (tapelens-bench-live, offscreen), and `record --live`. Three
measurements:

- Time of a step: medians over the steps of a small training on the CPU, recorded alone and with each observer. They take
  turns.
- A rate: tapelens-synthetic writes that many events a second. The lag of an event is the time from its writing to the
  first screen with it, for every event.
- A program that allocates and frees 64 MiB: the time from the allocation to the screen.

The use of a processor core is the observer's own processor time over the time that it follows."""

import argparse
import bisect
import fcntl
import math
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
WINDOW = str(pathlib.Path(BINARY).with_name("tapelens-bench-live"))
WRITER = str(pathlib.Path(BINARY).with_name("tapelens-synthetic"))

TRAIN = """
import statistics, sys, time, torch
torch.set_num_threads(1)
net = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))
                            for _ in range(8)))
optimizer = torch.optim.AdamW(net.parameters())
times, used = [], []
for step in range(int(sys.argv[1])):
    begin, begin_used = time.perf_counter(), time.process_time()
    net(torch.randn(64, 256)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    times.append(time.perf_counter() - begin)
    used.append(time.process_time() - begin_used)
print("step", *(statistics.median(of[len(of) // 4:]) for of in (times, used)))
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


def processor_time(process):
    """The processor time of a process without its children, in seconds."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Observer:
    """A process that follows spools. frames: the time, the events and the live MiB of each screen."""

    def __init__(self):
        self.frames = []
        self.used = self.begin = None
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def note(self, when, events, live):
        if self.begin is None:  # without its start
            self.begin = when, processor_time(self.process)
        self.frames.append((when, events, live))

    def share(self):
        """Its use of a core since its first screen, as a fraction."""
        begin, used = self.begin
        return (processor_time(self.process) - used) / (time.monotonic() - begin)


class Top(Observer):
    def __init__(self, folder):
        self.main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.process = subprocess.Popen([BINARY, "top", str(folder)], stdin=side, stdout=side, stderr=side)
        os.close(side)
        super().__init__()

    def read(self):
        end = b"\033[?2026l"  # the end of a screen
        text = b""
        while self.process.poll() is None:
            if not select.select([self.main], [], [], 0.05)[0]:
                continue
            try:
                text += os.read(self.main, 1 << 16)
            except OSError:
                return
            *screens, text = text.split(end)
            self.note_screens(screens)

    def note_screens(self, screens):
        for screen in screens:
            text = screen.decode(errors="replace")
            events, live = re.search(r"([\d,]+) events", text), re.search(r"now ([\d.]+) (\w+)", text)
            if events and live:
                scale = {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 2**10}[live[2]]
                self.note(time.monotonic(), int(events[1].replace(",", "")), float(live[1]) * scale)

    def end(self):
        share = self.share()
        os.write(self.main, b"q")
        self.process.wait()
        self.thread.join()
        os.close(self.main)
        return share


class Window(Observer):
    def __init__(self, folder):
        self.process = subprocess.Popen([WINDOW, str(folder)], stdout=subprocess.PIPE, text=True)
        super().__init__()

    def read(self):
        for line in self.process.stdout:
            when, events, live = line.split()
            self.note(float(when), int(events), float(live))

    def end(self):
        share = self.share()
        self.process.terminate()
        self.thread.join()
        self.process.wait()
        return share


OBSERVERS = {"top": Top, "the window": Window}


def wait_for_spool(folder):
    while not list(folder.glob("*.spool")):
        time.sleep(0.02)


def recorded(program, count, observer=None, live=False):
    """The program's output, the share of a core of the observer, or of `record` itself, and the observer."""
    with tempfile.TemporaryDirectory() as name:
        target = pathlib.Path(name) / "run.tapelens"
        command = [BINARY, "record", "--quiet", *(["--live"] if live else []), "-o", str(target), "--", sys.executable,
                   "-c", program, str(count)]
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        process = subprocess.Popen(command, stdin=side, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(side)
        screen = threading.Thread(target=drain, args=(main,))
        screen.start()
        follower = None
        if observer is not None:
            folder = target.with_name(target.name + ".spool")
            wait_for_spool(folder)
            follower = observer(folder)
        begin = time.monotonic()
        lines = process.stdout.read()
        share = follower.end() if follower else processor_time(process) / (time.monotonic() - begin)
        errors = process.stderr.read()
        if process.wait() != 0 or errors:
            sys.exit(f"the program ended with {process.returncode}: {errors}")
        screen.join()
        os.close(main)
        return lines, share, follower


def drain(terminal):
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:
        pass  # the terminal is closed


def allocation_lags(observer, count):
    lines, share, follower = recorded(ALLOCATE, count, observer)
    found = []
    for made in map(float, re.findall(r"made ([\d.]+)", lines)):
        shown = [when for when, _, live in follower.frames if when >= made and live > 60]
        found.append((shown[0] if shown else math.inf) - made)
    return found, share


def event_lags(observer, rate, seconds):
    """The lag of the oldest event that each screen shows first, and the share of a core."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "run.tapelens.spool"
        writer = subprocess.Popen([WRITER, str(folder), str(rate * seconds), "--rate", str(rate)],
                                  stdout=subprocess.PIPE, text=True)
        wait_for_spool(folder)
        follower = observer(folder)
        lines = writer.stdout.read().splitlines()
        share = follower.end()
        if writer.wait() != 0:
            sys.exit(f"the writer ended with {writer.returncode}")
    written = [(int(events), float(when)) for when, events in (line.split() for line in lines[:-1])]
    events_per_second = (written[-1][0] - written[0][0]) / (written[-1][1] - written[0][1])
    found = []
    for (_, before, _), (when, events, _) in zip(follower.frames, follower.frames[1:]):
        if events > before:  # event before + 1 was written after the last line that counts at most `before`
            found.append(when - written[bisect.bisect_right(written, (before, math.inf)) - 1][1])
    return found, share, events_per_second


def step_times(rounds, steps):
    ways = {"recorded": {}, "record --live": {"live": True},
            **{name: {"observer": observer} for name, observer in OBSERVERS.items()}}
    times = {way: [] for way in ways}
    shares = {way: [] for way in ways}
    for _ in range(rounds):
        for way, options in ways.items():
            lines, share, _ = recorded(TRAIN, steps, **options)
            times[way].append([float(word) for word in lines.split()[-2:]])
            shares[way].append(share)
    alone = [statistics.median(of) for of in zip(*times["recorded"])]
    for way in ways:
        wall, used = (statistics.median(of) for of in zip(*times[way]))
        print(f"step, {way}: {wall * 1000:.2f} ms ({wall / alone[0] - 1:+.1%}), processor time {used * 1000:.2f} ms "
              f"({used / alone[1] - 1:+.1%}); {way if way in OBSERVERS else 'record'}: "
              f"{statistics.median(shares[way]):.1%} of a core", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=200_000)
    options = parser.parse_args()
    for name, observer in OBSERVERS.items():
        found, share, rate = event_lags(observer, options.rate, options.seconds)
        print(f"{rate:,.0f} events a second, {name}: lag median {statistics.median(found):.2f} s, at most "
              f"{max(found):.2f} s; {share:.1%} of a core", flush=True)
    for name, observer in OBSERVERS.items():
        found, share = allocation_lags(observer, 10)
        print(f"64 MiB, {name}: lag median {statistics.median(found):.2f} s, at most {max(found):.2f} s; {share:.1%} of "
              "a core", flush=True)
    if options.rounds > 0:
        step_times(options.rounds, options.steps)


if __name__ == "__main__":
    main()
