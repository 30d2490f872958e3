"""Programs that do unusual things to their own process while they train. Each runs in a child process and in a separate
folder, which also gets its output files. PyTorch is imported only once, because recording begins with the first
operator. Prints a line of JSON for each program: its name, its pid and its status.

    odd.py FOLDER [NAME...]
"""

import atexit
import ctypes
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time

import torch
import torch._dynamo  # noqa: F401  the first optimizer imports this module, which takes longer than these programs

CASES = {}
CONTENT = bytes(range(256)) * 24  # of files that must not change
A_CHUNK = 18_000  # this many operators have records of more than 8 MiB, by which a spool grows at a time
libc = ctypes.CDLL(None, use_errno=True)


def case(function):
    CASES[function.__name__] = function
    return function


def train(steps=2):
    torch.manual_seed(0)
    w = torch.randn(64, 64, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        (w @ w).relu().sum().backward()
        optimizer.step()
    return w.detach().sum().item()


def many(operators=A_CHUNK):
    x = torch.zeros(1)
    with torch.no_grad():
        for _ in range(operators):
            x = x + 1
    return x.item()


def own_files(count, name="own"):
    """Opens files one after another, so that they get the free numbers."""
    files = []
    for number in range(count):
        file = os.open(f"{name}{number}", os.O_RDWR | os.O_CREAT, 0o600)
        os.write(file, CONTENT)
        files.append(file)
    return files


def say(*words):
    print(*words, flush=True)


def say_now(*words):
    """Bypasses Python's buffers, for exits that do not flush them."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


# ---- descriptors ------------------------------------------------------------------------------------------------------

@case
def closes_what_it_did_not_open():
    say(train())
    os.closerange(3, 256)
    files = own_files(40)
    say(many(), many())
    for file in files[:20]:
        os.close(file)
    say(train())


@case
def closes_everything_and_saves_a_checkpoint():
    say(train())
    os.closerange(3, 4096)
    with open("checkpoint.pt", "wb") as file:
        file.write(b"w" * 5_700_000)
        file.flush()
        say(many())
        file.write(b"end")
        say(train())
        file.flush()
        os._exit(0)


@case
def closes_everything_in_a_thread_all_the_time():
    say(train())
    ends = threading.Event()

    def closing():
        while not ends.is_set():
            os.closerange(3, 4096)
            file = os.open("own", os.O_RDWR | os.O_CREAT, 0o600)
            os.pwrite(file, CONTENT, 0)

    thread = threading.Thread(target=closing)
    thread.start()
    say(many(2 * A_CHUNK))
    ends.set()
    thread.join()


@case
def closes_standard_streams():
    say_now(train())
    for number in (0, 1, 2):
        os.close(number)
    own_files(3)  # now they are the standard streams
    many()
    train()
    os._exit(4)


@case
def uses_up_its_descriptors():
    say(train())
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
    files = []
    try:
        while True:
            files.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        say(error.strerror)
    say(many(2 * A_CHUNK))
    for file in files:
        os.close(file)


@case
def has_few_descriptors_left_and_needs_each():
    say(train())
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    for number in range(200):
        with open("own", "w", encoding="utf-8") as file:
            file.write(str(number))
        many(200)
    say(many())


@case
def locks_its_files():
    with open("locked", "wb") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        say(train(), many())
        pid = os.fork()
        if pid == 0:
            with open("locked", "rb+") as other:
                try:
                    fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os._exit(1)
                except OSError:
                    os._exit(0)
        say("still locked:", os.waitpid(pid, 0)[1] == 0)


# ---- children ---------------------------------------------------------------------------------------------------------

@case
def forks_and_both_train():
    say_now(train())
    pid = os.fork()
    say_now(train(3))
    if pid == 0:
        many(1000)
        os._exit(3)
    say_now("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


@case
def becomes_a_daemon():
    say_now(train())
    if os.fork() != 0:
        while not os.path.exists("daemon.done"):
            time.sleep(0.01)
        os._exit(0)
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.chdir("/")
    os.umask(0)
    folder = os.environ["ODD_FOLDER"]
    os.closerange(0, 4096)
    os.open("/dev/null", os.O_RDWR)
    os.dup2(0, 1)
    os.dup2(0, 2)
    own = os.open(f"{folder}/daemon", os.O_RDWR | os.O_CREAT, 0o600)
    os.write(own, CONTENT)
    os.write(own, str((train(), many())).encode())
    os.open(f"{folder}/daemon.done", os.O_CREAT | os.O_RDWR, 0o600)
    os._exit(0)


@case
def trains_only_as_a_daemon():
    if os.fork() != 0:
        while not os.path.exists("daemon.done"):
            time.sleep(0.01)
        os._exit(0)
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.closerange(0, 4096)
    own = os.open("daemon", os.O_RDWR | os.O_CREAT, 0o600)
    os.write(own, CONTENT + str((train(), many())).encode())
    os.open("daemon.done", os.O_CREAT | os.O_RDWR, 0o600)
    os._exit(0)


@case
def runs_other_programs():
    say(train())
    for _ in range(5):
        say(subprocess.run(["sh", "-c", "echo child; exit 3"], capture_output=True, text=True, check=False))
    say(os.system("exit 4"), os.spawnlp(os.P_WAIT, "sh", "sh", "-c", "exit 5"))
    say(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp("sh", ["sh", "-c", "exit 6"], os.environ), 0)[1]))
    say(train())


@case
def becomes_another_program():
    say(train())
    os.execv("/bin/sh", ["sh", "-c", "echo became; exit 5"])


@case
def becomes_another_program_by_each_name():
    say_now(train())
    shell = ["sh", "-c", "echo $0 $NAME; exit 5"]
    for number, become in enumerate([
            lambda: os.execvp("sh", shell), lambda: os.execve("/bin/sh", shell, {"NAME": "e"}),
            lambda: os.execvpe("sh", shell, {"NAME": "vpe"}),
            lambda: libc.execl(b"/bin/sh", b"l", b"-c", b"echo $0; exit 5", None),
            lambda: libc.execlp(b"sh", b"lp", b"-c", b"echo $0; exit 5", None),
            lambda: libc.execle(b"/bin/sh", b"le", b"-c", b"echo $0 $NAME; exit 5", None, (ctypes.c_char_p * 2)(b"NAME=le", None))]):
        pid = os.fork()
        if pid == 0:
            become()
        say_now(number, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


@case
def fails_to_become_another_program():
    say(train())
    for name in ("/no/such/program", "/dev/null"):
        try:
            os.execv(name, ["x"])
        except OSError as error:
            say(error.strerror)
    say(train())


@case
def ignores_its_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    say(train(), many())
    if os.fork() == 0:
        os._exit(3)
    try:
        os.wait()
    except ChildProcessError as error:
        say(error.strerror)


@case
def waits_for_all_its_children():
    say(train(), many())
    try:
        os.waitpid(-1, 0x40000000)  # __WALL
    except ChildProcessError as error:
        say(error.strerror)


# ---- limits and environment of the process ----------------------------------------------------------------------------

@case
def goes_into_a_chroot():
    say(train())
    os.mkdir("jail")
    os.chroot("jail")
    os.chdir("/")
    own_files(3)
    say(many(2 * A_CHUNK), train())


@case
def removes_its_folder():
    say(train())
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    say(many(), train())


@case
def changes_its_folder_first():
    os.chdir("/")
    say(train(), many())


@case
def gives_up_root():
    say(train())
    os.setgid(65534)
    os.setuid(65534)
    say(many(2 * A_CHUNK), train())


@case
def has_a_strict_umask():
    os.umask(0o777)
    say(train(), many())


@case
def clears_its_environment():
    say(train())
    os.environ.clear()
    say(many())


@case
def has_a_limit_of_file_sizes():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12 << 20, 12 << 20))
    say(train(), many(2 * A_CHUNK))


@case
def has_a_limit_of_addresses():
    say(train())
    with open("/proc/self/statm", encoding="utf-8") as file:
        pages = int(file.read().split()[0])
    limit = pages * mmap.PAGESIZE + (96 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    say(many(2 * A_CHUNK))
    try:
        torch.empty(256 << 20, dtype=torch.uint8)
        say("there was room")
    except RuntimeError as error:
        say("memory" in str(error))
    say(torch.empty(64 << 20, dtype=torch.uint8).numel())


@case
def locks_its_memory():
    say(train())
    libc.mlockall(2)  # MCL_FUTURE
    say(many())


# ---- signals and exits ------------------------------------------------------------------------------------------------

def ends_in_a_handler(seconds, name):
    """The handler of SIGALRM is a function of libc, so it runs at any place in the program."""
    handler = ctypes.cast(getattr(libc, name), ctypes.c_void_p)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    while True:
        many(1000)
        [bytearray(100) for _ in range(1000)]


@case
def ends_in_a_signal_handler():
    say_now(train())
    ends_in_a_handler(0.2, "_exit")


@case
def ends_in_a_signal_handler_at_once():
    say_now(train())
    ends_in_a_handler(0.001, "_exit")


@case
def ends_in_a_signal_handler_with_threads():
    say_now(train())
    for _ in range(3):
        threading.Thread(target=lambda: [many(1000) for _ in range(1000)], daemon=True).start()
    ends_in_a_handler(0.2, "_exit")


@case
def ends_in_signal_handlers_while_it_trains():
    for number in range(8):
        pid = os.fork()
        if pid == 0:
            libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
            libc.signal(signal.SIGALRM, ctypes.cast(libc._exit, ctypes.c_void_p))
            x = torch.randn(64, 1024, requires_grad=True)
            signal.setitimer(signal.ITIMER_REAL, 0.05 + 0.013 * number)
            while True:
                torch.nn.functional.hardtanh(torch.relu(x) * 2).sum().backward()
        say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


@case
def ends_quickly():
    say_now(train())
    libc.quick_exit(6)


@case
def ends_from_a_thread():
    say_now(train())
    thread = threading.Thread(target=lambda: (many(3000), os._exit(8)))
    thread.start()
    while True:
        many(1000)


@case
def trains_when_it_ends():
    say(train())
    atexit.register(lambda: say("at exit", train()))
    sys.exit(9)


@case
def is_interrupted_all_the_time():
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    result = many(2 * A_CHUNK)
    signal.setitimer(signal.ITIMER_REAL, 0)
    say(result, train(), len(seen) > 10)


@case
def blocks_every_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.kill(os.getpid(), signal.SIGUSR1)
    say(train(), many(), signal.sigwait([signal.SIGUSR1]), sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))[:3])


@case
def has_a_broken_pipe():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    here, there = socket.socketpair()
    there.close()
    many()
    os.write(here.fileno(), b"x")


@case
def aborts():
    say_now(train())
    signal.signal(signal.SIGABRT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.abort()


# ---- threads ----------------------------------------------------------------------------------------------------------

@case
def has_two_thousand_short_threads():
    sums = []
    for _ in range(2000):
        thread = threading.Thread(target=lambda: sums.append((torch.ones(3) * 2).sum().item()))
        thread.start()
        thread.join()
    say(sum(sums))


@case
def has_three_hundred_threads_at_once():
    everyone, sums = threading.Barrier(300), []

    def work():
        value = (torch.ones(3) * 2).sum().item()
        everyone.wait()
        sums.append(value + torch.ones(1).item())

    threads = [threading.Thread(target=work) for _ in range(300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say(sum(sums))


@case
def forks_while_threads_train():
    ends = threading.Event()

    def work():
        while not ends.is_set():
            many(100)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(20):
        pid = os.fork()
        if pid == 0:
            os._exit(number)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == number
    ends.set()
    for thread in threads:
        thread.join()
    say(train())


# ---- running them -------------------------------------------------------------------------------------------------------

def start(function, folder):
    os.makedirs(folder)
    os.chmod(folder, 0o777)
    os.chdir(folder)
    os.environ["ODD_FOLDER"] = folder
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, number)
        os.close(file)
    function()


def main():
    torch.set_num_threads(1)
    folder, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(CASES)
    for name in names:
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            start(CASES[name], os.path.join(folder, name))
            return  # as a program that exits normally
        print(json.dumps({"name": name, "pid": pid, "status": os.waitpid(pid, 0)[1]}), flush=True)


if __name__ == "__main__":
    main()
