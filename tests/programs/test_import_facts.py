"""Operators, phases, nodes and roles from the frames of a memory snapshot equal those of Tapelens's recording of the same run."""

import json
import pathlib
import pickle
import re

import pytest

import harness
import tables
from test_cuda import has_cuda
from test_import import imported

ROLES = {1: "parameter", 2: "buffer", 3: "gradient", 4: "optimizer_state"}
IMPORTED_ROLES = {1: "parameter", 2: "gradient", 3: "optimizer_state", 4: "saved"}
PHASES = {0: "", 1: "forward", 2: "backward", 3: "optimizer"}


def column(recording, table, name):
    """From row 1 on."""
    return [0, *recording.column(table, name)]


def own_facts(recording, text):
    """(called operator, node, roles) of each allocation on the GPU, in order."""
    names, parents, around = (column(recording, "operators", name) for name in ("name", "parent", "evaluation"))
    node_of, types = column(recording, "evaluations", "node"), column(recording, "nodes", "type")
    ops, evaluations = column(recording, "allocations", "operator"), column(recording, "allocations", "evaluation")
    roles = {}
    for allocation, role in zip(column(recording, "roles", "allocation"), column(recording, "roles", "role"), strict=True):
        roles.setdefault(allocation, set()).add(ROLES.get(role))
    for allocation in column(recording, "saves", "allocation"):
        roles.setdefault(allocation, set()).add("saved")

    def is_transparent(op):
        return "::" not in text[names[op]] or text[names[op]].startswith("autograd::engine")

    facts = []
    for allocation in recording.column("device_blocks", "allocation"):
        op = ops[allocation]
        while parents[op] and around[parents[op]] == around[op] and not is_transparent(parents[op]):
            op = parents[op]
        called = "" if op == 0 or is_transparent(op) else text[names[op]]
        facts.append((called, text[types[node_of[evaluations[allocation]]]], roles.get(allocation, set())))
    return facts


def imported_facts(recording, text):
    """(operator, node, phase, role) of each allocation, in order."""
    facts = [("", "", "", "")] * (len(recording.column("allocations", "time")))
    rows = [recording.column("imported_facts", name) for name in ("allocation", "called", "node", "phase", "role")]
    for allocation, called, node, phase, role in zip(*rows, strict=True):
        facts[allocation - 1] = text[called], text[node], PHASES[phase], IMPORTED_ROLES.get(role, "")
    return facts


def texts(recording):
    """The strings of a recording, by id."""
    out, at, data = [""], 0, bytes(recording.column("string_bytes", "byte"))
    for size in recording.column("strings", "bytes"):
        out.append(data[at:at + size].decode())
        at += size
    return out


@pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
def test_facts_of_frames_are_those_of_a_recording(target, tmp_path):
    file = tmp_path / "snapshot.pickle"
    run = harness.record([harness.PYTHON, harness.CASES / "cuda_roles.py", file], target, ["--gpu", "H100"], timeout=600)
    assert run.code == 0, run.stderr
    recorded, read = tables.Recording(target), tables.Recording(imported(file))
    own, facts = own_facts(recorded, texts(recorded)), imported_facts(read, texts(read))
    assert len(own) == len(facts) > 100
    counts = dict.fromkeys(("operator", "node", "forward", "backward", "optimizer", *IMPORTED_ROLES.values()), 0)
    for place, ((called, own_node, roles), (operator, node, phase, role)) in enumerate(zip(own, facts, strict=True)):
        where = place, called, own_node, roles, operator, node, phase, role
        assert operator in (called, ""), where
        assert node in (own_node, ""), where
        # The initial gradient, and allocations of a hook, have no node.
        assert phase == "backward" or not own_node, where
        # Buffers are allocated in the same place as parameters.
        assert role == "" or role in roles or (role == "parameter" and "buffer" in roles), where
        for known in (operator and "operator", node and "node", phase, role):
            if known:
                counts[known] += 1
    assert counts["operator"] > 0.9 * sum(bool(called) for called, _, _ in own), counts
    assert counts["parameter"] == sum(bool(roles & {"parameter", "buffer"}) for _, _, roles in own), counts
    assert counts["optimizer_state"] == sum("optimizer_state" in roles for _, _, roles in own), counts
    assert counts["gradient"] > 0.9 * sum("gradient" in roles for _, _, roles in own), counts
    assert counts["saved"] > 0.5 * sum("saved" in roles and "parameter" not in roles for _, _, roles in own), counts


@pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
def test_reports_show_facts_and_their_evidence(tmp_path):
    file = tmp_path / "snapshot.pickle"
    run = harness.bare([harness.BINARY, "run", "--gpu", "H100", "--", harness.PYTHON, harness.CASES / "cuda_roles.py", file],
                       timeout=600)
    assert run.code == 0, run.stderr
    target = imported(file)
    report = harness.report(target)
    for allocation in report["peak"]["allocations"]:
        known = allocation.get("imported", {"evidence": ""})
        assert (allocation["category"] == "unknown") == (known["evidence"] == "")
    text = " ".join(harness.bare([harness.BINARY, "report", target]).stdout.split())
    assert "allocated in an optimizer step, alive after it" in text or "_init_group() of an optimizer" in text
    advice = harness.advise(target)
    assert [finding["check"] for finding in advice["findings"]] == ["late-gradient"]
    assert advice["findings"][0]["confidence"] == "likely"
    assert advice["advice"]["checks"] == ["late-gradient"] and len(advice["advice"]["not_looked"]) > 10
    said = harness.bare([harness.BINARY, "advise", target, "--all"]).stdout
    assert "Checks that did not look" in said


HEADERS = "include/ATen/ops"


def operators_of_headers():
    """PyTorch's schema name of each operator, by the name of its struct."""
    folder = pathlib.Path(harness.bare([harness.PYTHON, "-c", "import torch; print(torch.__path__[0])"]).stdout.strip()) / HEADERS
    found = {}
    for header in folder.glob("*_ops.h"):
        for struct in re.finditer(r'struct TORCH_API (\w+) \{.*?name = "([\w:.]+)";', header.read_text(encoding="utf-8"), re.DOTALL):
            found[struct[1]] = struct[2]
    return found


def test_every_operator_has_the_name_that_pytorch_gives_it(tmp_path):
    """Except for scatter.reduce, whose function has the name of that of scatter_reduce."""
    known = operators_of_headers()
    assert len(known) > 2500
    entries = [{"action": "alloc", "addr": 4096 + 512 * i, "size": 512, "stream": 0, "time_us": i + 1,
                "frames": [{"filename": "??", "line": 0, "name": f"at::_ops::{name}::call(at::Tensor const&)"}]} for i, name in enumerate(known)]
    file = tmp_path / "snapshot.pickle"
    file.write_bytes(pickle.dumps({"segments": [], "device_traces": [entries]}))
    recording = tables.Recording(imported(file))
    text = texts(recording)
    names = [text[name] for name in recording.column("imported_facts", "operator")]
    wrong = {struct for (struct, wanted), found in zip(known.items(), names, strict=True) if found != wanted}
    assert wrong <= {"scatter_reduce", "scatter_reduce_out"}, json.dumps(sorted(wrong))
