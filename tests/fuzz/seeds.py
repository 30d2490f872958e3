"""Makes the seeds of the fuzzers from real recordings: python seeds.py TAPELENS. Small programs, so that they stay small."""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
HEADER, BLOCK, BLOCK_HEADER = 4096, 65536, 64

# Each ends with a copy of its own spool: the recorder removes it when it has sealed it.
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
}


def compact(spool: bytes) -> bytes:
    """As tests/fuzz/spool.cpp reads it."""
    out = b""
    for at in range(HEADER, len(spool) - BLOCK + 1, BLOCK):
        magic, lane = struct.unpack_from("<II", spool, at)
        committed, finished = struct.unpack_from("<II", spool, at + 32)
        if magic == 0 or committed == 0:
            continue
        payload = spool[at + BLOCK_HEADER:at + BLOCK_HEADER + committed]
        out += struct.pack("<BBH", lane & 255, finished & 1, len(payload) // 8) + payload
    return out


def blind(spool: bytes, folders) -> bytes:
    """Without the names of this machine's folders; blocks as of a process that was killed, whose checksums are not asked."""
    for folder in sorted({str(f).encode() for f in folders}, key=len, reverse=True):
        spool = spool.replace(folder, b"/" + b"x" * (len(folder) - 1))
    out = bytearray(spool)
    for at in range(HEADER, len(out) - BLOCK + 1, BLOCK):
        out[at + 36:at + 40] = bytes(4)
    return bytes(out)


def tally(rows) -> bytes:
    """As trace/tally_file.h has it, without the rows that are zero."""
    file = struct.pack("<QIIQ", 0x31594C4C4154534C, len(rows), 0, 3)
    for rewrite, reason, level, *counts in rows:
        file += struct.pack("<48s160sII4Q", rewrite, reason, level, 0, *counts)
    return file


def main(tapelens):
    for kind in ("sealed", "spool", "tally"):
        (CORPUS / kind).mkdir(parents=True, exist_ok=True)
    (CORPUS / "tally" / "two").write_bytes(tally([
        (b"unneeded-save", b"", 0, 2, 6, 2752512, 0), (b"recomputable-save", b"over the recompute budget", 2, 17, 34, 22020096, 0)]))
    for name, program in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            target, spools = pathlib.Path(folder) / "run.tapelens", pathlib.Path(folder) / "spools"
            subprocess.run([tapelens, "record", "--quiet", "-o", target, "--", sys.executable, "-c", program + COPY, spools],
                           check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            (spool,) = spools.rglob("*.spool")
            folders = [folder, sys.prefix, sys.base_prefix, pathlib.Path.cwd(), pathlib.Path(tapelens).parents[1]]
            spool.write_bytes(blind(spool.read_bytes(), folders))
            subprocess.run([tapelens, "seal", spool.parent, "-o", CORPUS / "sealed" / name], check=True)
            (CORPUS / "spool" / name).write_bytes(compact(spool.read_bytes()))


if __name__ == "__main__":
    main(sys.argv[1])
