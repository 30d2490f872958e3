"""Compares the C++ sample on an aarch64 processor that QEMU emulates with the same sample on this machine.
scripts/try-aarch64 builds both and passes their paths. The aarch64 recording is sealed and read on this machine."""

import json
import os
import pathlib
import re
import struct
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["TAPELENS_AARCH64_BUILD"])
RELEASE = pathlib.Path(os.environ["TAPELENS_X86_64_BUILD"])
TAPELENS = RELEASE / "bin/tapelens"
PRELOAD = BUILD / "lib/tapelens/libtapelens_inject.so"
TRAINER = ("--size", "small", "--steps", "3")


# A program in QEMU sees the files of this machine, unless SYSTEM has a file with the same path. LibTorch reads this
# file.
PROCESSOR = """processor\t: {number}
BogoMIPS\t: 100.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1

"""
SYSTEM = BUILD / "system"


@pytest.fixture(scope="module", autouse=True)
def system():
    (SYSTEM / "proc").mkdir(parents=True, exist_ok=True)
    (SYSTEM / "lib").unlink(missing_ok=True)
    (SYSTEM / "lib").symlink_to("/usr/aarch64-linux-gnu/lib")
    (SYSTEM / "proc/cpuinfo").write_text("".join(PROCESSOR.format(number=number) for number in range(os.cpu_count())))
    for number in range(os.cpu_count()):
        identification = SYSTEM / f"sys/devices/system/cpu/cpu{number}/regs/identification"
        identification.mkdir(parents=True, exist_ok=True)
        (identification / "midr_el1").write_text("0x00000000413fd0c1\n")


def run(*command, **variables):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, check=False,
                          env=os.environ | {"OMP_NUM_THREADS": "1"} | variables)


def emulated(program, *arguments, preload=True, page_bytes=None, **variables):
    """QEMU itself runs on this machine without the preload library, which only the emulated program loads."""
    pages = ("-p", page_bytes) if page_bytes else ()
    preloaded = ("-E", f"LD_PRELOAD={PRELOAD}") if preload else ()
    return run("qemu-aarch64-static", "-cpu", "neoverse-n1", "-L", SYSTEM, *pages, *preloaded, BUILD / "bin" / program,
               *arguments, **variables)


def record(folder, **emulation):
    """Records with the same environment as `tapelens record`. Returns the process, and the sealed file."""
    spool = folder / "run.spool"
    spool.mkdir()
    done = emulated("trainer", *TRAINER, TAPELENS_SPOOL=str(spool), TAPELENS_MAX_BYTES=str(8 << 30),
                    TAPELENS_STACKS="python,cpp", **emulation)
    assert done.returncode == 0, done.stderr
    sealed = run(TAPELENS, "seal", spool, "-o", folder / "run.tapelens", "--remove")
    assert sealed.returncode == 0, sealed.stderr + done.stderr
    return done, folder / "run.tapelens"


def report(file):
    done = run(TAPELENS, "report", "--format", "json", file)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def losses(text):
    return [float(loss) for loss in re.findall(r"loss (\S+)", text)]


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    return record(tmp_path_factory.mktemp("aarch64"))


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    file = tmp_path_factory.mktemp("x86-64") / "run.tapelens"
    done = run(TAPELENS, "record", "-o", file, "--", RELEASE / "bin/trainer", *TRAINER)
    assert done.returncode == 0, done.stderr
    return done, file


def test_all_arguments_come_through_the_stand_ins():
    done = emulated("inject_test", TAPELENS_SPOOL="/nowhere", TAPELENS_QUIET="1")
    assert (done.returncode, done.stdout) == (0, "every stand-in leads where it should, with all arguments\n"), done.stderr


def test_the_program_is_undisturbed(there):
    bare = emulated("trainer", *TRAINER, preload=False)
    assert len(losses(bare.stdout)) == 3
    assert (there[0].stdout, there[0].stderr) == (bare.stdout, bare.stderr)


def test_both_compute_the_same(there, here):
    assert losses(there[0].stdout) == pytest.approx(losses(here[0].stdout), rel=1e-4)


def test_same_saves(there, here):
    def saves(file):
        return {field["field"]: (field["count"], field["logical_bytes"]) for field in report(file)["saves"]["by_field"]}

    assert len(saves(here[1])) > 5
    assert saves(there[1]) == saves(here[1])
    assert report(there[1])["saves"]["unattributed"] == 0


def test_same_memory(there, here):
    """Except for temporaries of operators: the backward of a convolution uses another algorithm on aarch64."""
    def memory(file):
        told = report(file)
        categories = {one["name"]: (one["bytes"], one["allocations"]) for one in told["peak"]["by_category"]}
        temporaries = categories.pop("operator")[0]
        return (categories, told["peak"]["bytes"] - temporaries, told["peak"]["step"], told["peak"]["phase"], told["peak"]["op"],
                [(step["begin_live_bytes"], step["allocations"], step["complete"]) for step in told["steps"]])

    assert memory(here[1])[0].keys() >= {"saved", "parameter", "gradient", "optimizer_state"}
    assert memory(there[1]) == memory(here[1])


def test_same_lines(there, here):
    """Compares lines of the net. The compiler decides to which line of the trainer's loop a call returns."""
    def lines(file):
        return {(one["bytes"], one["holders"][0]["node"], one["holders"][0]["field"], frame["line"], frame["function"])
                for one in report(file)["peak"]["allocations"] for frame in one["stack"]
                if one["category"] == "saved" and frame["file"].endswith("/net.h")}

    assert {line for *_, line, _ in lines(here[1])} == {48, 50, 51}
    assert lines(there[1]) == lines(here[1])


def test_the_process_ended_well(there):
    [process] = report(there[1])["processes"]
    assert (process["finished"], process["exit_code"]) == (True, 0)


def test_pages_of_64_kib(there, tmp_path):
    """Kernels for aarch64 may use such pages. QEMU maps addresses that these kernels refuse (the unit test
    trace.large_pages refuses them): here the program only sees the page size, and its recording must be the same."""
    large, file = record(tmp_path, page_bytes=65536)
    assert large.stderr == ""
    assert report(file)["saves"] == report(there[1])["saves"]


def test_lossless_rewrites_change_nothing(there, tmp_path):
    done = emulated("trainer", *TRAINER, TAPELENS_REWRITE="1", TAPELENS_APPLY="lossless", TAPELENS_REWRITE_MIN_BYTES="0",
                    TAPELENS_TALLY=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, there[0].stdout, "")
    [tally] = tmp_path.iterdir()
    count, = struct.unpack_from("<8xI", data := tally.read_bytes())
    rows = [struct.unpack_from("<48s160sII4Q", data, 32 + row * 248) for row in range(count)]  # policy/tally_file.h
    applied = {name.rstrip(b"\0"): sites for name, reason, _, _, sites, *_ in rows if not reason.rstrip(b"\0")}
    assert applied.get(b"unneeded-save", 0) > 0, rows
