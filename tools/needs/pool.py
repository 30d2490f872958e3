"""Runs the experiment on many operators, each in a separate process, a few at a time."""

import faulthandler
import os
import pickle
import select
import signal
import time
import traceback

import experiment


class Running:
    """One process on one operator, whose answer comes through a pipe."""

    def __init__(self, operator, settings, isolated):
        self.operator, self.settings, self.isolated = operator, settings, isolated
        self.output = b""
        self.begun = time.monotonic()
        self.reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.reader)
            self.work(writer)
        os.close(writer)

    def work(self, writer):
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)  # a crash is expected, and kernels print what they think of NaN
        faulthandler.disable()
        experiment.quiet()
        end = self.begun + self.settings.seconds
        try:
            run = experiment.Experiment(self.operator, self.settings, self.isolated)
            answer = run.run(lambda: time.monotonic() > end).result()
        except BaseException as error:  # passed to the parent, of any type
            answer = {"failure": type(error).__name__, "traceback": traceback.format_exc()}
        with os.fdopen(writer, "wb") as file:
            pickle.dump(answer, file)
        os._exit(0)

    def is_late(self):
        return time.monotonic() - self.begun > 2 * self.settings.seconds + 30

    def end(self):
        """The answer, or None if it crashed."""
        os.close(self.reader)
        os.waitpid(self.pid, 0)
        return pickle.loads(self.output) if self.output else None


def run(operators, settings, processes, progress):
    """Yields (operator, answer). An answer has "failure" where the experiment could not be made."""
    waiting = [(operator, False) for operator in reversed(operators)]
    running = {}
    while waiting or running:
        while waiting and len(running) < processes:
            operator, isolated = waiting.pop()
            made = Running(operator, settings, isolated)
            running[made.reader] = made
        ready, _, _ = select.select(list(running), [], [], 1)
        for reader, one in list(running.items()):
            if reader in ready:
                piece = os.read(reader, 1 << 20)
                if piece:
                    one.output += piece
                    continue
            elif one.is_late():
                os.kill(one.pid, signal.SIGKILL)
            else:
                continue
            del running[reader]
            answer, late = one.end(), one.is_late()
            if answer is None and not late and not one.isolated:
                waiting.append((one.operator, True))
                continue
            if answer is None:
                answer = {"failure": "out of time" if late else "crashes"}
            answer["seconds"] = time.monotonic() - one.begun
            progress(len(waiting) + len(running), one.operator)
            yield one.operator, answer
