"""Causes every kind of event of PyTorch's allocator: training, streams, pools, threads and a graph. Writes PyTorch's
own history of the events to the file that CUDA_STATS names."""

import torch

import cuda_memory
import cuda_stats
import cuda_examples

FIELDS = ("action", "addr", "size", "stream")
# Other entries ("snapshot", "oom", ...) do not change memory.
ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap"}

cuda_stats.begin()
# No stacks: in PyTorch 2.11 the stack of a free discards the exception that ends a checkpoint (pytorch#175196).
torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
for name in ("mlp", "checkpointed"):
    cuda_examples.EXAMPLES[name]()
for name in ("recorded_streams", "pools_of_streams", "own_pool", "captured_graphs", "threads", "many_sizes", "full_gpu"):
    cuda_memory.CASES[name]()
traces = torch.cuda.memory._snapshot()["device_traces"]
torch.cuda.memory._record_memory_history(enabled=None)
cuda_stats.end(traces=[[[event[field] for field in FIELDS] for event in trace if event["action"] in ACTIONS] for trace in traces])
