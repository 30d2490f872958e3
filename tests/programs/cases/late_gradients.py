"""Trainings for late-gradient: late_gradients.py FUNCTION [DEVICE]. They print results to standard output, and the number of
live gradients after each backward to standard error."""
import hashlib
import sys

import torch
from torch import nn

STEPS = 6
DEVICE = sys.argv[2] if len(sys.argv) > 2 else "cpu"
KINDS = [("SGD", {}), ("SGD", {"momentum": 0.9, "weight_decay": 0.01, "nesterov": True}),
         ("Adam", {}), ("Adam", {"amsgrad": True, "weight_decay": 0.1, "maximize": True}), ("AdamW", {}),
         ("RMSprop", {"centered": True, "momentum": 0.5}), ("Adagrad", {}), ("Adadelta", {}), ("NAdam", {}), ("RAdam", {}),
         ("Adamax", {}), ("Rprop", {}), ("ASGD", {})]
FUSED = {"SGD", "Adam", "AdamW", "Adagrad"}


def make(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 64, bias=False), nn.Tanh(),
                         nn.Linear(64, 8)).to(DEVICE)


def loss_of(model):
    return model(torch.randn(16, 32).to(DEVICE)).square().mean()


def digest(model, *optimizers):
    found = hashlib.sha256()
    for p in model.parameters():
        found.update(p.detach().cpu().numpy().tobytes())
        for optimizer in optimizers:
            for key, value in sorted(optimizer.state[p].items()):
                found.update(key.encode())
                found.update(value.cpu().numpy().tobytes() if isinstance(value, torch.Tensor) else repr(value).encode())
    return found.hexdigest()[:16]


def say(what):
    """One write, because several processes may share the pipe."""
    sys.stdout.write(f"{what}\n")


def gradients(model):
    print(sum(p.grad is not None for p in model.parameters()), file=sys.stderr)


def train(optimizer, model, between=lambda: None, after=lambda: None, backward=lambda loss: loss.backward(), steps=STEPS):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        backward(loss)
        gradients(model)
        between()
        say(optimizer.step())
        after()
    say(digest(model, optimizer))


def sgd(model, **options):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, **options)


def every_optimizer():
    for kind, options in KINDS:
        variants = [{}, {"foreach": True}] + ([{"fused": True}] if kind in FUSED else [])
        for variant in variants:
            model = make()
            print(kind, options, variant)
            train(getattr(torch.optim, kind)(model.parameters(), lr=0.01, **options, **variant), model)


def two_groups_and_a_schedule():
    model = make()
    optimizer = torch.optim.AdamW([{"params": model[0].parameters(), "lr": 0.1}, {"params": model[1:].parameters()}])
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    train(optimizer, model, after=schedule.step)
    print(schedule.get_last_lr())


def state_saved_and_loaded():
    model = make()
    optimizer = torch.optim.Adam(model.parameters())
    train(optimizer, model)
    other = make(1)
    other.load_state_dict(model.state_dict())
    again = torch.optim.Adam(other.parameters())
    again.load_state_dict(optimizer.state_dict())
    train(again, other)
    optimizer.load_state_dict(again.state_dict())
    train(optimizer, model)


def group_added():
    model, more = make(), nn.Linear(8, 8)
    optimizer = sgd(model)
    train(optimizer, model)
    optimizer.add_param_group({"params": more.parameters()})
    train(optimizer, nn.Sequential(model, more))


def checkpointed():
    from torch.utils.checkpoint import checkpoint
    for reentrant in (False, True):
        model = make()
        optimizer = sgd(model)
        for _ in range(STEPS):
            optimizer.zero_grad()
            x = torch.randn(16, 32, requires_grad=True)
            checkpoint(model, x, use_reentrant=reentrant).square().mean().backward()
            gradients(model)
            optimizer.step()
        print(digest(model, optimizer))


def two_models():
    """Like a GAN: each network has an optimizer, and the second one's loss depends on the first one, which is frozen at
    that time."""
    first, second = make(), nn.Linear(32, 32)
    optimizers = torch.optim.Adam(first.parameters()), torch.optim.Adam(second.parameters())
    for _ in range(STEPS):
        optimizers[0].zero_grad()
        first(second(torch.randn(16, 32)).detach()).square().mean().backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        first.requires_grad_(False)
        first(second(torch.randn(16, 32))).mean().backward()
        optimizers[1].step()
        first.requires_grad_(True)
    print(digest(first, optimizers[0]), digest(second, optimizers[1]))


def tied():
    model = make()
    model.append(nn.Linear(64, 64, bias=False).to(DEVICE))
    model[3].weight = model[-1].weight
    model[5] = nn.Identity()
    train(sgd(model), model)


def clipped():
    model = make()
    train(sgd(model), model, between=lambda: nn.utils.clip_grad_norm_(model.parameters(), 0.1))


def logged_after_the_step():
    model = make()
    train(sgd(model), model, after=lambda: print(model[0].weight.grad.norm().item() if model[0].weight.grad is not None else 0))


def read_by_numpy():
    model = make()
    train(sgd(model), model, between=lambda: model[0].weight.grad is not None and print(model[0].weight.grad.numpy().sum()))


def accumulated():
    model = make()

    def twice(loss):
        loss.backward()
        loss_of(model).backward()

    train(sgd(model), model, backward=twice)


def never_zeroed():
    torch.manual_seed(0)
    model = nn.Linear(32, 8, bias=False)
    optimizer = sgd(model)
    for _ in range(STEPS):
        loss_of(model).backward()
        optimizer.step()
    print(digest(model, optimizer))


def zeroed_in_place():
    model = make()
    optimizer = sgd(model)
    zero = optimizer.zero_grad
    optimizer.zero_grad = lambda: zero(set_to_none=False)
    train(optimizer, model)


def closure():
    model = make()
    optimizer = sgd(model)

    def evaluate():
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        return loss

    for _ in range(STEPS):
        print(optimizer.step(evaluate).item())
    print(digest(model, optimizer))


def scaled():
    model = make()
    optimizer = sgd(model)
    scaler = torch.amp.GradScaler(DEVICE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        scaler.scale(loss_of(model)).backward()
        scaler.step(optimizer)
        scaler.update()
    print(digest(model, optimizer))


def graph_kept():
    model = make()
    train(sgd(model), model, backward=lambda loss: loss.backward(retain_graph=True))


def graph_of_the_gradients():
    model = make()
    train(sgd(model), model, backward=lambda loss: loss.backward(create_graph=True))


def hooks_on_gradients():
    model = make()

    def double(p):
        p.grad.mul_(2)

    model[0].weight.register_post_accumulate_grad_hook(double)
    train(sgd(model), model)


def hooks_on_steps():
    model = make()
    optimizer = sgd(model)
    optimizer.register_step_post_hook(lambda *_: print(model[0].weight.grad is None))
    train(optimizer, model)


def scheduled_before_the_step():
    model = make()
    optimizer = sgd(model)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    train(optimizer, model, between=schedule.step)


def parameters_read_before_the_step():
    model = make()
    train(sgd(model), model, between=lambda: print(model[0].weight.norm().item()))


def gradients_replaced():
    model = make()

    def replace():
        model[0].weight.grad = torch.ones_like(model[1].weight).new_ones(64, 32)

    train(sgd(model), model, between=replace)


def rate_as_a_tensor():
    model = make()
    train(torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01)), model)


def step_replaced():
    model = make()
    optimizer = sgd(model)
    step = optimizer.step
    optimizer.step = lambda: step()  # pylint: disable=unnecessary-lambda
    train(optimizer, model)


def of_its_own():
    class Mine(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure=None):
            total = sum(p.grad.norm() for group in self.param_groups for p in group["params"])
            for group in self.param_groups:
                for p in group["params"]:
                    p -= 0.1 * p.grad / total

    model = make()
    train(Mine(model.parameters(), lr=0.1), model)


def lbfgs():
    model = make()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1)

    def evaluate():
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(evaluate)
    print(digest(model))


def parameter_saved_elsewhere():
    """The rest of the backward reads the weight after its gradient exists: it was saved without a graph."""
    model = make()
    weight = model[3].weight
    optimizer = sgd(model)
    for _ in range(STEPS):
        optimizer.zero_grad()
        hidden = model[:3](torch.randn(16, 32).to(DEVICE))
        (hidden @ weight.detach() + hidden @ weight).sum().backward()
        optimizer.step()
    print(digest(model, optimizer))


def on_two_streams():
    """The first layer runs on another stream."""
    model, side = make(), torch.cuda.Stream()
    optimizer = sgd(model)
    for _ in range(STEPS):
        optimizer.zero_grad()
        x = torch.randn(16, 32).to(DEVICE)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            hidden = model[0](x)
        torch.cuda.current_stream().wait_stream(side)
        model[1:](hidden).square().mean().backward()
        optimizer.step()
    print(digest(model, optimizer))


def autocast_around_the_backward_of_a_gpu():
    model = make()
    optimizer = sgd(model)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss_of(model).backward()
        optimizer.step()
    print(digest(model, optimizer))


def with_numbers_on_the_gpu():
    model = make()
    train(torch.optim.Adam(model.parameters(), capturable=True), model)


def wide():
    """The gradients are as large as the parameters. Prints the peak on the GPU, in bytes."""
    model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(8))).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        if step == 2:  # the first step is observed
            torch.cuda.reset_peak_memory_stats()
        optimizer.zero_grad()
        model(torch.randn(8, 1024).to(DEVICE)).sum().backward()
        optimizer.step()
    print(torch.cuda.max_memory_allocated())


def shared_by_two_optimizers():
    model = make()
    optimizers = sgd(model), torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss_of(model).backward()
        for optimizer in optimizers:
            optimizer.step()
    print(digest(model, *optimizers))


def two_optimizers_in_turn():
    model = make()
    optimizers = sgd(model), torch.optim.Adam(model.parameters())
    for optimizer in optimizers:
        train(optimizer, model)


def autocast_around_the_backward():
    model = make()

    def backward(loss):
        with torch.autocast("cpu", torch.bfloat16):
            loss.backward()

    train(sgd(model), model, backward=backward)


def accumulated_later():
    """Unpredictable: the fourth step consists of two backwards."""
    model = make()
    optimizer = sgd(model)
    train(optimizer, model, steps=3)
    optimizer.zero_grad()
    loss_of(model).backward()
    loss_of(model).backward()
    optimizer.step()


def another_optimizer_later():
    """Unpredictable as well, while the first optimizer still exists."""
    model = make()
    first = sgd(model)
    train(first, model, steps=3)
    train(torch.optim.Adam(model.parameters()), model, steps=3)
    print(len(first.state))


def closure_later():
    model = make()
    optimizer = sgd(model)
    train(optimizer, model, steps=3)

    def evaluate():
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        return loss

    for _ in range(3):
        print(optimizer.step(evaluate).item())
    print(digest(model, optimizer))


def distributed():
    torch.distributed.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(make())
    train(sgd(model), model)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    globals()[sys.argv[1]]()
