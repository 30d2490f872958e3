"""oracle_memory.py OUT PROGRAM ARGS...: runs a program under torch.profiler. For each record_function range of the main
thread, it writes from the profiler's memory events: the rise of the live bytes since the begin of the range, and the
number and bytes of its allocations. With REGION_ONLY set, it runs without a profiler and only marks the range, for the
recorded run."""

import json
import os
import pathlib
import runpy
import sys

from torch.autograd.profiler import record_function
from torch.profiler import ProfilerActivity, profile

PREFIX = "region"


def flatten(events):
    for event in events:
        yield event
        yield from flatten(event.children)


def regions(kineto_results):
    events = list(flatten(kineto_results.experimental_event_tree()))
    memory = sorted((e for e in events if e.name == "[memory]"), key=lambda e: e.start_time_ns)
    found = []
    for event in events:
        if not event.name.startswith(PREFIX):
            continue
        before = [m for m in memory if m.start_time_ns < event.start_time_ns]
        inside = [m for m in memory if event.start_time_ns <= m.start_time_ns < event.end_time_ns]
        live = before[-1].typed[1].total_allocated if before else 0
        rises = [m.typed[1].total_allocated - live for m in inside]
        made = [m.typed[1].alloc_size for m in inside if m.typed[1].alloc_size > 0]
        found.append({"name": event.name, "rise": max([0, *rises]), "allocations": len(made),
                      "allocated_bytes": sum(made)})
    return found


def run(program):
    with record_function(PREFIX + " program"):
        runpy.run_path(program, run_name="__main__")


def main():
    out, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path[0] = str(pathlib.Path(program).resolve().parent)
    if "REGION_ONLY" in os.environ:
        run(program)
        return
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run(program)
    results = profiler.profiler.kineto_results
    pathlib.Path(out).write_text(json.dumps(regions(results)), encoding="utf-8")


main()
