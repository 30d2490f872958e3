"""`tapelens export`, read back by other implementations: the classes of Perfetto's own schema,
torch/cuda/_memory_viz.py, Python's sqlite3, and speedscope's documented file format. Totals equal the report's."""

import json
import pickle
import re
import sqlite3

import harness
import jsonschema
import pytest
from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from torch.cuda import _memory_viz

SAMPLE = [harness.PYTHON, harness.SAMPLES / "gpt.py", "--size", "small", "--steps", "3"]
ON_GPU = [harness.PYTHON, harness.SAMPLES / "cuda/gpt.py", "--steps", "2"]
FORMATS = {"perfetto": "perfetto-trace", "snapshot": "pickle", "speedscope": "speedscope.json", "sqlite": "sqlite"}

# https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources: the types File, Frame and SampledProfile.
SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "name": {"type": "string"},
        "exporter": {"type": "string"},
        "activeProfileIndex": {"type": "integer", "minimum": 0},
        "shared": {"type": "object", "required": ["frames"], "additionalProperties": False, "properties": {
            "frames": {"type": "array", "items": {
                "type": "object", "required": ["name"], "additionalProperties": False,
                "properties": {"name": {"type": "string"}, "file": {"type": "string"}, "line": {"type": "integer"},
                               "col": {"type": "integer"}}}}}},
        "profiles": {"type": "array", "minItems": 1, "items": {
            "type": "object", "additionalProperties": False,
            "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
            "properties": {
                "type": {"const": "sampled"}, "name": {"type": "string"},
                "unit": {"enum": ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]},
                "startValue": {"type": "number"}, "endValue": {"type": "number"},
                "samples": {"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
                "weights": {"type": "array", "items": {"type": "number", "minimum": 0}}}}},
    },
    "additionalProperties": False,
}


def export(target, folder):
    files = {}
    for name, suffix in FORMATS.items():
        files[name] = folder / f"run.{suffix}"
        harness.bare([harness.BINARY, "export", target, "--format", name, "-o", files[name]], check=True)
    return files


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    _, report = harness.record_and_report(SAMPLE, folder / "run.tapelens")
    return report, export(folder / "run.tapelens", folder)


@pytest.fixture(scope="module")
def on_gpu(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export_gpu")
    _, report = harness.record_and_report(ON_GPU, folder / "run.tapelens", ["--gpu", "A100-40GB"],
                                          ["--device", "cuda:0"])
    return report, export(folder / "run.tapelens", folder)


@pytest.fixture(params=["recorded", "on_gpu"])
def exported(request):
    return request.getfixturevalue(request.param)


def devices(report):
    return report["processes"][0]["devices"]


class Perfetto:
    """A trace as its reader sees it: strings by number, tracks by theirs."""

    def __init__(self, file):
        self.trace = perfetto_trace_pb2.Trace.FromString(file.read_bytes())
        self.names, self.notes, self.texts, self.categories, self.tracks = {}, {}, {}, {}, {}
        for packet in self.trace.packet:
            assert len(unknown_fields.UnknownFieldSet(packet)) == 0
            interned = packet.interned_data
            self.names.update((one.iid, one.name) for one in interned.event_names)
            self.notes.update((one.iid, one.name) for one in interned.debug_annotation_names)
            self.texts.update((one.iid, one.str.decode()) for one in interned.debug_annotation_string_values)
            self.categories.update((one.iid, one.name) for one in interned.event_categories)
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor

    def events(self, kind):
        number = perfetto_trace_pb2.TrackEvent.Type.Value(kind)
        for packet in self.trace.packet:
            if packet.HasField("track_event") and packet.track_event.type == number:
                assert len(unknown_fields.UnknownFieldSet(packet.track_event)) == 0
                yield packet.timestamp, packet.track_event

    def counters(self):
        highest = {}
        for _, event in self.events("TYPE_COUNTER"):
            name = self.tracks[event.track_uuid].name
            highest[name] = max(highest.get(name, 0), event.counter_value)
        return highest

    def noted(self, event):
        return {self.notes[one.name_iid]: self.texts[one.string_value_iid] if one.string_value_iid else one.int_value
                for one in event.debug_annotations}


def test_perfetto_reads_counters_slices_and_flows(exported):
    report, files = exported
    trace = Perfetto(files["perfetto"])
    highest = trace.counters()
    for device in devices(report):
        assert highest[device["device"] + " live bytes"] == device["peak_bytes"]
        if device.get("reserved_peak_bytes") is not None:
            assert highest[device["device"] + " reserved"] == device["reserved_peak_bytes"]
            assert highest[device["device"] + " blocks allocated"] == device["allocated_peak_bytes"]

    slices, threads = {}, set()
    for _, event in trace.events("TYPE_SLICE_BEGIN"):
        category = trace.categories[event.category_iids[0]]
        slices.setdefault(category, []).append(trace.names[event.name_iid])
        if category in ("operator", "backward"):
            threads.add(trace.tracks[event.track_uuid].thread.tid)
    assert slices["step"] == [f"step {step['index']}" for step in report["steps"]]
    assert {"forward", "backward", "optimizer"} <= set(slices["phase"])
    assert "aten::addmm" in slices["operator"] and "AddmmBackward0" in slices["backward"] and "GPT" in slices["module"]
    assert all(threads)

    saves, releases, noted = {}, {}, []
    for time, event in trace.events("TYPE_INSTANT"):
        saves.update((flow, time) for flow in event.flow_ids)
        releases.update((flow, time) for flow in event.terminating_flow_ids)
        noted += [trace.noted(event)] if trace.names[event.name_iid].startswith("save ") else []
    assert saves.keys() == releases.keys() and len(saves) >= report["saves"]["count"] / 2
    assert all(saves[flow] <= releases[flow] for flow in saves)
    of_model = [one for one in noted if one.get("node") == "AddmmBackward0" and one["field"] == "mat1"]
    assert of_model and all(one["bytes"] > 0 and "gpt.py:" in one["line"] and one["module"].startswith("GPT.")
                            for one in of_model)


class HeapProfiles:
    """The heap profiles of a trace as trace_processor imports them: a packet has the sums of its stacks since the begin,
    and a stack that is not in it has not changed. Packets of a sequence count from 0 in the order of time."""

    def __init__(self, trace):
        self.dumps, self.frames, self.files = {}, {}, set()  # (pid, heap) -> [(time, {stack: (bytes, allocations)})]
        clocks = [packet.clock_snapshot for packet in trace.packet if packet.HasField("clock_snapshot")]
        assert [(clock.clock_id, clock.timestamp) for clock in clocks[0].clocks] == [(4, 0), (6, 0)] and len(clocks) == 1
        sequences = {}
        for packet in trace.packet:
            interned = packet.interned_data
            known = sequences.setdefault(packet.trusted_packet_sequence_id,
                                         {"names": {}, "paths": {}, "files": {}, "frames": {}, "stacks": {}, "index": -1, "now": {}})
            known["names"].update((one.iid, one.str.decode()) for one in interned.function_names)
            known["paths"].update((one.iid, one.str.decode()) for one in interned.mapping_paths)
            known["files"].update((one.iid, [known["paths"][path] for path in one.path_string_ids]) for one in interned.mappings)
            known["frames"].update((one.iid, (known["names"][one.function_name_id], known["files"][one.mapping_id][0], one.rel_pc))
                                   for one in interned.frames)
            for one in interned.callstacks:
                stack = tuple(known["frames"][frame] for frame in one.frame_ids)
                assert stack not in known["stacks"].values(), "readers take equal stacks for one"
                known["stacks"][one.iid] = stack
            if packet.HasField("profile_packet"):
                self.read(packet, known)

    def read(self, packet, known):
        profile = packet.profile_packet
        assert profile.index == known["index"] + 1 and not profile.continued
        known["index"] = profile.index
        (heap,) = profile.process_dumps
        assert heap.timestamp == packet.timestamp
        now = known["now"]
        for sample in heap.samples:
            before = now.get(sample.callstack_id, (0, 0, 0, 0))
            sums = (sample.self_allocated, sample.self_freed, sample.alloc_count, sample.free_count)
            assert all(new >= old for new, old in zip(sums, before)) and sums != before
            now[sample.callstack_id] = sums
        dumps = self.dumps.setdefault((heap.pid, heap.heap_name), [])
        assert not dumps or dumps[-1][0] <= heap.timestamp
        dumps.append((heap.timestamp, {known["stacks"][number]: (allocated - freed, made - released)
                                       for number, (allocated, freed, made, released) in now.items()}))


def test_perfetto_reads_heap_profiles_of_each_steps_peak(exported):
    report, files = exported
    process = report["processes"][0]
    profiles = HeapProfiles(Perfetto(files["perfetto"]).trace)
    assert set(profiles.dumps) == {(process["pid"], device["device"]) for device in devices(report)}
    for device in devices(report):
        dumps = profiles.dumps[process["pid"], device["device"]]
        sums = [sum(live for live, _ in stacks.values()) for _, stacks in dumps]
        assert max(sums) == device["peak_bytes"] and sums[-1] == device["live_at_end_bytes"]
        assert sum(count for _, count in dumps[-1][1].values()) == device["allocations"] - device["frees"]
        if device["device"] == report["peak"]["device"]:
            assert {step["peak_bytes"] for step in report["steps"]} <= set(sums)
            time, stacks = dumps[sums.index(max(sums))]
            assert time == report["peak"]["time_ns"]
            by_operator = {}
            for stack, (live, _) in stacks.items():
                assert stack[0] == (device["device"], "", 0)
                by_operator[stack[-2][0]] = by_operator.get(stack[-2][0], 0) + live
            assert by_operator["aten::linear"] > 0
            lines = {(name, file) for stack in stacks for name, file, line in stack if line}
            assert any(name.startswith("gpt.py:") and file.endswith("/gpt.py") for name, file in lines)


def highest_sum(trace):
    now = most = 0
    for event in trace:
        now += {"alloc": event["size"], "free_completed": -event["size"]}.get(event["action"], 0)
        most = max(most, now)
    return most


def test_memory_viz_reads_the_snapshot(exported):
    report, files = exported
    snapshot = pickle.loads(files["snapshot"].read_bytes())
    assert len(snapshot["devices"]) == len(snapshot["device_traces"])
    for device in devices(report):
        trace = snapshot["device_traces"][snapshot["devices"].index(device["device"])]
        most = device["active_peak_bytes"] if "active_peak_bytes" in device else device["peak_bytes"]
        assert highest_sum(trace) == most
        assert any(frame["filename"].endswith("gpt.py") and frame["name"] and frame["line"] > 0
                   for event in trace for frame in event["frames"])
    alive = sum(block["requested_size"] for segment in snapshot["segments"] for block in segment["blocks"])
    assert alive == sum(device["live_at_end_bytes"] for device in devices(report))
    # PyTorch's own reader: it fails where segments and their blocks do not add up.
    assert re.search(r"total_free: .*", _memory_viz.segsum(snapshot))
    lines = _memory_viz.memory(snapshot, format_flamegraph=lambda text: text).splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == sum(one["total_size"] for one in snapshot["segments"])
    assert "Device 0" in _memory_viz.trace(snapshot)
    for plot in (_memory_viz.trace_plot, _memory_viz.segment_plot):
        assert len(plot(snapshot)) > files["snapshot"].stat().st_size / 2


def test_speedscope_reads_both_profiles(exported):
    report, files = exported
    made = json.loads(files["speedscope"].read_text(encoding="utf-8"))
    jsonschema.validate(made, SPEEDSCOPE)
    for profile in made["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"]
        assert all(frame < len(made["shared"]["frames"]) for stack in profile["samples"] for frame in stack)
    totals = {profile["name"]: profile["endValue"] for profile in made["profiles"]}
    device = report["peak"]["device"]
    assert totals[f"alive at the peak, {device}"] == report["peak"]["bytes"]
    assert totals[f"allocated over the run, {device}"] == sum(step["allocated_bytes"] for step in report["steps"])


def test_sqlite_answers_with_the_reports_numbers(exported):
    report, files = exported
    database = sqlite3.connect(f"file:{files['sqlite']}?mode=ro", uri=True)
    device = report["peak"]["device"]

    def rows(query, *values):
        return database.execute(query, values).fetchall()

    assert rows("PRAGMA integrity_check") == [("ok",)]
    assert dict(rows("SELECT category, bytes FROM peak_by_category WHERE device = ?", device)) == {
        one["name"]: one["bytes"] for one in report["peak"]["by_category"]}
    assert dict(rows("SELECT field, bytes FROM peak_by_field WHERE device = ?", device)) == {
        one["key"]: one["bytes"] for one in report["peak"]["groups"]}
    assert {(field, saves, logical, storage) for field, saves, logical, storage in rows(
        "SELECT field, saves, logical_bytes, storage_bytes FROM saves_by_field")} == {
        (one["field"], one["count"], one["logical_bytes"], one["storage_bytes"]) for one in report["saves"]["by_field"]}
    assert rows("SELECT step, peak_bytes, allocations, allocated_bytes FROM steps WHERE device = ?", device) == [
        (one["index"], one["peak_bytes"], one["allocations"], one["allocated_bytes"]) for one in report["steps"]]
    assert {id for id, in rows("SELECT id FROM findings WHERE device = ?", device)} == {
        one["id"] for one in report["findings"]}
    # The set of live allocations at the peak follows from the lifetimes alone.
    (at, bytes_then), = rows("SELECT peak_ns, peak_bytes FROM devices WHERE device = ?", device)
    assert rows("SELECT sum(bytes) FROM allocations WHERE device = ? AND owned AND allocated_ns <= ?"
                " AND coalesce(freed_ns, ?) > ?", device, at, at + 1, at) == [(bytes_then,)]


def test_the_documents_queries_are_answered(recorded):
    """Each block of SQL in docs/export.md gives rows."""
    _, files = recorded
    database = sqlite3.connect(files["sqlite"])
    text = (harness.ROOT / "docs/export.md").read_text(encoding="utf-8")
    queries = [query for block in re.findall(r"```sql\n(.*?)```", text, re.S) for query in block.split(";") if query.strip()]
    assert len(queries) >= 8
    for query in queries:
        assert database.execute(query).fetchall(), query
