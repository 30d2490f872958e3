"""Training on CUDA, one case by its name. Each prints JSON, mostly PyTorch's own counts of its allocator."""

import json
import os
import sys

import torch
import torch.nn.functional as F

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def stats(device=0):
    """Peaks of PyTorch's allocator."""
    counts = torch.cuda.memory_stats(device)
    return {kind: counts[f"{kind}_bytes.all.peak"] for kind in ("requested", "allocated", "active", "reserved")}


@case
def card():
    of = torch.cuda.get_device_properties(0)
    free, total = torch.cuda.mem_get_info()
    return {"count": torch.cuda.device_count(), "name": of.name, "capability": [of.major, of.minor], "bytes": of.total_memory,
            "processors": of.multi_processor_count, "free": free, "total": total}


@case
def products():
    """The same product in three forms, and the allocated bytes after each."""
    x = torch.empty(8192, 512).requires_grad_().cuda()
    w = torch.empty(8, 64, 64).cuda()
    out = torch.matmul(x.view(8192, 8, 1, 64), w)
    broadcast = torch.cuda.memory_allocated()
    del out, w
    w = torch.empty(512, 512).cuda()
    out = torch.matmul(x.view(8192, 1, 512), w)
    plain = torch.cuda.memory_allocated()
    del out, w
    w = torch.empty(8, 64, 64).cuda()
    out = torch.bmm(x.view(8192, 8, 64).transpose(0, 1), w)
    return [broadcast, plain, torch.cuda.memory_allocated(), tuple(out.shape)]


@case
def adamw():
    net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
    parameters = torch.cuda.memory_allocated()
    optimizer = torch.optim.AdamW(net.parameters())
    x = torch.randn(1024, 1024, device="cuda")
    for _ in range(2):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    optimizer.zero_grad()
    return {"parameters": parameters, "left": torch.cuda.memory_allocated(), **stats()}


@case
def too_large():
    kept = torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
    try:
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        return [kept.numel(), str(error).split(". ")]
    return None


@case
def segments():
    """Under the settings of PYTORCH_CUDA_ALLOC_CONF."""
    blocks = [torch.empty(30 << 20, dtype=torch.uint8, device="cuda") for _ in range(5)]
    del blocks[1]
    grown = torch.cuda.memory_reserved()
    torch.cuda.empty_cache()
    return {"left": torch.cuda.memory_allocated(), "grown": grown, "kept": torch.cuda.memory_reserved(),
            "used": (lambda free, total: total - free)(*torch.cuda.mem_get_info()), **stats()}


@case
def values():
    """Values of small tensors after operators, and values of a new tensor."""
    small = torch.arange(16384, dtype=torch.float32)
    pinned = torch.arange(100, pin_memory=True)
    dirty = torch.tensor([1.0, 2.0, 3.0]).cuda()
    at = dirty.data_ptr()
    del dirty
    clean = torch.empty(3, device="cuda")
    return {"small": bool((small.cuda().cpu() == small).all()), "pinned": pinned.cuda(non_blocking=True).tolist() == list(range(100)),
            "large": torch.ones(1 << 20).cuda().sum().item(), "same_block": clean.data_ptr() == at, "clean": clean.tolist()}


@case
def graph():
    net, x = torch.nn.Linear(256, 256).cuda(), torch.randn(8, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        net(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        capturing = torch.cuda.is_current_stream_capturing()
        y = net(x).relu()
    graph.replay()
    torch.cuda.synchronize()
    pools = {tuple(segment["segment_pool_id"]) for segment in torch.cuda.memory_snapshot()}
    return [capturing, torch.cuda.is_current_stream_capturing(), tuple(y.shape), len(pools)]


@case
def streams():
    side = torch.cuda.Stream()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    with torch.cuda.stream(side):
        x = torch.empty(1 << 20, device="cuda")
    end.record()
    end.synchronize()
    x.record_stream(torch.cuda.current_stream())
    del x
    return [begin.elapsed_time(end) >= 0, torch.cuda.memory_allocated()]


@case
def sorts():
    """So many elements that CUB selects its sort kernel by architecture."""
    keys = torch.randint(0, 100, (100_000,), device="cuda")
    embedding = torch.nn.Embedding(100, 8, device="cuda")
    embedding(keys).sum().backward()
    return [list(keys.sort().values.shape), list(embedding.weight.grad.shape)]


@case
def times():
    x = torch.ones(4, device="cuda")
    events = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
    events[0].record()
    for _ in range(5):
        x.add_(1)
    events[1].record()
    events[2].record()
    torch.cuda.synchronize()
    return [round(events[0].elapsed_time(events[1]), 1), events[1].elapsed_time(events[2]) > 0]


@case
def devices():
    x = torch.tensor([5, 6, 7], device="cuda:1")
    y = x.to("cuda:0")
    return [torch.cuda.device_count(), y.tolist(), y.device.index, torch.cuda.can_device_access_peer(0, 1),
            [torch.cuda.memory_allocated(i) for i in range(torch.cuda.device_count())]]


@case
def shared():
    """CUDA's error for memory that another process cannot open."""
    try:
        torch.ones(4, device="cuda").untyped_storage()._share_cuda_()
    except RuntimeError as error:  # raised by the runtime or the driver
        return str(error).splitlines()[0]
    return None


@case
def networks():
    """The shapes of results of the forward and backward of each kind of layer."""
    shapes = {}

    def train(name, net, *size, dtype=torch.float32):
        out = net.to("cuda", dtype)(torch.randn(*size, device="cuda", dtype=dtype, requires_grad=True))
        out = out[0] if isinstance(out, tuple) else out
        out.sum().backward()
        shapes[name] = list(out.shape)

    train("conv1d", torch.nn.Conv1d(8, 16, 3), 2, 8, 20)
    train("conv2d", torch.nn.Conv2d(8, 16, 3, padding=1, groups=2), 2, 8, 32, 32)
    train("conv3d", torch.nn.Conv3d(8, 16, 3), 2, 8, 8, 8, 8)
    train("transposed", torch.nn.ConvTranspose2d(8, 16, 3), 2, 8, 16, 16)
    train("half", torch.nn.Conv2d(8, 16, 3), 2, 8, 32, 32, dtype=torch.bfloat16)
    train("batch_norm", torch.nn.BatchNorm2d(8), 2, 8, 16, 16)
    train("lstm", torch.nn.LSTM(32, 64, 2, bidirectional=True, dropout=0.1, batch_first=True), 8, 20, 32)
    train("gru", torch.nn.GRU(32, 64, 2), 20, 8, 32)
    train("rnn", torch.nn.RNN(32, 64), 20, 8, 32)
    train("projected", torch.nn.LSTM(32, 64, 2, proj_size=16), 5, 8, 32)
    return shapes


@case
def attention():
    """The peak of each implementation. They differ in the memory that they need besides their inputs."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    peaks = {}
    for name in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"):
        q = torch.randn(2, 8, 1024, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        torch.cuda.reset_peak_memory_stats()
        with sdpa_kernel(getattr(SDPBackend, name)):
            F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
        peaks[name] = torch.cuda.max_memory_allocated()
        del q
    q = torch.randn(2, 8, 1024, 64, device="cuda", dtype=torch.bfloat16)
    return {**peaks, "default": list(F.scaled_dot_product_attention(q, q, q).shape)}


@case
def libraries():
    """At least one call of each library that has a stand-in."""
    a = torch.randn(64, 64, device="cuda")
    s = torch.eye(64, device="cuda")
    for solve in (torch.linalg.cholesky_ex, torch.linalg.lu_factor_ex, torch.linalg.qr, torch.linalg.eigh, torch.linalg.svd,
                  torch.linalg.inv_ex, torch.linalg.det, torch.linalg.ldl_factor_ex):
        solve(s)
    torch.linalg.lstsq(a, s)
    torch.linalg.eigh(torch.randn(4, 8, 8, device="cuda"))
    torch.fft.irfft(torch.fft.rfft(a))
    sparse = torch.sparse_coo_tensor(torch.tensor([[0, 1, 2], [1, 2, 0]]).cuda(), torch.ones(3, device="cuda"), (3, 3))
    sparse @ torch.randn(3, 3, device="cuda")
    sparse.to_sparse_csr() @ torch.randn(3, device="cuda")
    torch.nn.functional.ctc_loss(torch.randn(50, 4, 20, device="cuda").log_softmax(2), torch.ones(4, 10, dtype=torch.int32),
                                 torch.full((4,), 50, dtype=torch.int32), torch.full((4,), 10, dtype=torch.int32))
    x = torch.randint(0, 9, (1000,), device="cuda")
    with torch.profiler.profile():
        shapes = [list(t.shape) for t in (x.sort()[0], x.topk(5)[0], x.nonzero(), x.unique(), torch.special.bessel_j0(a))]
    return shapes


@case
def ranks():
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    dist.init_process_group("nccl")
    world = dist.get_world_size()
    total = torch.tensor([3.0, 4.0], device="cuda")
    dist.all_reduce(total)
    every = torch.empty(world, dtype=torch.int64, device="cuda")
    dist.all_gather_into_tensor(every, torch.tensor([7], device="cuda"))
    net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048, bias=False) for _ in range(4)]).cuda()
    for layer in net:
        fully_shard(layer, mesh=init_device_mesh("cuda", (world,)))
    sharded = torch.cuda.memory_allocated()
    net(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    return [dist.get_rank(), world, total.tolist(), sum(every.tolist()), sharded]


@case
def meshes():
    """Groups of a mesh with two dimensions, and a group of three ranks: the number of ranks that each gathers from."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    dist.init_process_group("nccl", device_id=torch.device("cuda:0"))
    world = dist.get_world_size()
    mesh = init_device_mesh("cuda", (world // 2, 2), mesh_dim_names=("data", "tensor"))
    groups = [mesh["data"].get_group(), mesh["tensor"].get_group(), dist.new_group([0, 1, 2])]
    gathered = []
    for group in groups:
        each = torch.empty(group.size(), device="cuda")
        dist.all_gather_into_tensor(each, torch.tensor([1.0], device="cuda"), group=group)
        gathered.append(sum(each.tolist()))
    return gathered


@case
def compiled():
    function = torch.compile(lambda x: (x.sin() * 2 + x.cos()).relu())
    x = torch.randn(1 << 20, device="cuda")
    function(x)  # compiled, and benchmarked with buffers of Triton
    torch.cuda.reset_peak_memory_stats()
    return [list(function(x).shape), torch.cuda.max_memory_allocated()]


if __name__ == "__main__":
    print(json.dumps({name: CASES[name]() for name in sys.argv[1:]}), flush=True)
    os._exit(0)  # threads of NCCL's process group wait for ranks that do not exist
