"""Makes the seeds of the fuzzers from recordings of small programs: python seeds.py TAPELENS."""

import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
import hostile_pickles

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
HEADER, BLOCK, BLOCK_HEADER = 4096, 65536, 64

# Each program ends with a copy of its spool, because the recorder removes the spool after sealing.
COPY = "import os, shutil, sys; shutil.copytree(os.environ['TAPELENS_SPOOL'], sys.argv[1], dirs_exist_ok=True)"
PROGRAMS = {
    "training": """
import torch
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(32, 4))
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(2):
    torch.nn.functional.cross_entropy(net(torch.randn(8, 16)), torch.arange(8) % 4).backward()
    optimizer.step(); optimizer.zero_grad()
""",
    "threads": """
import threading, torch
def work():
    w = torch.ones(8, requires_grad=True)
    for i in range(3):
        (torch.stack([torch.cat([w, w]), torch.cat([w, w.clone()])]) * 2).sum().backward()
threads = [threading.Thread(target=work) for _ in range(2)]
[t.start() for t in threads]; [t.join() for t in threads]
""",
    "recurrent": """
import torch
cell = torch.nn.GRUCell(4, 4)
h, all = torch.zeros(2, 4), []
for x in torch.randn(4, 2, 4):
    h = cell(x, h); all = all + [h]
with torch.profiler.record_function("backward"):
    (torch.cat(all, 1).softmax(-1) * 3).sum().backward(retain_graph=True)
""",
    "held": """
import functools, torch
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
class Kept(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = x > 0
        return x * ctx.mask
    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.mask
w = torch.ones(8, 8, requires_grad=True)
keep = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
with torch.autograd.graph.save_on_cpu():
    packed = Kept.apply(w.exp())
(packed + checkpoint(lambda x: (x @ x).sin(), w, use_reentrant=False, context_fn=keep)).sum().backward()
""",
    "variables": """
import torch
net = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
history, table = [], {"kept": torch.ones(50)}
net.register_forward_hook(lambda module, inputs, output, noise=torch.ones(60): output + noise[0])
for _ in range(3):
    out = net(torch.ones(4, 8)); history.append(out.detach().clone())
    out.sum().backward(); optimizer.step(); optimizer.zero_grad()
""",
}
OPTIONS = {"variables": ["--referrers"]}

# Each program writes memory snapshots of PyTorch on a simulated GPU: one by Python's pickle, one by the writer in C++.
SNAPSHOTS = {
    "stacks": """
import torch
torch.cuda.memory._record_memory_history(stacks="python")
x = torch.ones(3 << 18, device="cuda")
with torch.profiler.record_function("part"):
    side = torch.cuda.Stream()
    x.record_stream(side)
del x
y = torch.ones(9, device="cuda:1")
""",
    "ring": """
import torch
torch.cuda.memory._record_memory_history(context=None, max_entries=6)
kept = [torch.empty(size << 19, device="cuda") for size in (1, 7, 3)]
del kept[1]
torch.cuda.empty_cache()
try:
    torch.empty(1 << 40, device="cuda")
except torch.OutOfMemoryError:
    pass
""",
    "expandable": """
import torch
torch.cuda.memory._record_memory_history(stacks="all", max_entries=12)
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    x = torch.empty(5 << 20, device="cuda")
del x
y = torch.empty(40 << 20, device="cuda")
del y
torch.cuda.empty_cache()
""",
}
DUMP = """
import ctypes, pathlib, sys
torch.cuda.memory._dump_snapshot(sys.argv[1])
function = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib/libtorch_cuda.so"))["_ZN5torch4cuda24_memory_snapshot_pickledB5cxx11Ev"]
function.restype, function.argtypes = None, [ctypes.c_void_p]
string = (ctypes.c_uint64 * 4)()
function(string)
pathlib.Path(sys.argv[1] + "-native").write_bytes(ctypes.string_at(string[0], string[1]))
"""


def compact(spool: bytes) -> bytes:
    """The spool in the form that tests/fuzz/spool.cpp reads."""
    out = b""
    for at in range(HEADER, len(spool) - BLOCK + 1, BLOCK):
        magic, lane = struct.unpack_from("<II", spool, at)
        committed, finished = struct.unpack_from("<II", spool, at + 32)
        if magic == 0 or committed == 0:
            continue
        payload = spool[at + BLOCK_HEADER:at + BLOCK_HEADER + committed]
        out += struct.pack("<BBH", lane & 255, finished & 1, len(payload) // 8) + payload
    return out


def unnamed(content: bytes, folders) -> bytes:
    """Replaces the names of this machine's folders."""
    for folder in sorted({str(f).encode() for f in folders}, key=len, reverse=True):
        content = content.replace(folder, b"/" + b"x" * (len(folder) - 1))
    return content


def blind(spool: bytes, folders) -> bytes:
    """Replaces names likewise, and marks all blocks as unfinished, as in a killed process, so that the reader ignores
    their checksums."""
    out = bytearray(unnamed(spool, folders))
    for at in range(HEADER, len(out) - BLOCK + 1, BLOCK):
        out[at + 36:at + 40] = bytes(4)
    return bytes(out)


def tally(rows) -> bytes:
    """A file in the format of policy/tally_file.h, without the zero rows at its end."""
    file = struct.pack("<QIIQQ", 0x32594C4C4154534C, len(rows), 0, 3, 0)
    for rewrite, reason, level, *counts in rows:
        file += struct.pack("<48s160sII4Q", rewrite, reason, level, 0, *counts)
    return file


def summary_of(sealed: bytes) -> bytes:
    """The summary inside of a recording (trace/sealed_format.h)."""
    at, size = struct.unpack_from("<QQ", sealed, len(sealed) - 48)
    end = at + size
    while at < end:
        tag, size = struct.unpack_from("<II", sealed, at)
        if tag == 6:
            return sealed[at + 8:at + 8 + size].replace(socket.gethostname().encode(), b"node1")
        at += 8 + (size + 7) // 8 * 8
    raise ValueError("no summary")


def synthetic_ranks(tool):
    """Writes the summaries of the outliers of a thousand synthetic ranks, and that of one ordinary rank."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([tool, folder, "1024", "20"], check=True)
        for rank in (0, 37, 512, 901):
            (CORPUS / "summary" / f"rank{rank}").write_bytes(summary_of((pathlib.Path(folder) / f"rank{rank}.tapelens").read_bytes()))


# Nested deeper than our own files, or with sums that are not numbers.
DEEP = 70
HOSTILE = {
    "plan/hostile-deep.json": '{"tapelens_plan": 1, "sites": ' + "[" * DEEP + "]" * DEEP + "}",
    "plan/hostile-open.json": '{"tapelens_plan": 1, "sites": ' + '[{"a":' * DEEP,
    "verify/hostile-deep.json": "[" * DEEP + "]" * DEEP,
    "baseline/hostile-deep.json": '{"format": "tapelens baseline", "version": 1, "rows": ' + "[" * DEEP + "]" * DEEP + "}",
    "baseline/hostile-sum.json": '{"format": "tapelens baseline", "version": 1, "rows": [9223372036854775807, 1, -9223372036854775808]}',
    "settings/hostile-keys.toml": "[check]\n" + "a." * DEEP + "b = 1\n",
    "settings/hostile-header.toml": "[" + '"a" . ' * DEEP + "b]\n",
    "settings/hostile-lists.toml": "a = " + "[" * DEEP + "]" * DEEP + "\n",
    "settings/hostile-tables.toml": "a = " + "{b.c=" * DEEP + "1" + "}" * DEEP + "\n",
    "settings/check.toml": '[check]\nbaseline = "memory.json" # "\nbudgets = ["peak<=6GiB", \'peak[GPT.*]<=2GiB\']\n'
                           'tolerance = """1 %"""\nfail-on = \'\'\'info\'\'\'\n',
}
LARGEST_HOSTILE = 8192  # bytes; tests/programs/test_hostile_files.py tests larger ones


def hostile():
    for name, text in HOSTILE.items():
        (CORPUS / name).parent.mkdir(parents=True, exist_ok=True)
        (CORPUS / name).write_text(text, encoding="utf-8")
    for name, content in [*hostile_pickles.growing(12), *hostile_pickles.as_they_are()]:
        if len(content) <= LARGEST_HOSTILE:
            (CORPUS / "pickle" / f"hostile-{name}").write_bytes(content)


def main(tapelens):
    for kind in ("sealed", "spool", "tally", "pickle", "summary"):
        (CORPUS / kind).mkdir(parents=True, exist_ok=True)
    hostile()
    (CORPUS / "tally" / "two").write_bytes(tally([
        (b"unneeded-save", b"", 0, 2, 6, 2752512, 0), (b"recomputable-save", b"over the recompute budget", 2, 17, 34, 22020096, 0)]))
    for name, program in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            target, spools = pathlib.Path(folder) / "run.tapelens", pathlib.Path(folder) / "spools"
            subprocess.run([tapelens, "record", "--quiet", *OPTIONS.get(name, []), "-o", target, "--", sys.executable, "-c", program + COPY, spools],
                           check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            (spool,) = spools.rglob("*.spool")
            folders = [folder, sys.prefix, sys.base_prefix, pathlib.Path.cwd(), pathlib.Path(tapelens).parents[1]]
            spool.write_bytes(blind(spool.read_bytes(), folders))
            subprocess.run([tapelens, "seal", spool.parent, "-o", CORPUS / "sealed" / name], check=True)
            (CORPUS / "summary" / name).write_bytes(summary_of((CORPUS / "sealed" / name).read_bytes()))
            (CORPUS / "spool" / name).write_bytes(compact(spool.read_bytes()))
    synthetic_ranks(pathlib.Path(tapelens).with_name("tapelens-synthetic-ranks"))
    for name, program in SNAPSHOTS.items():
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / name
            settings = "expandable_segments:True" if name == "expandable" else ""
            subprocess.run([tapelens, "run", "--gpu", "H100x2", "--", sys.executable, "-c", program + DUMP, file],
                           check=True, env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": settings})
            for written in pathlib.Path(folder).iterdir():
                folders = [folder, sys.prefix, sys.base_prefix, pathlib.Path.cwd()]
                (CORPUS / "pickle" / written.name).write_bytes(unnamed(written.read_bytes(), folders))


if __name__ == "__main__":
    main(sys.argv[1])
