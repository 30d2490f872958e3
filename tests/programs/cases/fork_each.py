"""Runs programs one after another, each in a child process, so that PyTorch is imported once for all of them: recording
of a process begins with its first operator. Prints a line of JSON for each: its pid and its exit code.

    fork_each.py '[[FILE, ARGUMENT...], ...]'
"""

import json
import os
import runpy
import signal
import sys

import torch  # noqa: F401  pylint: disable=unused-import
import torch._dynamo  # noqa: F401  the first optimizer imports this module, which takes longer than most programs


def code_of(status):
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def child_to_run():
    """In each child, returns its command. In the parent, returns None after all children ended."""
    for command in json.loads(sys.argv[1]):
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            return command
        print(json.dumps({"pid": pid, "code": code_of(os.waitpid(pid, 0)[1])}))
    return None


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = child_to_run()
    if chosen is not None:
        # The program's output must not mix with the parent's output.
        os.dup2(2, 1)
        sys.argv = chosen
        sys.path[0] = os.path.dirname(chosen[0])
        program = runpy.run_path(chosen[0], run_name="__main__")  # its globals live to the end, as in a program
