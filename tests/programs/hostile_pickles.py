"""Memory snapshots that are made to crash the reader, hang it, mislead it or exhaust its memory. all(scale) returns
their names and bytes; some grow with the scale. They are written opcode by opcode, because no pickler writes them."""

import os
import pickle
import struct

PROTOCOL = b"\x80\x04"


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return (b"\x8c" + bytes([len(value)]) if len(value) < 256 else b"X" + struct.pack("<I", len(value))) + value


def number(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    digits = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(digits)]) + digits


def dictionary(**pairs):
    return b"}(" + b"".join(text(key) + value for key, value in pairs.items()) + b"u"


def items(values):
    return b"](" + b"".join(values) + b"e" if values else b"]"


def snapshot(events, segments=b"]", **more):
    return PROTOCOL + dictionary(segments=segments, device_traces=items([events]), **more) + b"."


def event(action, address, size, time=1000, **more):
    return dictionary(action=text(action), addr=number(address), size=number(size), time_us=number(time), **more)


def allocation(**more):
    return event("alloc", 4096, 512, **more)


def block(**more):
    return dictionary(size=number(512), state=text("active_allocated"), **more)


def segment(address, size, blocks, **more):
    return dictionary(address=number(address), total_size=number(size), blocks=blocks, **{"device": number(0), "stream": number(0), **more})


FRAME = dictionary(filename=text("a.py"), name=text("f"), line=number(1))
LARGEST = 1 << 52  # bytes that one entry may have


class Calls:
    def __reduce__(self):
        return os.system, ("touch PWNED",)


def growing(n):
    """The size of each is linear in n."""
    covered = items([block(address=number(0x1000 + i * 512)) for i in range(n)])
    covering = [event("alloc", 0x100000000 + i, 1 << 20) for i in range(n)] + [event("alloc", 0x900 + i % 16, 1 << 30) for i in range(n)]
    yield "stack-by-frames", snapshot(items([allocation(frames=b"]" + FRAME + b"\x94" + b"a" + b"h\0a" * n)]))
    yield "stack-by-lists-of-one", snapshot(items([allocation(frames=b"]" + FRAME + b"\x94" + b"a" + b"(h\0e" * n)]))
    yield "stack-at-once", snapshot(items([allocation(frames=b"](" + FRAME + b"\x94" + b"h\0" * n + b"e")]))
    yield "stack-of-many", snapshot(items([allocation(frames=b"](" + FRAME + b"\x94" + b"h\0" * n + b"e\x94")] +
                                          [event("alloc", 8192 + 512 * i, 512, frames=b"h\1") for i in range(n)]))
    yield "covered", snapshot(items(covering), items([segment(0x1000, n * 512, covered)]))
    yield "covered-too-much", snapshot(items([event("alloc", 0x900 + i % 16, 1 << 50) for i in range(n)]), items([segment(0x1000, n * 512, covered)]))
    yield "segments", snapshot(items([event("segment_alloc" if i % 2 else "segment_free", 0x1000 + i * 7919 % n * 4096, (i % 97 + 1) * 4096000)
                                      for i in range(n)] + [allocation()]))
    yield "nested-lists", PROTOCOL + b"]" * n + b"a" * (n - 1) + b"."
    yield "marks", PROTOCOL + b"(" * n + b"."
    yield "entry-twice", PROTOCOL + dictionary(segments=b"]", device_traces=b"](](" + allocation() + b"\x94" + b"h\0" * n + b"ee") + b"."
    yield "list-twice", PROTOCOL + dictionary(segments=b"]", device_traces=b"](" + items([allocation()]) + b"\x94" + b"h\0" * n + b"e") + b"."
    yield "traces", PROTOCOL + dictionary(segments=b"]", device_traces=b"](" + b"]" * n + b"e") + b"."
    yield "actions", snapshot(items([event(f"zap{i}", 4096, 1) for i in range(n)] + [allocation()]))
    yield "pools", snapshot(items([event("alloc", 4096 * i, 512, pool_id=number(i) + number(i) + b"\x86") for i in range(1, n)]))
    yield "streams", snapshot(items([event("alloc", 4096 * i, 512, stream=number(i)) for i in range(1, n)]))
    yield "notes", snapshot(items([event("alloc", 4096 * i, 512, user_metadata=text(f"m{i}\x1b]0;PWN\x07\n</script><img src=x onerror=alert(1)>"))
                                   for i in range(1, n)]))
    yield "times", snapshot(items([event("alloc", 4096 + i * 512, 1, i * 7919 % 1000003) for i in range(n)]))
    yield "addresses", snapshot(items([event("alloc", i << 44, 1) for i in range(1, min(n, 1 << 19))]))
    yield "addresses-of-a-hash", snapshot(items([event("alloc", i * 0xf1de83e19937733d % 2 ** 64, 1) for i in range(1, n)]))
    yield "keys", PROTOCOL + b"}(" + text("segments") + b"]" + text("device_traces") + items([items([allocation()])]) + b"".join(
        b"\x8c\x04" + struct.pack("<I", i * 2654435761 & 0x7f7f7f7f) + b"N" for i in range(n)) + b"u."
    yield "values", PROTOCOL + b"N" * n + b"."
    yield "gets", PROTOCOL + b"N\x94" + b"h\0" * n + b"."
    yield "tuples", PROTOCOL + b"N" + b"\x85" * n + b"."
    yield "long-file-name", snapshot(items([allocation(frames=items([dictionary(filename=text(b"a" * n), name=text("f"), line=number(1))]))]))


def as_they_are():
    laughs = PROTOCOL + text("lol") + b"\x94" + b"".join(b"](" + (b"j" + struct.pack("<I", i)) * 10 + b"e\x94" for i in range(60)) + b"."
    yield "one", snapshot(items([allocation(), event("free_completed", 4096, 512)]))
    yield "laughs", laughs
    yield "recursive-list", PROTOCOL + b"]\x94(h\0e."
    yield "recursive-dict", PROTOCOL + b"}\x94(" + text("segments") + b"h\0u."
    yield "long-number", snapshot(items([b"}(" + text("action") + text("alloc") + text("addr") + b"\x8a\xff" + b"\xff" * 255 + text("size") + number(1) + b"u"]))
    yield "claimed-text", PROTOCOL + b"X" + struct.pack("<I", 0xffffffff) + b"x" * 100
    yield "claimed-text-8", PROTOCOL + b"\x8d" + struct.pack("<Q", 1 << 63) + b"x" * 100
    yield "claimed-frame", PROTOCOL + b"\x95" + struct.pack("<Q", (1 << 64) - 1) + b"x" * 100
    yield "negative-size", snapshot(items([event("alloc", 4096, -1)]))
    yield "large-size", snapshot(items([event("alloc", 4096, LARGEST)]))
    for action in ("alloc", "segment_alloc", "oom"):
        yield f"sum-of-{action}", snapshot(items([allocation()] + [event(action, 4096 + i, LARGEST) for i in range(2100)]))
    yield "sum-of-blocks", snapshot(b"]", items([segment(i << 52, LARGEST - 1, items([block(address=number(i << 52), requested_size=number(LARGEST))]))
                                                 for i in range(2100)]))
    yield "last-address", snapshot(items([event("alloc", (1 << 64) - 1, 1 << 40), event("segment_alloc", (1 << 64) - 4096, 1 << 40)]))
    yield "last-segment", snapshot(items([allocation()]), items([segment((1 << 64) - 512, 1 << 40, items([block()] * 3), stream=number((1 << 64) - 1))]))
    yield "late", snapshot(items([event("alloc", 4096, 1, 1 << 53), event("free_completed", 4096, 1)]))
    yield "device", snapshot(items([allocation()]), items([segment(4096, 1, b"]", device=number(10 ** 6))]))
    yield "negative-device", snapshot(items([allocation()]), items([segment(4096, 1, b"]", device=number(-5))]))
    for protocol in range(6):
        yield f"call-{protocol}", pickle.dumps({"segments": [], "device_traces": [[Calls()]]}, protocol)
    yield "buffer", pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 2, "x": pickle.PickleBuffer(bytearray(100))}]]},
                                 5, buffer_callback=lambda _: False)
    yield "buffer-alone", PROTOCOL + b"\x97\x98."
    yield "empty", b""
    yield "two-bytes", PROTOCOL
    yield "nothing", PROTOCOL + b"."
    yield "nothing-allocated", snapshot(items([event("zap", 4096, 1), event("segment_alloc", 4096, 1), event("alloc", 4096, 0)]))
    yield "more-behind", snapshot(items([allocation()])) + b"x"
