"""Compares PyTorch's own counts of its allocator (cases/cuda_stats.py) with a recording. For the tests on simulated
GPUs (test_cuda.py) and for bench/on_gpu.py on real ones. Needs only Python."""

# The name of a number of a GPU in the report, and its name in torch.cuda.memory_stats().
FIGURES = {
    "peak_bytes": "requested_bytes.all.peak",
    "allocated_peak_bytes": "allocated_bytes.all.peak",
    "active_peak_bytes": "active_bytes.all.peak",
    "reserved_peak_bytes": "reserved_bytes.all.peak",
    "allocations": "allocation.all.allocated",
    "segments": "segment.all.allocated",
}

SETTINGS = {
    "default": "",
    "expandable": "expandable_segments:True",
    "split": "max_split_size_mb:64",
    "rounded": "roundup_power2_divisions:4",
    "collected": "garbage_collection_threshold:0.6",
    "async": "backend:cudaMallocAsync",
}


def environment(setting, out, caches, fraction):
    """The environment of a program that writes its counts to `out`, under one of SETTINGS. Compilers use the folder
    `caches`."""
    text = SETTINGS[setting]
    env = {"CUDA_STATS": str(out), "PYTORCH_CUDA_ALLOC_CONF": text, "PYTORCH_ALLOC_CONF": text,
           "TORCHINDUCTOR_CACHE_DIR": f"{caches}/inductor", "TRITON_CACHE_DIR": f"{caches}/triton"}
    return {**env, "CUDA_FRACTION": str(fraction)} if setting == "collected" else env


def of_gpus(report, pid):
    """{number: the recorded numbers of that GPU} of one process."""
    process, = (process for process in report["processes"] if process["pid"] == pid)
    devices = {device["device"]: device for device in process["devices"]}
    return {int(name.removeprefix("cuda:")): figures for name, figures in devices.items() if name.startswith("cuda:")}


def compared(counted, report):
    """(PyTorch's counts, recorded counts) for each GPU. An unused GPU has no record."""
    wanted = {number: {figure: counts[name] for figure, name in FIGURES.items()}
              for number, counts in enumerate(counted["devices"]) if counts["allocation.all.allocated"]}
    found = {number: {figure: figures.get(figure) for figure in FIGURES} for number, figures in of_gpus(report, counted["pid"]).items()}
    return wanted, found


def named(events):
    """PyTorch's history with ordinals for addresses and streams, as a recording has them: (action, which, bytes,
    stream). A block is the number of its allocation, since addresses are reused. For a segment, bytes and stream are
    enough."""
    blocks, streams, count, out = {}, {}, 0, []
    for action, address, size, stream in events:
        stream = streams.setdefault(stream, len(streams))
        if action == "alloc":
            count += 1
            blocks[address] = count
        out.append((action, 0 if action.startswith("segment") else blocks[address], size, stream))
    return out


def events_of(recording, pid, gpu):
    """A recording's allocator events of that GPU, in the form of `named()`. The only function here that knows the
    tables (docs/trace-format.md) of a recording with CUDA's memory."""
    device = recording.column("devices", "name").index(recording.strings().index(gpu)) + 1
    streams_of = dict(recording.rows("device_blocks", ["allocation", "stream"], pid))
    requests = dict(recording.rows("free_requests", ["allocation", "time"], pid))
    blocks, events = {}, []  # events: time, order at one time, and the arguments of named()

    for row, (time, of, size) in enumerate(recording.rows("allocations", ["time", "device", "bytes"], pid), 1):
        if of == device and row in streams_of:
            blocks[row] = (len(blocks) + 1, size, streams_of[row])
            events.append((time, 1, "alloc", *blocks[row]))
    ends = dict(recording.rows("frees", ["allocation", "time"], pid))
    for row, block in blocks.items():
        if row in ends or row in requests:
            events.append((requests.get(row, ends.get(row)), 2, "free_requested", *block))
        if row in ends:
            events.append((ends[row], 3, "free_completed", *block))
    changes = ("segment_alloc", "segment_free", "segment_map", "segment_unmap")
    for time, of, change, size, stream in recording.rows("segment_events", ["time", "device", "change", "bytes", "stream"], pid):
        if of == device:
            events.append((time, 0, changes[change], 0, size, stream))

    streams = {}
    return [(action, block, size, streams.setdefault(stream, len(streams)))
            for _, _, action, block, size, stream in sorted(events, key=lambda event: event[:2])]


def first_difference(found, wanted):
    """A sentence about the first difference, or None."""
    place = next((place for place, (a, b) in enumerate(zip(found, wanted)) if a != b), min(len(found), len(wanted)))
    if place == len(found) == len(wanted):
        return None
    return f"event {place} of {len(wanted)}: {found[place:place + 3]}, not {wanted[place:place + 3]}"
