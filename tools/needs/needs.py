#!/usr/bin/env python3
"""Finds out by experiment which saved tensors of autograd's nodes are needed for which gradients. See README.md.

  needs.py TABLE                      makes the table for the PyTorch that runs this
  needs.py TABLE --like OTHER         the same for the types of nodes that matter in the table of another minor
  needs.py --check TABLE [--seed S] [--dtype D]
                                      does it all again otherwise, and lists the rows that it contradicts
"""

import argparse
import collections
import os
import pickle
import sys
import time
import warnings

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # kernels of the CPU; and nothing that cannot be forked
warnings.simplefilter("ignore")

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import pool  # noqa: E402
import table  # noqa: E402
from experiment import Settings  # noqa: E402

# Runs for a table: dtype, seeds of the samples, samples of each operator and seed.
RUNS = [("float32", (0, 1), 16), ("float64", (2,), 8), ("bfloat16", (3,), 8), ("complex64", (4,), 6)]
SECONDS = 300  # for one operator


def differentiable(dtype, only):
    return [op for op in op_db if op.supports_autograd and op.supports_dtype(dtype, "cpu")
            and (not only or op.name in only)]


class Counts:
    """Counts of operators for the table's header."""

    def __init__(self):
        self.operators = self.covered = self.samples = self.runs = self.crashes = 0
        self.skipped = collections.Counter()  # reason -> operators of which nothing else was seen
        self.left_out = collections.Counter()  # reason -> samples, of any operator

    def add(self, answer):
        self.operators += 1
        self.crashes += answer.get("crashes", 0)
        if "failure" in answer:
            self.skipped[answer["failure"]] += 1
            return
        self.samples += answer["samples"]
        self.runs += answer["runs"]
        self.left_out.update(answer["skipped"])
        if answer["samples"]:
            self.covered += 1
        else:
            self.skipped[max(answer["skipped"], key=answer["skipped"].get, default="no samples")] += 1


def experiment(settings, options):
    """(evidence, counts) of all operators with one dtype and its seeds."""
    evidence, counts = table.Evidence(), Counts()
    operators = differentiable(settings.dtype, options.only)
    if options.only and (unknown := options.only - {op.name for op in op_db}):
        sys.exit(f"op_db has no operator {', '.join(sorted(unknown))}: its names are like nn.functional.relu")
    begun = time.monotonic()

    def progress(left, operator):
        print(f"\r{str(settings.dtype).removeprefix('torch.')}: {len(operators) - left} of {len(operators)} operators, "
              f"{time.monotonic() - begun:.0f} s, {operator.name:40.40}", end="", file=sys.stderr, flush=True)

    for operator, answer in pool.run(operators, settings, options.processes, progress):
        counts.add(answer)
        if "failure" in answer:
            print(f"\n{operator.name} {operator.variant_test_name}: {answer['failure']}\n{answer.get('traceback', '')}",
                  file=sys.stderr)
        else:
            evidence.add(operator.name, answer)
    print(file=sys.stderr)
    return evidence, counts


def merged(evidences):
    whole = table.Evidence()
    for one in evidences:
        whole.merge(one)
    return whole


def seen(options):
    """The evidence of all runs, what the header says of them, and the counts of the first."""
    evidences, runs, first = [], [], None
    for dtype, seeds, samples in RUNS:
        evidence, counts = experiment(Settings(getattr(torch, dtype), seeds, samples, SECONDS), options)
        evidences.append(evidence)
        first = first or counts
        runs.append({"dtype": dtype, "seeds": list(seeds), "samples_an_operator_and_seed": samples,
                     "samples": counts.samples, "runs": counts.runs, "crashes": counts.crashes,
                     "samples_left_out": dict(sorted(counts.left_out.items()))})
    return evidences, runs, first


def nodes_with_never(known):
    return {row["node"] for row in known["rows"] if row["need"] == table.NEVER}


def operators_of(known, nodes):
    return {operator for row in known["rows"] if row["node"] in nodes for operator in row["operators"]}


def make(options):
    if options.again:
        with open(options.again, "rb") as file:
            evidences, runs, first = pickle.load(file)
    else:
        evidences, runs, first = seen(options)
    if options.keep:
        with open(options.keep, "wb") as file:
            pickle.dump((evidences, runs, first), file)
    rows = table.rows(merged(evidences))
    if options.like:
        rows = [row for row in rows if row["node"] in nodes_with_never(options.like)]
    never = [row for row in rows if row["need"] == table.NEVER]
    header = {
        "format": table.FORMAT, "torch": torch.__version__.split("+")[0], "device": "cpu", "experiments": runs,
        "counts": {"operators": first.operators, "covered": first.covered, "skipped": dict(sorted(first.skipped.items())),
                   "node_types": len({row["node"] for row in rows}), "rows": len(rows), "never_rows": len(never),
                   "never_node_types": len({row["node"] for row in never})},
        "attributes": table.attributes_of(rows)}
    if options.like:
        header["like"] = options.like["torch"]
    table.write(options.table, header, rows)
    print(f"{options.table}: {header['counts']}")
    return 0


def check(options):
    known = table.read(options.table)
    if known["torch"] != torch.__version__.split("+")[0]:
        sys.exit(f"{options.table} is of PyTorch {known['torch']}, this is {torch.__version__}")
    settings = Settings(getattr(torch, options.dtype), (options.seed,), options.samples, SECONDS)
    evidence, counts = experiment(settings, options)
    found = table.contradictions(known["rows"], evidence)
    for row, attributes, outcomes, operators in found:
        print(f"{row['node']}.{row['field']} wanted {row['wanted']} when {row['when']}: never, but {outcomes} "
              f"with {attributes} in {', '.join(operators)}")
    print(f"{counts.covered} of {counts.operators} operators, {counts.samples} samples, {counts.runs} runs: "
          f"{len({str(row) for row, *_ in found})} rows contradicted")
    return 1 if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seed", type=int, default=101, help="of --check (default: %(default)s)")
    parser.add_argument("--dtype", default="float32", choices=["float32", "float64", "bfloat16", "complex64"])
    parser.add_argument("--samples", type=int, default=10, help="of each operator, of --check (default: %(default)s)")
    parser.add_argument("--keep", metavar="FILE", help="keep the observations for --again")
    parser.add_argument("--again", metavar="FILE", help="make the rows of kept observations, without the experiment")
    parser.add_argument("--only", type=lambda text: set(text.split(",")), help="operators, with commas between them")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--like", metavar="TABLE", type=table.read,
                        help="only the types of nodes that have rows \"never\" in another minor's table, and all operators that make them there")
    options = parser.parse_args()
    if options.like:
        options.only = operators_of(options.like, nodes_with_never(options.like)) & {op.name for op in op_db}
    torch.set_num_threads(1)
    return check(options) if options.check else make(options)


if __name__ == "__main__":
    sys.exit(main())
