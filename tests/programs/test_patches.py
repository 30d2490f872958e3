"""The patches of findings. The tests record a program of a repository, apply the patch with git, and run the program
again. The finding is gone, and the output is unchanged."""

import json
import os
import subprocess

import pytest

import harness
from test_advise import sarif, sarif_schema  # noqa: F401  (a fixture)

HEAD = """\
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
"""
CLASSIFIER = HEAD + """\
model = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for _ in range(6):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(torch.randn(512, 256)), torch.randint(0, 10, (512,)))
    loss.backward()
    optimizer.step()
    print(loss.item())
    {behind}
{after}
"""
DEEP = "nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.Sigmoid())))"

# Check, program, a line that the patch adds.
PROGRAMS = {
    "sum": ("retained-graph", CLASSIFIER.format(before="total = 0", behind="total += loss", after="print(float(total) > 0)"),
            "total += loss.item()"),
    "sum_that_is_asked_more": (
        "retained-graph", CLASSIFIER.format(before="total = 0", behind="total += loss", after="print(total.item())"),
        "total += loss.detach()"),
    "list": ("retained-graph", CLASSIFIER.format(before="losses = []", behind="losses.append(loss)",
                                                 after="print(len(losses), sum(losses) > 0)"),
             "losses.append(loss.detach())"),
    "list_of_means": ("retained-graph", CLASSIFIER.format(before="losses = []", behind="losses.append(loss)",
                                                          after="print(len(losses), max(losses) > 0)").replace(
                          "F.cross_entropy(model(torch.randn(512, 256)), torch.randint(0, 10, (512,)))",
                          "F.mse_loss(model(torch.randn(512, 256)), torch.randn(512, 10))"),
                      "losses.append(loss.detach().clone())"),
    "average": ("retained-graph", CLASSIFIER.format(before="average = torch.zeros(())",
                                                    behind="average = 0.9 * average + 0.1 * loss",
                                                    after="print(average.item())"),
                "average = average.detach()"),
    "evaluation_function": ("graph-without-backward", HEAD + f"""

def evaluate(model, batches):
    total = 0.0
    for x in batches:
        total += float(model(x).square().mean())
    return total


def main():
    model = {DEEP}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(64, 256)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item(), evaluate(model, [torch.randn(1024, 256) for _ in range(2)]))


main()
""", "@torch.no_grad()"),
    "evaluation_loop": ("graph-without-backward", HEAD + f"""\
model = {DEEP}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    loss = model(torch.randn(64, 256)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    seen = 0.0
    for x in [torch.randn(1024, 256) for _ in range(2)]:
        # without gradients
        seen += float(model(x).mean())

    print(loss.item(), seen)
""", "    with torch.no_grad():"),
    "backbone": ("unused-gradient", HEAD + f"""\
backbone = {DEEP}
head = nn.Linear(256, 10)
optimizer = torch.optim.Adam(head.parameters())
for _ in range(3):
    images, labels = torch.randn(1024, 256), torch.randint(0, 10, (1024,))
    features = backbone(images)
    optimizer.zero_grad()
    loss = F.cross_entropy(head(features), labels)
    loss.backward()
    optimizer.step()
    print(loss.item())
""", "    with torch.no_grad():"),
    "generator": ("unused-gradient", HEAD + f"""\
generator = {DEEP}
discriminator = nn.Sequential(nn.Linear(256, 64), nn.Sigmoid(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(discriminator.parameters())
for _ in range(3):
    z = torch.randn(1024, 256)
    optimizer.zero_grad()
    verdict = discriminator(generator(z))
    loss = F.binary_cross_entropy_with_logits(verdict, torch.zeros(1024, 1))
    loss.backward()
    optimizer.step()
    print(loss.item())
""", "        generator_output = generator(z)"),
    "zeroed": ("late-gradient", HEAD + """\
model = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.Sigmoid())))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(torch.randn(128, 512)).square().mean()
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(loss.item())
""", "optimizer.zero_grad(set_to_none=True)"),
    "validation_losses": ("graph-without-backward", HEAD + f"""\
model = {DEEP}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
validation = []
for _ in range(5):
    loss = model(torch.randn(64, 256)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    validation.append(model(torch.randn(512, 256)).square().mean())
    print(loss.item(), validation[-1].item())
""", "        validation.append(model(torch.randn(512, 256)).square().mean())"),
    "collected_outputs": ("graph-without-backward", HEAD + f"""\
model = {DEEP}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(64, 256)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
scores = {{}}
for number in range(200):
    x = torch.randn(64, 256)
    scores[number] = model(x).softmax(-1)
print(max(scores, key=lambda number: scores[number].max().item()))
""", "with torch.no_grad():"),
}

# Programs in the grammar of a newer Python: its minor version, the program, a line that the patch adds.
GRAMMARS = {
    "type_parameters": (12, HEAD + """\
type Batch = tuple[torch.Tensor, torch.Tensor]


def built[T: nn.Module](kind: type[T], width: int = 256) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, width), kind(), nn.Linear(width, 10))


model = built(nn.Tanh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses: list[torch.Tensor] = []
for number in range(6):
    batch: Batch = torch.randn(512, 256), torch.randint(0, 10, (512,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(batch[0]), batch[1])
    loss.backward()
    optimizer.step()
    losses.append(loss)
    print(f"{f"{"step"} {number}"}: {losses[-1].item()!r}")
print(len(losses), sum(losses) > 0)
""", "losses.append(loss.detach())"),
    "templates": (14, CLASSIFIER.format(before="total = 0", behind="total += loss", after="""\
try:
    label = t"sum {float(total):{".3"}f} of {"losses"}"
    print(label.strings, label.interpolations[0].format_spec)
except ValueError, TypeError:
    raise
print(float(total) > 0)"""), "total += loss.detach()"),
    "lazy_imports": (15, "lazy import json\n" + CLASSIFIER.format(before="rows = [[1], [2]]\ntotal = 0", behind="total += loss", after="""\
print(json.dumps([*row for row in rows]))
print(float(total) > 0)"""), "total += loss.item()"),
}


def git(folder, *arguments):
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"git {arguments}: {done.stderr}"
    return done.stdout


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "--quiet")
    return folder


def recorded(repository, target, name="train.py"):
    run = harness.record([harness.PYTHON, repository / "src" / name], target)
    assert run.code == 0, run.stderr
    return run


def advised(repository, target, *options):
    done = harness.bare([harness.BINARY, "advise", target, "--format", "json", *options], cwd=repository / "src")
    assert done.code == 0, done.stderr
    value = json.loads(done.stdout)
    harness.validator("advise").validate(value)
    return value["findings"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_patch_is_taken_and_mends_what_was_found(name, repository, tmp_path, sarif_schema):  # noqa: F811
    is_taken_and_mends(*PROGRAMS[name], repository, tmp_path, sarif_schema)


@pytest.mark.parametrize("name", GRAMMARS)
def test_the_patch_of_a_program_in_a_newer_grammar(name, repository, tmp_path, sarif_schema):  # noqa: F811
    minor, text, added = GRAMMARS[name]
    version = harness.bare([harness.PYTHON, "-c", "import sys; print(sys.version_info[1])"], check=True).stdout
    if int(version) < minor:
        pytest.skip(f"needs Python 3.{minor}: scripts/try-python")
    is_taken_and_mends("retained-graph", text, added, repository, tmp_path, sarif_schema)


def is_taken_and_mends(check, text, added, repository, tmp_path, schema):
    program = repository / "src/train.py"
    program.write_text(text, encoding="utf-8")
    before = recorded(repository, tmp_path / "before")
    (finding,) = [f for f in advised(repository, tmp_path / "before") if f["check"] == check and f["fix"]["patch"]]
    assert finding["fix"]["kind"] == "patch"
    assert finding["fix"]["text"]
    patch = tmp_path / "fix.patch"
    patch.write_text(finding["fix"]["patch"], encoding="utf-8")

    log = sarif(tmp_path / "before", cwd=repository)
    schema.validate(log)
    (fixed,) = [r for r in log["runs"][0]["results"] if finding["id"] in r["partialFingerprints"].values()]
    (change,) = fixed["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "src/train.py"

    git(repository, "apply", "--check", patch)
    verify(repository, patch, finding, tmp_path)
    git(repository, "apply", patch)
    lines = program.read_text(encoding="utf-8").splitlines()
    assert added in [line if added.startswith(" ") else line.strip() for line in lines]
    assert replaced(text, change["replacements"]) == program.read_text(encoding="utf-8")

    after = recorded(repository, tmp_path / "after")
    assert after.stdout == before.stdout
    assert [f["title"] for f in advised(repository, tmp_path / "after") if f["check"] == check] == []


def verify(repository, patch, finding, tmp_path):
    """Losses, gradients and parameters are the same, and the peak is the predicted one."""
    verdict = tmp_path / "verdict.json"
    done = harness.bare([harness.BINARY, "verify", "--patch", patch, "--format", "json", "-o", verdict, "--", harness.PYTHON,
                         "src/train.py"], cwd=repository)
    assert done.code == 0, done.stderr
    value = json.loads(verdict.read_text())
    assert value["verdict"] == "identical" and value["patch"]["files"] == ["src/train.py"]
    assert value["compared"]["losses"] > 0 and value["compared"]["gradients"] > 0
    assert value["patched"]["peak_bytes"] == pytest.approx(finding["peak_after_bytes"], rel=0.02)


def test_one_bug_that_two_checks_find_is_one_patch(repository, tmp_path):
    (repository / "src/train.py").write_text(PROGRAMS["validation_losses"][1], encoding="utf-8")
    recorded(repository, tmp_path / "run")
    found = {f["check"]: f["fix"] for f in advised(repository, tmp_path / "run", "--patch", tmp_path / "all.patch")}
    assert "no_grad" in found["retained-graph"]["text"]
    patch = (tmp_path / "all.patch").read_text(encoding="utf-8").removesuffix("-- \nWritten by tapelens advise\n")
    assert found["retained-graph"]["patch"] == found["graph-without-backward"]["patch"] == patch != ""


def test_what_takes_gradients_where_the_recorded_run_never_came_is_not_put_under_no_grad(repository, tmp_path):
    """The run takes one of the function's two branches. Under no_grad, the other one fails."""
    (repository / "src/train.py").write_text(HEAD + f"""

def run(model, optimizer, x, train):
    loss = model(x).square().mean()
    if train:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


model = {DEEP}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    print(run(model, optimizer, torch.randn(1024, 256), train=False))
""", encoding="utf-8")
    recorded(repository, tmp_path / "run")
    found = [f for f in advised(repository, tmp_path / "run") if f["check"] == "graph-without-backward"]
    assert found
    assert not any("@torch.no_grad()" in f["fix"]["patch"] for f in found)


@pytest.mark.parametrize("python", ["", "#!/bin/sh\necho 'line 3: invalid syntax'\n"])
def test_python_is_asked_before_a_patch_is_written(python, repository, tmp_path):
    (repository / "src/train.py").write_text(PROGRAMS["sum"][1], encoding="utf-8")
    recorded(repository, tmp_path / "run")
    folder = tmp_path / "bin"
    folder.mkdir()
    if python:
        (folder / "python3").write_text(python, encoding="utf-8")
        (folder / "python3").chmod(0o755)
    done = harness.bare([harness.BINARY, "advise", tmp_path / "run", "--patch", tmp_path / "all.patch"],
                        cwd=repository, env={"PATH": str(folder)})
    assert done.code == 0, done.stderr
    written = (tmp_path / "all.patch").read_text()
    if python:
        assert "the patch of src/train.py is left out: the patched file would not be valid Python: line 3: invalid syntax" in done.stderr
        assert written == ""
    else:
        assert "whether Python understands the patched files was not checked" in done.stderr
        assert "+    total += loss.item()" in written


def replaced(text, replacements):
    """The text after SARIF's replacements of whole lines."""
    lines = text.splitlines(keepends=True)
    for r in sorted(replacements, key=lambda r: -r["deletedRegion"]["startLine"]):
        region = r["deletedRegion"]
        lines[region["startLine"] - 1:region["endLine"] - 1] = [r["insertedContent"]["text"]]
    return "".join(lines)


def test_all_patches_are_one_file_that_git_takes(repository, tmp_path):
    (repository / "src/train.py").write_text(PROGRAMS["sum"][1] + PROGRAMS["zeroed"][1], encoding="utf-8")
    before = recorded(repository, tmp_path / "before")
    advised(repository, tmp_path / "before", "--patch", tmp_path / "all.patch")
    git(repository, "apply", tmp_path / "all.patch")
    after = recorded(repository, tmp_path / "after")
    assert after.stdout == before.stdout
    left = [f for f in advised(repository, tmp_path / "after") if f["fix"]["patch"]]
    assert left == []


def test_text_and_markdown_show_the_patch(repository, tmp_path):
    (repository / "src/train.py").write_text(PROGRAMS["sum"][1], encoding="utf-8")
    recorded(repository, tmp_path / "run")
    for options, shown in ((["--all", "--color", "never"], "    +    total += loss.item()\n"),
                           (["--format", "markdown"], "```diff\n--- a/src/train.py\n+++ b/src/train.py\n")):
        done = harness.bare([harness.BINARY, "advise", tmp_path / "run", *options], cwd=repository)
        assert done.code == 0, done.stderr
        assert shown in done.stdout


def test_what_is_not_in_the_repository_is_not_patched(repository, tmp_path):
    (repository / "src/train.py").write_text(PROGRAMS["sum"][1], encoding="utf-8")
    recorded(repository, tmp_path / "run")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(elsewhere, "init", "--quiet")
    done = harness.bare([harness.BINARY, "advise", tmp_path / "run", "--format", "json"], cwd=elsewhere)
    assert all(f["fix"]["patch"] == "" for f in json.loads(done.stdout)["findings"])


def test_a_file_that_was_written_just_before_a_process_began_is_no_newer(tmp_path):
    program = tmp_path / "train.py"
    for number in range(100):
        program.write_text(str(number), encoding="utf-8")
        done = harness.bare([os.environ["TAPELENS_NEWER_BY"], program], env={"LD_PRELOAD": str(harness.INJECT)}, check=True)
        assert int(done.stdout) <= 0, number


@pytest.mark.parametrize("change", [lambda text: "import os\n" + text,  # all lines move
                                    lambda text: text.replace("lr=0.1", "lr=0.2")])  # the patch's lines stay
def test_a_file_that_changed_since_it_was_recorded_is_not_patched(change, repository, tmp_path):
    program = repository / "src/train.py"
    program.write_text(PROGRAMS["sum"][1], encoding="utf-8")
    recorded(repository, tmp_path / "run")
    assert any(f["fix"]["patch"] for f in advised(repository, tmp_path / "run"))
    changed = change(PROGRAMS["sum"][1])
    assert changed != PROGRAMS["sum"][1]
    program.write_text(changed, encoding="utf-8")
    found = advised(repository, tmp_path / "run")
    assert found and all(f["fix"]["patch"] == "" for f in found)
    log = sarif(tmp_path / "run", cwd=repository)
    assert not any("fixes" in r for r in log["runs"][0]["results"])
    assert program.read_text(encoding="utf-8") == changed
    program.write_text(PROGRAMS["sum"][1], encoding="utf-8")
    assert any(f["fix"]["patch"] for f in advised(repository, tmp_path / "run"))


def test_a_backward_through_earlier_steps_is_not_cut_off(repository, tmp_path):
    """With a detach, the weight loses gradients that the program uses."""
    (repository / "src/train.py").write_text(HEAD + """\
weight = nn.Parameter(torch.eye(64))
other = nn.Parameter(torch.zeros(()))
optimizer = torch.optim.SGD([other], lr=0.01)
state = torch.randn(512, 64)
for _ in range(6):
    state = torch.tanh(state @ weight)
    optimizer.zero_grad()
    loss = (state * other).square().mean() + other
    loss.backward(retain_graph=True)
    optimizer.step()
    print(loss.item())
""", encoding="utf-8")
    recorded(repository, tmp_path / "run")
    found = [f for f in advised(repository, tmp_path / "run") if f["check"] == "retained-graph"]
    assert found
    assert all(f["fix"]["patch"] == "" for f in found)


SHARED_FORWARD = HEAD + """

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(256, 2048)
        self.out = nn.Linear(2048, 10)

    def forward(self, x):
        return self.out(torch.tanh(self.wide(x)))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = []
for _ in range(3):
    x = torch.randn(512, 256)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    seen = model(x).square().mean(); kept.append(seen)
"""


def test_an_evaluation_whose_forward_training_shares_is_named_at_its_own_call(repository, tmp_path):
    (repository / "src" / "train.py").write_text(SHARED_FORWARD)
    target = tmp_path / "run.tapelens"
    recorded(repository, target)
    line = "    seen = model(x).square().mean(); kept.append(seen)"
    number = SHARED_FORWARD.splitlines().index(line) + 1
    findings = [f for f in advised(repository, target) if f["check"] == "graph-without-backward"]
    assert findings
    assert {(f["source"]["line"], f["statement"]) for f in findings} == {(number, line.strip())}
    text = harness.bare([harness.BINARY, "advise", target], cwd=repository / "src").stdout
    assert f"train.py:{number} <module>   {line.strip()}" in text
