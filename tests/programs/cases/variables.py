"""Tensors that variables hold in different ways, each with a different size. Prints them by their expected description."""

import gc
import signal
import sys

import torch


class Cached:
    pass


class Slots:
    __slots__ = ("kept",)


class Trainer:
    shared = []

    def __init__(self):
        self.net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.cache = None
        self.errors = []
        noise = torch.ones(80_000)
        self.net[0].register_forward_hook(lambda module, inputs, output: output + noise[0])

    def step(self, x):
        self.cache = torch.ones(85_000)
        loss = self.net(x).square().sum()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def fails():
    inside = torch.ones(90_000)
    raise ValueError(inside.shape)


def endless():
    held = torch.ones(95_000)
    while True:
        yield held.shape


class Watched:
    """Only the program may read its attributes."""

    asked = 0

    def __init__(self):
        self.hidden = torch.ones(105_000)

    def __getattribute__(self, name):
        Watched.asked += 1
        return object.__getattribute__(self, name)

    @property
    def seen(self):
        Watched.asked += 1
        return None


def train(steps):
    gc.disable()  # its time would also depend on the number of objects that Tapelens's own Python code makes
    trainer = Trainer()
    Trainer.shared.append(torch.ones(115_000))
    slots = Slots()
    slots.kept = torch.ones(120_000)
    watched = Watched()
    generator = endless()
    next(generator)
    try:
        fails()
    except ValueError as error:
        trainer.errors.append(error)
    history = []
    for step in range(steps):
        x = torch.randn(32, 64)
        node = Cached()
        node.itself, node.data = node, torch.ones(130_000)
        del node
        history.append(torch.ones(140_000))
        trainer.step(x)
    assert Watched.asked == 0 and not gc.isenabled()
    del slots, watched


def with_context(error):
    """The number of errors: one that a handler raises while another is on its way has that as its context."""
    return 0 if error is None else 1 + with_context(error.__context__)


def interrupted(steps):
    """A handler raises while Tapelens searches the variables. Each exception reaches the program, once."""
    raised = caught = 0

    def handler(number, frame):
        nonlocal raised
        if raised < 3 and "look_for_variables" in frame.f_globals:
            raised += 1
            raise TimeoutError

    filler = [[[] for _ in range(100)] for _ in range(100)]
    trainer = Trainer()
    signal.signal(signal.SIGVTALRM, handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.001, 0.001)
    for _ in range(steps):
        try:
            trainer.step(torch.randn(32, 64))
        except TimeoutError as error:
            caught += with_context(error)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0, 0)
    print(raised, caught, len(filler))


def without_an_optimizer(steps, looks):
    """Custom steps without an optimizer that PyTorch knows. A signal handler raises while Tapelens searches the variables."""
    raised = caught = 0

    def handler(number, frame):
        nonlocal raised
        if raised < looks and "look_for_variables" in frame.f_globals:
            raised += 1
            raise TimeoutError

    signal.signal(signal.SIGVTALRM, handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.001, 0.001)
    net, history, velocity = torch.nn.Linear(64, 64), [], {}

    def step(parameter):
        velocity.setdefault(parameter, torch.zeros(170_000))
        parameter.grad = None

    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    for _ in range(steps):
        try:
            history.append(torch.ones(180_000))
            net(torch.randn(32, 64)).square().sum().backward()
            sum(range(1000))
        except TimeoutError as error:
            caught += with_context(error)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0, 0)
    print(raised, caught)


def at_the_borders(most):
    """The same before the search begins or after it ended. Repeats until the handler raised once."""
    raised = caught = 0

    def handler(number, frame):
        nonlocal raised
        if raised == 0 and frame.f_code.co_name == "look_before_backward":
            raised += 1
            raise TimeoutError

    net = torch.nn.Linear(64, 64)
    signal.signal(signal.SIGVTALRM, handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0002, 0.0002)
    for _ in range(most):
        try:
            net(torch.randn(32, 64)).square().sum().backward()
            sum(range(1000))
        except TimeoutError as error:
            caught += with_context(error)
        if raised == 1:
            break
    signal.setitimer(signal.ITIMER_VIRTUAL, 0, 0)
    print(raised, caught)


TABLE = {"a": torch.ones(150_000), 3: [torch.zeros(160_000)]}
torch.manual_seed(0)
if sys.argv[1] == "train":
    train(6)
elif sys.argv[1] == "borders":
    at_the_borders(20_000)
elif sys.argv[1] == "hooks":
    without_an_optimizer(60, int(sys.argv[2]))
else:
    interrupted(60)
