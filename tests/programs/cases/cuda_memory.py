"""Uses of CUDA memory besides training: streams, pools, graphs, pinned memory, threads, several GPUs, a full
GPU."""

import sys
import threading

import torch

import cuda_stats

MIB = 1 << 20
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def block(mib, device="cuda"):
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device=device)


@case
def recorded_streams():
    """A block that another stream uses is freed later than its tensor: after PyTorch polls the events of that
    stream."""
    side = torch.cuda.Stream()
    for size in (1, 30, 0.25):
        x = block(size)
        with torch.cuda.stream(side):
            y = x + 1
        x.record_stream(side)
        del x
        z = block(size)
        y.record_stream(torch.cuda.current_stream())
        del y, z
    torch.cuda.synchronize()
    block(1)


@case
def pools_of_streams():
    """A block that one stream can reuse is not free for another stream."""
    streams = [torch.cuda.Stream() for _ in range(3)]
    for size in (0.1, 12, 25):
        for stream in streams:
            with torch.cuda.stream(stream):
                block(size)


@case
def own_pool():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        kept = [block(3), block(0.5)]
    outside = block(3)
    del kept
    torch.cuda.empty_cache()
    with torch.cuda.use_mem_pool(pool):
        block(2)
    del outside, pool


@case
def captured_graphs():
    net, x = torch.nn.Linear(256, 256).cuda(), torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            net(x).square().mean().backward()
    torch.cuda.current_stream().wait_stream(side)
    graph, other = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    net.zero_grad()
    with torch.cuda.graph(graph):
        net(x).square().mean().backward()
    with torch.cuda.graph(other, pool=graph.pool()):
        y = net(x).relu()
    for _ in range(3):
        graph.replay()
        other.replay()
    torch.cuda.synchronize()
    del y, graph, other


@case
def streams_in_a_capture():
    """During the capture of a graph, blocks that another stream used stay active until the end of the capture."""
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(3):
            x = block(100.3)
            side.wait_stream(torch.cuda.current_stream())
            x.record_stream(side)
            torch.cuda.current_stream().wait_stream(side)
            del x
    block(1)


@case
def pinned():
    """Pinned memory belongs to the host and does not count as memory of the GPU."""
    x = torch.empty(4 * MIB, dtype=torch.uint8, pin_memory=True)
    y = x.to("cuda", non_blocking=True)
    x.copy_(y, non_blocking=True)
    torch.cuda.synchronize()


@case
def threads():
    """Four threads at once, each with a stream, so that the order of frees differs from the order of allocations."""
    together = threading.Barrier(4)

    def work(seed):
        source = torch.Generator().manual_seed(seed)
        kept = {}
        together.wait()
        with torch.cuda.stream(torch.cuda.Stream()):
            for number in range(200):
                size = int(torch.randint(1, 3 * MIB, (), generator=source))
                kept[number % 16] = torch.empty(size, dtype=torch.uint8, device="cuda")

    running = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


@case
def many_sizes():
    """Splits and joins, in small and large pools. Garbage collection of long unused blocks, if its setting is on."""
    source = torch.Generator().manual_seed(3)
    kept = {}
    for number in range(600):
        size = int(2 ** (torch.rand((), generator=source) * 26))
        kept[number % 12] = torch.empty(size, dtype=torch.uint8, device="cuda")
        if number % 200 == 199:
            torch.cuda.empty_cache()


@case
def resized():
    x = block(2)
    x.untyped_storage().resize_(0)
    x.untyped_storage().resize_(5 * MIB)
    x.resize_(7 * MIB)
    block(0)  # zero bytes: no allocation


@case
def several_gpus():
    if torch.cuda.device_count() < 2:
        return
    layers = [torch.nn.Linear(512, 512, device=f"cuda:{device}") for device in range(2)]
    x = torch.randn(64, 512, device="cuda:0", requires_grad=True)
    layers[1](layers[0](x).to("cuda:1")).square().mean().backward()
    with torch.cuda.device(1):
        block(40.7)
    # Frees a tensor of one GPU while the other GPU is the current device.
    y = block(25, "cuda:1")
    y.record_stream(torch.cuda.Stream("cuda:1"))
    del y


@case
def full_gpu():
    """Out of memory, and the program continues: the allocator's attempts before the error, and its state after it."""
    held = []
    try:
        while True:
            held.append(block(99.9))
    except torch.OutOfMemoryError:
        held = held[::2]
    block(150.1)
    try:
        block(1 << 20)
    except torch.OutOfMemoryError:
        del held
        block(64)


if __name__ == "__main__":
    cuda_stats.run({name: run for name, run in CASES.items() if name != "full_gpu" or name in sys.argv})
