"""`tapelens top` and `record --live` follow a program while it is recorded. The last screen has the recording's peak,
the program ends as it does alone, and the terminal is as it was before."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import xml.etree.ElementTree as xml

import pytest

import harness

TRAIN = """
import sys, time, torch
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
optimizer = torch.optim.Adam(net.parameters())
history = []
for step in range(int(sys.argv[1])):
    net(torch.randn(128, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    history.append(torch.zeros(16384))
    print(step, flush=True)
    time.sleep(0.05)
if len(sys.argv) > 2:
    import os
    os.kill(os.getpid(), 9)
"""
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


def train(*arguments):
    return [harness.PYTHON, "-c", TRAIN, *map(str, arguments)]


class Recording:
    """A program that is recorded in the background."""

    def __init__(self, target, command, options=()):
        self.process = subprocess.Popen([str(word) for word in harness.recording(command, target, options, quiet=False)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=harness.environment())
        folder = target.parent / (target.name + ".spool")
        until(lambda: folder.is_dir() and list(folder.glob("*.spool")), "the program did not begin to record")

    def end(self):
        out, err = self.process.communicate(timeout=120)
        return harness.Run(self.process.returncode, out, err)


def until(condition, why, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, why
        time.sleep(0.02)


def top(*words, **options):
    return harness.bare([harness.BINARY, "top", *words], **options)


def peaks(text):
    return re.findall(r"peak ([\d.]+ [KMG]?i?B) at", text)


def recorded_peak(run):
    return re.search(r"peak ([\d.]+ [KMG]?i?B) on cpu", run.stderr)[1]


def test_screens_of_a_running_program_up_to_its_peak(target):
    recording = Recording(target, train(40), ["--keep-spool"])
    steps = []
    while recording.process.poll() is None:
        page = top(target, "--once")
        assert page.code == 0, page.stderr
        steps += map(int, re.findall(r"recording  step (\d+)", page.stdout))
    run = recording.end()
    assert run.code == 0 and run.stdout == "".join(f"{step}\n" for step in range(40))
    assert len(steps) > 2 and steps == sorted(steps)
    last = top(target, "--once")
    assert "ended, exit code 0" in last.stdout and "step 40" in last.stdout
    assert peaks(last.stdout) == [recorded_peak(run)]
    for words in ["parameters", "optimizer state", "saved for backward", "other live tensors", "Backward0.", "a step"]:
        assert words in last.stdout


def test_pages_until_the_program_ends(target):
    recording = Recording(target, train(30))
    pages = top(target, "--interval", "0.3s", timeout=120)
    run = recording.end()
    assert pages.code == 0, pages.stderr
    assert len(peaks(pages.stdout)) > 2
    assert peaks(pages.stdout)[-1] == recorded_peak(run)
    assert "ended, exit code 0" in pages.stdout.split("run.tapelens")[-1]
    complete = top(target)
    assert complete.code == 3 and "tapelens report" in complete.stderr


def test_a_ring(target):
    recording = Recording(target, train(60), ["--last", "2", "--keep-spool"])
    assert top(target, "--once").code == 0
    run = recording.end()
    last = top(target, "--once").stdout
    assert "step 60" in last
    whole = harness.record(train(60), target.parent / "whole.tapelens", quiet=False)
    assert peaks(last) == [recorded_peak(whole)]
    assert run.code == 0


def test_a_killed_program(target):
    recording = Recording(target, train(10, "kill"), ["--keep-spool"])
    run = recording.end()
    assert run.code == 128 + signal.SIGKILL
    last = top(target, "--once").stdout
    assert "killed or crashed" in last
    assert peaks(last) == [recorded_peak(run)]


def test_the_recording_is_found_by_its_folder_and_its_process(target):
    recording = Recording(target, train(30))
    spool = next((target.parent / (target.name + ".spool")).glob("*.spool"))
    pid = spool.name.split("-")[0]
    for words, folder in [((), target.parent), ((pid,), "/"), ((spool,), "/"), ((spool.parent,), "/")]:
        page = top(*words, "--once", cwd=folder)
        assert page.code == 0 and f"pid {pid}" in page.stdout, page
    recording.end()


@pytest.mark.parametrize("words, code", [(("none.tapelens",), 3), ((), 2), (("99999999",), 2), (("--interval", "x"), 2)])
def test_errors_are_one_line(tmp_path, words, code):
    run = top(*words, cwd=tmp_path)
    assert run.code == code and run.stdout == "" and len(run.stderr.splitlines()) == 1


class Terminal:
    """A program in a separate terminal."""

    def __init__(self, command, columns=100, rows=40, **options):
        self.main, self.side = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.side)
        self.process = subprocess.Popen([str(word) for word in command], stdin=self.side, stdout=self.side,
                                        stderr=self.side, env=harness.environment({"TERM": "xterm-256color"}),
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **options)
        self.shown = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.1):
        if select.select([self.main], [], [], seconds)[0]:
            self.shown += os.read(self.main, 1 << 16)

    def read_until(self, text, seconds=60):
        end = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < end, self.shown[-3000:]
            self.read()

    def end(self):
        while self.process.poll() is None:
            self.read()
        self.read()
        restored = termios.tcgetattr(self.side) == self.before
        os.close(self.main)
        os.close(self.side)
        return self.process.returncode, restored


def test_a_terminal(target):
    recording = Recording(target, train(60))
    terminal = Terminal([harness.BINARY, "top", target])
    terminal.read_until(b"category")
    assert terminal.shown.startswith(ENTER)
    assert b"q quit" in terminal.shown and b"\x1b[1m" in terminal.shown
    terminal.shown = b""
    terminal.resize(80, 20)
    os.kill(terminal.process.pid, signal.SIGWINCH)
    terminal.read_until(b"q quit")
    lines = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", terminal.shown.split(b"\x1b[?2026h")[1]).decode().replace("\r", "").split("\n")
    assert len(lines) <= 20 and max(map(len, lines)) <= 80
    os.write(terminal.main, b"ndq")
    assert terminal.end() == (0, True)
    assert LEAVE in terminal.shown
    assert re.search(rb"recording: peak .* on cpu", terminal.shown.split(LEAVE)[1])
    assert recording.end().code == 0


def test_without_colors(target):
    recording = Recording(target, train(30))
    terminal = Terminal(["env", "NO_COLOR=1", harness.BINARY, "top", target])
    terminal.read_until(b"category")
    os.write(terminal.main, b"q")
    assert terminal.end() == (0, True)
    assert b"\x1b[1m" not in terminal.shown and b"\x1b[36m" not in terminal.shown
    recording.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT])
def test_a_signal_restores_the_terminal(target, number):
    recording = Recording(target, train(30))
    terminal = Terminal([harness.BINARY, "top", target])
    terminal.read_until(b"category")
    os.kill(terminal.process.pid, number)
    assert terminal.end() == (-number, True)
    assert LEAVE in terminal.shown
    assert recording.end().code == 0


def test_the_moving_picture_has_each_screen_as_text(monkeypatch):
    monkeypatch.syspath_prepend(harness.ROOT / "tools/screenshots")
    import top as tool

    colored = "\x1b[1m  cpu\x1b[0m <now>  \x1b[36m▃█\x1b[0m \x1b[32m█▌\x1b[0m"
    svg = xml.fromstring(tool.picture([(0, [colored, "same"]), (1, ["two", "same"]), (1.1, ["three", "same"])]))
    space = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in svg.iter(f"{space}text")] == ["cpu", "<now>", "same", "two", "three"]
    assert [frame.get("class") for frame in svg.findall(f"{space}g")] == ["f", "f", "e"]
    fills = [path.get("fill") for path in svg.iter(f"{space}path")]
    assert fills == [tool.COLORS["36"]] * 2 + [tool.COLORS["32"]] * 2
    committed = xml.fromstring((harness.ROOT / "docs/top.svg").read_text(encoding="utf-8"))
    text = "\n".join(line.text for line in committed.iter(f"{space}text"))
    assert "run.tapelens" in text and "saved for backward" in text and "recording  step " in text


def test_record_live_draws_while_the_program_writes_elsewhere(target):
    log = target.parent / "log"
    command = ["sh", "-c", 'exec "$@" > "$0" 2>&1', log,
               *harness.recording(train(40), target, ["--live"], quiet=False)]
    terminal = Terminal(command)
    terminal.read_until(b"category")
    assert terminal.end() == (0, True)
    assert ENTER in terminal.shown and LEAVE in terminal.shown
    *lines, last = log.read_text(encoding="utf-8").splitlines()
    assert lines == [str(step) for step in range(40)]
    assert last.startswith("tapelens: peak ")


@pytest.mark.parametrize("reads", [True, False])
def test_record_live_does_not_wait_for_a_terminal_that_takes_nothing(target, reads):
    """The user stops the output by Ctrl-S (`reads`), or the other end of the connection reads nothing."""
    log = target.parent / "log"
    command = ["sh", "-c", 'exec "$@" > "$0" 2>&1', log,
               *harness.recording(train(40), target, ["--live"], quiet=False)]
    terminal = Terminal(command)
    terminal.read_until(b"category")
    if reads:
        os.write(terminal.main, b"\x13")
    until(lambda: "39\n" in log.read_text(encoding="utf-8"), "the program did not end")
    until(lambda: terminal.process.poll() is not None, "tapelens record waits for the terminal", seconds=15)
    code, restored = terminal.end()
    assert code == 0 and restored
    assert LEAVE in terminal.shown or not reads
    assert "tapelens: peak " in log.read_text(encoding="utf-8")


def test_record_live_leaves_a_terminal_of_the_program_alone(target):
    terminal = Terminal(harness.recording(train(3), target, ["--live"], quiet=False))
    assert terminal.end() == (0, True)
    assert ENTER not in terminal.shown
    assert b"tapelens top" in terminal.shown
    assert b"0\r\n1\r\n2\r\n" in terminal.shown
