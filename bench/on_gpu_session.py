"""Runs the parts of one of the commands of on_gpu.sh, each with a time limit, and writes the results after each part.

The results are RESULTS/on-gpu-COMMAND.md (the output of the parts, and a table of their outcomes), .json (the same as figures)
and .zip (snapshots, and the errors of failed parts). A part that fails or takes too long never stops the others."""

import argparse
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ZIP_BYTES = 15 << 20  # the limit of one archive; other files go into the next
LAST = 25  # seconds of a part, kept for programs that already run
NETS = ["transformer-sdpa", "resnet101-64", "transformer-autocast", "transformer-eager", "resnet101-64-first"]
MARGIN = 10  # seconds of a command, kept for the table and the files


@dataclasses.dataclass
class Part:
    """`limit`: in seconds. `real`: the part needs a real GPU."""
    name: str
    title: str
    limit: int
    real: bool = False
    script: str = "on_gpu.py"
    arguments: tuple = ()
    text: bool = False  # it prints text, not Markdown


COMMANDS = {
    "first": (330, [
        Part("beside", "A simulated GPU on this machine", 75),
        Part("context", "CUDA's context, by NVML", 45, real=True),
        Part("communicator", "A communicator of one rank, by NVML", 40, real=True),
        Part("order", "Order of cached blocks", 45),
        Part("attention", "Saved by fused attention, real and simulated", 60, real=True),
        Part("workspaces", "Workspaces of cuDNN", 75, real=True),
        Part("counts", "Counts of recordings", 200),
    ]),
    "second": (250, [
        Part("snapshots", "Snapshots of PyTorch, replayed", 75),
        Part("peaks", "Peaks, real and simulated", 75, real=True),
        Part("cupti", "Memory outside of PyTorch, beside NVML", 40),
        Part("rewrites", "Rewrites: saved bytes, peak, time of a step, bits under deterministic algorithms", 90, real=True,
             script="rewrites_cuda.py", text=True),
        Part("overhead", "Overhead", 90, real=True, script="overhead_cuda.py", text=True),
    ]),
    "third": (200, [
        Part("fit", "A GPT in less memory", 200),
    ]),
}
PARTS = {part.name: part for _, parts in COMMANDS.values() for part in parts}


def unpacked(wheel, folder):
    """The command of a wheel, with its libraries in their folders: `pip install --target` leaves them out."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            of = re.fullmatch(r"[^/]+\.data/(scripts|data)/(.+)", name)
            if of is None or name.endswith("/"):
                continue
            place = folder / ("bin" if of[1] == "scripts" else ".") / of[2]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(archive.read(name))
            if of[1] == "scripts":
                place.chmod(0o755)
    return folder / "bin/tapelens"


def asked(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def machine(python_torch, binary):
    system = pathlib.Path("/etc/os-release")
    name = re.search(r'^PRETTY_NAME="?([^"\n]*)', system.read_text(encoding="utf-8"), re.M) if system.exists() else None
    return {**python_torch, "python": platform.python_version(), "system": name[1] if name else platform.platform(),
            "processors": os.cpu_count(), "version": asked(binary, "--version").strip()}


def seen_gpu():
    """PyTorch, and the GPU that it sees; None without one."""
    program = ("import json, torch, nvml; assert torch.cuda.is_available(); p = torch.cuda.get_device_properties(0); "
               "print(json.dumps({'gpu': p.name, 'gpu_bytes': p.total_memory, 'torch': torch.__version__, 'driver': nvml.driver_version()}))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=HERE)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def simulated_gpu(gpu):
    torch = asked(sys.executable, "-c", "import torch; print(torch.__version__)").strip()
    return {"gpu": f"a simulated {gpu}", "gpu_bytes": None, "torch": torch, "driver": None}


def kind_of(name, binary):
    """The GPU of `tapelens fit --list-gpus` with the name of this GPU, or a large one."""
    for line in asked(binary, "fit", "--list-gpus").splitlines()[1:]:
        if line.endswith(f" {name}"):
            return line.split()[0]
    return "H200"


class Archive:
    """Result files, in archives of at most ZIP_BYTES each. The archives are complete after each file."""

    def __init__(self, stem):
        self.stem, self.number = stem, 1

    def path(self):
        return self.stem.with_name(f"{self.stem.name}{'' if self.number == 1 else f'-{self.number}'}.zip")

    def add(self, name, content):
        """Whether the file was added."""
        if len(content) > ZIP_BYTES:
            return False
        if self.path().exists() and self.path().stat().st_size + len(content) > ZIP_BYTES:
            self.number += 1
        with zipfile.ZipFile(self.path(), "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
        return True


class Session:
    def __init__(self, args, binary, about):
        self.args, self.binary, self.about = args, binary, about
        results = pathlib.Path(os.environ.get("RESULTS") or HERE / "results").resolve()
        results.mkdir(parents=True, exist_ok=True)
        self.stem = results / f"on-gpu-{args.command}"
        for old in results.glob(f"{self.stem.name}*"):
            if re.fullmatch(r"(-\d+)?\.zip|\.md|\.json", old.name.removeprefix(self.stem.name)):
                old.unlink()
        self.archive = Archive(self.stem)
        self.begin, self.rows = time.monotonic(), []
        self.left_out = 0  # programs of the part that runs
        self.page = self.stem.with_suffix(".md").open("w", encoding="utf-8")

    def say(self, text):
        for out in (self.page, sys.stdout):
            print(text, file=out, flush=True)

    def seconds(self):
        return time.monotonic() - self.begin

    def run(self, part):
        left = COMMANDS[self.args.command][0] * self.args.limits - MARGIN - self.seconds()
        if left < MARGIN:
            self.rows.append({"part": part.name, "outcome": LEFT_OUT, "left_out": 0, "seconds": 0, "figures": None})
            return
        self.say(f"\n## {part.title}\n")
        self.left_out = 0
        with tempfile.TemporaryDirectory(prefix="tapelens-part-") as folder:
            begin = time.monotonic()
            said = "interrupted"
            try:
                said = outcome(part, self.watched(part, min(part.limit * self.args.limits, left), pathlib.Path(folder)), self.args.simulated)
            finally:
                self.keep(part, pathlib.Path(folder), said, time.monotonic() - begin)

    def command(self, part, limit, folder):
        gpu, quick = self.args.simulated, self.args.quick
        real = ["--gpu", gpu] if gpu else ["--real"]
        more = {"on_gpu.py": [part.name, "--gpu", kind_of(self.about["gpu"], self.binary), "--keep", folder / "keep",
                              *(["--simulate-gpu", gpu] if gpu else []), *(["--quick"] if quick else [])],
                "rewrites_cuda.py": ["--no-cpu", *real, *(NETS[:1] if quick else NETS)],
                "overhead_cuda.py": [*real, "--rounds", 1 if quick else 5]}
        return [sys.executable, "-W", "ignore", HERE / part.script, *more[part.script], "--binary", self.binary,
                "--json", folder / "figures.json", "--seconds", max(1, limit - LAST)]

    def watched(self, part, limit, folder):
        """The exit code of a part, or None if it took too long."""
        (folder / "keep").mkdir()
        fence = ["```"] if part.text else []
        with (folder / "errors").open("w") as errors:
            process = subprocess.Popen([str(word) for word in self.command(part, limit, folder)], stdout=subprocess.PIPE, stderr=errors,
                                       text=True, start_new_session=True, env={**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(folder)})
            expired = []
            timer = threading.Timer(limit, lambda: (expired.append(True), ended(process)))
            timer.start()
            try:
                for line in itertools.chain(fence, process.stdout, fence):
                    self.left_out += "left out: " in line
                    self.say(line.rstrip("\n"))
                return process.wait() if not expired else None
            finally:
                timer.cancel()
                ended(process)
                process.wait()

    def keep(self, part, folder, said, seconds):
        errors = (folder / "errors").read_text(errors="replace").strip()
        if said not in PASSED and errors:
            self.say("\n```\n" + "\n".join(errors.splitlines()[-8:]) + "\n```")
            self.archive.add(f"{part.name}.errors", errors)
        for file in sorted((folder / "keep").iterdir()):
            if not self.archive.add(f"{part.name}/{file.name}", file.read_bytes()):
                self.say(f"\n{file.name} is not in the archive: it has {file.stat().st_size} bytes.")
        figures = read_json(folder / "figures.json")
        if said == "passed" and isinstance(figures, list) and all(row.get("left_out") for row in figures):
            said = LEFT_OUT
        self.rows.append({"part": part.name, "outcome": said, "left_out": self.left_out, "seconds": round(seconds, 1), "figures": figures})
        self.write()

    def write(self):
        value = {"command": self.args.command, "simulated": self.args.simulated, "machine": self.about,
                 "seconds": round(self.seconds(), 1), "parts": self.rows}
        self.stem.with_suffix(".json").write_text(json.dumps(value, indent=1, default=str), encoding="utf-8")

    def table(self):
        self.say("\n## Outcomes\n\n| part | outcome | programs left out | seconds |\n| --- | --- | ---: | ---: |")
        for row in self.rows:
            self.say(f"| {row['part']} | {row['outcome']} | {row['left_out'] or ''} | {row['seconds']:.0f} |")
        self.say(f"\nIn {self.seconds():.0f} s.")
        self.write()
        return all(row["outcome"] in PASSED for row in self.rows)


PASSED = ("passed", "needs a GPU")
LEFT_OUT = "left out"


def outcome(part, code, simulated):
    if code is None:
        return "time limit"
    if code != 0:
        return f"failed ({code})" if code != 1 else "failed"
    return "needs a GPU" if simulated and part.real else "passed"


def read_json(file):
    """None if a part has no figures, or was killed while it wrote them."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def ended(process):
    """Kills the part and all processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser(prog="on_gpu.sh", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=list(COMMANDS))
    parser.add_argument("tapelens", nargs="?", type=pathlib.Path, default=HERE.parent / "build/release/bin/tapelens", help="a wheel, or the command")
    parser.add_argument("--parts", type=lambda text: text.split(","), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--limits", type=float, default=1, metavar="FACTOR", help="multiply all time limits")
    parser.add_argument("--quick", action="store_true", help="one small program for each part")
    parser.add_argument("--simulated", metavar="GPU", help="a dry run on a simulated GPU")
    args = parser.parse_args()
    unknown = [name for name in args.parts or [] if name not in PARTS]
    if unknown or not args.tapelens.is_file():
        parser.error(f"no part {', '.join(unknown)}" if unknown else f"no file {args.tapelens}: make a wheel, or build Tapelens")
    seen = simulated_gpu(args.simulated) if args.simulated else seen_gpu()
    if seen is None:
        print(f"on_gpu.sh: {sys.executable} sees no GPU here, so nothing was measured: run it on a machine that has one", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # writes the results so far
    with tempfile.TemporaryDirectory(prefix="tapelens-wheel-") as folder:
        binary = args.tapelens.resolve()
        if binary.suffix == ".whl":
            binary = unpacked(binary, pathlib.Path(folder))
        session = Session(args, binary, machine(seen, binary))
        session.say("# " + "; ".join(f"{name} {value}" for name, value in session.about.items() if value is not None))
        try:
            for part in [PARTS[name] for name in args.parts] if args.parts else COMMANDS[args.command][1]:
                session.run(part)
        finally:
            passed = session.table()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
