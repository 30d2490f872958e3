"""The files of the repository itself: one version in all of them, jobs and hooks that run its
scripts, a page for PyPI and the files of a release, the numbers of the stable interfaces."""

import io
import os
import re
import shutil
import subprocess
import tarfile
import zipfile

import pytest
import yaml

import harness
import schemas


def run(root, *words):
    return subprocess.run([root / "scripts/version", *words], capture_output=True, text=True, check=False)


VERSIONED = ["CMakeLists.txt", "python/tapelens/__init__.py", "conda/recipe/recipe.yaml", "capi/tapelens.h", "action.yml", "docs/ci.md",
             "debian/changelog", "CHANGELOG.md"]
PAGES = ["README.md", "docs/install.md"]


def test_the_probe_needs_no_header_of_this_machine_alone():
    """The headers of Debian's packages and of PyTorch's environment are on any machine; a CUDA toolkit in /usr/local is not."""
    build = harness.BINARY.parents[1]
    if not (build / "build.ninja").exists() or not shutil.which("ninja"):
        pytest.skip("no build of this machine")
    log = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"^profiler/\S+\.o: .*\n((?:    .*\n)+)", log, re.M)
    headers = {line.strip() for one in needed for line in one.splitlines()}
    assert any(name.endswith("/cuda_runtime_api.h") for name in headers)
    assert not [name for name in headers if name.startswith(("/usr/local/", "/opt/"))]


@pytest.fixture(name="tree")
def copied_tree(tmp_path):
    for name in ("scripts/version", *VERSIONED, *PAGES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(harness.ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    return tmp_path


def test_all_files_have_the_version_of_the_project():
    assert (done := run(harness.ROOT, "--check")).returncode == 0, done.stdout


@pytest.mark.parametrize("name", VERSIONED)
def test_a_copy_with_another_version_is_found(tree, name):
    version = run(tree).stdout.strip()
    text = (tree / name).read_text(encoding="utf-8")
    (tree / name).write_text(text.replace(version, "9.8.7", 1), encoding="utf-8")
    done = run(tree, "--check")
    assert done.returncode == 1 and "9.8.7" in done.stdout, done.stdout


def test_a_new_version_is_written_into_all_files(tree):
    before = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    assert run(tree, "9.8.7").returncode == 0
    assert run(tree).stdout == "9.8.7\n"
    assert run(tree, "--check").returncode == 0
    after = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    assert after.startswith("# Changelog\n\n## 9.8.7, unreleased\n\n") and after.endswith(before.removeprefix("# Changelog\n\n"))
    assert run(tree, "9.8").returncode == 2


def test_a_release_needs_a_date_and_an_address(tree):
    done = run(tree, "--release")
    assert done.returncode == 1 and "no date" in done.stdout and "docs/ci.md" in done.stdout and "README.md" in done.stdout
    for name in VERSIONED + PAGES:
        text = (tree / name).read_text(encoding="utf-8")
        (tree / name).write_text(text.replace(", unreleased", ", 2026-12-01").replace("OWNER/tapelens", "acme/tapelens")
                                 .replace("not on PyPI yet", "on PyPI"), encoding="utf-8")
    assert run(tree, "--release").returncode == 0


def loaded(path):
    return yaml.safe_load((harness.ROOT / path).read_text(encoding="utf-8"))


def names_in(script, variable):
    """The names of a list in a script: GATES=(format shell)."""
    return re.search(rf"^{variable}=\((.+)\)$", (harness.ROOT / script).read_text(encoding="utf-8"), re.M)[1].split()


def test_jobs_run_every_part_of_the_tests_and_nothing_else():
    workflow = loaded(".github/workflows/test.yml")
    schemas.validate({"on" if key is True else key: value for key, value in workflow.items()}, schemas.GITHUB_WORKFLOW)
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert "permissions" not in job
    for step in job["steps"]:
        assert "uses" not in step or re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])
    first, *commands = [step["run"] for step in job["steps"] if "run" in step]
    assert first.startswith("apt-get update") and commands == ["${{ matrix.run }}"]
    jobs = job["strategy"]["matrix"]["include"]
    assert {entry["run"] for entry in jobs if "torch" not in entry} == {f"scripts/test --only {part}" for part in names_in("scripts/test", "PARTS")}
    *others, _ = re.findall(r"^ +(\d+\.\d+\.\d+)/", (harness.ROOT / "cmake/TorchVersions.cmake").read_text(encoding="utf-8"), re.M)
    assert [(entry["run"], entry["torch"]) for entry in jobs if "torch" in entry] == [("scripts/test --programs", torch) for torch in others]


def test_the_parts_of_the_tests_have_names():
    done = subprocess.run([harness.ROOT / "scripts/test", "--only", "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    for part in names_in("scripts/test", "PARTS"):
        assert part in done.stderr


def test_hooks_run_the_gates_of_changed_files():
    config = loaded(".pre-commit-config.yaml")
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    # The schema that we have is older than these names of stages.
    assert config.pop("default_stages") == ["pre-commit"] and config.pop("default_install_hook_types") == ["pre-commit", "pre-push"]
    assert {stage for hook in hooks for stage in hook.pop("stages", [])} == {"pre-push"}
    schemas.validate(config, schemas.PRE_COMMIT)
    gates = names_in("scripts/check", "GATES")
    for hook in hooks:
        assert hook["entry"] == f"scripts/check --gate {hook['id']}" and hook["id"] in gates
    assert set(gates) - {hook["id"] for hook in hooks} == {"commits", "locks", "tidy"}  # these check a branch, or whole folders
    with_files = {hook["id"] for hook in hooks if hook.get("pass_filenames", True)}
    for gate in gates:
        done = subprocess.run([harness.ROOT / "scripts/check", "--gate", gate, "no-such-file"], capture_output=True, text=True, check=False)
        assert done.returncode == (1 if gate in with_files | {"tidy"} else 2), gate


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_issue_forms_are_complete(name):
    form = loaded(f".github/ISSUE_TEMPLATE/{name}.yml")
    schemas.validate(form, schemas.ISSUE_FORM)
    if name == "bug":
        required = {part["id"] for part in form["body"] if part.get("validations", {}).get("required")}
        assert {"command", "doctor", "versions"} <= required


REPOSITORY = "https://github.com/acme/tapelens"


@pytest.fixture(name="description")
def module_of_the_build(monkeypatch):
    monkeypatch.syspath_prepend(harness.ROOT / "tools/site")
    import description
    return description


def test_the_page_on_pypi_has_links_to_files_of_the_version(description):
    text = description.dynamic_metadata({}, {"version": "9.8.7", "urls": {"Source": REPOSITORY}})["readme"]["text"]
    found = re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", text)
    assert len(found) > 10 and any(mark for mark, _ in found)
    for mark, link in found:
        place = "https://raw.githubusercontent.com/acme/tapelens/v9.8.7/" if mark else f"{REPOSITORY}/blob/v9.8.7/"
        assert link.startswith(place), link
        assert (harness.ROOT / link.removeprefix(place).partition("#")[0]).is_file(), link
    assert not re.findall(r"(?:src|href)=\"(?!https://)", text)


def test_only_relative_links_become_absolute(description):
    markdown = "[a](x.md#b) ![p](p.png) [c](https://e.org/y) [here](#d)\n```\n[e](z.md)\n```\n"
    assert description.absolute(markdown, REPOSITORY, "1.0.0") == (
        f"[a]({REPOSITORY}/blob/v1.0.0/x.md#b) ![p](https://raw.githubusercontent.com/acme/tapelens/v1.0.0/p.png) "
        "[c](https://e.org/y) [here](#d)\n```\n[e](z.md)\n```\n")


@pytest.fixture(name="release")
def module_of_the_release(monkeypatch):
    monkeypatch.syspath_prepend(harness.ROOT / "tools/site")
    import release
    return release


def test_the_notes_of_a_release_are_its_section_with_absolute_links(release):
    changelog = "# Changelog\n\n## 1.1.0, 2026-12-01\n\n### Added\n\n- [top](docs/top.md)\n\n## 1.0.0, 2026-11-01\n\n- old\n"
    assert release.notes(changelog, REPOSITORY, "1.1.0") == (
        f"    pip install tapelens==1.1.0\n\n### Added\n\n- [top]({REPOSITORY}/blob/v1.1.0/docs/top.md)\n")
    for wrong in ("1.0.0", "1.1"):
        with pytest.raises(SystemExit):
            release.notes(changelog, REPOSITORY, wrong)
    with pytest.raises(SystemExit):
        release.notes("# Changelog\n\n## 1.1.0, unreleased\n\n## 1.0.0, 2026-11-01\n\n- old\n", REPOSITORY, "1.1.0")


def test_the_notes_of_this_tree_have_no_relative_link(release):
    changelog = (harness.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    text = release.notes(changelog, release.repository(), release.version())
    assert "docs/top.md" in text and not release.relative_links(text)


def packed(path, headers, text):
    """A wheel or an sdist with only its metadata."""
    body = "".join(f"{key}: {value}\n" for key, value in headers.items()) + f"\n{text}\n"
    if path.suffix == ".whl":
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("tapelens-1.1.0.dist-info/METADATA", body)
    else:
        with tarfile.open(path, "w:gz") as sdist:
            entry = tarfile.TarInfo("tapelens-1.1.0/PKG-INFO")
            entry.size = len(body.encode())
            sdist.addfile(entry, io.BytesIO(body.encode()))
    return path


@pytest.mark.parametrize("name", ["tapelens-1.1.0-py3-none-manylinux_2_34_x86_64.whl", "tapelens-1.1.0.tar.gz"])
def test_a_package_that_must_not_be_published_is_found(release, tmp_path, name):
    headers = {"Metadata-Version": "2.4", "Version": "1.1.0", "Project-URL": f"Source, {REPOSITORY}"}
    package = tmp_path / name
    assert list(release.faults(packed(package, headers, "[a](https://e.org) \u00e9"), "1.1.0")) == []
    assert "is not of version 1.2.0" in next(release.faults(package, "1.2.0"))
    for wrong, text, fault in [({"Version": "1.0.0"}, "a", "has version 1.0.0"), ({}, "[a](docs/a.md)", "docs/a.md"),
                               ({}, '<img src="docs/a.png">', "docs/a.png"), ({}, "", "no long description")]:
        (found,) = release.faults(packed(package, {**headers, **wrong}, text), "1.1.0")
        assert fault in found
    del headers["Project-URL"]
    (found,) = release.faults(packed(package, headers, "a"), "1.1.0")
    assert "[project.urls]" in found


def test_a_tree_with_changes_is_not_released(tree):
    for name in ("scripts/release", "scripts/common.sh", "cmake/TorchVersions.cmake"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(harness.ROOT / name, tree / name)
    done = subprocess.run([tree / "scripts/release"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "changes that no commit has" in done.stdout and not (tree / "dist").exists()
    done = subprocess.run([tree / "scripts/release", "--draft", "--no-build"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "dist/ must have wheels and one sdist" in done.stderr


@pytest.mark.parametrize(("said", "path", "pattern"), [
    (r"sealed file (\d+)", "trace/sealed_format.h", r"kSealedVersion = (\d+);"),
    (r"spool (\d+\.\d+)", "trace/record.h", r"kSpoolMajor = (\d+), kSpoolMinor = (\d+)"),
    (r"from (0\.\d+) on", "trace/record.h", r"kSpoolMajor = (\d+),.* kOldestSpoolMinor = (\d+);"),
    (r"`schema_version` (\d+)", "analyzer/text/json.h", r"kSchemaVersion = (\d+);"),
    (r"`check --write-baseline` \| 0\.1 \| `version` (\d+)", "analyzer/compare/baseline.cpp", r"kVersion = (\d+);"),
    (r"`tapelens_plan` (\d+)", "policy/plan.h", r"kPlanVersion = (\d+);"),
    (r"`ranks` \| 0\.1 \| `version` (\d+)", "analyzer/ranks/summary_json.cpp", r"kVersion = (\d+);"),
    (r"`TAPELENS_ABI_VERSION` (\d+)", "capi/tapelens.h", r"TAPELENS_ABI_VERSION (\d+)"),
    (r"check interface (\d+)", "analyzer/check/check.h", r"kVersion = (\d+);"),
    (r"rewrite interface (\d+)", "profiler/rewrite/rewrite.h", r"kVersion = (\d+);")])
def test_the_page_of_stable_interfaces_has_their_numbers(said, path, pattern):
    page = (harness.ROOT / "docs/stability.md").read_text(encoding="utf-8")
    in_code = re.search(pattern, (harness.ROOT / path).read_text(encoding="utf-8"))
    assert re.search(said, page)[1] == ".".join(in_code.groups())


@pytest.mark.skipif(shutil.which("ccache") is None, reason="needs ccache")
def test_ccache_takes_no_precompiled_header_of_other_comments(tmp_path):
    """GCC includes a header under `#pragma once` again if its comments are not those of the precompiled one."""
    for name in ("first", "second"):
        tree = tmp_path / name
        tree.mkdir()
        (tree / "shape.h").write_text(f"#pragma once\nstruct Shape {{ int rank; }};  // of the {name} tree\n", encoding="utf-8")
        (tree / "rank.cpp").write_text('#include "shape.h"\nint rank(Shape shape) { return shape.rank; }\n', encoding="utf-8")
        (tree / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(shapes LANGUAGES C CXX)\n"
            f'include("{harness.ROOT}/cmake/TapelensCcache.cmake")\n'
            "add_library(shapes STATIC rank.cpp)\ntarget_precompile_headers(shapes PRIVATE shape.h)\n", encoding="utf-8")
    environment = {**os.environ, "CCACHE_DIR": str(tmp_path / "cache")}

    def built(name, *targets):
        for command in (["cmake", "-G", "Ninja", "-B", "build"], ["cmake", "--build", "build", *targets]):
            done = subprocess.run(command, cwd=tmp_path / name, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    built("first", "--target", "CMakeFiles/shapes.dir/cmake_pch.hxx.gch")
    built("second")
