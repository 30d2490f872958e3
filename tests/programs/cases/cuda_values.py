"""Programs on a simulated GPU that depend on values, one case by its name. Each prints JSON."""

import json
import os
import sys

import torch
import torch.nn.functional as F

CASES = {}
D = "cuda"


def case(function):
    CASES[function.__name__] = function
    return function


@case
def small():
    """Operators on small tensors: name -> result. The test compares with the CPU's results."""
    a = torch.arange(10, device=D)
    b = a.float() * 2 + 1
    c = torch.zeros(5, device=D)
    c += 1
    c.add_(2)
    c[1:3] = 7
    m = a > 4
    x, w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=D), torch.tensor([[0.5, 1.0], [2.0, 0.25]], device=D)
    q = torch.zeros(3, device=D, requires_grad=True)
    (q * torch.tensor([1.0, 2.0, 3.0], device=D)).sum().backward()
    norm = torch.nn.BatchNorm1d(4, track_running_stats=True).to(D)
    norm(torch.zeros(8, 4, device=D))
    lists = [torch.ones(3, device=D), torch.full((2,), 2.0, device=D)]
    torch._foreach_mul_(lists, 3.0)
    overlapping = torch.arange(6, device=D)
    overlapping[1:].add_(overlapping[:-1].clone())
    tensors = {
        "arange": a, "float": b, "in_place": c, "mask": m, "masked": a[m], "nonzero": m.nonzero(), "selected": torch.masked_select(a, m),
        "mm": x @ w, "unique": torch.unique(torch.tensor([3, 1, 3, 2], device=D)), "sorted": torch.tensor([3, 1, 2], device=D).sort()[0],
        "counts": torch.unique(torch.tensor([3, 1, 3], device=D), return_counts=True)[1],
        "consecutive": torch.unique_consecutive(torch.tensor([3, 3, 1], device=D)),
        "bins": torch.bincount(torch.tensor([0, 1, 1, 3], device=D)), "cumsum": a.cumsum(0), "where": torch.where(m, a, -a),
        "repeated": torch.repeat_interleave(torch.arange(3, device=D), torch.tensor([1, 2, 3], device=D)),
        "cat": torch.cat([a, a]), "full": torch.full((3,), 7.0, device=D), "half": a.half(), "bfloat": b.bfloat16(),
        "scattered": torch.zeros(4, device=D).scatter_(0, torch.tensor([2], device=D), 1.0), "filled": a.masked_fill(m, -1),
        "one_hot": F.one_hot(torch.tensor([0, 2], device=D)), "linspace": torch.linspace(0, 1, 3, device=D), "eye": torch.eye(2, device=D),
        "triangle": torch.ones(2, 2, device=D).tril(), "gradient": q.grad, "batches": norm.num_batches_tracked, "foreach": lists[0],
        "transposed": x.t().contiguous(), "expanded": x[:1].expand(3, 2) + 1, "overlapping": overlapping, "topk": b.topk(2)[0],
        "padded": torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2], device=D), torch.tensor([3], device=D)]),
        "softmax": torch.zeros(4, device=D).softmax(0), "clamped": a.clamp(2, 5), "stacked": torch.stack([c, c]),
        "isfinite": torch.tensor([1.0, float("inf"), float("nan")], device=D).isfinite(), "put": c.index_put((torch.tensor([1], device=D),), c[:1]),
    }
    numbers = {"sum": a.sum().item(), "mean": b.mean().item(), "all": bool(m.all()), "equal": torch.equal(a, a.clone()),
               "unequal": torch.equal(a, a + 1), "close": torch.allclose(b, b + 1e-9), "count": int(m.sum()), "argmax": b.argmax().item()}
    return {**{name: tensor.tolist() for name, tensor in tensors.items()}, **numbers}


@case
def unknown():
    """Reads of a large tensor give zero, and results computed from it are finite."""
    total = torch.ones(1 << 20, device=D).sum()
    return {"sum": total.item(), "finite": bool(torch.isfinite(total)), "log": total.log().item(), "ratio": (1 / total).item(),
            "nan": bool((total / total).isnan()), "random": torch.rand(3, device=D).tolist()}


@case
def undisturbed():
    """The state of the CPU's generator and the allocator's bytes do not depend on executed operators."""
    torch.manual_seed(1)
    before = torch.get_rng_state()
    net = [torch.ones(64, 64, device=D, requires_grad=True) for _ in range(3)]
    x = torch.randn(64, 64, device=D)
    for weight in net:
        x = F.dropout(x @ weight).relu()
    x.sum().backward()
    for small in (x[0], x[0] > 0, x[:2].cumsum(1)):  # operators on small tensors
        small.float().sort()
    counts = torch.cuda.memory_stats()
    keys = [f"{kind}.all.{what}" for kind in ("allocation", "segment", "allocated_bytes", "requested_bytes", "active_bytes", "reserved_bytes")
            for what in ("current", "peak", "allocated", "freed")]
    return {"same": torch.equal(before, torch.get_rng_state()), **{key: counts[key] for key in keys}}


@case
def scaler():
    """Mixed precision with a GradScaler, and clipped gradients."""
    net = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(3)]).to(D)
    optimizer = torch.optim.AdamW(net.parameters(), fused=False)
    scaler = torch.amp.GradScaler("cuda")
    x = torch.randn(256, 512, device=D)
    stepped, norms = [], []
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x).square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norms.append(torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True).item())
        scaler.step(optimizer)
        scaler.update()
        stepped.append(int(optimizer.state[net[0].weight]["step"]))
    return {"scale": scaler.get_scale(), "stepped": stepped, "norms": norms}


@case
def small_scaler():
    """All tensors are small: the scaler finds the overflow, halves the scale, and skips the step."""
    weight = torch.nn.Parameter(torch.ones(4, device=D))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    scales = []
    for factor in (1.0, float("inf"), 2.0):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return {"scales": scales, "weight": weight.tolist()}


@case
def padded():
    """Sequences of several lengths: the longest decides the shape."""
    lengths = torch.tensor([3, 7, 5]).to(D)
    longest = lengths.max().item()
    mask = torch.arange(longest, device=D)[None, :] < lengths[:, None]
    tokens = torch.zeros(3, longest, dtype=torch.int64, device=D)
    embedded = torch.nn.Embedding(1000, 512).to(D)(tokens)
    return {"longest": longest, "mask": mask.sum(1).tolist(), "kept": list(embedded[mask].shape), "indices": mask.nonzero().shape[0],
            "strides": list(mask.nonzero().stride())}


@case
def generation():
    """Tokens that a model chooses are unknown. The program computes the finished sentences from them, by element-wise
    operators and reductions. No sentence counts as finished, so the loop runs to its end."""
    open_ones = torch.ones(4, dtype=torch.long, device=D)
    ends = torch.tensor([7, 9], device=D)
    for length in range(1, 6):
        token = torch.randn(4, 1 << 15, device=D).argmax(-1)
        open_ones = open_ones & ~torch.isin(token, ends)
        if open_ones.max() == 0 or not open_ones.any() or open_ones.sum() == 0 or (open_ones == 0).all():
            break
    return {"length": length, "open": open_ones.tolist()}


@case
def ddp():
    """DistributedDataParallel over NCCL, one process as rank 0 of 8."""
    import torch.distributed as dist
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=8)
    net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)], torch.nn.BatchNorm1d(1024)).to(D)
    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[0])
    optimizer = torch.optim.AdamW(net.parameters())
    x = torch.randn(64, 1024, device=D)
    for _ in range(2):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    gathered = [torch.zeros(2, dtype=torch.int64, device=D) for _ in range(8)]
    dist.all_gather(gathered, torch.tensor([4, 2], device=D))
    objects = [None] * 8
    dist.all_gather_object(objects, {"rank": 0})
    to_one = [None] * 8
    dist.gather_object({"rank": "0"}, to_one, dst=0)
    exchanged = torch.zeros(8, dtype=torch.int64, device=D)
    dist.all_to_all_single(exchanged, torch.arange(8, device=D) + 7)
    return {"to_one": len([one for one in to_one if one == {"rank": "0"}]), "exchanged": exchanged.tolist(),
            "gathered": [one.tolist() for one in gathered], "objects": len([one for one in objects if one == {"rank": 0}]),
            "steps": int(optimizer.state[next(net.parameters())]["step"])}


@case
def places():
    """Reads known and unknown values at lines that the test searches."""
    known = torch.arange(4, device=D)
    known.sum().item()
    known[known > 1]
    large = torch.ones(1 << 20, device=D)
    total = large.sum()
    total.item()  # here: item
    (large > 0).nonzero()  # here: nonzero
    large[large > 0]  # here: index
    float(total + 1)  # here: item
    if total > 0:  # here: is_nonzero
        large.cpu()
    large.cpu()  # here: to
    for _ in range(2):
        total.tolist()  # here: to
    return True


if __name__ == "__main__":
    print(json.dumps({name: CASES[name]() for name in sys.argv[1:]}), flush=True)
    os._exit(0)  # threads of NCCL's process group wait for ranks that do not exist
