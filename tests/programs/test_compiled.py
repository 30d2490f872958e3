"""Saves of torch.compile's functions: by the program's operator and line, as the partitioner's own graph has them."""

import ast
import collections
import importlib
import json
import re

import pytest

import harness

PROGRAM = harness.CASES / "compiled_gpt.py"
FIELD = re.compile(r"(.+?)(?: \((\S+):(\d+) (\S+)\))? saved_tensors\[(\d+)\]$")
STEPS = 2


def environment(folder):
    return {"TORCHINDUCTOR_CACHE_DIR": str(folder), "TORCHINDUCTOR_FX_GRAPH_CACHE": "1",
            "TORCHINDUCTOR_AUTOGRAD_CACHE": "1"}


@pytest.fixture(scope="module", params=["aot_eager", "inductor"])
def of(request, tmp_path_factory):
    """One run without Tapelens, one recorded with cold caches, and one recorded with warm caches."""
    folder = tmp_path_factory.mktemp(request.param)
    oracle = folder / "saved.json"
    alone = harness.bare([harness.PYTHON, PROGRAM, request.param, oracle], env=environment(folder / "alone"), check=True)
    command, env = [harness.PYTHON, PROGRAM, request.param], environment(folder / "recorded")
    reports = []
    for name in ("cold", "cached"):
        run, report = harness.record_and_report(command, folder / f"{name}.tapelens", env=env)
        assert run.stdout == alone.stdout
        assert "tapelens:" not in run.stderr
        reports.append((report, folder / f"{name}.tapelens"))
    return json.loads(oracle.read_text()), reports


def rows(report):
    return {int(found[5]): (found, row) for row in report["saves"]["by_field"]
            if (found := FIELD.match(row["field"])) is not None}


@pytest.mark.parametrize("cache", [0, 1], ids=["cold", "cached"])
def test_each_save_has_the_operator_and_the_line_that_it_was_made_for(of, cache):
    saved, reports = of
    report, _ = reports[cache]
    assert harness.lost(report) == []
    told = rows(report)
    assert sorted(told) == list(range(len(saved)))
    for number, (operator, place, size) in enumerate(saved):
        found, row = told[number]
        assert (row["count"], row["logical_bytes"]) == (STEPS, STEPS * size), row
        if operator == "input":
            assert re.fullmatch(r"graph input \d+", found[1]), row
        else:
            assert (found[1], found[2], int(found[3])) == (operator, place[0], place[1]), row
            assert found[4] in ("GPT.forward", "Block.forward"), row
    assert not [row for row in report["saves"]["by_field"] if row["field"] == "CompiledFunctionBackward.saved_tensors"]


@pytest.mark.parametrize("cache", [0, 1], ids=["cold", "cached"])
def test_the_peak_is_named_by_lines_and_parameters(of, cache):
    saved, reports = of
    report, file = reports[cache]
    by_category = {row["name"]: row["bytes"] for row in report["peak"]["by_category"]}
    assert by_category.get("program", 0) <= 0.03 * report["peak"]["bytes"]
    lines = collections.Counter()
    for operator, place, size in saved:
        if operator != "input":
            lines[place[1]] += size
    shown = harness.report(file, ["--by", "source"])
    named = {int(found[1]) for row in shown["peak"]["groups"] if (found := re.match(r"compiled_gpt.py:(\d+) ", row["key"]))}
    assert {line for line, size in lines.most_common(3)} <= named
    parameters = [a["name"] for a in report["peak"]["allocations"] for a in a["holders"] if a["kind"] == "parameter"]
    assert parameters and not [name for name in parameters if "_orig_mod" in name]
    assert any(name.startswith("blocks.0.") for name in parameters)


def test_no_eager_rewrite_is_offered_for_what_the_compiler_chose(of):
    _, reports = of
    for _, file in reports:
        for finding in harness.advise(file)["findings"]:
            assert "saved_tensors[" not in finding["field"], finding


GRAPH = '''class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_1: "Sym(s77)",  # PlainAOTInput(idx=0)
        primals_2: "f32[s77, 64][64, 1]cpu",  # PlainAOTInput(idx=1)
        primals_3: "f32[64, 8][8, 1]cpu",  # ParamAOTInput(target='head.weight')
    ):
        # No stacktrace found for following nodes
        full: "f32[][]cpu" = torch.ops.aten.full.default([], 1)

        # File: /home/x/model.py:10 in forward, code: h = self.up(x).view(2, -1)
        mm: "f32[s77, 8][8, 1]cpu" = torch.ops.aten.mm.default(primals_2, primals_3)
        view: "f32[2, 8][8, 1]cpu" = torch.ops.aten.view.default(mm, [2, -1]);  mm = None
        t: "f32[8, 2][1, 8]cpu" = torch.ops.aten.t.default(view)

        # File: /home/x/model.py:12 in <lambda>, code: return drop(h)
        native_dropout = torch.ops.aten.native_dropout.default(view, 0.1, True);  view = None
        getitem: "f32[2, 8][8, 1]cpu" = native_dropout[0]
        getitem_1: "b8[2, 8][8, 1]cpu" = native_dropout[1];  native_dropout = None
        scaled: "f32[2, 8][8, 1]cpu" = torch.ops.mine.scaled.default(getitem)
        t_1: "f32[8, 2][1, 8]cpu" = torch.ops.aten.t.default(primals_3)

        # Backward of forward node: File: /home/x/model.py:10 in forward, code: h = self.up(x).view(2, -1)
        div: "f32[2, 8][8, 1]cpu" = torch.ops.aten.div.Tensor(getitem, 64)

        # Somewhere else: File: /home/x/model.py:99 in forward
        sum_1: "f32[][]cpu" = torch.ops.aten.sum.default(getitem)
        return (
            scaled,  # PlainAOTOutput(idx=0)
            primals_2,  # SavedForBackwardsAOTOutput(idx=0)
            t_1,  # SavedForBackwardsAOTOutput(idx=1)
            full,  # SavedForBackwardsAOTOutput(idx=2)
            t,  # SavedForBackwardsAOTOutput(idx=3)
            getitem_1,  # SavedForBackwardsAOTOutput(idx=4)
            div,  # SavedForBackwardsAOTOutput(idx=5)
            sum_1,  # SavedForBackwardsAOTOutput(idx=6)
            scaled,  # SavedForBackwardsNoVcCheckAOTOutput(idx=7)
            primals_1,  # SavedForBackwardsAOTOutput(idx=8)
        )
'''


@pytest.fixture(scope="module")
def reader():
    names = {"let_out": lambda error: None}  # a function of python_hooks.py; no signal handler runs here
    exec((harness.ROOT / "profiler/observe/compiled_graphs.py").read_text(encoding="utf-8"), names)
    return names


def test_a_graph_is_read(reader):
    first = ("/home/x/model.py", 10, "forward", "h = self.up(x).view(2, -1)")
    second = ("/home/x/model.py", 12, "<lambda>", "return drop(h)")
    saved, unchecked = reader["saved_by_graph"](GRAPH)
    assert saved == [("graph input 1", None), ("head.weight", None), ("full", None), ("mm", first), ("native_dropout[1]", second),
                     ("div", first), ("sum", None)]
    assert unchecked == [("mine::scaled", second)]


def test_a_graph_that_is_cut_off_gives_no_other_names(reader):
    saved, unchecked = reader["saved_by_graph"](GRAPH)
    for end in range(len(GRAPH)):
        try:
            some, few = reader["saved_by_graph"](GRAPH[:end])
        except (ValueError, KeyError):
            continue
        assert some == saved[:len(some)] and few == unchecked[:len(few)]


def test_only_a_place_that_is_still_so_is_named(reader, tmp_path, monkeypatch):
    """A cached graph may belong to the program before an edit, or to a copy of the program elsewhere."""
    for name in ("mine", "copy"):
        (tmp_path / f"{name}.py").write_text("class Net:\n    def forward(self, x):\n        return x @ x\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("mine")
    mine, copy = (str(tmp_path / f"{name}.py") for name in ("mine", "copy"))
    right = (mine, 3, "forward", "return x @ x")
    wrong = [(mine, 3, "forward", "return x + x"), (mine, 2, "forward", "return x @ x"), (mine, 99, "forward", "return x @ x"),
             (copy, 3, "forward", "return x @ x"), (mine, 3, "forward", None)]
    names = reader["qualified"]({right, *wrong})
    assert names == {right: (mine, 3, "Net.forward")}
    assert reader["fields_of"]([("mm", right), ("mm", wrong[0]), ("full", None)], "saved_tensors", names) == [
        "mm (mine.py:3 Net.forward) saved_tensors[0]", mine, "Net.forward", 3,
        "mm saved_tensors[1]", "", "", 0, "full saved_tensors[2]", "", "", 0]


def test_nothing_of_the_program_is_asked_for_an_attribute(reader, tmp_path, monkeypatch):
    """A module may hold proxies whose attributes run code, and functions that wrap one another in a circle."""
    (tmp_path / "proxies.py").write_text("""
class Proxy:
    @property
    def __class__(self):
        raise RuntimeError("asked")
    def __getattr__(self, name):
        raise RuntimeError("asked")

proxy = Proxy()

class Net:
    def forward(self, x):
        return x @ x
    @staticmethod
    def other(x):
        return x + x
    Net = proxy

Net.forward.__wrapped__ = Net.forward
""", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("proxies")
    names = [name for _, name in reader["functions_in"](module)]
    assert {"Net.forward", "Net.other"} <= set(names) and len(names) == len(set(names))


def test_a_fault_in_the_reader_is_said_once_and_is_none_of_the_programs(reader):
    said = []
    reader.update(tapelens_say=said.append, is_graph_told=True)
    for _ in range(2):
        reader["graph_traced"](("aot_forward_graph",), {"payload_fn": lambda: "nothing"})
    assert len(said) == 1 and "is not named from here on" in said[0]


BUFFERS = """import sys
import torch
torch.set_num_threads(1)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Parameter(torch.randn(64, 512))
        self.down = torch.nn.Parameter(torch.randn(512, 96))
    def forward(self, x):
        wide = x @ self.up
        wide = wide.relu()
        return (wide @ self.down).sin()
net = Net()
run = torch.compile(net)
x = torch.randn(1024, 64)
if sys.argv[1] == "no_grad":
    with torch.no_grad(), torch.profiler.record_function("evaluation"):
        run(x)
else:
    run(x).sum().backward()
"""


def alive_within(report):
    """(kernel, line, function, bytes) of the compiled function's allocations that are alive at the peak."""
    told = []
    for allocation in report["peak"]["allocations"]:
        if (allocation["operator"] or "").startswith("inductor::"):
            place = next(frame for frame in allocation["stack"] if frame["file"].endswith("/net.py"))
            told.append((allocation["operator"], place["line"], place["function"], allocation["bytes"]))
    return sorted(told)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("cached", [False, True], ids=["cold", "cached"])
def test_buffers_of_inductor_are_named_by_their_kernel_and_line(tmp_path, cached):
    program = tmp_path / "net.py"
    program.write_text(BUFFERS)
    env = environment(tmp_path / "caches")
    command = [harness.PYTHON, program, "no_grad"]
    if cached:
        harness.bare(command, env=env, check=True)
    run, report = harness.record_and_report(command, tmp_path / "run.tapelens", env=env)
    assert "tapelens:" not in run.stderr
    # The ReLU overwrites the first product, and the sine the second: two buffers, each with its line.
    assert alive_within(report) == [("inductor::mm", 10, "Net.forward", 4 * 1024 * 512),
                                    ("inductor::mm", 12, "Net.forward", 4 * 1024 * 96)]


def test_what_a_compiled_backward_allocates_is_named(tmp_path):
    program = tmp_path / "net.py"
    program.write_text(BUFFERS)
    _, report = harness.record_and_report([harness.PYTHON, program, "train"], tmp_path / "run.tapelens",
                                          env=environment(tmp_path / "caches"))
    assert harness.lost(report) == []
    # The gradients of both factors of the second product.
    products = {size for kernel, line, _, size in alive_within(report) if (kernel, line) == ("inductor::mm", 12)}
    assert products == {4 * 1024 * 512, 4 * 512 * 96}


def test_a_graph_that_the_program_no_longer_has_gives_no_line(tmp_path):
    program = tmp_path / "net.py"
    program.write_text(BUFFERS)
    env = environment(tmp_path / "caches")
    harness.bare([harness.PYTHON, program, "no_grad"], env=env, check=True)
    program.write_text(BUFFERS.replace("class Net", "\n\nclass Net"))  # lines of the cached graph are two too low
    _, report = harness.record_and_report([harness.PYTHON, program, "no_grad"], tmp_path / "run.tapelens", env=env)
    lines = {line for _, line, _, _ in alive_within(report)}
    assert lines in ({12, 14}, {11}), "the lines of the running program, or the compiled function"


GENERATED = """class Runner:
    def call(self, args):
        buf0 = empty_strided_cpu((512, 512), (512, 1), torch.float32)
        # Topologically Sorted Source Nodes: [mm], Original ATen: [aten.mm]
        extern_kernels.mm(tangents_1, primals_12, out=buf0)
        buf2 = empty_strided_cuda((1, 128), (128, 1), torch.float32)
        assert_size_stride(buf2, (512, 512), (512, 1), 'input')
        buf3 = buf2; del buf2  # reuse
        triton_poi_fused_add_0.run(buf30, buf3, 12, stream=stream0)
        buf4 = torch.ops.aten.topk.default(buf3, 3)
        buf5 = empty_strided_cpu((1, 128), (128, 1), torch.float32)
        return (buf5, )
    def other(self):
        cpp_fused_1(buf5)
"""


def test_the_kernel_of_a_generated_line_is_the_first_that_is_given_the_buffer(reader):
    lines = GENERATED.splitlines()
    told = {number: reader["kernel_at"](lines, number) for number in range(1, len(lines) + 2)}
    assert told[3] == "mm" and told[5] == "mm" and told[9] == "triton_poi_fused_add_0" and told[10] == "topk"
    assert told[6] is None and told[11] is None and told[7] is None and told[len(lines) + 1] is None


def assigned(tree):
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for one in ast.walk(target):
                    if isinstance(one, ast.Name):
                        yield one.id, node.value


def test_what_runs_in_one_namespace_has_each_name_once():
    """The probe runs all of these files in the same globals. A file may define a name of another file only as None, for
    the other to set."""
    files = re.findall(r"profiler/\w+/\w+\.py$", (harness.ROOT / "profiler/python_texts.cmake").read_text(), re.MULTILINE)
    assert len(files) >= 5
    known = {}
    for file in files:
        own = dict(assigned(ast.parse((harness.ROOT / file).read_text())))
        for name in own.keys() & known.keys():
            assert getattr(known[name], "value", name) is None, f"{file}: {name} is another file's"
        known |= own
