"""`tapelens check` and `tapelens diff` on a small program with a regression of one line, or with a harmless change."""

import concurrent.futures
import json
import subprocess
import xml.etree.ElementTree

import pytest

import harness
import test_fit

PROGRAM = harness.CASES / "gated.py"
SOURCE = PROGRAM.read_text(encoding="utf-8")

# The old text, its replacement, and the statement in the message. An empty replacement deletes the line.
WORSE = {
    "stored activation": ("        return x + self.down(hidden)\n",
                          "        self.last = hidden\n        return x + self.down(hidden)\n", "self.last = hidden"),
    "no_grad removed": ("    with torch.no_grad():\n        return net(x).mean()\n", "    return net(x).mean()\n",
                        "with torch.no_grad():"),
    "layer thawed": ("    net.backbone.requires_grad_(False)\n", "", "net.backbone.requires_grad_(False)"),
    "graph retained": ("loss.backward()", "loss.backward(retain_graph=True)", "loss.backward(retain_graph=True)"),
    "gradients kept": ("set_to_none=True", "set_to_none=False", "optimizer.zero_grad(set_to_none=False)"),
    "optimizer with state": ("torch.optim.SGD(", "torch.optim.Adam(", "torch.optim.Adam("),
    "activation saved twice": ("F.relu(self.up(x))", "F.gelu(self.up(x))", "hidden = F.gelu(self.up(x))"),
    "copy saved": ("self.down(hidden)\n", "self.down(hidden * 1)\n", "return x + self.down(hidden * 1)"),
    "dropout added": ("F.relu(self.up(x))", "F.dropout(F.relu(self.up(x)), 0.1)", "F.dropout(F.relu(self.up(x)), 0.1)"),
    "outputs kept": ("        return net(x).mean()\n", "        return net(x)\n", "return net(x)"),
}
EVALUATE = SOURCE[SOURCE.index("def evaluate"):SOURCE.index("def train")]
HARMLESS = {
    "class renamed": lambda text: text.replace("Block", "Layer"),
    "variable renamed": lambda text: text.replace("hidden", "h"),
    "function renamed": lambda text: text.replace("evaluate", "validate"),
    "layer renamed": lambda text: text.replace("self.head", "self.output"),
    "functions in another order": lambda text: text.replace(EVALUATE, "").replace("if __name__", EVALUATE + "if __name__"),
    "lines moved": lambda text: "# A comment.\n\n\n" + text.replace("class Net", "# Another.\n\n\nclass Net"),
    "another seed": lambda text: text.replace("manual_seed(0)", "manual_seed(7)"),
    "statement split": lambda text: text.replace("hidden = F.relu(self.up(x))",
                                                 "hidden = self.up(x)\n        hidden = F.relu(hidden)"),
    "logged": lambda text: text.replace("losses.append(loss.item())",
                                        "losses.append(loss.item())\n        print(f'{losses[-1]:.3f}')"),
    "hints": lambda text: text.replace("def evaluate(net, x):", "def evaluate(net: Net, x: torch.Tensor) -> torch.Tensor:"),
}
CPU, GPU = ("cpu", ()), ("cuda", ("--gpu", "H100:2GiB"))
CASES = [(name, on) for on in (CPU, GPU) for name in [*WORSE, *HARMLESS]]


def has_cuda():
    return not test_fit.pytestmark.args[0]


def source_of(name):
    if name in WORSE:
        old, new, _ = WORSE[name]
        assert SOURCE.count(old) == 1, name
        return SOURCE.replace(old, new)
    return HARMLESS[name](SOURCE) if name else SOURCE


def make(folder, name, on=CPU, source=None):
    device, options = on
    place = folder / f"{name or 'main'} {device}".replace(" ", "_")
    place.mkdir()
    program = place / "train.py"
    program.write_text(source or source_of(name), encoding="utf-8")
    target = place / "run.tapelens"
    run = harness.record([harness.PYTHON, program, device], target, options)
    assert run.code == 0, run.stderr
    return target


class Recordings:
    """Makes each recording once, two at a time. Recordings that are certainly needed begin first, the others on
    request."""

    def __init__(self, folder, wanted):
        self.folder = folder
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.made = {}
        for case in wanted:
            self.ask(*case)

    def ask(self, name, on):
        if (name, on) not in self.made:
            self.made[(name, on)] = self.pool.submit(make, self.folder, name, on)
        return self.made[(name, on)]

    def __call__(self, name, on):
        return self.ask(name, on).result()


@pytest.fixture(scope="module", name="recordings")
def all_recordings(request, tmp_path_factory):
    wanted = {("", CPU): None}
    for item in request.session.items:
        if item.module is request.module and hasattr(item, "callspec") and "case" in item.callspec.params:
            name, on = item.callspec.params["case"]
            if on == CPU or has_cuda():
                wanted.update({("", on): None, (name, on): None})
    made = Recordings(tmp_path_factory.mktemp("gate"), wanted)
    yield made
    made.pool.shutdown(cancel_futures=True)


def check(target, *options, code):
    run = harness.bare([harness.BINARY, "check", target, *options])
    assert run.code == code, f"{run.code}\n{run.stdout}{run.stderr}"
    return run.stdout


def is_named(case):
    return f"{case[0]}, {case[1][0]}"


def judge(recordings, case):
    name, on = case
    target, baseline = recordings(name, on), recordings("", on)
    if name in HARMLESS:
        assert "Passed: " in check(target, "--baseline", baseline, code=0)
        return
    first = check(target, "--baseline", baseline, code=1).splitlines()[0]
    statement = WORSE[name][2]
    lines = target.with_name("train.py").read_text(encoding="utf-8").splitlines()
    if "removed" in name or "thawed" in name:  # the line in its place in the changed program
        line = SOURCE.splitlines().index(next(l for l in SOURCE.splitlines() if statement in l)) + 1
    else:
        line = next(number for number, l in enumerate(lines, 1) if statement in l)
    place = f"{target.with_name('train.py')}:{line}:1: error: "
    assert first.startswith(f"{place}peak of ") or first.startswith(f"{place}saved of "), first
    assert first.endswith((" [peak]", " [saved]")), first
    assert statement in first
    assert " -> " in first and "%" in first


@pytest.mark.parametrize("case", [case for case in CASES if case[1] == CPU], ids=is_named)
def test_a_worse_line_is_named_and_a_harmless_change_passes(recordings, case):
    judge(recordings, case)


@pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", [case for case in CASES if case[1] == GPU], ids=is_named)
def test_on_a_simulated_gpu_too(recordings, case):
    judge(recordings, case)


def test_among_many_changes_the_line_that_matters_is_named(recordings, tmp_path):
    source = source_of("lines moved").replace("Block", "Layer").replace("self.head", "self.output").replace("losses", "all_losses")
    source = source.replace("lr=0.01", "lr=0.02").replace(*WORSE["activation saved twice"][:2])
    target = make(tmp_path, "many", source=source)
    said = check(target, "--baseline", recordings("", CPU), code=1)
    line = next(number for number, text in enumerate(source.splitlines(), 1) if "gelu" in text)
    assert said.startswith(f"{target.with_name('train.py')}:{line}:1: error: peak of cpu "), said
    assert "on the stack of +" in said and "of 2 changed lines" in said
    assert "GeluBackward0.self" in said


def test_the_version_of_the_baseline_is_found_in_git(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True)

    program, main, branch = (tmp_path / name for name in ("train.py", "main.tapelens", "branch.tapelens"))
    program.write_text(SOURCE, encoding="utf-8")
    git("init", "-q")
    git("add", "train.py")
    git("commit", "-qm", "main")
    assert harness.record([harness.PYTHON, program, "cpu"], main).code == 0
    check(main, "--write-baseline", tmp_path / "memory.json", code=0)
    program.write_text(source_of("layer thawed"), encoding="utf-8")
    assert harness.record([harness.PYTHON, program, "cpu"], branch).code == 0
    line = SOURCE.splitlines().index("    net.backbone.requires_grad_(False)") + 1
    for baseline in (main, tmp_path / "memory.json"):
        said = check(branch, "--baseline", baseline, code=1)
        assert said.startswith(f"train.py:{line}:1: error: peak of cpu "), said
        assert "net.backbone.requires_grad_(False)" in said.splitlines()[0]
    (tmp_path / ".git").rename(tmp_path / "git")
    said = check(branch, "--baseline", main, code=1)
    assert said.startswith(f"{program}:"), said
    assert "that of the baseline is neither on the disk nor in git" in " ".join(said.split())


def test_a_baseline_in_json_is_as_good_as_its_recording(recordings, tmp_path):
    main, worse = recordings("", CPU), recordings("stored activation", CPU)
    first, again = tmp_path / "first.json", tmp_path / "again.json"
    check(main, "--write-baseline", first, code=0)
    check(recordings("another seed", CPU), "--write-baseline", again, code=0)
    known = json.loads(first.read_text(encoding="utf-8"))
    assert sum(row["bytes"] for row in known["rows"]) == sum(device["peak"] for device in known["devices"])
    same = [dict(json.loads(path.read_text(encoding="utf-8")), command="", sources=[]) for path in (first, again)]
    assert [row | {"line": 0} for row in same[0]["rows"]] == [row | {"line": 0} for row in same[1]["rows"]]
    assert "Passed" in check(main, "--baseline", first, "--tolerance", "0", code=0)
    assert "peak of cpu" in check(worse, "--baseline", first, code=1).splitlines()[0]


def test_all_formats_say_the_same(recordings):
    main, worse = recordings("", CPU), recordings("copy saved", CPU)
    options = ["--baseline", main, "--budget", "peak<=1GiB", "--budget", "peak[Net.head]<=1KiB"]
    value = json.loads(check(worse, *options, "--format", "json", code=1))
    failed = [one for one in value["checks"] if not one["passed"]]
    peak = next(one for one in failed if one["name"] == "peak of cpu")
    assert peak["after"] > peak["most"] >= peak["before"]
    assert any(row["held_by"] == "MulBackward0.other" for row in peak["increased"])
    assert peak["increased"][0]["before_bytes"] < peak["increased"][0]["after_bytes"]
    assert "peak[Net.head]<=1KiB of cpu" in {one["name"] for one in failed}
    suite = xml.etree.ElementTree.fromstring(check(worse, *options, "--format", "junit", code=1)).find("testsuite")
    assert int(suite.get("failures")) == len(failed) == len(suite.findall("testcase/failure"))
    assert int(suite.get("tests")) == len(value["checks"])
    assert suite.find("testcase[@line]").get("line") == str(peak["source"]["line"])
    text = check(worse, *options, code=1)
    sarif = json.loads(check(worse, *options, "--format", "sarif", code=1))["runs"][0]
    said = [one["message"]["text"] for one in sarif["invocations"][0].get("toolExecutionNotifications", []) + sarif["results"]]
    markdown = check(worse, *options, "--format", "markdown", code=1)
    for one in failed:
        assert one["name"] in text
        assert any(one["name"] in line for line in said)
    assert f"train.py:{peak['source']['line']}" in markdown and peak["statement"] in markdown


def test_diff_adds_up_and_finds_what_is_new(recordings):
    main, worse = recordings("", CPU), recordings("no_grad removed", CPU)
    done = harness.bare([harness.BINARY, "diff", main, worse, "--format", "json"])
    assert done.code == 0, done.stderr
    value = json.loads(done.stdout)
    device = value["devices"][0]
    change = device["figures"]["peak"]["after"] - device["figures"]["peak"]["before"]
    assert change > 0
    for groups in [device["rows"], *device["groups"].values()]:
        assert sum(group["after_bytes"] - group["before_bytes"] for group in groups) == change
    assert any(line["text"] == "with torch.no_grad():" for line in value["changed_lines"])
    back = json.loads(harness.bare([harness.BINARY, "diff", worse, main, "--format", "json"]).stdout)["devices"][0]
    assert back["figures"]["peak"]["after"] - back["figures"]["peak"]["before"] == -change
    text = harness.bare([harness.BINARY, "diff", main, worse]).stdout
    assert text.startswith("Peak of cpu: ") and all(f"By {key}" in text for key in ("line", "field", "module"))


def test_another_batch_is_said(recordings, tmp_path):
    target = make(tmp_path, "batch", source=SOURCE.replace("rows=2048", "rows=3072").replace("steps=4", "steps=3"))
    said = " ".join(harness.bare([harness.BINARY, "diff", recordings("", CPU), target]).stdout.split())
    assert "1.5 times as large in one dimension" in said
    assert "A has 4 steps, B 3: the peaks of the first 3 are compared" in said
