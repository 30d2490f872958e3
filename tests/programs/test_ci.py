"""Runs each script of action.yml and ci/gitlab.yml: for the main branch of a repository, a pull request with a
regression of one line, and a pull request without."""

import json
import shutil
import subprocess
import venv
import xml.etree.ElementTree
import zipfile

import jsonschema
import pytest
import yaml

import ci_systems
import harness
import schemas
import test_fit
import test_gate

WORSE = test_gate.source_of("stored activation")
WORSE_LINE = next(number for number, line in enumerate(WORSE.splitlines(), 1) if "self.last = hidden" in line)
COMMAND = f"'{harness.PYTHON}' train.py cpu"


# The schemas that we have are older than these two: a step of a composite action that may fail, and a template's inputs
# (https://docs.gitlab.com/ci/yaml/#specinputs).
TEMPLATE_HEADER = {"type": "object", "additionalProperties": False, "required": ["spec"], "properties": {"spec": {
    "type": "object", "additionalProperties": False, "required": ["inputs"], "properties": {"inputs": {
        "type": "object", "propertyNames": {"pattern": "^[a-z-]+$"}, "additionalProperties": {
            "type": "object", "additionalProperties": False, "properties": {
                "description": {"type": "string"}, "default": {"type": "string"}}}}}}}}


def test_the_files_are_what_github_and_gitlab_understand():
    action = yaml.safe_load(ci_systems.ACTION.read_text(encoding="utf-8"))
    assert [step["name"] for step in action["runs"]["steps"] if step.pop("continue-on-error", False)] == ["Upload to code scanning"]
    schemas.validate(action, schemas.GITHUB_ACTION)
    header, template = yaml.safe_load_all(ci_systems.TEMPLATE.read_text(encoding="utf-8"))
    jsonschema.validate(header, TEMPLATE_HEADER)
    schemas.validate(template, schemas.GITLAB)


class Repository:
    """One of git, with a training program in training/."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "training").mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        (folder / ".gitignore").write_text("memory-check/\n__pycache__/\n", encoding="utf-8")
        self.commit(test_gate.SOURCE)

    def git(self, *words):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", *identity, *words], cwd=self.folder, check=True, capture_output=True)

    def commit(self, source):
        (self.folder / "training/train.py").write_text(source, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-qm", "change")

    def head(self):
        return subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.folder, text=True, check=True, capture_output=True).stdout.strip()

    def branch(self, name, source):
        self.git("checkout", "-q", "-b", name, "main")
        self.commit(source)
        shutil.rmtree(self.folder / "training/memory-check", ignore_errors=True)  # each run has its own clone


@pytest.fixture(name="repository")
def a_repository(tmp_path):
    return Repository(tmp_path / "model")


@pytest.fixture(name="tools")
def tools_on_the_path(tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "tapelens").symlink_to(harness.BINARY)
    return folder


@pytest.fixture(name="github")
def a_github(tmp_path, tools):
    return ci_systems.Github(tmp_path, tools)


def checked(github, repository, number, event, branch, code=0, **inputs):
    done = github.run(repository.folder, number, event, branch, **{"command": COMMAND, "working_directory": "training", **inputs})
    assert done.code == code, done.log
    assert done.outputs == {"exit-code": str(code), "folder": "training/memory-check"}
    return done


def test_a_pull_request_is_held_to_the_main_branch(repository, github):
    first = checked(github, repository, 1, "push", "main")
    assert first.uploaded == ["memory", "memory-baseline"]
    assert "no baseline" in first.summary and "nothing to compare the run with" in first.log
    # The action must select none of these. A run with one of them as its baseline would fail.
    github.add("memory-baseline", "main", 20, "2029-01-01T00:00:00Z", content="{}")
    github.add("memory-baseline", "main", 21, "2031-01-01T00:00:00Z", content="{}", head_repository=8)
    github.add("memory-baseline", "main", 22, "2031-01-01T00:00:00Z", content="{}", expired=True)
    github.add("memory-baseline", "other", 23, "2031-01-01T00:00:00Z", content="{}")
    github.add("text-baseline", "main", 24, "2031-01-01T00:00:00Z", content="{}")
    github.add("memory-baseline", "main", 25, "2031-01-01T00:00:00Z", content="{}", event="pull_request_target")
    github.add("memory-baseline", "main", 26, "2031-01-01T00:00:00Z", content="{}", event="workflow_run")

    repository.branch("worse", WORSE)
    worse = checked(github, repository, 2, "pull_request", "worse", code=1)
    error = f"training/train.py:{WORSE_LINE}:1: error: peak of cpu "
    assert any(line.startswith(error) and "self.last = hidden" in line for line in worse.log.splitlines()), worse.log
    assert f"::error title=peak of cpu,file=training/train.py,line={WORSE_LINE}::train.py:{WORSE_LINE}: peak of cpu " in worse.log
    assert worse.summary.startswith("### Memory: ") and "self.last = hidden" in worse.summary
    schemas.validate(json.loads(worse.sarif), schemas.SARIF)
    located = json.loads(worse.sarif)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert located["artifactLocation"]["uri"] == "training/train.py" and located["region"]["startLine"] == WORSE_LINE
    assert worse.uploaded == ["memory"]  # a regression does not become the baseline
    kept = {path.name for path in (github.store / "2/memory").iterdir()}
    assert {"run.tapelens", "report.html", "check.md", "check.xml", "check.json", "baseline"} <= kept

    repository.branch("harmless", test_gate.source_of("functions in another order"))
    harmless = checked(github, repository, 3, "pull_request", "harmless")
    assert "Passed: " in harmless.log and "::error" not in harmless.log
    assert json.loads((github.store / "3/memory/check.json").read_text(encoding="utf-8"))["has_baseline"]


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run", "issue_comment", "repository_dispatch"])
def test_a_fork_s_program_does_not_run_with_main_s_rights(repository, github, event):
    main = repository.head()
    repository.branch("fork", "import pathlib\npathlib.Path('ran').touch()\n")
    done = github.run(repository.folder, 1, event, "fork", ref="refs/heads/main", sha=main, command=COMMAND, working_directory="training")
    assert done.code == 2 and f"the event {event} runs programs of others" in done.log
    assert done.uploaded == [] and done.sarif == "" and not (repository.folder / "training/ran").exists()


def test_a_baseline_is_of_the_commit_of_main(repository, github):
    main = repository.head()
    repository.branch("other", test_gate.source_of("variable renamed"))
    for number, (event, ref) in enumerate([("workflow_dispatch", "refs/heads/main"), ("schedule", "refs/heads/main"), ("push", "refs/heads/main")], 1):
        done = github.run(repository.folder, number, event, "main", ref=ref, sha=main, command=COMMAND, working_directory="training")
        assert done.code == 0 and done.uploaded == ["memory"] and "this run leaves no baseline" in done.log
    done = github.run(repository.folder, 4, "push", "main", ref="refs/tags/main", command=COMMAND, working_directory="training")
    assert done.code == 5 and done.uploaded == ["memory"]  # a tag with this name is not the branch


def test_files_of_a_pull_request_are_no_baseline(repository, github, tmp_path):
    checks = repository.folder / "training/memory-check"
    repository.branch("own", WORSE)
    (checks / "baseline").mkdir(parents=True)
    (checks / "baseline/memory.json").write_text("{}", encoding="utf-8")
    done = checked(github, repository, 1, "pull_request", "own", code=5)
    assert "does not exist yet" in done.log
    shutil.rmtree(checks)
    (tmp_path / "elsewhere/baseline").mkdir(parents=True)
    checks.symlink_to(tmp_path / "elsewhere")
    checked(github, repository, 2, "pull_request", "own", code=5)
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["baseline"] and not checks.is_symlink()


def test_a_pull_request_without_a_baseline_passes_only_where_that_is_asked_for(repository, github):
    repository.branch("first", test_gate.source_of("functions in another order"))
    done = checked(github, repository, 1, "pull_request", "first", code=5)
    assert "the baseline memory-check/baseline/memory.json does not exist yet, so the run was not compared" in done.log
    assert "Memory was not compared: the baseline does not exist yet.\n" in done.summary
    within = checked(github, repository, 2, "pull_request", "first", code=5, budgets="peak<=1GiB")
    assert "Passed: 1 check" in within.log
    assert checked(github, repository, 3, "pull_request", "first", code=1, budgets="peak<=1KiB")
    done = checked(github, repository, 4, "pull_request", "first", missing_baseline="pass")
    assert "so the run was not compared" in done.log
    # A merge queue, and a file that is missing in the repository.
    assert "does not exist yet" in checked(github, repository, 5, "push", "gh-readonly-queue/main/pr-1", code=5).log
    assert "none.json" in checked(github, repository, 6, "push", "main", code=5, baseline="none.json").log


def test_a_program_that_fails_is_not_checked(repository, github):
    repository.commit(test_gate.SOURCE.replace("print(len(losses)", "sys.exit(7)\n    print(len(losses)"))
    done = checked(github, repository, 1, "push", "main", code=7)
    assert done.summary == "Memory was not checked: the command ended with 7.\n"
    assert done.uploaded == ["memory"] and done.sarif == ""
    done = checked(github, repository, 2, "push", "main", code=2, command="python train.py; rm x")
    assert "CHECK_COMMAND is not a single command" in done.log
    done = checked(github, repository, 3, "push", "main", code=2, command=f"'{harness.PYTHON}' -c 'import torch; torch.ones(9)'", budgets="peek<=1MiB")
    assert done.summary == "Memory was not checked: tapelens check ended with 2.\n" and "'peek' is not a metric" in done.log


@pytest.mark.skipif(test_fit.pytestmark.args[0], reason="this PyTorch is built without CUDA")
def test_budgets_hold_on_main_too_and_on_a_gpu_that_is_not_there(repository, github):
    done = checked(github, repository, 1, "push", "main", code=1, command=f"'{harness.PYTHON}' train.py cuda", simulate_gpu="H100:2GiB",
                   record_options="--stacks python --quiet", budgets="\nallocations<=5000\npeak@cuda:0<=1MiB\n")
    assert "peak@cuda:0<=1MiB of cuda:0: " in done.log and "(at most 1.0 MiB)" in done.summary
    assert done.uploaded == ["memory", "memory-baseline"]  # main's own run is the baseline for branches


def test_what_is_not_on_the_path_is_installed(repository, github, tools, tmp_path):
    wheel = tmp_path / "tapelens-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        script = zipfile.ZipInfo("tapelens-1.2.3.data/scripts/tapelens")
        script.external_attr = 0o100755 << 16
        file.writestr(script, f"#!/bin/sh\nexec '{harness.BINARY}' \"$@\"\n")
        file.writestr("tapelens-1.2.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: tapelens\nVersion: 1.2.3\n")
        file.writestr("tapelens-1.2.3.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("tapelens-1.2.3.dist-info/RECORD", "")
    (tools / "tapelens").unlink()
    venv.create(tmp_path / "venv", with_pip=True)
    github.tools = f"{tmp_path / 'venv/bin'}:{tools}"
    done = checked(github, repository, 1, "push", "main", install=str(wheel), budgets="peak<=1GiB")
    assert f"installing {wheel}" in done.log and "Passed: 1 check" in done.log
    assert "installing" not in checked(github, repository, 2, "push", "main", install="none", baseline="none", budgets="peak<=1GiB").log


def test_gitlab_holds_a_merge_request_to_the_default_branch(repository, tools, tmp_path):
    source = tmp_path / "tapelens"
    (source / "ci").mkdir(parents=True)
    for name in ("check-memory", "gitlab-baseline"):
        shutil.copy(harness.ROOT / "ci" / name, source / "ci")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=source, check=True)
    gitlab = ci_systems.Gitlab(tmp_path, tools)

    def run(number, pipeline, branch, code):
        shutil.rmtree(repository.folder / "memory-check", ignore_errors=True)
        ended, log, folder = gitlab.run(repository.folder, number, pipeline, branch, command=f"'{harness.PYTHON}' training/train.py cpu",
                                        tapelens=f"file://{source}")
        assert ended == code, log
        return log, folder

    assert gitlab.run(repository.folder, 1, "push", "topic", command="false", tapelens="none") is None
    repository.branch("first", test_gate.source_of("functions in another order"))
    assert "does not exist yet" in run(5, "merge_request_event", "first", 5)[0]
    repository.git("checkout", "-q", "main")
    assert "does not exist yet" not in run(2, "push", "main", 0)[0]
    repository.branch("worse", WORSE)
    log, folder = run(3, "merge_request_event", "worse", 1)
    assert f"training/train.py:{WORSE_LINE}:1: error: peak of cpu " in log
    suite = xml.etree.ElementTree.parse(folder / "check.xml").find("testsuite")
    assert suite.find("testcase[@line]").get("file") == "training/train.py"
    repository.branch("harmless", test_gate.source_of("variable renamed"))
    assert "Passed: " in run(4, "merge_request_event", "harmless", 0)[0]
    # Files of a merge request, and files that it has at that place itself, are not a baseline.
    gitlab.passed = {branch: folder for branch, folder in gitlab.passed.items() if branch[0] != "main"}
    (repository.folder / "memory-check").mkdir(exist_ok=True)
    (repository.folder / "memory-check/baseline.json").write_text("{}", encoding="utf-8")
    ended, log, _ = gitlab.run(repository.folder, 6, "merge_request_event", "harmless", command=f"'{harness.PYTHON}' training/train.py cpu",
                               tapelens=f"file://{source}")
    assert ended == 5 and "the baseline memory-check/baseline.json does not exist yet" in log


@pytest.mark.parametrize("status", [302, 401, 403, 500])
def test_a_merge_request_whose_baseline_cannot_be_read_does_not_pass(tools, tmp_path, status):
    gitlab = ci_systems.Gitlab(tmp_path, tools)
    seen = []
    elsewhere = ci_systems.Gitlab(tmp_path, tools)
    elsewhere.answer = lambda path, token: seen.append(token) or (200, {}, b"{}")
    with gitlab.interface() as url, elsewhere.interface() as other:
        gitlab.broken = (status, {"Location": other} if status == 302 else {})
        done = subprocess.run(["python3", "-I", harness.ROOT / "ci/gitlab-baseline", tmp_path / "memory-check/baseline.json"], text=True, check=False,
                              capture_output=True, env={"CI_API_V4_URL": url, "CI_MERGE_REQUEST_PROJECT_ID": "42", "CI_DEFAULT_BRANCH": "main",
                                                        "CI_JOB_NAME": "memory", "CI_JOB_TOKEN": "job-token", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 3 and f"GitLab answers {status} for the baseline" in done.stderr
    assert seen == [] and not (tmp_path / "memory-check").exists()  # no other host receives the token
