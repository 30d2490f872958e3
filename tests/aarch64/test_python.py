"""Uses the wheel for aarch64 as its users do, in a Debian for aarch64 under QEMU (scripts/debian-aarch64), and compares
its recordings of Python programs with those of this machine. scripts/try-aarch64 --python installs it."""

import json
import os
import pathlib
import re
import struct
import subprocess
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(os.environ["TAPELENS_X86_64_BUILD"]) / "bin/tapelens"
THERE = pathlib.Path(os.environ["TAPELENS_AARCH64_PYTHON"])
PROGRAMS = {"custom_function": ("samples/custom_function.py", "--steps", "2"), "verified": ("tests/programs/cases/verified.py",)}
SAME_PEAK = ("custom_function",)  # the backward of a convolution has another algorithm on aarch64, and other temporaries
REWRITTEN = "tests/aarch64/rewritten.py"
EM_AARCH64, PT_LOAD = 183, 1
VERSION = re.search(r"^project\(tapelens VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def run(*command, code=0, **variables):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=3000, check=False, cwd=ROOT,
                          env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"} | variables)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def here(*command, **options):
    return run(HERE, *command, **options)


def there(*command, **options):
    """The command in the other system, with the programs of the environment on its path."""
    return run("scripts/debian-aarch64", "--", *command, TAPELENS_INNER_PATH=str(THERE.parent), **options)


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request):
    return PROGRAMS[request.param]


@pytest.fixture
def same_peak(request):
    if request.node.callspec.params["program"] not in SAME_PEAK:
        pytest.skip("other temporaries on aarch64 move the peak")


@pytest.fixture(scope="module")
def recorded_there(program, tmp_path_factory):
    file = tmp_path_factory.mktemp("aarch64") / "run.tapelens"
    return there("tapelens", "record", "-o", file, "--", "python", *program), file


@pytest.fixture(scope="module")
def recorded_here(program, tmp_path_factory):
    file = tmp_path_factory.mktemp("x86-64") / "run.tapelens"
    return here("record", "-o", file, "--", ROOT / ".venv/bin/python", *program), file


def report(file):
    return json.loads(here("report", "--format", "json", file).stdout)


def numbers(text):
    return [float(number) for number in re.findall(r"loss (\S+)", text)]


def test_the_version():
    assert there("uname", "-m").stdout == "aarch64\n"
    assert there("tapelens", "--version").stdout.split()[:2] == ["tapelens", VERSION]


def test_the_wheel_has_programs_for_aarch64_only():
    """Each can be loaded by kernels with pages of 64 KiB."""
    [wheel] = (ROOT / "dist").glob("tapelens-*-py3-none-manylinux_2_*_aarch64.whl")
    with zipfile.ZipFile(wheel) as archive:
        programs = {name: archive.read(name) for name in archive.namelist() if re.search(r"\.so(\.\d+)*$|scripts/.", name)}
    names = {name.rpartition("/")[2] for name in programs}
    assert names >= {"tapelens", "libtapelens.so", "libtapelens_inject.so", "probe-2.15.so", "libdw.so.1", "libzstd.so.1"}
    assert "libtapelens_gpu.so" not in names
    for name, content in programs.items():
        assert (content[:4], struct.unpack_from("<H", content, 18)[0]) == (b"\x7fELF", EM_AARCH64), name
        segments, size, count = struct.unpack_from("<Q14xHH", content, 32)
        loaded = [struct.unpack_from("<I44xQ", content, segments + size * number) for number in range(count)]
        aligned = [align for kind, align in loaded if kind == PT_LOAD]
        assert aligned and min(aligned) >= 64 * 1024, name


def test_doctor_says_that_recording_will_work():
    told = there("tapelens", "doctor", "--", "python").stdout
    assert "Recording will work" in told
    assert " BAD" not in told


def test_no_gpu_is_simulated_there():
    told = there("tapelens", "run", "--gpu", "H100", "--", "python", "-c", "", code=2)
    assert told.stdout == ""
    assert "GPUs are simulated on x86-64 only" in told.stderr
    assert "simulate on an x86-64 machine" in told.stderr


def test_both_compute_the_same(recorded_there, recorded_here):
    assert len(numbers(recorded_here[0].stdout)) >= 2
    assert numbers(recorded_there[0].stdout) == pytest.approx(numbers(recorded_here[0].stdout), rel=1e-3)


def test_the_recording_is_whole(recorded_there):
    [process] = report(recorded_there[1])["processes"]
    assert (process["finished"], process["exit_code"]) == (True, 0)


def test_same_saves(recorded_there, recorded_here):
    def saves(file):
        told = report(file)["saves"]
        return {field["field"]: (field["count"], field["logical_bytes"]) for field in told["by_field"]}, told["unattributed"]

    assert len(saves(recorded_here[1])[0]) >= 4
    assert saves(recorded_there[1]) == saves(recorded_here[1])


def saves_at_the_peak(file):
    return [one for one in report(file)["peak"]["allocations"] if one["category"] == "saved"]


@pytest.mark.usefixtures("same_peak")
def test_same_peak(recorded_there, recorded_here):
    """Also of saves that are released with a graph, without a backward: checkpointing drops one for each layer."""
    def peak(file):
        told = report(file)["peak"]
        return told["step"], told["op"], {one["name"]: (one["bytes"], one["allocations"]) for one in told["by_category"]}

    assert peak(recorded_there[1]) == peak(recorded_here[1])


@pytest.mark.usefixtures("same_peak")
def test_same_lines_and_modules(recorded_there, recorded_here):
    def places(file):
        return {(one["bytes"], one["holders"][0]["node"], one["holders"][0]["field"], one["module"],
                 tuple((pathlib.Path(frame["file"]).name, frame["line"], frame["function"]) for frame in one["stack"]
                       if "/site-packages/" not in frame["file"]))
                for one in saves_at_the_peak(file)}

    assert any(module and stack for *_, module, stack in places(recorded_here[1]))
    assert places(recorded_there[1]) == places(recorded_here[1])


def test_both_processors_read_the_recording_alike(recorded_there):
    file = recorded_there[1]
    for command in (("report",), ("advise",), ("advise", "--format", "json")):
        assert there("tapelens", *command, file).stdout == here(*command, file).stdout


@pytest.mark.usefixtures("same_peak")
def test_same_advice(recorded_there, recorded_here):
    def advice(file):
        told = json.loads(here("advise", "--format", "json", file).stdout)
        return {(one["check"], one["title"]) for one in told["findings"]}

    assert advice(recorded_there[1]) == advice(recorded_here[1])


def test_rewritten_gradients_have_the_same_bits(program, tmp_path):
    verdict = tmp_path / "verdict.json"
    has_rewrites = program == PROGRAMS["verified"]  # the other has nothing to rewrite: then the exit code is 5
    there("tapelens", "verify", "--apply", "bitwise", "--rewrite-min-bytes", "0", "--format", "json", "-o", verdict, "--",
          "python", *program, code=0 if has_rewrites else 5)
    told = json.loads(verdict.read_text())
    assert told["verdict"] == ("identical" if has_rewrites else "none")
    assert told["deterministic"] and told["first_difference"] is None and told["compared"]["gradients"] > 0
    assert told["bare"]["gradient_checksum"] == told["rewritten"]["gradient_checksum"]


@pytest.mark.parametrize("level", ("bitwise", "recompute"))
def test_rewrites_change_nothing(level, tmp_path):
    """The same output as without, and the same rewrites as on this machine."""
    def options(file):
        return "record", "--apply", level, "--rewrite-min-bytes", "256", "-o", tmp_path / file, "--"

    def rewrites(file):
        return {one["rewrite"] for one in report(tmp_path / file)["rewritten"]["applied"]}

    bare = there("python", REWRITTEN).stdout
    assert len(numbers(bare)) == 3
    assert there("tapelens", *options("there"), "python", REWRITTEN).stdout == bare
    here(*options("here"), ROOT / ".venv/bin/python", REWRITTEN)
    assert rewrites("there") == rewrites("here")
    assert rewrites("there") >= {"unneeded-save", "wide-save", "recomputable-save", "optimizer-temporaries"}


def test_a_run_without_a_recording_is_rewritten_too():
    done = there("tapelens", "run", "--apply", "bitwise", "--rewrite-min-bytes", "256", "--", "python", REWRITTEN)
    assert "tapelens: rewrote " in done.stderr
    assert done.stdout == there("python", REWRITTEN).stdout
