"""Processes in odd states that train: process_states.py NAME, in a writable folder. It does not use Tapelens.

Each prints its results. Output, exit code and files are the same with and without Tapelens."""

import atexit
import contextlib
import ctypes
import faulthandler
import gc
import hashlib
import locale
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref

import torch

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def digest(*tensors):
    return hashlib.sha256(b"".join(t.detach().contiguous().numpy().tobytes() for t in tensors)).hexdigest()[:12]


def say(*words):
    print(*words, flush=True)


class Net:
    """A forward with saves for rewrites, and its backward."""

    def __init__(self, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.w = torch.randn(64, 64, generator=generator).requires_grad_()
        self.loss = None

    def forward(self, hook=None):
        x = torch.relu(self.w @ self.w)
        y = x * 2
        if hook is not None:
            x.register_hook(hook)
        self.loss = (y * torch.sigmoid(x)).sum()
        return self

    def backward(self):
        self.loss.backward()
        return digest(self.w.grad)


def train(seed=0, steps=3):
    """With momentum, without torch.optim: its import of torch._dynamo is most of a short process."""
    net, momentum = Net(seed), torch.zeros(64, 64)
    for _ in range(steps):
        net.w.grad = None
        net.forward().backward()
        with torch.no_grad():
            momentum.mul_(0.9).add_(net.w.grad)
            net.w.add_(momentum, alpha=-1e-3)
    return digest(net.w)


@case
def forks_after_the_forward():
    net = Net().forward()
    child = os.fork()
    if child == 0:
        say("child", net.backward(), train(1))
        os._exit(3)
    say("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), net.backward(), train(2))


@case
def forks_in_a_hook():
    def hook(gradient):
        child = os.fork()
        if child == 0:
            os._exit(4)
        say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    say(Net().forward(hook).backward(), train())


@case
def threads_train_after_the_end():
    def work(number):
        main.join()
        answers[number] = train(number)
        if all(answers):
            say(*answers)
    main, answers = threading.main_thread(), [None] * 3
    for number in range(3):
        threading.Thread(target=work, args=(number,)).start()
    say(train())


@case
def daemons_hold_graphs_at_the_end():
    ready = threading.Barrier(4)

    def work(number):
        net = Net(number).forward()
        ready.wait()
        threading.Event().wait()
        net.backward()
    for number in range(3):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    ready.wait()
    say(train())


@case
def leaves_at_once_in_the_backward():
    say(train())
    Net().forward(lambda gradient: os._exit(7)).backward()


@case
def an_uncaught_exception_in_the_backward():
    def hook(gradient):
        raise ValueError("on purpose")
    say(train())
    Net().forward(hook).backward()


@case
def exits_in_the_backward():
    def hook(gradient):
        sys.exit(9)
    say(train())
    Net().forward(hook).backward()


@case
def is_terminated_between_forward_and_backward():
    say(train())
    net = Net().forward()
    os.kill(os.getpid(), signal.SIGTERM)
    net.backward()


@case
def catches_its_termination():
    def handler(number, frame):
        say("terminated", number)
        raise SystemExit(11)
    signal.signal(signal.SIGTERM, handler)
    net = Net().forward()
    os.kill(os.getpid(), signal.SIGTERM)
    say("never", net.backward())


@case
def is_interrupted_in_the_backward():
    try:
        Net().forward(lambda gradient: signal.raise_signal(signal.SIGINT)).backward()
    except KeyboardInterrupt:
        say("interrupted")
    say(train())


@case
def an_alarm_rings_while_it_trains():
    rung = []

    def handler(number, frame):
        with torch.enable_grad():  # it may ring while train() has gradients disabled
            rung.append(train(5, 1))
        signal.setitimer(signal.ITIMER_REAL, 0.02)  # one-shot: a periodic timer may ring again in here
    signal.signal(signal.SIGALRM, handler)
    answers = {train()}  # the first backward imports modules, which the handler could not import meanwhile
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    while len(rung) < 5:
        answers.add(train())
    signal.setitimer(signal.ITIMER_REAL, 0)
    say(sorted(answers), sorted(set(rung)))


@case
def limits_the_time_of_its_steps():
    """The handler raises an exception at any place in the step. No step may swallow it."""
    class OutOfTime(Exception):
        pass

    rung = []

    def handler(number, frame):
        rung.append(number)
        raise OutOfTime
    signal.signal(signal.SIGALRM, handler)
    parameters = [torch.nn.Parameter(torch.ones(4)) for _ in range(200)]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    caught = 0
    for i in range(150):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0005 + i * 0.0001)
            while len(rung) == i:
                optimizer.zero_grad()
                sum((p * p).sum() for p in parameters).backward()
                optimizer.step()
        except OutOfTime:
            caught += 1
            torch.set_grad_enabled(True)  # step() may have left it disabled
    say(len(rung), caught)


@case
def changes_its_folder():
    os.mkdir("below")
    os.chdir("below")
    say(train(), os.path.basename(os.getcwd()))
    with open("here", "w", encoding="utf-8") as file:
        file.write(train(1))


@case
def its_folder_is_gone():
    os.mkdir("below")
    os.chdir("below")
    os.rmdir("../below")
    say(train())
    try:
        os.getcwd()
    except FileNotFoundError:
        say("gone")


@case
def closes_descriptors_it_did_not_open():
    say(train())
    os.closerange(3, 512)
    file = os.open("own", os.O_RDWR | os.O_CREAT, 0o600)
    say(file, train(1))
    os.write(file, b"own")
    say(Net().forward().backward())


@case
def has_low_limits():
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
    thread = threading.Thread(target=lambda: say(train(1)))
    thread.start()
    thread.join()
    say(train(), resource.getrlimit(resource.RLIMIT_NOFILE))


@case
def changes_its_locale():
    for name in ("de_DE.UTF-8", "C.UTF-8", "C"):
        try:
            say(name, locale.setlocale(locale.LC_ALL, name), train(), locale.str(1.5))
        except locale.Error as error:
            say(name, error)
    os.environ["LC_ALL"] = "xx_XX"
    say(train(1))


@case
def has_a_strict_umask():
    os.umask(0o777)
    say(train())
    os.umask(0o077)
    torch.save(torch.ones(3), "tensor")
    say(oct(os.stat("tensor").st_mode), train(1))


@case
def spawns_processes():
    context = torch.multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    everyone = [context.Process(target=put, args=(queue, number)) for number in range(2)]
    [process.start() for process in everyone]
    [process.join() for process in everyone]
    say(sorted(queue.get() for _ in everyone), [process.exitcode for process in everyone], train())


def put(queue, number):
    queue.put((number, train(number)))
    sys.exit(number)


@case
def runs_another_program():
    say(train())
    code = "import torch; w = torch.ones(64, 64, requires_grad=True); (torch.relu(w @ w) * w).sum().backward(); print(w.grad.sum().item())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    say(done.returncode, done.stdout, done.stderr)
    say(subprocess.run(["sh", "-c", "exit 6"], env={}, check=False).returncode, train(1))


@case
def becomes_another_program():
    say(train())
    Net().forward()
    os.execv("/bin/sh", ["sh", "-c", "echo became; exit 12"])


@case
def trains_at_exit():
    net = Net().forward()
    atexit.register(lambda: say("last", train(1)))
    atexit.register(lambda: say("first", net.backward()))
    weakref.finalize(net, lambda: say("finalized", train(2)))
    say(train())


@case
def raises_at_exit():
    atexit.register(lambda: 1 / 0)
    net = Net().forward()
    atexit.register(lambda: say(net.backward()))
    say(train())


@case
def collects_no_garbage():
    gc.disable()
    for number in range(20):
        net = Net(number).forward()
        net.own = net
        net.loss.register_hook(lambda gradient, net=net: None)
    del net
    say(train(), gc.isenabled(), gc.get_count()[0] > 0)
    gc.enable()
    gc.collect()
    say(train(1), gc.isenabled())


@case
def collects_garbage_all_the_time():
    gc.set_threshold(1)
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(phase))
    say(train(), gc.get_threshold(), len(seen) > 0)


@case
def aborts_with_a_traceback():
    faulthandler.enable()
    say(train())
    Net().forward(lambda gradient: os.abort()).backward()


@case
def dumps_its_stack():
    with open("stack", "w+", encoding="utf-8") as file:
        faulthandler.register(signal.SIGUSR1, file, all_threads=False)
        Net().forward(lambda gradient: os.kill(os.getpid(), signal.SIGUSR1)).backward()
    say(train())


@case
def recurses_too_deep():
    sys.setrecursionlimit(300)

    def deep(gradient):
        return deep(gradient)
    try:
        Net().forward(deep).backward()
    except RecursionError as error:
        say("too deep", error)

    def down(levels):
        return train() if levels == 0 else down(levels - 1)
    say(down(200), sys.getrecursionlimit())


@case
def is_traced():
    own = os.path.basename(__file__)
    seen = []

    def trace(frame, event, argument):
        if os.path.basename(frame.f_code.co_filename) == own:
            seen.append((frame.f_lineno, event))
        else:
            others.add((os.path.basename(frame.f_code.co_filename), frame.f_code.co_name))
        return trace
    others = set()
    train()
    threading.settrace(trace)
    sys.settrace(trace)
    answer = train()
    sys.settrace(None)
    say(answer, len(seen), hashlib.sha256(repr(seen).encode()).hexdigest()[:12], len(others),
        hashlib.sha256(repr(sorted(others)).encode()).hexdigest()[:12])


@case
def is_profiled():
    calls = []
    train()
    sys.setprofile(lambda frame, event, argument: calls.append((event, frame.f_code.co_name)))
    answer = train()
    sys.setprofile(None)
    say(answer, len(calls), hashlib.sha256(repr(calls).encode()).hexdigest()[:12])


@case
def is_monitored():
    if sys.version_info < (3, 12):
        say("no sys.monitoring", train())
        return
    tool, count = 3, []
    sys.monitoring.use_tool_id(tool, "own")
    sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, lambda code, offset: count.append(code.co_name))
    train()
    sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)
    say(train(), len(count))
    sys.monitoring.set_events(tool, 0)


@case
def has_an_audit_hook():
    seen = []
    train()
    sys.addaudithook(lambda event, arguments: seen.append(event) if event in ("open", "import", "exec", "compile") else None)
    say(train(), seen)


@case
def prints_how_it_was_started():
    say(sys.flags.optimize, sys.flags.dev_mode, sys.flags.isolated, sys.flags.utf8_mode, __debug__, train())
    assert train(1) == train(1)
    warnings.warn("a warning", UserWarning, stacklevel=1)


@case
def loses_its_standard_streams():
    say(train())
    for number in (0, 1, 2):
        os.close(number)
    file = os.open("own", os.O_RDWR | os.O_CREAT, 0o600)
    os.write(file, train(1).encode())
    os._exit(5)


@case
def has_a_broken_pipe():
    read, write = os.pipe()
    os.close(read)
    with contextlib.suppress(BrokenPipeError):
        os.write(write, b"x")
    say(train())


@case
def sleeps_with_blocked_signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
    say(train(), sorted(signal.sigpending()))
    time.sleep(0.01)
    say(Net().forward().backward(), len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))


@case
def sees_its_memory():
    libc = ctypes.CDLL(None)
    libc.malloc_trim(0)
    say(train(), sorted(threading.current_thread().name for _ in range(1)), threading.active_count())


@case
def a_thread_exits():
    thread = threading.Thread(target=lambda: (say(train(1)), sys.exit(1)))
    thread.start()
    thread.join()
    say(train())
    raise SystemExit("a text as exit code")


if __name__ == "__main__":
    torch.set_num_threads(1)
    CASES[sys.argv[1]]()
