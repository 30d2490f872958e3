"""Time and memory to import a memory snapshot of PyTorch. Writes a synthetic one of the given size, and imports it with
the given tapelens.

    python bench/snapshot.py build/release/bin/tapelens [--bytes 1e9] [--depth 40] [--keep FILE]

The file has the bytes that Python's pickle would write for torch.cuda.memory._snapshot(), written opcode by opcode
without the whole in memory. It is a training loop of layers whose blocks come and go, on one device, with a stack for
each entry. --depth 0: without."""

import argparse
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

KEYS = ("segments", "device_traces", "allocator_settings", "external_annotations", "action", "addr", "size", "stream", "time_us",
        "compile_context", "user_metadata", "pool_id", "frames", "filename", "name", "line", "alloc", "free_requested",
        "free_completed", "segment_alloc", "snapshot")


class Writer:
    """Python's pickler of protocol 4, for the types in a snapshot."""

    FRAME = 64 << 10

    def __init__(self, file):
        self.file, self.out, self.numbers, self.known = file, bytearray(), 0, {}
        self.written = file.write(b"\x80\x04")

    def flush(self):
        self.written += self.file.write(b"\x95" + struct.pack("<Q", len(self.out)))
        self.written += self.file.write(self.out)
        self.out = bytearray()

    def put(self, key=None):
        self.out += b"\x94"
        if key is not None:
            self.known[key] = self.numbers
        self.numbers += 1
        if len(self.out) > self.FRAME:
            self.flush()

    def get(self, key):
        number = self.known[key]
        self.out += b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)

    def text(self, text, key=None):
        """Writes a text. If its key is known, writes a reference to the earlier text."""
        if key is not None and key in self.known:
            self.get(key)
            return
        data = text.encode()
        self.out += b"\x8c" + bytes([len(data)]) + data
        self.put(key)

    def key(self, text):
        self.text(text, ("key", text))

    def integer(self, value):
        if 0 <= value < 256:
            self.out += b"K" + bytes([value])
        elif 0 <= value < 65536:
            self.out += b"M" + struct.pack("<H", value)
        elif -(1 << 31) <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            self.out += b"\x8a" + bytes([len(data)]) + data

    def begin(self, what):
        self.out += what
        self.put()

    def pairs(self, values):
        """Writes a dict from [(key, function that writes the value)]."""
        self.begin(b"}")
        self.out += b"("
        for key, write in values:
            self.key(key)
            write()
        self.out += b"u"

    def items(self, count, write):
        """Writes a list, a thousand items at a time, by write(i)."""
        self.begin(b"]")
        for first in range(0, count, 1000):
            several = min(1000, count - first)
            self.out += b"(" if several > 1 else b""
            for i in range(first, first + several):
                write(i)
            self.out += b"e" if several > 1 else b"a"


class Snapshot:
    def __init__(self, writer, depth):
        self.w, self.depth = writer, depth
        self.random = random.Random(1)
        self.stacks = [[self.random.randrange(4000) for _ in range(depth)] for _ in range(3000)]
        self.time = 1_780_000_000_000_000

    def frame(self, number):
        if ("frame", number) in self.w.known:
            self.w.get(("frame", number))
            return
        self.w.known[("frame", number)] = self.w.numbers
        self.w.pairs([("name", lambda: self.w.text(f"function_{number % 700}")),
                      ("filename", lambda: self.w.text(f"/home/user/project/package/module_{number % 90}.py")),
                      ("line", lambda: self.w.integer(number))])

    def entry(self, action, address, size, stack):
        self.time += 3
        pairs = [("action", lambda: self.w.key(action)), ("addr", lambda: self.w.integer(address)),
                 ("size", lambda: self.w.integer(size)), ("stream", lambda: self.w.integer(0)),
                 ("time_us", lambda: self.w.integer(self.time)), ("compile_context", lambda: self.w.text("N/A")),
                 ("user_metadata", lambda: self.w.text("")), ("pool_id", self.pool)]
        if self.depth:
            frames = self.stacks[stack]
            pairs.append(("frames", lambda: self.w.items(self.depth, lambda i: self.frame(frames[i]))))
        self.w.pairs(pairs)

    def pool(self):
        self.w.out += b"K\0K\0\x86"
        self.w.put()

    def write(self, size):
        """Every step allocates 400 blocks, and frees them in reverse order."""
        w, base, blocks, block = self.w, 0x7F00_0000_0000, 400, 4 << 20
        kinds = ["segment_alloc"] + (["alloc"] * blocks + ["free_requested", "free_completed"] * blocks)

        def entry(i):
            if i == 0:
                return self.entry("segment_alloc", base, blocks * block, 0)
            place = (i - 1) % (3 * blocks)
            action = kinds[1 + place]
            which = place if action == "alloc" else blocks - 1 - (place - blocks) // 2
            return self.entry(action, base + which * block, block, (which * 7) % len(self.stacks))

        def trace():
            # Writes entries until they have the requested number of bytes.
            before = w.written + len(w.out)
            w.begin(b"]")
            i = 0
            while w.written + len(w.out) - before < size:
                w.out += b"("
                for _ in range(1000):
                    entry(i)
                    i += 1
                w.out += b"e"
            self.entries = i

        w.pairs([("segments", lambda: w.begin(b"]")),
                 ("device_traces", lambda: (w.begin(b"]"), trace(), w.out.extend(b"a"))),
                 ("allocator_settings", lambda: w.begin(b"}")),
                 ("external_annotations", lambda: w.begin(b"]"))])
        w.out += b"."
        w.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tapelens")
    parser.add_argument("--bytes", type=float, default=1e9)
    parser.add_argument("--depth", type=int, default=40, help="frames of each stack")
    parser.add_argument("--keep", metavar="FILE", help="write the snapshot there, and leave it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(options.keep or f"{folder}/snapshot.pickle")
        with path.open("wb") as file:
            snapshot = Snapshot(Writer(file), options.depth)
            snapshot.write(int(options.bytes))
        begin = time.monotonic()
        child = subprocess.Popen([options.tapelens, "import", path, "-o", f"{folder}/snapshot.tapelens"])
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begin
        if status != 0:
            sys.exit(f"tapelens import ended with status {status}")
        megabytes = path.stat().st_size / 1e6
        print(f"{megabytes:.0f} MB, {snapshot.entries} entries: {seconds:.2f} s, {megabytes / seconds:.0f} MB/s, "
              f"{usage.ru_maxrss / 1024:.0f} MiB of memory at most")


if __name__ == "__main__":
    main()
