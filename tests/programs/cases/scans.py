"""Scans for scan-save: scans.py FUNCTION FILE [DEVICE STEPS WIDTH]. Writes the gradients to the file. Prints the growth of
the bytes of live tensors after each forward."""
import enum
import gc
import sys

import torch
from torch import nn
from torch._higher_order_ops.scan import scan

DEVICE = sys.argv[3] if len(sys.argv) > 3 else "cpu"
STEPS, WIDTH = map(int, sys.argv[4:6]) if len(sys.argv) > 4 else (64, 256)


def random(*sizes):
    """Made on the CPU: a simulated GPU has no random numbers."""
    return torch.randn(*sizes).to(DEVICE)


def live_bytes():
    """Counts only tensors with memory: the compiler leaves some without."""
    gc.collect()
    if DEVICE == "cuda":
        return torch.cuda.memory_stats()["requested_bytes.all.current"]
    tensors = [t for t in gc.get_objects() if type(t) in (torch.Tensor, nn.Parameter) and t.device.type == "cpu"]
    tensors = [t for t in tensors if not torch._is_functional_tensor(t)]
    # All copy-on-write tensors here share one storage.
    storages = {"shared" if torch._C._is_cow_tensor(t) else t.untyped_storage()._cdata: t.untyped_storage() for t in tensors}
    return sum(storage.nbytes() for storage in storages.values())


def one_round(body, weight, between, inputs=None):
    if inputs is None:
        inputs = random(STEPS, 8, WIDTH).requires_grad_()
    # PyTorch 2.11 computes no gradient of a carry, even inside of the loop, if its first value requires none.
    start = torch.zeros(8, WIDTH, requires_grad=True, device=DEVICE)
    before = live_bytes()
    carry, out = scan(body, start, inputs)
    print(live_bytes() - before)
    between()
    (carry.sum() + out.square().sum()).backward()
    gradients = [t.detach().cpu() for t in (carry, out, inputs.grad, start.grad, weight.grad)]
    inputs.grad = weight.grad = None
    return gradients


def run(body, weight, between=lambda: None, inputs=None):
    """The first round compiles."""
    torch.save([one_round(body, weight, between, inputs) for _ in range(2)], sys.argv[2])


def weight_of(*sizes):
    torch.manual_seed(0)
    return nn.Parameter(random(*sizes) / WIDTH)


def product():
    weight = weight_of(WIDTH, WIDTH)

    def body(carry, x):
        carry = torch.tanh(carry @ weight + x)
        return carry, carry.clone()

    run(body, weight)


def changed_before_the_backward():
    """The backward reads the weight before the change."""
    weight = weight_of(WIDTH, WIDTH)

    def body(carry, x):
        carry = torch.tanh(carry @ weight + x)
        return carry, carry.clone()

    run(body, weight, between=lambda: weight.data.mul_(2))


def over_weights(body=lambda carry, weight: torch.tanh(carry @ weight), between=lambda weights: None):
    """The backward reads each input transposed."""
    weights = weight_of(STEPS, WIDTH, WIDTH)

    def each(carry, weight):
        carry = body(carry, weight)
        return carry, carry.clone()

    run(each, weights, between=lambda: between(weights), inputs=weights)


def over_weights_changed_before_the_backward():
    over_weights(between=lambda weights: weights.data.mul_(2))


def over_weights_by_views():
    over_weights(lambda carry, weight: torch.tanh((carry.unsqueeze(1) @ weight.view(1, WIDTH, WIDTH).transpose(1, 2))[:, 0]))


def chain_of_views():
    weight = weight_of(WIDTH * WIDTH)

    def body(carry, x):
        square = weight.view(WIDTH, 1, WIDTH).transpose(0, 2)[:, 0].unsqueeze(0)
        carry = torch.tanh(torch.bmm(carry.unsqueeze(0), square)[0] + x)
        return carry, carry.clone()

    run(body, weight)


def two_products():
    """The backward also needs a vector, which PyTorch itself takes from the inputs of the scan."""
    weight, other, scale = weight_of(WIDTH, WIDTH), weight_of(WIDTH, WIDTH), weight_of(WIDTH).detach()

    def body(carry, x):
        carry = torch.tanh((carry * scale) @ weight + torch.sin(x @ other))
        return carry, carry.clone()

    run(body, weight)


def no_view():
    weight = weight_of(WIDTH)

    def body(carry, x):
        carry = torch.tanh(carry * 2 + weight.sin()) * x
        return carry, carry.clone()

    run(body, weight)


def bias():
    """The scan saves nothing."""
    weight = weight_of(WIDTH)

    def body(carry, x):
        carry = torch.tanh(carry + weight + x)
        return carry, carry.clone()

    run(body, weight)


def of_another_pytorch():
    """A policy that does not exist yet."""
    module = sys.modules["torch._higher_order_ops.scan"]
    policies = {policy.name: policy.value for policy in module.ScanForwardIntermediatesHandlingPolicy}
    module.ScanForwardIntermediatesHandlingPolicy = enum.Enum("Policies", {**policies, "RECOMPUTE": 4})
    product()


def without_gradients():
    weight = weight_of(WIDTH, WIDTH)
    with torch.no_grad():
        carry, out = scan(lambda carry, x: (carry @ weight + x, carry.clone()), torch.zeros(8, WIDTH, device=DEVICE), random(STEPS, 8, WIDTH))
    torch.save([carry.cpu(), out.cpu()], sys.argv[2])


if __name__ == "__main__":
    torch.set_num_threads(1)
    globals()[sys.argv[1]]()
