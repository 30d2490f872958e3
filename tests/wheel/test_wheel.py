"""The wheel in a fresh environment without a compiler records, reports and advises. It refuses a PyTorch build that it
has no probe for, and compiles a probe for it on request. TAPELENS_TEST_ALL=1 tests every minor version, and
TAPELENS_WHEEL_RELEASES="2.10.0 2.14.1" those releases."""

import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tarfile
import time
import zipfile

import pytest
from environment import ROOT, SITE_PACKAGES, Environment, torch_of, wheel

TRAIN = pathlib.Path(__file__).with_name("train.py")
VERSIONS = (ROOT / "cmake/TorchVersions.cmake").read_text()
OWN = importlib.metadata.version("torch").partition("+")[0]
OTHERS = [release for release in re.findall(r"^ +(\d+\.\d+\.\d+)(?:/.*)?$", VERSIONS, re.M) if release != OWN]
NAMED = os.environ.get("TAPELENS_WHEEL_RELEASES", " ".join([OWN, *(OTHERS if os.environ.get("TAPELENS_TEST_ALL") else [])]))
RELEASES = ["tests' own" if release == OWN else release for release in NAMED.split()]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("wheel") / "a venv", [SITE_PACKAGES])


def test_what_is_in_it():
    assert re.fullmatch(r"tapelens-[\d.]+-py3-none-manylinux_2_\d\d_x86_64\.whl", wheel().name), wheel().name
    with zipfile.ZipFile(wheel()) as archive:
        names = archive.namelist()
        files = {re.sub(r"^tapelens-[\d.]+\.data/", "", name): name for name in names}
        mode = archive.getinfo(files["scripts/tapelens"]).external_attr >> 16
        programs = {name: archive.read(files[name]) for name in files if re.search(r"\.so(\.\d+)*$|scripts/.", name)}
    assert mode & stat.S_IXUSR
    for name in ("data/lib/tapelens/libtapelens_inject.so", "data/lib/tapelens/libtapelens_gpu.so",
                 "data/lib/tapelens/libdw.so.1", "data/lib/tapelens/libzstd.so.1", "data/lib/tapelens/licenses/libdw1",
                 "data/lib/tapelens/probe-source/id",
                 "data/share/man/man1/tapelens-record.1", "data/share/bash-completion/completions/tapelens",
                 "data/lib/tapelens/libtapelens.so", "tapelens/__main__.py", "tapelens/pytest_plugin.py", "tapelens/py.typed"):
        assert name in files, name
    assert [name for name in files if re.search(r"probe-\d.*\.so$", name)]
    assert not [name for name in names if "torch" in name.lower() and ".so" in name]
    system = tuple(int(number) for number in re.search(r"manylinux_(\d+)_(\d+)", wheel().name).groups())
    for name, content in programs.items():
        assert content.startswith(b"\x7fELF"), name
        glibc = [tuple(int(number) for number in version) for version in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", content)]
        assert max(glibc) <= system, f"{name} needs glibc {max(glibc)}"
        assert b".symtab\0" not in content, f"{name} is not stripped"
        assert str(ROOT).encode() not in content, f"{name} names the folder that it was built in"


def test_its_page_on_pypi_has_absolute_links():
    with zipfile.ZipFile(wheel()) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        pages = {name: archive.read(name).decode()}
    (sources,) = (ROOT / "dist").glob("tapelens-*.tar.gz")
    with tarfile.open(sources) as archive:
        (name,) = (name for name in archive.getnames() if name.count("/") == 1 and name.endswith("/PKG-INFO"))
        pages[name] = archive.extractfile(name).read().decode()
    for name, page in pages.items():
        assert "\nProject-URL: Source, https://" in page, name
        links = re.findall(r"\]\(([^)\s]*)\)", page)
        assert len(links) > 10 and [link for link in links if not link.startswith("https://")] == [], name


@pytest.mark.parametrize("release", RELEASES)
def test_records_as_it_is_installed(release, request, tmp_path):
    if release == "tests' own":
        environment = request.getfixturevalue("here")
    else:
        environment = Environment(tmp_path / "venv", [torch_of(release), SITE_PACKAGES])
    assert shutil.which("g++", path=str(environment.bin)) is None
    bare = environment.run("python", TRAIN)
    assert release == "tests' own" or bare.stdout.startswith(release)
    counted = int(environment.run("python", TRAIN, COUNT="1").stdout.split()[-1])
    recorded = environment.run("tapelens", "record", "-o", "run.tapelens", "--", "python", TRAIN)
    assert recorded.stdout == bare.stdout
    assert "Next: tapelens report run.tapelens" in recorded.stderr, recorded.stderr
    report = json.loads(environment.run("tapelens", "report", "run.tapelens", "--format", "json").stdout)
    assert report["saves"]["count"] == counted
    assert "ConvolutionBackward0.input" in environment.run("tapelens", "report", "run.tapelens").stdout
    assert "Peak" in environment.run("tapelens", "advise", "run.tapelens").stdout
    assert environment.run("tapelens", "doctor", "--", "python").returncode == 0
    rewritten = environment.run("tapelens", "run", "--apply", "bitwise", "--", "python", TRAIN)
    assert rewritten.stdout == bare.stdout


def test_the_script_for_machines_with_a_gpu_runs_from_it(here, tmp_path):
    if here.run("python", "-c", "import torch; print(torch.version.cuda)").stdout.strip() == "None":
        pytest.skip("this PyTorch is built without CUDA")
    done = here.run(ROOT / "bench/on_gpu.sh", "first", wheel(), "--simulated", "H100", "--quick", "--parts", "order", path="/usr/bin:/bin",
                    PYTHON=str(here.python), RESULTS=str(tmp_path))
    assert "| order | passed |" in done.stdout, done.stdout


def test_python_knows_its_command(here):
    version = here.run("tapelens", "--version").stdout
    assert here.run("python", "-m", "tapelens", "--version").stdout == version
    said = here.run("python", "-c", "import tapelens; print(tapelens.__version__)").stdout.strip()
    assert version.startswith(f"tapelens {said} ")


def test_python_reads_recordings(here):
    here.run("tapelens", "record", "-o", "read.tapelens", "--", "python", TRAIN)
    report = json.loads(here.run("tapelens", "report", "read.tapelens", "--format", "json").stdout)
    program = "import tapelens; print(sum(row['bytes'] for row in tapelens.open('read.tapelens').peak.rows()))"
    assert int(here.run("python", "-c", program).stdout) == report["peak"]["bytes"]
    needed = subprocess.run(["ldd", here.folder / "lib/tapelens/libtapelens.so"], capture_output=True, text=True, check=True).stdout
    bundled = [line for line in needed.splitlines() if re.search(r"lib(dw|elf|zstd)\.", line)]
    assert bundled and all(str(here.folder) in line for line in bundled), needed


def test_pytest_has_the_plugin(here):
    (here.folder / "test_it.py").write_text("""
import pytest, torch

@pytest.mark.peak_memory("3 MiB")
def test_takes_four():
    torch.zeros(1 << 20)
""")
    quiet = here.run("python", "-m", "pytest", "-q", "-p", "tapelens.pytest_plugin", "test_it.py")
    assert "1 passed" in quiet.stdout
    said = here.run("python", "-m", "pytest", "-q", "--tapelens", "test_it.py", check=False).stdout
    assert "1 failed" in said and "the test took 4.0 MiB on cpu, above its limit, 3 MiB" in said, said


def test_window_opens_or_says_how_to_get_it(here):
    here.run("tapelens", "record", "-o", "window.tapelens", "--", "python", TRAIN)
    done = here.run("tapelens", "view", "window.tapelens", "--screenshot", "window.png", check=False, LANG="C.UTF-8")
    if done.returncode == 0:  # Qt is installed
        assert (here.folder / "window.png").read_bytes().startswith(b"\x89PNG")
    else:
        [line] = done.stderr.strip().splitlines()
        assert "pip install 'tapelens[gui]'" in line


@pytest.fixture(scope="module")
def other_build(tmp_path_factory):
    """The tests' own PyTorch with one changed header, like a nightly build of the same minor version. Most files are
    symbolic links. The header is a copy. The libraries are hard links or copies, because the headers are found relative
    to them."""
    folder = tmp_path_factory.mktemp("other") / "site-packages"
    real = SITE_PACKAGES / "torch"
    changed = pathlib.Path("torch/include/c10/core/Allocator.h")
    for part in ("torch", "torch/lib", "torch/include", "torch/include/c10", "torch/include/c10/core"):
        (folder / part).mkdir(parents=True)
        for entry in (SITE_PACKAGES / part).iterdir():
            name = pathlib.Path(part) / entry.name
            if str(name) in ("torch/lib", "torch/include", "torch/include/c10", "torch/include/c10/core"):
                continue
            if name == changed:
                (folder / name).write_text(entry.read_text() + "\n// changed\n")
            elif part == "torch/lib" and entry.is_file():
                try:
                    os.link(entry.resolve(), folder / name)
                except OSError:
                    shutil.copy(entry, folder / name)
            else:
                (folder / name).symlink_to(entry)
    for entry in SITE_PACKAGES.iterdir():
        if entry.name.startswith(("nvidia", "torch-")):
            (folder / entry.name).symlink_to(entry)
    assert real.exists()
    return Environment(folder.parent / "venv", [folder, SITE_PACKAGES])


def test_says_once_that_another_build_is_not_recorded(other_build):
    bare = other_build.run("python", TRAIN)
    done = other_build.run("tapelens", "record", "-o", "other.tapelens", "--", "python", TRAIN)
    assert done.stdout == bare.stdout
    [said] = done.stderr.strip().splitlines()
    assert "is another build than the probe" in said and "nothing will be recorded" in said, said
    assert "tapelens build-probe --python python" in said, said
    assert not (other_build.folder / "other.tapelens").exists()
    assert "another build" in other_build.run("tapelens", "doctor", "--", "python", check=False).stdout


def test_compiles_a_probe_for_another_build(other_build):
    done = other_build.run("tapelens", "build-probe", check=False)
    assert done.returncode == 3 and "g++ is not installed" in done.stderr, done.stderr
    compilers = ":".join(os.environ["PATH"].split(":"))
    begin = time.monotonic()
    done = other_build.run("tapelens", "build-probe", "--python", other_build.python, path=compilers)
    print(f"build-probe: {time.monotonic() - begin:.0f} s")
    assert re.search(r"made \S+ in \d+ s", done.stderr), done.stderr
    assert "there is a probe" in other_build.run("tapelens", "build-probe", path=compilers).stderr
    counted = int(other_build.run("python", TRAIN, COUNT="1").stdout.split()[-1])
    bare = other_build.run("python", TRAIN)
    recorded = other_build.run("tapelens", "record", "-o", "built.tapelens", "--", "python", TRAIN)
    assert recorded.stdout == bare.stdout
    assert "another build" not in recorded.stderr
    report = json.loads(other_build.run("tapelens", "report", "built.tapelens", "--format", "json").stdout)
    assert report["saves"]["count"] == counted
    assert "only records" in other_build.run("tapelens", "run", "--apply", "bitwise", "--", "python", TRAIN).stderr


def test_needs_no_library_that_a_bare_system_lacks(here):
    needed = subprocess.run(["ldd", here.bin / "tapelens"], capture_output=True, text=True, check=True).stdout
    bundled = [line for line in needed.splitlines() if re.search(r"lib(dw|elf|zstd|lzma|bz2)\.", line)]
    assert len(bundled) == 5 and all(str(here.folder) in line for line in bundled), needed
