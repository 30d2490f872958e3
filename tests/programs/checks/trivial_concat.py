"""trivial-concat: concatenations of one tensor, unchanged clones."""

import torch
from torch import nn
from torch.nn import functional as F

from cases import main, negative, positive


def trained(step, parameters, steps=2):
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        step().backward()
        optimizer.step()


class Pyramid(nn.Module):
    """Joins the results of several branches. With one branch, cat() only copies."""

    def __init__(self, branches, join=torch.cat):
        super().__init__()
        self.branches = nn.ModuleList(nn.Conv2d(3, 16, 3, padding=1) for _ in range(branches))
        self.head = nn.Conv2d(16 * branches, 4, 1)
        self.join = join

    def forward(self, x):
        return self.head(self.join([torch.tanh(branch(x)) for branch in self.branches], dim=1))


def pyramid(branches, join=torch.cat):
    torch.manual_seed(0)
    model, x = Pyramid(branches, join), torch.randn(8, 3, 64, 64)
    trained(lambda: model(x).square().mean(), model.parameters())


def only_if_several(tensors, dim):
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors, dim)


def fixed_pyramid():
    pyramid(1, only_if_several)


@positive(bytes=2097152, occurrences=2, severity="warning", fixed="fixed_pyramid")
def one_branch():
    pyramid(1)


@negative
def two_branches():
    pyramid(2)


class AlexNet(nn.Module):
    """AlexNet's layers at a sixteenth of its width."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(4, 12, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(6))
        self.classifier = nn.Sequential(nn.Linear(576, 256), nn.ReLU(), nn.Linear(256, 10))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def jacobian_of_weight(join):
    """The gradient of every image's first logit by the widest layer's weight. Memory suffices for one chunk."""
    torch.manual_seed(0)
    model, images = AlexNet(), torch.randn(8, 3, 64, 64)
    weight = model.classifier[0].weight

    def chunk(rows):
        basis = torch.eye(len(images))[rows]
        return torch.autograd.grad(logits, weight, basis, is_grads_batched=True, retain_graph=True)[0]

    logits = model(images)[:, 0]
    jacobian = join([chunk(rows) for rows in torch.arange(len(images)).split(len(images))], 0)
    logits.sum().backward()
    print(float(jacobian.square().sum()))


def fixed_jacobian():
    jacobian_of_weight(only_if_several)


# 8 x 256 x 576 floats; AlexNet's own layer, 4096 x 9216, is 1.125 GiB. The fix does not lower the peak: the backward
# that makes the one chunk needs more than the chunk and its copy.
@positive(bytes=4718592, occurrences=1, severity="info", fixed="fixed_jacobian")
def jacobian_in_one_chunk():
    jacobian_of_weight(torch.cat)


def clones(copy, change):
    torch.manual_seed(0)
    first, second = nn.Linear(512, 1024), nn.Linear(1024, 16)
    x = torch.randn(512, 512)

    def step():
        hidden = torch.sigmoid(first(x))
        residual = copy(hidden)
        change(residual)
        return second(hidden).mean() + residual.square().mean()

    trained(step, [*first.parameters(), *second.parameters()])


def fixed_clone():
    clones(lambda hidden: hidden, lambda residual: None)


@positive(bytes=2097152, occurrences=2, severity="warning", fixed="fixed_clone")
def clone_for_nothing():
    clones(torch.clone, lambda residual: None)


@negative
def clone_that_is_changed():
    clones(torch.clone, lambda residual: residual.mul_(0.5))


@negative
def weights_kept_for_later():
    """A snapshot before the last step: the weights may change after the end of the recording."""
    torch.manual_seed(0)
    model, x = nn.Linear(512, 1024), torch.randn(64, 512)
    trained(lambda: model(x).square().mean(), model.parameters())
    best = {name: value.detach().clone() for name, value in model.state_dict().items()}
    print(len(best))


@negative
def to_another_type():
    torch.manual_seed(0)
    labels = torch.randint(10, (1 << 18,), dtype=torch.int32)
    weight = torch.randn(10, requires_grad=True)
    trained(lambda: F.embedding(labels.to(torch.int64), weight[:, None]).square().mean(), [weight])


if __name__ == "__main__":
    main()
