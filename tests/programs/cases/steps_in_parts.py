"""Trainings with foreach optimizers for the rewrite optimizer-temporaries: steps_in_parts.py DEVICE FUNCTION. They print
digests of parameters and state, or the bytes of the largest step (`peak`)."""
import hashlib
import sys

import torch
from torch import nn

DEVICE = sys.argv[1]
STEPS = 4
KINDS = [("SGD", {}), ("SGD", {"momentum": 0.9, "weight_decay": 0.01, "nesterov": True}), ("SGD", {"momentum": 0.9, "maximize": True}),
         ("Adam", {}), ("Adam", {"amsgrad": True, "weight_decay": 0.1, "maximize": True}), ("AdamW", {}),
         ("RMSprop", {"centered": True, "momentum": 0.5}), ("Adagrad", {"lr_decay": 0.1}), ("Adadelta", {}),
         ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}), ("RAdam", {}), ("Adamax", {}), ("Rprop", {}), ("ASGD", {})]


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return x * self.scale


def make(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(32, 64), Scaled(), nn.Tanh(), nn.Linear(64, 64, bias=False), nn.LayerNorm(64), nn.Tanh(),
                         nn.Linear(64, 48), nn.Linear(48, 8)).to(DEVICE)


def loss_of(model):
    x = torch.randn(16, 32).to(DEVICE, model[0].weight.dtype)
    return model(x).float().square().mean()


def digest(model, optimizer):
    found = hashlib.sha256()
    places = {p: place for place, p in enumerate(model.parameters())}
    for p, state in [*((p, {"value": p}) for p in places), *optimizer.state.items()]:  # the state in its order
        found.update(repr((places.get(p), [key for key in state])).encode())
        for value in state.values():
            if isinstance(value, torch.Tensor):
                found.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
            else:
                found.update(repr(value).encode())
    return found.hexdigest()[:16]


def train(optimizer, model, steps=STEPS, step=None, between=lambda: None):
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model).backward()
        between()
        print((step or optimizer.step)())
    print(digest(model, optimizer), len(optimizer.param_groups), all(bool(p.isfinite().all()) for p in model.parameters()))


def adam(model, **options):
    return torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True, **options)


def every_optimizer():
    for dtype in (torch.float32, torch.bfloat16):
        for kind, options in KINDS:
            model = make().to(dtype)
            print(kind, options)
            train(getattr(torch.optim, kind)(model.parameters(), lr=0.01, foreach=True, **options), model)


def default():
    model = make()
    train(torch.optim.AdamW(model.parameters()), model)


def mixed_types():
    model = make()
    model[3].to(torch.bfloat16)
    model[3].register_forward_pre_hook(lambda _, inputs: (inputs[0].bfloat16(),))
    model[3].register_forward_hook(lambda _, inputs, result: result.float())
    train(adam(model), model)


def channels_last():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(8, 16, 3), nn.Conv2d(16, 16, 3)).to(DEVICE, memory_format=torch.channels_last)
    optimizer = adam(model)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(2, 8, 8, 8).to(DEVICE)).square().mean().backward()
        optimizer.step()
    print(digest(model, optimizer))


def groups_and_a_schedule():
    model = make()
    optimizer = torch.optim.AdamW([{"params": model[:4].parameters(), "lr": 0.1}, {"params": model[4:].parameters()}], foreach=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    train(optimizer, model, between=schedule.step)
    print(schedule.get_last_lr(), [len(group["params"]) for group in optimizer.param_groups])


def clipped_and_scaled():
    model = make()
    optimizer = adam(model)
    scaler = torch.amp.GradScaler(DEVICE, init_scale=1024.0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        scaler.scale(loss_of(model)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
    print(digest(model, optimizer))


def saved_and_loaded():
    model = make()
    optimizer = adam(model)
    train(optimizer, model)
    again = adam(model)
    again.load_state_dict(optimizer.state_dict())
    train(again, model)


def some_without_gradients():
    model = make()
    optimizer = adam(model)
    for number in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        if number % 2 == 0:
            model[3].weight.grad = model[0].bias.grad = None
        optimizer.step()
    print(digest(model, optimizer))


def failing():
    """After an error within a step, the parts that did not begin are unchanged. So only the optimizer is compared."""
    model = make()
    optimizer = adam(model)
    train(optimizer, model)
    optimizer.param_groups[0]["betas"] = (0.9, None)
    loss_of(model).backward()
    try:
        optimizer.step()
    except TypeError as error:
        print(type(error))  # its text has the number of parameters
    optimizer.param_groups[0]["betas"] = (0.9, 0.99)
    optimizer.step()
    print(len(optimizer.param_groups), len(optimizer.param_groups[0]["params"]), all(bool(p.isfinite().all()) for p in model.parameters()))


# ---- left alone


def closure():
    model = make()
    optimizer = adam(model)

    def evaluate():
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        return loss

    loss_of(model).backward()
    for _ in range(STEPS):
        print(optimizer.step(evaluate).item())
    print(digest(model, optimizer))


def hooks_on_steps():
    model = make()
    optimizer = adam(model)
    optimizer.register_step_post_hook(lambda _, arguments, keywords: print(arguments[0] is optimizer, keywords))
    train(optimizer, model)


def step_replaced():
    original = torch.optim.Adam.step

    def step(self, closure=None):
        print(len(self.param_groups))
        return original(self, closure)

    torch.optim.AdamW.step = step
    model = make()
    train(adam(model), model)


def function_replaced():
    module = sys.modules["torch.optim.adam"]
    original = module._multi_tensor_adam

    def replaced(params, *arguments, **keywords):
        print(len(params))
        return original(params, *arguments, **keywords)

    module._multi_tensor_adam = replaced
    model = make()
    train(adam(model), model)


def shared_memory():
    model = make()
    model[6].weight.data = model[3].weight.data.view(-1)[:48 * 64].view(48, 64)
    train(adam(model), model)


def twice():
    model = make()
    optimizer = adam(model)
    optimizer.param_groups[0]["params"].append(model[3].weight)
    train(optimizer, model)


def some_with_momentum():
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    optimizer.state[model[3].weight]["momentum_buffer"] = torch.ones_like(model[3].weight)
    train(optimizer, model, steps=1)


def under_a_mode():
    class Counting(torch.overrides.TorchFunctionMode):
        count = 0

        def __torch_function__(self, function, types, arguments=(), keywords=None):
            Counting.count += 1
            return function(*arguments, **(keywords or {}))

    model = make()
    optimizer = adam(model)

    def step():
        with Counting():
            optimizer.step()
        return Counting.count

    train(optimizer, model, step=step)


def subclass():
    class Named(nn.Parameter):
        pass

    model = make()
    model[3].weight = Named(model[3].weight.detach())
    train(adam(model), model)


def with_numbers_on_the_device():
    model = make()
    train(adam(model, capturable=True), model)


def other_layout():
    model = make()

    def transpose():
        model[3].weight.grad = model[3].weight.grad.t().contiguous().t()

    train(adam(model), model, between=transpose)


# ---- not of this rewrite


def single():
    model = make()
    train(torch.optim.AdamW(model.parameters(), foreach=False), model)


def fused():
    model = make()
    train(torch.optim.AdamW(model.parameters(), fused=True), model)


def of_its_own():
    class Mine(torch.optim.AdamW):
        pass

    model = make()
    train(Mine(model.parameters(), foreach=True), model)


def compiled():
    """Without a break of the graph, and with as many graphs."""
    import torch._dynamo.testing
    model = make()
    optimizer = adam(model)
    counter = torch._dynamo.testing.CompileCounter()
    train(optimizer, model, step=torch.compile(optimizer.step, backend=counter))
    print(counter.frame_count, dict(torch._dynamo.utils.counters["graph_break"]))


def peak():
    """Prints the bytes of a step's temporaries at its peak."""
    model = nn.Sequential(*(nn.Linear(1024, 1024, bias=False) for _ in range(64))).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    torch.ones(1, device=DEVICE, requires_grad=True).sum().backward()
    optimizer.step()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    optimizer.step()
    print(torch.cuda.max_memory_allocated() - before)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
