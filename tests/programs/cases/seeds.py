"""Published programs, scaled down so that they run in seconds. Each function is a whole program. Its arguments are
numbers from the command line: seeds.py NAME [NUMBER...]. With --cuda before NAME all tensors are made on CUDA, and it
prints one line of JSON: the bytes that PyTorch's allocator counts when the last backward begins, and at the peak."""
import json
import sys

import torch
from torch import nn
from torch.nn import functional as F


def frozen(module):
    return module.requires_grad_(False)


def conv_stack(depth):
    """Convolutions of which only the first is trained. (16, 16, 64, 64) float32: 4 MiB an activation."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(16, 16, 3, padding=1)] + [frozen(nn.Conv2d(16, 16, 3, padding=1)) for _ in range(depth - 1)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(16, 16, 64, 64)).sum().backward()
        optimizer.step()


def block_stack(depth):
    """Frozen conv, eval BatchNorm, ReLU, and a pooling in the middle, behind one trained convolution."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(16, 16, 3, padding=1)]
    for i in range(depth):
        layers += [frozen(nn.Conv2d(16, 16, 3, padding=1)), frozen(nn.BatchNorm2d(16)), nn.ReLU()]
        if i == depth // 2:
            layers.append(nn.MaxPool2d(2))
    model = nn.Sequential(*layers).eval()
    optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(16, 16, 64, 64)).sum().backward()
        optimizer.step()


def resnet_first_layer(batch):
    import torchvision
    torch.manual_seed(0)
    model = frozen(torchvision.models.resnet18()).eval()
    model.conv1.requires_grad_(True)
    optimizer = torch.optim.SGD(model.conv1.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(batch, 3, 224, 224)).sum().backward()
        optimizer.step()


def transformer(layers):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(8, 128, 128)).square().mean().backward()
        optimizer.step()


class ConvNet(nn.Module):
    """Like AlexNet: its first fully connected layer has most of the parameters."""

    def __init__(self, channels, width):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(6))
        self.classifier = nn.Sequential(nn.Linear(channels * 36, width), nn.ReLU(), nn.Linear(width, 10))

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


def jacobian_of_one_chunk(batch, channels, width, layers):
    """The Jacobian of each sample's loss, computed in chunks that are concatenated. Here one chunk suffices. `layers` 1
    selects the big layer alone; 0 selects all parameters, and then the program reduces the Jacobian to gradients and
    makes a step."""
    torch.manual_seed(0)
    model = ConvNet(channels, width)
    parameters = [model.classifier[0].weight] if layers else list(model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def jacobians(losses):
        chunks = [torch.autograd.grad(losses, parameters, grad_outputs=rows, retain_graph=True, is_grads_batched=True)
                  for rows in torch.eye(batch).split(batch)]
        return [torch.cat(chunk) for chunk in zip(*chunks)]

    def step():
        images, labels = torch.randn(batch, 3, 32, 32), torch.arange(batch) % 10
        losses = F.cross_entropy(model(images), labels, reduction="none")
        for parameter, jacobian in zip(parameters, jacobians(losses)):
            parameter.grad = jacobian.mean(dim=0)
        optimizer.step()
        optimizer.zero_grad()

    step()
    step()


def scan_with_an_invariant_weight(steps, width):
    from torch._higher_order_ops.scan import scan
    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(width, width) / width)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def body(carry, x):
        carry = torch.tanh(carry @ weight + x)
        return carry, carry.clone()

    for _ in range(2):
        inputs = torch.randn(steps, 8, width)
        # PyTorch 2.11 computes no gradient of a carry, even inside of the loop, if its first value requires none.
        start = torch.zeros(8, width, requires_grad=True)
        _, out = scan(body, start, inputs)
        out.sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def scan_of_weights(steps, width):
    """A scan over stacked weights, which its backward reads transposed."""
    from torch._higher_order_ops.scan import scan
    torch.manual_seed(0)
    weights = nn.Parameter(torch.randn(steps, width, width) / width)
    optimizer = torch.optim.SGD([weights], lr=0.1)

    def body(carry, weight):
        carry = torch.tanh(carry @ weight)
        return carry, carry.clone()

    for _ in range(2):
        start = torch.ones(8, width, requires_grad=True)
        _, out = scan(body, start, weights)
        out.sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def scan_of_a_product(steps, width):
    """The body saves its input: the inputs are stacked a second time."""
    from torch._higher_order_ops.scan import scan
    torch.manual_seed(0)
    scale = nn.Parameter(torch.ones(width))
    optimizer = torch.optim.SGD([scale], lr=0.1)

    def body(carry, x):
        carry = carry * x + scale
        return carry, carry.clone()

    for _ in range(2):
        inputs = torch.rand(steps, 64, width)
        _, out = scan(body, torch.zeros(64, width), inputs)
        out.sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def wide_layers(layers, width):
    """Gradients that are as large as all other tensors wait for the step."""
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(width, width) for _ in range(layers)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, width)).sum().backward()
        optimizer.step()


def broadcast_matmul(batch, heads, width):
    """A product for which autograd keeps the expanded copy of one side."""
    torch.manual_seed(0)
    weight, queries = nn.Parameter(torch.randn(1, heads, width, width)), torch.randn(batch, 1, width, width)
    optimizer = torch.optim.SGD([weight], lr=1e-4)
    for _ in range(3):
        optimizer.zero_grad()
        (queries @ weight).square().mean().backward()
        optimizer.step()


def autocast_copies(layers, width):
    """Layers that read one activation: autocast makes a copy for each, all with the same values."""
    torch.manual_seed(0)
    model = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for _ in range(3):
        optimizer.zero_grad()
        x = torch.randn(4 * width, width).tanh()
        with torch.autocast("cpu", torch.bfloat16):
            loss = sum(layer(x).float().mean() for layer in model)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    torch.set_num_threads(1)
    on_cuda = sys.argv[1] == "--cuda"
    name, *numbers = sys.argv[1 + on_cuda:]
    if on_cuda:
        torch.set_default_device("cuda")
        backward, begun = torch.Tensor.backward, []

        def noted(tensor, *arguments, **keywords):
            begun.append(torch.cuda.memory_stats()["requested_bytes.all.current"])
            return backward(tensor, *arguments, **keywords)

        torch.Tensor.backward = noted
    globals()[name](*map(int, numbers))
    if on_cuda:
        print(json.dumps({"saved": begun[-1], "peak": torch.cuda.memory_stats()["requested_bytes.all.peak"]}))
