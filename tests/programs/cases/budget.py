"""Programs for `tapelens budget`, with a backend of torch.compile ("none": no compilation) and other options."""

import argparse

import torch

WIDTH = 128
parser = argparse.ArgumentParser()
parser.add_argument("backend")
parser.add_argument("--budget", type=float, help="that the program sets itself")
parser.add_argument("--device", default="cpu")
parser.add_argument("--rows", type=int, default=2048)
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--linear", action="store_true", help="layers without C++ code for Inductor to compile")
parser.add_argument("--saved", action="store_true", help="print the bytes and the number of a graph's saves")
args = parser.parse_args()
torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


layers = [torch.nn.Linear(WIDTH, WIDTH, bias=False) if args.linear else Block() for _ in range(args.layers)]
net = torch.nn.Sequential(*layers).to(args.device)
if args.budget is not None:
    import torch._functorch.config

    torch._functorch.config.activation_memory_budget = args.budget
compiled = net if args.backend == "none" else torch.compile(net, backend=args.backend)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.randn(args.rows, WIDTH, device=args.device)
if args.saved:
    out = compiled(x)
    weights = {parameter.untyped_storage().data_ptr() for parameter in net.parameters()}
    saved = [tensor.untyped_storage() for tensor in out.grad_fn.saved_tensors]
    kept = [storage for storage in saved if storage.data_ptr() not in weights]
    print(sum({storage.data_ptr(): storage.nbytes() for storage in kept}.values()), len(kept))
    raise SystemExit
while True:
    compiled(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
