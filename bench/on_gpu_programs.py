"""Programs that on_gpu.py runs on a GPU, real or simulated: python on_gpu_programs.py where | context | communicator |
workspaces | attention [--quick] | gpt [--quick] | snapshot FILE PROGRAM ARGUMENTS... Each but `snapshot` prints one line of
JSON for each thing that it measured, so that what was measured before a failure is known."""

import hashlib
import itertools
import json
import os
import pathlib
import runpy
import sys
import time
import warnings

import torch
from torch.nn import functional as F

import nvml

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def tell(**figures):
    print(json.dumps(figures), flush=True)


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def where():
    """The name of the GPU, and the driver's files that the process has open."""
    weight = torch.randn(256, 256, device="cuda", requires_grad=True)
    (weight @ weight).sum().backward()
    torch.cuda.synchronize()
    mapped = {line.split(maxsplit=5)[-1].strip() for line in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()}
    opened = []
    for file in pathlib.Path("/proc/self/fd").iterdir():
        try:
            opened.append(os.readlink(file))
        except OSError:
            pass  # the descriptor of the listing itself
    gpu = torch.cuda.get_device_properties(0)
    tell(name=gpu.name, bytes=gpu.total_memory, peak=torch.cuda.max_memory_reserved(),
         driver=sorted(path for path in mapped if pathlib.Path(path).name.startswith(("libcuda.so", "libnvidia-ml.so"))),
         devices=sorted({path for path in opened if path.startswith("/dev/nvidia")}))


class Outside:
    """The memory in use of the first GPU, minus PyTorch's segments, since the start of this process."""

    def __init__(self):
        self.library = nvml.Nvml()
        self.before = self.library.memory().used

    def tell(self, stage):
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        reserved = torch.cuda.memory_reserved() if torch.cuda.is_initialized() else 0
        memory = self.library.memory()
        tell(stage=stage, outside=memory.used - self.before - reserved, reserved=reserved, total=memory.total)


def context():
    """The stages in which CUDA's context grows. CUDA loads kernels at their first call."""
    outside = Outside()
    outside.tell("torch is imported")
    torch.cuda.init()
    outside.tell("torch.cuda.init()")
    x = torch.empty(1 << 20, device="cuda")
    outside.tell("a first block")
    x.fill_(1)
    outside.tell("a first kernel")
    y = torch.randn(1024, 1024, device="cuda", requires_grad=True)
    (y @ y).sum().backward()
    outside.tell("a product, forward and backward (cuBLAS)")
    images, weight = torch.randn(8, 64, 56, 56, device="cuda", requires_grad=True), torch.randn(64, 64, 3, 3, device="cuda", requires_grad=True)
    F.conv2d(images, weight, padding=1).sum().backward()
    outside.tell("a convolution, forward and backward (cuDNN)")
    q = torch.randn(2, 8, 512, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    F.scaled_dot_product_attention(q, q, q).sum().backward()
    outside.tell("fused attention, forward and backward")
    net = torch.nn.TransformerEncoderLayer(512, 8, device="cuda")
    torch.optim.AdamW(net.parameters()).step()
    net(torch.randn(16, 8, 512, device="cuda")).sum().backward()
    outside.tell("a layer of a transformer, AdamW")
    torch.sort(torch.randn(1 << 20, device="cuda"))
    torch.fft.fft(torch.randn(1 << 16, device="cuda"))
    outside.tell("a sort, a Fourier transform (cuFFT)")


def communicator():
    """NCCL in a world of one rank; a second group of it."""
    import torch.distributed as dist

    outside = Outside()
    torch.zeros(1, device="cuda")
    outside.tell("CUDA's context")
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    outside.tell("init_process_group")
    x = torch.ones(1 << 22, device="cuda")
    for number, work in enumerate([dist.all_reduce, lambda x: dist.all_gather_into_tensor(torch.empty_like(x), x),
                                   lambda x: dist.reduce_scatter_tensor(torch.empty_like(x), x),
                                   lambda x: dist.all_to_all_single(torch.empty_like(x), x)]):
        work(x)
        outside.tell(f"the first {('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all')[number]}")
    group = dist.new_group([0])
    dist.all_reduce(x, group=group)
    outside.tell("a second group, all_reduce")


def conv(images, weight, stride=1, padding=0, dilation=1, groups=1, transposed=False):
    return {"images": images, "weight": weight, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups,
            "transposed": transposed}


# Fifty convolutions of known networks: images, weight, stride, padding, dilation, groups.
CONVOLUTIONS = [
    # ResNet-50
    conv((32, 3, 224, 224), (64, 3, 7, 7), 2, 3), conv((32, 64, 56, 56), (64, 64, 1, 1)), conv((32, 64, 56, 56), (64, 64, 3, 3), 1, 1),
    conv((32, 64, 56, 56), (256, 64, 1, 1)), conv((32, 256, 56, 56), (128, 256, 1, 1)), conv((32, 128, 56, 56), (128, 128, 3, 3), 2, 1),
    conv((32, 256, 56, 56), (512, 256, 1, 1), 2), conv((32, 128, 28, 28), (128, 128, 3, 3), 1, 1), conv((32, 256, 14, 14), (256, 256, 3, 3), 1, 1),
    conv((32, 1024, 14, 14), (2048, 1024, 1, 1), 2), conv((32, 512, 7, 7), (512, 512, 3, 3), 1, 1), conv((32, 512, 7, 7), (2048, 512, 1, 1)),
    conv((1, 64, 56, 56), (64, 64, 3, 3), 1, 1), conv((256, 64, 56, 56), (64, 64, 3, 3), 1, 1),
    # VGG-16, AlexNet
    conv((16, 3, 224, 224), (64, 3, 3, 3), 1, 1), conv((16, 64, 224, 224), (64, 64, 3, 3), 1, 1), conv((16, 128, 112, 112), (128, 128, 3, 3), 1, 1),
    conv((16, 512, 28, 28), (512, 512, 3, 3), 1, 1), conv((16, 512, 14, 14), (512, 512, 3, 3), 1, 1), conv((64, 3, 224, 224), (64, 3, 11, 11), 4, 2),
    conv((64, 64, 27, 27), (192, 64, 5, 5), 1, 2),
    # MobileNetV3, EfficientNet, ConvNeXt, ResNeXt: groups
    conv((64, 16, 112, 112), (16, 1, 3, 3), 1, 1, 1, 16), conv((64, 72, 56, 56), (72, 1, 5, 5), 2, 2, 1, 72),
    conv((64, 240, 14, 14), (240, 1, 3, 3), 1, 1, 1, 240),
    conv((64, 960, 7, 7), (960, 1, 5, 5), 1, 2, 1, 960), conv((64, 960, 7, 7), (160, 960, 1, 1)), conv((64, 960, 1, 1), (240, 960, 1, 1)),
    conv((32, 96, 56, 56), (96, 1, 7, 7), 1, 3, 1, 96), conv((32, 128, 56, 56), (128, 4, 3, 3), 1, 1, 1, 32),
    # ViT, Swin, CLIP: patches
    conv((64, 3, 224, 224), (768, 3, 16, 16), 16), conv((64, 3, 224, 224), (96, 3, 4, 4), 4), conv((16, 3, 224, 224), (1024, 3, 14, 14), 14),
    # U-Net and diffusion
    conv((8, 4, 64, 64), (320, 4, 3, 3), 1, 1), conv((8, 320, 64, 64), (320, 320, 3, 3), 1, 1),
    conv((8, 320, 64, 64), (320, 320, 3, 3), 2, 1),
    conv((8, 640, 32, 32), (640, 640, 3, 3), 1, 1), conv((8, 1280, 16, 16), (1280, 1280, 3, 3), 1, 1), conv((8, 2560, 8, 8), (1280, 2560, 3, 3), 1, 1),
    conv((4, 128, 256, 256), (128, 128, 3, 3), 1, 1), conv((8, 128, 64, 64), (128, 64, 2, 2), 2, transposed=True),
    # DeepLab and DCGAN
    conv((8, 512, 33, 33), (256, 512, 3, 3), 1, 12, 12), conv((8, 512, 33, 33), (256, 512, 3, 3), 1, 24, 24),
    conv((64, 512, 4, 4), (512, 256, 4, 4), 2, 1, transposed=True), conv((64, 3, 64, 64), (64, 3, 4, 4), 2, 1),
    # Whisper, wav2vec 2.0, WaveNet: one dimension
    conv((8, 80, 3000), (768, 80, 3), 1, 1), conv((8, 1, 80000), (512, 1, 10), 5), conv((8, 768, 249), (768, 48, 128), 1, 64, 1, 16),
    conv((8, 64, 16000), (128, 64, 2), 1, 0, 64),
    # R3D, U-Net of volumes: three dimensions
    conv((4, 3, 16, 112, 112), (64, 3, 3, 7, 7), (1, 2, 2), (1, 3, 3)), conv((4, 64, 16, 56, 56), (64, 64, 3, 3, 3), 1, 1),
]


def requests(work):
    """The bytes of each request of `work`, in order, without the tensors that it returns."""
    torch.cuda.memory._record_memory_history(max_entries=100_000, context=None, clear_history=True)
    results = work()
    torch.cuda.synchronize()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    made = [(entry["addr"], entry["size"]) for entry in trace if entry["action"] == "alloc"]
    for result in results:
        last = max((place for place, (address, _) in enumerate(made) if address == result.data_ptr()), default=None)
        if last is not None:
            del made[last]
    return [size for _, size in made]


def workspaces(quick):
    """The workspaces of cuDNN, and copies into other layouts, in the first forward and backward."""
    for number, shape in enumerate(CONVOLUTIONS[:2] if quick else CONVOLUTIONS):
        how = {key: shape[key] for key in ("stride", "padding", "dilation", "groups")}
        function = getattr(F, f"conv{'_transpose' if shape['transposed'] else ''}{len(shape['weight']) - 2}d")
        for dtype in DTYPES:
            figures = {"number": number, **shape, "dtype": name_of(dtype)}
            try:
                images, weight = (torch.randn(shape[of], device="cuda", dtype=dtype, requires_grad=True) for of in ("images", "weight"))
                made = []
                figures["forward"] = requests(lambda: made.append(function(images, weight, **how)) or made)
                gradient = torch.ones_like(made[0])
                figures["backward"] = requests(lambda: torch.autograd.grad(made[0], (images, weight), gradient))
            except RuntimeError as error:
                figures["error"] = str(error).splitlines()[0]
            images = weight = gradient = made = None
            torch.cuda.empty_cache()
            tell(**figures)


ATTENTIONS = [((8, 16, 1024, 64), False), ((8, 16, 1024, 64), True), ((4, 32, 2048, 128), True), ((2, 12, 77, 80), False)]


def settled():
    """PyTorch's requested bytes, after a thread of its engine has dropped the last backward."""
    read = lambda: torch.cuda.memory_stats()["requested_bytes.all.current"]
    reads = [read()]
    while len(reads) < 6 or len(set(reads[-6:])) > 1:
        time.sleep(0.002)
        reads.append(read())
    return reads[-1]


def attention(quick):
    """The bytes that each implementation saves for its backward, and the peaks of forward and backward, minus inputs and output."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    warnings.simplefilter("ignore")  # about unavailable implementations: the error has the reason
    backends = [SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION]
    of = lambda kind: torch.cuda.memory_stats()[f"requested_bytes.all.{kind}"]
    product = torch.randn(64, 64, device="cuda", requires_grad=True)
    (product @ product).sum().backward()  # cuBLAS allocates its workspaces here
    for (shape, causal), backend, dtype, dropout in itertools.product(ATTENTIONS[:1] if quick else ATTENTIONS, backends, DTYPES, (0.0, 0.1)):
        figures = {"shape": shape, "causal": causal, "implementation": backend.name, "dtype": name_of(dtype), "dropout": dropout}
        try:
            q, k, v = (torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True) for _ in range(3))
            gradient = torch.ones(shape, device="cuda", dtype=dtype)
            torch.cuda.synchronize()
            before = settled()
            torch.cuda.reset_peak_memory_stats()
            with sdpa_kernel(backend):
                out = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)
            figures |= {"saved": of("current") - before - out.nbytes, "forward": of("peak") - before}
            torch.cuda.reset_peak_memory_stats()
            torch.autograd.grad(out, (q, k, v), gradient)
            figures["backward"] = of("peak") - before
        except RuntimeError as error:
            figures["error"] = str(error).splitlines()[0]
        q = k = v = out = gradient = None
        tell(**figures)


def gpt(quick):
    """Six steps of samples/cuda/gpt.py (24 layers) under deterministic algorithms: peaks, time of a step, losses. Then one more step:
    its kernels, and the parameters by the bit."""
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.use_deterministic_algorithms(True)
    sample = runpy.run_path(str(pathlib.Path(__file__).resolve().parent.parent / "samples/cuda/gpt.py"))
    layers, vocabulary, length, batch = (2, 1024, 128, 2) if quick else (24, 50304, 1024, 8)
    with torch.device("cuda"):
        model = sample["GPT"](vocabulary, length, 1024, 16, layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    losses, seconds = [], []

    def step():
        tokens = torch.randint(0, vocabulary, (batch, length + 1), device="cuda")
        torch.cuda.synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)

    for _ in range(6):
        step()
    allocated, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
    kernels = sorted(((each.self_device_time_total, each.count, each.key) for each in profile.key_averages()), reverse=True)
    digest = hashlib.sha256(b"".join(parameter.detach().cpu().numpy().tobytes() for parameter in model.parameters())).hexdigest()
    tell(allocated=allocated, reserved=reserved, seconds=sorted(seconds[3:6])[1], losses=losses, digest=digest,
         kernel_seconds=sum(time for time, _, _ in kernels) / 1e6, kernels=kernels[:30])


def snapshot(file, program, *arguments):
    """Runs a program of tests/programs/cases, which end by os._exit(), under PyTorch's history of memory. Stacks are those of
    allocations: in PyTorch 2.11 the stack of a free discards the exception by which a checkpoint ends (pytorch#175196)."""
    torch.cuda.memory._record_memory_history(max_entries=2_000_000, context="alloc", stacks="python")
    leave = os._exit

    def dumped(code):
        torch.cuda.memory._dump_snapshot(file)
        leave(code)

    os._exit = dumped
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(pathlib.Path(program).parent))
    runpy.run_path(program, run_name="__main__")


def main():
    torch.manual_seed(0)
    name, *arguments = sys.argv[1:]
    if name == "snapshot":
        snapshot(*arguments)
    elif name in ("workspaces", "attention", "gpt"):
        {"workspaces": workspaces, "attention": attention, "gpt": gpt}[name]("--quick" in arguments)
    else:
        {"where": where, "context": context, "communicator": communicator}[name]()
    sys.stdout.flush()
    os._exit(0)  # skips the finalization of the interpreter


if __name__ == "__main__":
    main()
