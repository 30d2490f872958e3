"""verify --patch runs the program with the patch in a copy of its repository, and reports the result. The user's files
do not change."""

import json
import os
import subprocess

import pytest

import harness

LAYERS = "nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.Tanh())))"
TRAIN = f"""\
import torch
from torch import nn

torch.manual_seed(0)
model = {LAYERS}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def evaluate():
    return sum(model(torch.randn(1024, 256)).mean().item() for _ in range(2))


for _ in range(3):
    loss = model(torch.randn(64, 256)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), evaluate())
"""
NO_GRAD = """\
--- a/{path}
+++ b/{path}
@@ -8,1 +8,2 @@
 
+@torch.no_grad()
"""
# At the peak of the evaluation its input, four results of tanh and one result of a layer are alive. Without its graph,
# only the input, which the caller holds, and two results are alive.
ACTIVATION = 1024 * 256 * 4


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    return folder


def put(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and ".git" not in path.parts and "__pycache__" not in path.parts}


def verify(cwd, patch, command, tmp_path, env=None):
    """The run, and its verdict. Checks that the run leaves no files in the repository and in the temporary folder."""
    verdict, temporary, file = tmp_path / "verdict.json", tmp_path / "temporary", tmp_path / "fix.patch"
    temporary.mkdir(exist_ok=True)
    verdict.unlink(missing_ok=True)
    file.write_text(patch, encoding="utf-8")
    run = harness.bare([harness.BINARY, "verify", "--patch", file, "--format", "json", "-o", verdict, "--", *command],
                       cwd=cwd, env={"TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})})
    assert list(temporary.glob("tapelens-*")) == []
    return run, json.loads(verdict.read_text()) if verdict.exists() else None


# The program's place, the start folder, and the arguments of Python.
WAYS = {
    "script": ("train.py", ".", ["train.py"], None),
    "below": ("src/train.py", "src", ["train.py"], None),
    "from_above": ("src/train.py", ".", ["src/train.py"], None),
    "beside": ("src/train.py", "tools", ["../src/train.py"], None),
    "absolute": ("src/train.py", ".", ["{root}/src/train.py"], None),
    "module": ("package/train.py", ".", ["-m", "package.train"], None),
    "imported": ("package/train.py", ".", ["run.py"], None),
    "imported_from_below": ("package/train.py", ".", ["scripts/run.py"], None),
    "python_path": ("lib/package/train.py", ".", ["scripts/plain.py"], "{root}/lib:/nowhere"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
def test_the_patched_program_runs_and_the_files_stay(way, repository, tmp_path):
    path, cwd, arguments, python_path = WAYS[way]
    put(repository, {path: TRAIN, "package/__init__.py": "", "tools/other.txt": "", "run.py": "import package.train\n",
                     "scripts/plain.py": "import package.train\n", "lib/package/__init__.py": "",
                     "scripts/run.py": "import pathlib, sys\n"
                                       "sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))\n"
                                       "import package.train\n"})
    if way == "python_path":
        (repository / "package/__init__.py").unlink()
    before = contents(repository)
    env = {"PYTHONPATH": python_path.format(root=repository)} if python_path else {}
    command = [harness.PYTHON, *(argument.format(root=repository) for argument in arguments)]
    run, verdict = verify(repository / cwd, NO_GRAD.format(path=path), command, tmp_path, env)
    assert run.code == 0, run.stderr
    assert contents(repository) == before
    assert verdict["verdict"] == "identical"
    assert verdict["patch"] == {"files": [path], "unseen": [], "gradients_of_bare": 0, "gradients_of_patched": 0}
    assert verdict["compared"] == {"steps": 3, "losses": 3, "gradients": 24, "parameters": 24}
    assert verdict["bare"]["peak_bytes"] - verdict["patched"]["peak_bytes"] == 3 * ACTIVATION
    assert verdict["bare"]["gradient_checksum"] == verdict["patched"]["gradient_checksum"]
    assert len(run.stdout.splitlines()) == 3, "only the first run is to be seen"


def test_the_text_says_patched(repository, tmp_path):
    put(repository, {"train.py": TRAIN})
    (tmp_path / "fix.patch").write_text(NO_GRAD.format(path="train.py"), encoding="utf-8")
    run = harness.bare([harness.BINARY, "verify", "--patch", tmp_path / "fix.patch", "--", harness.PYTHON, "train.py"],
                       cwd=repository)
    assert run.code == 0, run.stderr
    assert "run 2: with the patch" in run.stderr
    assert "Identical, bit for bit, in 3 steps" in run.stdout
    assert "bare     patched" in run.stdout and run.stdout.endswith("  patched  train.py\n")
    assert "rewritten" not in run.stdout


def changed(path, text, old, new):
    """The patch of one line."""
    lines = text.splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line == old]
    return f"--- a/{path}\n+++ b/{path}\n@@ -{number} +{number} @@\n-{old}\n+{new}\n"


def test_a_patch_that_changes_what_is_computed_is_different(repository, tmp_path):
    put(repository, {"train.py": TRAIN})
    old = "    loss = model(torch.randn(64, 256)).square().mean()"
    patch = changed("train.py", TRAIN, old, old.replace("mean()", "sum()"))
    run, verdict = verify(repository, patch, [harness.PYTHON, "train.py"], tmp_path)
    assert run.code == 1, run.stderr
    first = verdict["first_difference"]
    assert (first["kind"], first["step"]) == ("loss", 0)
    assert float(first["bare"]) * 64 * 256 == pytest.approx(float(first["patched"]), rel=1e-5)
    assert first["rewrite"] is None and first["site"] is None


def test_gradients_that_the_patch_spares_are_counted(repository, tmp_path):
    text = TRAIN.replace("SGD(model.parameters(), lr=0.1)",
                         "SGD([{'params': model[:6].parameters(), 'lr': 0.0}, {'params': model[6:].parameters()}], lr=0.1)")
    old = "    loss = model(torch.randn(64, 256)).square().mean()"
    put(repository, {"train.py": text})
    patch = changed("train.py", text, old, "    loss = model[6:](model[:6](torch.randn(64, 256)).detach()).square().mean()")
    run, verdict = verify(repository, patch, [harness.PYTHON, "train.py"], tmp_path)
    assert run.code == 0, run.stderr
    assert verdict["patch"]["gradients_of_bare"] == 3 * 6
    assert verdict["compared"]["gradients"] == 3 * 2 and verdict["compared"]["parameters"] == 3 * 8


def test_a_patched_program_that_fails_is_different_and_says_why(repository, tmp_path):
    put(repository, {"train.py": TRAIN})
    patch = changed("train.py", TRAIN, "torch.manual_seed(0)", "raise ValueError('the patch')")
    (tmp_path / "fix.patch").write_text(patch, encoding="utf-8")
    run = harness.bare([harness.BINARY, "verify", "--patch", tmp_path / "fix.patch", "--", harness.PYTHON, "train.py"],
                       cwd=repository)
    assert run.code == 1, run.stderr
    assert "first the exit code (0 bare, 1 patched). It comes from the patch." in run.stdout
    assert "Last output of the patched run:" in run.stdout and "ValueError: the patch" in run.stdout
    assert "whether it ran is not known" in run.stdout


def test_a_patch_that_does_not_fit_runs_nothing(repository, tmp_path):
    put(repository, {"train.py": "import os\n" + TRAIN})
    run, verdict = verify(repository, NO_GRAD.format(path="train.py").replace("@@\n \n", "@@\n one\n"),
                          [harness.PYTHON, "train.py"], tmp_path)
    assert run.code == 2 and verdict is None
    assert "the patch does not fit: train.py:8: the line is not the one that the patch changes" in run.stderr
    assert run.stdout == ""
    run, _ = verify(repository, NO_GRAD.format(path="other.py"), [harness.PYTHON, "train.py"], tmp_path)
    assert run.code == 2 and "other.py: this file is not in" in run.stderr
    run, _ = verify(repository, NO_GRAD.format(path="../train.py"), [harness.PYTHON, "train.py"], tmp_path)
    assert run.code == 2 and "no path below the repository" in run.stderr


def test_nothing_is_said_of_a_patch_that_the_program_does_not_run(repository, tmp_path):
    put(repository, {"package/__init__.py": "", "package/train.py": TRAIN,
                     "run.py": f"import sys\nsys.path.insert(0, {str(repository)!r})\nimport package.train\n"})
    run, verdict = verify(repository, NO_GRAD.format(path="package/train.py"), [harness.PYTHON, "run.py"], tmp_path)
    assert run.code == 5 and verdict is None
    assert f"still ran {repository}/package/train.py, not the patched copy" in run.stderr


def test_what_is_written_beside_a_patched_file_goes_with_the_copy(repository, tmp_path):
    writes = "import os\nfor name in ('log.txt', 'runs/log.txt', 'old.txt'): open(name, 'a').write('x')\n"
    put(repository, {"train.py": TRAIN + writes, "runs/kept.txt": "", "old.txt": ""})
    run, _ = verify(repository, NO_GRAD.format(path="train.py"), [harness.PYTHON, "train.py"], tmp_path)
    assert run.code == 0, run.stderr
    written = {name: (repository / name).read_text() for name in ("log.txt", "runs/log.txt", "old.txt")}
    assert written == {"log.txt": "x", "runs/log.txt": "xx", "old.txt": "xx"}


def test_a_new_file_and_a_file_that_no_operator_is_called_from(repository, tmp_path):
    put(repository, {"train.py": TRAIN, "settings.py": "RATE = 0.1\n"})
    patch = (changed("settings.py", "RATE = 0.1\n", "RATE = 0.1", "RATE = 0.2") +
             "--- /dev/null\n+++ b/new/settings.py\n@@ -0,0 +1 @@\n+RATE = 0.3\n")
    run, verdict = verify(repository, patch, [harness.PYTHON, "train.py"], tmp_path)
    assert run.code == 0, run.stderr
    assert verdict["patch"]["unseen"] == verdict["patch"]["files"] == ["settings.py", "new/settings.py"]
    assert not (repository / "new").exists()


def test_a_patch_and_rewrites_are_not_given_together(tmp_path):
    run = harness.bare([harness.BINARY, "verify", "--patch", "x", "--apply", "lossless", "--", "true"], cwd=tmp_path)
    assert run.code == 2 and "--apply" in run.stderr
    run = harness.bare([harness.BINARY, "verify", "--patch", os.fspath(tmp_path / "none"), "--", "true"], cwd=tmp_path)
    assert run.code == 3 and "No such file" in run.stderr


INFERENCE = """\
import sys
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.Tanh())))


def evaluate():
    return model(torch.randn(1024, 256)).mean().item()


for _ in range(3):
    print(evaluate())
print("of", __file__)
"""


def test_an_inference_program_is_compared_by_what_it_prints(repository, tmp_path):
    put(repository, {"infer.py": INFERENCE})
    patch = NO_GRAD.format(path="infer.py").replace("-8,1 +8,2", "-7,1 +7,2")
    script = [harness.PYTHON, "infer.py"]
    run, verdict = verify(repository, patch, script, tmp_path)
    assert run.code == 0, run.stderr + str(verdict)
    assert verdict["verdict"] == "identical" and verdict["compared"]["output_lines"] == 4
    assert verdict["patched"]["peak_bytes"] <= verdict["bare"]["peak_bytes"] - ACTIVATION
    assert run.stdout.count("of ") == 1 and len(run.stdout.splitlines()) == 4, "only the first run is to be seen"
    text = harness.bare([harness.BINARY, "verify", "--patch", tmp_path / "fix.patch", "--", *script], cwd=repository)
    assert "The same output, byte for byte, and the same exit code: 4 lines." in text.stdout, text.stdout

    other = patch.replace("+@torch.no_grad()", "+torch.manual_seed(1)")
    run, verdict = verify(repository, other, script, tmp_path)
    assert run.code == 1 and verdict["first_difference"]["kind"] == "output" and verdict["first_difference"]["line"] == 1
    # The output differs in every run; the program fails only with the patch; the program has no output.
    put(repository, {"infer.py": INFERENCE.replace('"of", __file__', "__import__('time').time_ns()")})
    run, verdict = verify(repository, patch, script, tmp_path)
    assert run.code == 5 and not verdict["deterministic"] and verdict["first_difference"]["line"] == 4
    put(repository, {"infer.py": INFERENCE})
    run, verdict = verify(repository, patch.replace("+@torch.no_grad()", "+sys.exit(9)"), script, tmp_path)
    assert run.code == 1 and verdict["first_difference"]["kind"] == "exit_code", verdict
    put(repository, {"infer.py": INFERENCE.replace("print(", "(lambda *_: None)(")})
    run, verdict = verify(repository, patch, script, tmp_path)
    assert run.code == 5 and verdict["verdict"] == "none"


def test_what_torch_autograd_grad_returns_is_compared(repository, tmp_path):
    program = (harness.CASES / "returned_gradients.py").read_text(encoding="utf-8")
    put(repository, {"own.py": program})
    line = next(number for number, text in enumerate(program.splitlines(), 1) if "torch.relu(torch.tanh" in text)
    text = program.splitlines()[line - 1]

    def patched(how, wanted):
        patch = f"--- a/own.py\n+++ b/own.py\n@@ -{line},1 +{line},1 @@\n-{text}\n+{wanted}\n"
        return verify(repository, patch, [harness.PYTHON, "own.py", how], tmp_path)

    for how, count in (("own", 15), ("maml", 45), ("batched", 3)):
        run, verdict = patched(how, text + "  # the same")
        assert run.code == 0, run.stderr + str(verdict)
        assert verdict["compared"]["returned_gradients"] == count and "output_lines" not in verdict["compared"]
        run, verdict = patched(how, text.replace("torch.tanh(", "torch.sin("))
        assert run.code == 1, run.stderr + str(verdict)
        assert verdict["first_difference"]["kind"] in ("loss", "returned_gradient")
