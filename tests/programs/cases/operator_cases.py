"""Results of operators that a rewrite may replace: values, gradients, and all their visible properties.

    operator_cases.py FUNCTION FILE [DEVICE]    runs one and saves a dictionary, to be compared with that of another run
"""
import itertools
import sys
import warnings

import torch

DEVICE = sys.argv[3] if len(sys.argv) > 3 else "cpu"


def seen(tensor):
    """All visible properties of a tensor."""
    return {"values": tensor.detach().clone().cpu(), "sizes": tuple(tensor.shape), "strides": tensor.stride(),
            "dtype": tensor.dtype, "is_view": tensor._is_view(), "requires_grad": tensor.requires_grad,
            "offset": tensor.storage_offset()}


def real(tensor):
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def gradients_of(make, inputs):
    """The result of make(*inputs), and the first and second gradients of a loss in which each element has another
    weight."""
    out = make(*inputs)
    result = {"out": seen(out)}
    wanted = [x for x in inputs if x.requires_grad]
    if out.requires_grad and wanted:
        weights = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).to(out.device, out.dtype).reshape(out.shape)
        first = torch.autograd.grad(real(out * weights).sum(), wanted, retain_graph=True)
        out = make(*inputs)
        second = torch.autograd.grad(real(out * out * weights).sum(), wanted, create_graph=True)
        third = torch.autograd.grad(sum(real(g).square().sum() for g in second), wanted)
        result["first"] = [(g.cpu(), g.shape, g.stride(), g.dtype) for g in first]
        result["second"] = [(g.cpu(), g.shape, g.dtype) for g in third]
    return result


def batches(dimensions):
    """All ways in which two sides can have, lack or repeat each batch dimension of 2, 3, 4."""
    sizes = (2, 3, 4)[:dimensions]
    for kinds in itertools.product(("both", "left", "right", "neither"), repeat=dimensions):
        left = [size if kind in ("both", "left") else 1 for size, kind in zip(sizes, kinds)]
        right = [size if kind in ("both", "right") else 1 for size, kind in zip(sizes, kinds)]
        yield tuple(left), tuple(right)


def matmuls():
    """Every way to broadcast; transposed, sliced and expanded sides; each side trained, both, none; several types."""
    results = {}

    def case(name, a, b, multiply=torch.matmul):
        for trained in ((True, True), (True, False), (False, True), (False, False)):
            sides = [x.detach().requires_grad_(t) for x, t in zip((a, b), trained)]
            results[name, trained] = gradients_of(multiply, sides)

    def random(*shape, dtype=torch.float32):
        return torch.randn(*shape, dtype=torch.float64).to(DEVICE, dtype)

    torch.manual_seed(0)
    for dimensions in (1, 2, 3):
        for left, right in batches(dimensions):
            case(("broadcast", left, right), random(*left, 8, 5), random(*right, 5, 7))
    # 3-D against 4-D, 2-D and 1-D sides
    for left, right in [((2, 3, 8, 5), (3, 5, 7)), ((3, 8, 5), (2, 1, 5, 7)), ((8, 5), (2, 3, 5, 7)), ((5,), (2, 3, 5, 7)),
                        ((2, 3, 8, 5), (5,)), ((2, 3, 8, 5), (5, 7)), ((1, 3, 8, 5), (2, 3, 5, 1)), ((2, 1, 1, 5), (3, 5, 1)),
                        ((2, 1, 8, 1), (3, 1, 7)), ((5,), (5,)), ((8, 5), (5, 7))]:
        case(("dimensions", left, right), random(*left), random(*right))
    for left, right in [((2, 1, 0, 5), (3, 5, 7)), ((2, 1, 8, 0), (3, 0, 7)), ((0, 1, 8, 5), (3, 5, 7)), ((2, 1, 8, 5), (0, 5, 7))]:
        case(("empty", left, right), random(*left), random(*right))
    for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.complex64):
        case(("dtype", dtype), random(4, 1, 8, 5, dtype=dtype), random(3, 5, 7, dtype=dtype))
    a, b = random(4, 1, 8, 5), random(3, 5, 7)
    case("transposed", random(4, 1, 5, 8).mT, random(3, 7, 5).mT)
    case("permuted batch", random(8, 1, 4, 5).permute(2, 1, 0, 3), random(7, 3, 5).permute(1, 2, 0))
    case("sliced", random(8, 1, 16, 10)[::2, :, ::2, ::2], random(6, 10, 14)[::2, ::2, ::2])
    case("expanded by the program", random(4, 1, 1, 5).expand(4, 1, 8, 5), random(1, 5, 7).expand(3, 5, 7))
    case("linalg", a, b, torch.linalg.matmul)
    case("operator @", a, b, lambda x, y: x @ y)
    case("einsum", a, b, lambda x, y: torch.einsum("nzab,cbd->ncad", x, y))
    case("view of the result", a, b, lambda x, y: (x @ y).view(4, -1))
    case("changed in place", a, b, lambda x, y: (x @ y).mul_(2).relu_())
    case("detached in place", a, b, lambda x, y: (x @ y).detach_())
    case("autocast", a, b, autocast)
    integers = (torch.arange(4 * 8 * 5).reshape(4, 1, 8, 5).to(DEVICE), torch.arange(3 * 5 * 7).reshape(3, 5, 7).to(DEVICE))
    if DEVICE == "cpu":
        results["integers"] = {"out": seen(torch.matmul(*integers))}
    for name, sides in {"integers on CUDA": integers, "sizes": (a, random(3, 6, 7)), "batches": (random(4, 2, 8, 5), b), "types": (a, b.double()),
                        "number": (torch.tensor(2.0), b)}.items():
        try:
            torch.matmul(*sides)
        except RuntimeError as error:
            results["error", name] = str(error)
    return results


def autocast(a, b):
    with torch.autocast(DEVICE, torch.bfloat16):
        return torch.matmul(a, b)


def concats():
    """One tensor joined with nothing, as an intermediate, alone, as a parameter; every format; written afterwards."""
    results = {}
    torch.manual_seed(0)
    shapes = [(32,), (8, 4), (1, 32), (32, 1), (1, 1, 32), (2, 3, 8), (2, 3, 4, 4), (2, 1, 4, 4), (2, 8, 1, 1), (1, 8, 4, 1),
              (2, 2, 2, 2, 2)]
    joins = {"cat": torch.cat, "stack": torch.stack, "hstack": lambda x, _: torch.hstack(x), "concat": torch.concat,
             "vstack": lambda x, _: torch.vstack(x), "dstack": lambda x, _: torch.dstack(x),
             "column_stack": lambda x, _: torch.column_stack(x)}
    empty = torch.empty(0)

    def case(name, join, x):
        for dim in range(-x.dim(), x.dim()):
            results[name, dim] = gradients_of(lambda t: join([torch.sin(t)], dim), [x.detach().requires_grad_()])
            results[name, dim, "parameter"] = gradients_of(lambda t: join([t], dim), [x.detach().requires_grad_()])
            results[name, dim, "no graph"] = gradients_of(lambda t: join([torch.sin(t)], dim), [x.detach()])

    for (name, join), shape in itertools.product(joins.items(), shapes):
        case((name, shape), join, torch.randn(shape))
    for name in ("cat", "stack"):
        case((name, "channels last"), joins[name], torch.randn(2, 3, 4, 4).contiguous(memory_format=torch.channels_last))
        case((name, "channels last 3d"), joins[name],
             torch.randn(2, 3, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d))
        case((name, "transposed"), joins[name], torch.randn(8, 4).t())
        case((name, "slice"), joins[name], torch.randn(16, 4)[4:12])
        case((name, "other strides of 1"), joins[name], torch.randn(32).as_strided((1, 32), (7, 1)))
        case((name, "last dimension"), lambda x, _, join=joins[name]: join(x, -1), torch.randn(4, 8))
    case("with empty ones", lambda x, dim: torch.cat([empty, *x, empty], dim), torch.randn(4, 8))
    case("channels last with an empty one", lambda x, dim: torch.cat([empty, *x], dim),
         torch.randn(2, 3, 4, 4).contiguous(memory_format=torch.channels_last))
    case("promoted by an empty one", lambda x, dim: torch.cat([*x, empty.double()], dim), torch.randn(4, 8))
    case("two", lambda x, dim: torch.cat([*x, *x], dim), torch.randn(4, 8))
    case("view", lambda x, dim: torch.cat(x, dim).view(-1), torch.randn(4, 8))
    for dtype in (torch.float64, torch.bfloat16, torch.complex64):
        case(dtype, torch.cat, torch.randn(4, 8, dtype=dtype))
    for name, join in joins.items():
        results.update({(name, *key): value for key, value in writes(lambda x, join=join: join(x, 0)).items()})
    for name, call in {"no tensors": lambda: torch.cat([]), "a number": lambda: torch.cat([torch.tensor(1.0)]),
                       "dimension": lambda: torch.cat([torch.randn(4)], 1), "stack": lambda: torch.stack([torch.randn(4)], 5),
                       "empty ones": lambda: torch.cat([empty, empty]).shape}.items():
        try:
            results["error", name] = call()
        except (IndexError, RuntimeError, ValueError) as error:
            results["error", name] = str(error)
    return results


def writes(join):
    """A write into one of both must not be visible in the other."""
    results = {}

    def kept(name, *tensors):
        results[name] = {"out": [seen(t) for t in tensors]}

    x = torch.sin(torch.randn(8, 4))
    y = join([x])
    y.mul_(2)
    kept("the copy is written", x, y)
    x = torch.sin(torch.randn(8, 4))
    y = join([x])
    x.zero_()
    kept("the source is written", x, y)
    x = torch.sin(torch.randn(8, 4))
    y = join([x])
    x.numpy()[:] = 3
    kept("numpy afterwards", x, y)
    x = torch.sin(torch.randn(8, 4))
    alias = x.numpy()
    y = join([x])
    alias[:] = 3
    kept("numpy before", x, y)
    x = torch.sin(torch.randn(8, 4))
    alias = torch.from_dlpack(x)
    y = join([x])
    alias.zero_()
    kept("dlpack before", x, y)
    x = torch.sin(torch.randn(8, 4))
    view = x.view(-1)
    y = join([x])
    view[0] = 7
    kept("a view is written", x, y)
    x = torch.randn(8, 4, requires_grad=True)
    hidden = torch.sin(x)
    y = join([hidden])
    with torch.no_grad():
        y.add_(1)
    y.sum().backward()
    kept("in a graph", hidden, y, x.grad)
    hidden = torch.sin(x)
    y = join([hidden]).detach_()
    y.requires_grad_()
    kept("detached in place", hidden, y)
    hidden = torch.exp(x)  # saves its result
    y = join([hidden])
    y.mul_(2)
    x.grad = None
    hidden.sum().backward()
    kept("the copy is written, the source was saved", hidden, y, x.grad)
    hidden = torch.exp(x)
    y = join([hidden])
    hidden.mul_(2)
    try:
        hidden.sum().backward()
    except RuntimeError as error:
        results["the saved source is written"] = str(error).splitlines()[0]
    x = torch.sin(torch.randn(8, 4))
    y = join([x])
    kept("pointers", torch.tensor([x.data_ptr() == y.data_ptr(), x._version == y._version]))
    return results


class Mode(torch.utils._python_dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        self.names.append(str(function))
        return function(*arguments, **(keywords or {}))


class Wrapped(torch.Tensor):
    """A subclass that intercepts each of its operators."""
    names = []

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype,
                                                   requires_grad=inner.requires_grad)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        cls.names.append(str(function))
        unwrap = lambda x: x.inner if isinstance(x, Wrapped) else x
        from torch.utils._pytree import tree_map
        out = function(*tree_map(unwrap, arguments), **tree_map(unwrap, keywords or {}))
        return tree_map(lambda x: Wrapped(x) if isinstance(x, torch.Tensor) else x, out)


def guards():
    """Situations in which the rewrite must not apply."""
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    torch.manual_seed(0)
    results = {}
    a, b = torch.randn(4, 1, 64, 16), torch.randn(3, 16, 8)

    def both(x, y):
        return torch.cat([torch.stack([torch.sin(torch.matmul(x, y))], 1)], 0)

    with Mode() as mode:
        both(a, b)
        both(a.clone().requires_grad_(), b).sum().backward()
    results["dispatch mode"] = mode.names
    both(Wrapped(a.clone().requires_grad_()), Wrapped(b))
    results["subclass"] = list(Wrapped.names)
    results["make_fx"] = make_fx(both)(a, b).code
    results["make_fx, symbolic"] = make_fx(both, tracing_mode="symbolic")(a, b).code
    with FakeTensorMode() as fake:
        results["fake"] = both(fake.from_tensor(a), fake.from_tensor(b)).stride()
    results["traced"] = str(torch.jit.trace(both, (a, b)).graph)
    results["vmap"] = seen(torch.vmap(both)(a[None].expand(2, 4, 1, 64, 16), b[None].expand(2, 3, 16, 8)))
    results["grad"] = seen(torch.func.grad(lambda x: both(x, b).square().sum())(a))
    results["jvp"] = [seen(t) for t in torch.func.jvp(lambda x: both(x, b), (a,), (torch.ones_like(a),))]
    results["jacrev"] = seen(torch.func.jacrev(lambda x: both(x, b).sum((0, 1, 2)))(a))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(a, torch.ones_like(a))
        results["forward"] = [seen(t) for t in torch.autograd.forward_ad.unpack_dual(both(dual, b)) if t is not None]
    with torch.inference_mode():
        out = both(a, b)
        results["inference"] = (out.is_inference(), out.stride(), out.clone())
    results["sparse"] = torch.cat([torch.eye(4).to_sparse()]).to_dense()
    results["quantized"] = torch.cat([torch.quantize_per_tensor(torch.ones(4), 1, 0, torch.qint8)]).dequantize()
    results["conjugate"] = seen(torch.cat([torch.randn(4, dtype=torch.complex64).conj()]).resolve_conj())
    results["meta"] = both(a.to("meta"), b.to("meta")).stride()
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)])
    results["nested"] = torch.matmul(nested, nested.transpose(1, 2)).to_padded_tensor(0)
    return results


def compiled():
    """torch.compile with symbolic sizes, which resolve operators in Python."""
    from torch._dynamo.backends.common import aot_autograd
    torch.manual_seed(0)

    def both(x, y):
        return torch.cat([torch.sin(torch.matmul(x, y))], 0).sum()

    results = {}
    for dynamic in (False, True):
        torch._dynamo.reset()
        traced = []

        def keep(graph, examples):
            traced.append(graph.print_readable(print_output=False))
            return graph.forward

        function = torch.compile(both, dynamic=dynamic, backend=aot_autograd(fw_compiler=keep, bw_compiler=keep))
        a = torch.randn(4, 1, 64, 16, requires_grad=True)
        out = function(a, torch.randn(3, 16, 8))
        out.backward()
        results[dynamic] = [t for t in traced if t] + [str(out.shape)]
    return results


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.save(globals()[sys.argv[1]](), sys.argv[2])
