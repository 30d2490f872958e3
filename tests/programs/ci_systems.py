"""The parts of GitHub's and GitLab's runners that action.yml and ci/gitlab.yml need. They read these files, run each
script with the runner's shell, and copy artifacts to a folder."""

import contextlib
import dataclasses
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import urllib.parse

import yaml

import harness

ACTION = harness.ROOT / "action.yml"
TEMPLATE = harness.ROOT / "ci/gitlab.yml"
REPOSITORY_ID = 7
# A `gh api` that lists artifacts and applies the caller's filter to one page after the other. A page has two artifacts
# here; GitHub's pages have 100.
GH = r"""#!/usr/bin/env bash
set -euo pipefail
[[ -n $GH_TOKEN && $1 == api ]]
if [[ $2 == --paginate ]]; then
  [[ $3 == repos/acme/model/actions/artifacts\?name=*\&per_page=100 && $4 == --jq ]]
  NAME=${3#*name=}
  jq --arg name "${NAME%%&*}" '[.artifacts[] | select(.name == $name)] as $all | range(0; ($all | length); 2)
    | {artifacts: $all[.:(. + 2)]}' "$ARTIFACTS/list.json" | jq -r "$5"
else
  [[ $2 == repos/acme/model/actions/runs/* && $3 == --jq ]]
  jq --arg run "${2##*/}" '{event: .runs[$run]}' "$ARTIFACTS/list.json" | jq -r "$4"
fi
"""


def environment(folder, tools, **more):
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PATH": f"{tools}:/usr/bin:/bin", "OMP_NUM_THREADS": "1", "PWD": str(folder), **more}


class Expression:
    """An expression of a GitHub workflow: names, strings, ==, !=, !, &&, ||, always()."""

    WORD = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||==|!=|!|\(|\)|[a-z_][\w.-]*)", re.I)

    def __init__(self, values):
        self.values = values  # "inputs.name" -> text

    def value(self, text):
        words, at = [], 0
        while at < len(text.rstrip()):
            match = self.WORD.match(text, at)
            assert match, f"not understood: {text[at:]}"
            words.append(match[1])
            at = match.end()
        python = []
        for word in words:
            if word.startswith("'"):
                python.append(repr(word[1:-1].replace("''", "'")))
            elif word in ("&&", "||", "!"):
                python.append({"&&": "and", "||": "or", "!": "not"}[word])
            elif word in ("==", "!=", "(", ")"):
                python.append(word)
            elif word == "always":
                python.append("(lambda: True)")
            else:
                assert word.split(".")[0] in ("inputs", "github", "steps"), word
                assert word.startswith("steps.") or word in self.values, f"{word} is not known"
                python.append(repr(self.values.get(word, "")))
        return eval(" ".join(python))

    def filled(self, text):
        def one(match):
            value = self.value(match[1])
            return {True: "true", False: "false"}.get(value, value)
        return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", one, str(text))


@dataclasses.dataclass
class GithubRun:
    code: int = 0
    event: str = ""
    outputs: dict = dataclasses.field(default_factory=dict)
    summary: str = ""
    log: str = ""
    sarif: str = ""  # the upload to code scanning
    uploaded: list = dataclasses.field(default_factory=list)


class Github:
    """The repository acme/model with its artifacts. `tools` is the folder with gh and, unless pip is to install it, tapelens."""

    def __init__(self, folder, tools):
        self.folder, self.tools = folder, tools
        self.store = folder / "artifacts"
        self.store.mkdir()
        self.artifacts, self.events = [], {}
        self.write_list()
        (tools / "gh").write_text(GH, encoding="utf-8")
        (tools / "gh").chmod(0o755)

    def add(self, name, branch, run, created, content=None, expired=False, head_repository=REPOSITORY_ID, event="push"):
        place = self.store / str(run) / name
        if content is not None:
            place.mkdir(parents=True)
            (place / "memory.json").write_text(content, encoding="utf-8")
        self.artifacts.append({"name": name, "expired": expired, "created_at": created, "workflow_run": {
            "id": run, "head_branch": branch, "repository_id": REPOSITORY_ID, "head_repository_id": head_repository}})
        self.artifacts.sort(key=lambda one: one["created_at"], reverse=True)
        self.events[run] = event
        self.write_list()

    def write_list(self):
        (self.store / "list.json").write_text(json.dumps({"artifacts": self.artifacts, "runs": self.events}), encoding="utf-8")

    def run(self, repository, number, event, branch, ref=None, sha=None, **inputs):
        """The action in a workflow's run of that number, in the checked-out repository. `ref` and `sha` are the run's:
        by default those of the branch, or of the merge of a pull request."""
        action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
        done = GithubRun()
        checked_out = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, text=True, check=True, capture_output=True).stdout.strip()
        values = {"github.event_name": event, "github.ref": ref or (f"refs/pull/{number}/merge" if event == "pull_request" else f"refs/heads/{branch}"),
                  "github.sha": sha or checked_out, "github.token": "secret", "github.event.repository.default_branch": "main"}
        done.event = event
        expression = Expression(values)
        inputs = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert set(inputs) <= set(action["inputs"])
        for name, declared in action["inputs"].items():
            assert name in inputs or not declared.get("required"), name
            values[f"inputs.{name}"] = inputs.get(name, expression.filled(declared.get("default", "")))
        summary = self.folder / f"summary-{number}.md"
        summary.touch()
        for step in action["runs"]["steps"]:
            condition = step.get("if", "")
            if (done.code and "always()" not in condition) or (condition and not expression.value(condition)):
                continue
            if "uses" in step:
                uses, _, version = step["uses"].partition("@")
                assert re.fullmatch(r"v\d+", version)
                given = {name: expression.filled(value) for name, value in step["with"].items()}
                getattr(self, uses.split("/")[-1].replace("-", "_"))(done, repository, number, branch, given)
                continue
            script, output = self.folder / "step.sh", self.folder / "output"
            script.write_text(step["run"], encoding="utf-8")
            output.write_text("", encoding="utf-8")
            assert step["shell"] == "bash" and "${{" not in step["run"]  # an input's value is never part of a script
            own = {name: expression.filled(value) for name, value in step.get("env", {}).items()}
            place = repository / expression.filled(step.get("working-directory", "."))
            ended = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=place, text=True, check=False,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(
                                       place, self.tools, CI="true", GITHUB_ACTIONS="true", GITHUB_REPOSITORY="acme/model",
                                       GITHUB_ACTION_PATH=str(harness.ROOT), GITHUB_STEP_SUMMARY=str(summary), GITHUB_OUTPUT=str(output),
                                       ARTIFACTS=str(self.store), **own))
            done.log += ended.stdout
            done.code = done.code or ended.returncode
            for line in output.read_text(encoding="utf-8").splitlines():
                name, _, value = line.partition("=")
                values[f"steps.{step['id']}.outputs.{name}"] = value
        done.outputs = {name: expression.filled(declared["value"]) for name, declared in action["outputs"].items()}
        done.summary = summary.read_text(encoding="utf-8")
        return done

    def download_artifact(self, done, repository, number, branch, given):
        assert given["github-token"] == "secret"
        shutil.copytree(self.store / given["run-id"] / given["name"], repository / given["path"], dirs_exist_ok=True)

    def upload_artifact(self, done, repository, number, branch, given):
        source, target = repository / given["path"], self.store / str(number) / given["name"]
        assert source.exists(), source
        target.mkdir(parents=True)
        shutil.copytree(source, target, dirs_exist_ok=True) if source.is_dir() else shutil.copy(source, target)
        self.add(given["name"], branch, number, f"2030-01-{number:02}T00:00:00Z", event=done.event)
        done.uploaded.append(given["name"])

    def upload_sarif(self, done, repository, number, branch, given):
        done.sarif = (repository / given["sarif_file"]).read_text(encoding="utf-8")


class Gitlab:
    """A project's runner, and the part of GitLab's API that returns the artifacts of a branch."""

    PROJECT, TOKEN = "42", "job-token"

    def __init__(self, folder, tools):
        self.folder, self.tools = folder, tools
        self.passed = {}  # (branch, job) -> the folder of artifacts of its newest run that passed
        self.broken = None  # the interface's error response: a status, or a status and a Location

    def answer(self, path, token):
        """(status, headers, body)"""
        if self.broken:
            return (*self.broken, b"")
        url = urllib.parse.urlsplit(path)
        match = re.fullmatch(rf"/api/v4/projects/{self.PROJECT}/jobs/artifacts/([^/]+)/raw/(.+)", url.path)
        job = urllib.parse.parse_qs(url.query).get("job", [""])[0]
        folder = match and token == self.TOKEN and self.passed.get((urllib.parse.unquote(match[1]), job))
        file = folder and folder / match[2]
        return (200, {}, file.read_bytes()) if file and file.is_file() else (404, {}, b"")

    @contextlib.contextmanager
    def interface(self):
        gitlab = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, headers, body = gitlab.answer(self.path, self.headers["JOB-TOKEN"])
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}/api/v4"
            server.shutdown()

    def run(self, repository, number, source, branch, **inputs):
        """(exit code, log, the folder of artifacts); None: the job is not part of such a pipeline."""
        header, jobs = yaml.safe_load_all(TEMPLATE.read_text(encoding="utf-8"))
        inputs = {name.replace("_", "-"): value for name, value in inputs.items()}
        declared = header["spec"]["inputs"]
        assert set(inputs) <= set(declared)

        def filled(value):
            if isinstance(value, str):
                return re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda m: inputs.get(m[1], declared[m[1]].get("default")), value)
            if isinstance(value, list):
                return [filled(one) for one in value]
            return {filled(name): filled(one) for name, one in value.items()} if isinstance(value, dict) else value

        ((job_name, job),) = filled(jobs).items()
        assert "cache" not in job  # unprotected branches can write it
        builds = self.folder / f"builds-{number}"
        builds.mkdir()
        variables = {"CI_PIPELINE_SOURCE": source, "CI_DEFAULT_BRANCH": "main", "CI_BUILDS_DIR": str(builds), "CI_JOB_ID": str(number),
                     "CI_JOB_NAME": job_name, "CI_JOB_TOKEN": self.TOKEN,
                     **({"CI_COMMIT_BRANCH": branch} if source == "push" else {"CI_MERGE_REQUEST_PROJECT_ID": self.PROJECT}), **job["variables"]}
        for rule in job["rules"]:
            name, value = re.fullmatch(r"\$(\w+) == (.+)", rule["if"]).groups()
            expected = value.strip('"') if value.startswith('"') else variables.get(value[1:])
            if variables.get(name) == expected:
                variables.update(rule.get("variables", {}))
                break
        else:
            return None
        with self.interface() as url:
            done = subprocess.run(["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])], cwd=repository, text=True, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env=environment(repository, self.tools, CI="true", CI_API_V4_URL=url, **variables))
        (artifacts,) = job["artifacts"]["paths"]
        assert pathlib.PurePath(job["artifacts"]["reports"]["junit"]).is_relative_to(artifacts)
        if done.returncode == 0:
            kept = self.folder / f"kept-{number}"
            shutil.copytree(repository / artifacts, kept / artifacts)
            self.passed[variables.get("CI_COMMIT_BRANCH", f"refs/merge-requests/{number}/head"), job_name] = kept
        return done.returncode, done.stdout, repository / artifacts
