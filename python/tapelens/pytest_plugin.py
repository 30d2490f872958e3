"""pytest --tapelens: the peak of each test, limits, and comparison with a baseline. docs/pytest.md explains it.

The session runs under `tapelens record`: it is started once more, as the command of it. Each process that runs tests
(pytest itself, or the workers of pytest-xdist) notes begin and end in the reports of its tests. When the session is over
the process that has the reports reads the recording, and a test that is above its limit fails. So does a test whose limit
was not measured.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pytest

from tapelens import _files, _installed, _sizes, _spools, is_recorded
from tapelens._errors import Error
from tapelens._recording import Peak, Recording

MARK = "peak_memory"
#: Set for the recorded session, so that it does not start another one.
STARTED = "TAPELENS_PYTEST"
#: Losses after which allocations may be missing.
LOST = {"disk_full", "disk_reserve", "file_size_limit", "no_descriptor", "no_memory", "size_limit", "steps_left_out",
        "table_left_out", "torn_block", "unknown_record", "unreachable", "unwritable"}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tapelens", "memory, by Tapelens")
    group.addoption("--tapelens", action="store_true", help="measure the peak of each test's memory, and hold it "
                    f"against @pytest.mark.{MARK}, the limit of all tests, and the baseline")
    group.addoption("--tapelens-output", metavar="FILE", help="keep the session's recording")
    group.addoption("--tapelens-limit", metavar="SIZE", help="limit of the peak of each test, like 2GiB")
    group.addoption("--tapelens-baseline", metavar="FILE", help="fail tests whose peak is above this baseline")
    group.addoption("--tapelens-write-baseline", metavar="FILE", help="write this session's peaks as a baseline")
    group.addoption("--tapelens-tolerance", metavar="PERCENT", help="tolerance above the baseline: 5 %%")
    group.addoption("--tapelens-top", metavar="N", type=int, default=10, help="how many tests to list: 10")
    parser.addini("tapelens_limit", "as --tapelens-limit")
    parser.addini("tapelens_baseline", "as --tapelens-baseline")
    parser.addini("tapelens_tolerance", "as --tapelens-tolerance", default="5%")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(size, device=None): with --tapelens, the most memory that the test may "
                            "take beside what was alive when it began, on each device or on this one")
    if not config.getoption("tapelens"):
        for option in ("limit", "baseline", "write_baseline", "output", "tolerance"):
            if config.getoption(f"tapelens_{option}"):
                raise pytest.UsageError(f"--tapelens-{option.replace('_', '-')} measures nothing without --tapelens")
        return
    if not is_recorded():  # this session only starts the recorded one, and a worker on another machine cannot be recorded
        return
    is_worker = hasattr(config, "workerinput")
    plugins: dict[str, object] = {"tapelens-noting": Noting(is_worker)}
    if not is_worker:
        plugins["tapelens-measuring"] = Measuring(config)
    for name, plugin in plugins.items():
        if config.pluginmanager.register(plugin, name) is None:
            raise pytest.UsageError(f"--tapelens cannot measure with -p no:{name}")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Starts the session again, recorded."""
    options = config.option
    was_started = os.environ.pop(STARTED, None) is not None
    if not options.tapelens or options.collectonly or options.help or options.version:
        return None
    if is_recorded() or hasattr(config, "workerinput"):
        return None
    if was_started:
        raise pytest.UsageError("--tapelens: `tapelens record` could not record this session, and says why above")
    started = pathlib.Path(sys.argv[0])
    command = [sys.executable, "-m", "pytest"] if started.name == "__main__.py" else [sys.executable, str(started)]
    with tempfile.TemporaryDirectory(prefix="tapelens-") as folder:
        output = options.tapelens_output or f"{folder}/session.tapelens"
        quiet = [] if options.tapelens_output else ["--quiet"]
        try:
            program = _installed.program()
        except Error as wrong:
            raise pytest.UsageError(f"--tapelens: {wrong}") from None
        record = [program, "record", *quiet, "-o", output, "--", *command, *without_output(config.invocation_params.args)]
        return subprocess.run(record, cwd=config.invocation_params.dir, env={**os.environ, STARTED: "1"},
                              check=False).returncode


def without_output(arguments: Sequence[str]) -> list[str]:
    """The recorded session has no use for --tapelens-output, and a file that the command names is an input of it, which
    `tapelens record` does not replace."""
    kept, is_value = [], False
    for argument in arguments:
        if not is_value and not argument.startswith("--tapelens-output="):
            kept.append(argument)
        if is_value:
            is_value = False
        elif argument == "--tapelens-output":
            kept.pop()
            is_value = True
    return kept


@dataclasses.dataclass(frozen=True)
class Limit:
    bytes: int
    words: str  # "the limit of 2 GiB"
    device: str | None = None


def _size(value: object, where: str) -> int:
    try:
        return _sizes.parsed(value)
    except ValueError as wrong:
        raise pytest.UsageError(f"{where}: {wrong}") from None


@dataclasses.dataclass
class Settings:
    limit: Limit | None
    baseline: dict[str, dict[str, int]]
    tolerance: float
    baseline_name: str

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        def chosen(name: str) -> Any:
            return config.getoption(f"tapelens_{name}") or config.getini(f"tapelens_{name}")

        words = chosen("limit")
        limit = Limit(_size(words, "tapelens_limit"), f"the limit of all tests, {words}") if words else None
        percent = str(chosen("tolerance"))
        try:
            tolerance = float(percent.rstrip("% ")) / 100
        except ValueError:
            raise pytest.UsageError(f"tapelens_tolerance: '{percent}' is not a percentage, like 5%") from None
        name = chosen("baseline")
        if not name:
            return cls(limit, {}, tolerance, "")
        file = pathlib.Path(name) if config.getoption("tapelens_baseline") else config.rootpath / name
        return cls(limit, read_baseline(file), tolerance, str(name))


def limits_of(item: pytest.Item) -> list[Limit]:
    """The marks of the test."""
    marked = []
    for mark in item.iter_markers(MARK):
        if len(mark.args) != 1 or set(mark.kwargs) - {"device"}:
            raise pytest.UsageError(f"{item.nodeid}: {MARK} takes a size, like '2 GiB', and perhaps device=")
        size = _size(mark.args[0], f"{item.nodeid}: {MARK}")
        device = mark.kwargs.get("device")
        if device is not None and not re.fullmatch(r"cpu|[a-z]+:[0-9]+", str(device)):
            raise pytest.UsageError(f"{item.nodeid}: {MARK}: {device!r} is not a device, like 'cpu' or 'cuda:0'")
        marked.append(Limit(size, f"its limit, {mark.args[0]}", device))
    return marked


def read_baseline(file: pathlib.Path) -> dict[str, dict[str, int]]:
    if file.exists() and not file.is_file():
        raise pytest.UsageError(f"the baseline {file} is not a regular file")
    try:
        if not file.is_file():  # a FIFO would wait for its writer
            raise FileNotFoundError(errno.ENOENT, "no such file")
        held = json.loads(file.read_text(encoding="utf-8"))
        return {str(test): {str(device): int(size) for device, size in peaks.items()}
                for test, peaks in held["tests"].items()}
    except OSError as wrong:
        raise pytest.UsageError(f"the baseline {file} cannot be read: {wrong.strerror}") from None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise pytest.UsageError(f"{file} is not a baseline that --tapelens-write-baseline wrote") from None


def write_baseline(file: pathlib.Path, peaks: dict[str, dict[str, int]]) -> None:
    """Keeps the entries of the file for tests that did not run."""
    tests = {**baseline_to_write(file), **peaks}
    with _files.whole(file, "baseline", lambda _: True, 0o600) as part:  # the mode of the session's recording
        part.write_text(json.dumps({"tests": tests}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def baseline_to_write(file: pathlib.Path) -> dict[str, dict[str, int]]:
    """The content of the file. Raises an error if the file may not be replaced."""
    try:
        _files.check(file, "baseline", lambda _: True)
    except Error as wrong:
        raise pytest.UsageError(f"--tapelens-write-baseline: {wrong}") from None
    return read_baseline(file) if file.exists() and file.stat().st_size > 0 else {}


@dataclasses.dataclass
class Run:
    """A test that ran in a process: once, or again on another worker."""

    pid: int
    begin_ns: int
    end_ns: int
    unmeasured: str  # reason why its memory is not known, or empty
    peaks: list[Peak] = dataclasses.field(default_factory=list)

    def taken(self) -> dict[str, int]:
        """By used device: the peak minus the bytes that were alive when the test began."""
        taken: dict[str, int] = {}
        for peak in self.peaks:
            if peak.peak_bytes > peak.begin_live_bytes:
                taken[peak.device] = max(taken.get(peak.device, 0), peak.peak_bytes - peak.begin_live_bytes)
        return taken


@dataclasses.dataclass
class Test:
    nodeid: str
    location: Any
    is_marked: bool
    limits: list[Limit] = dataclasses.field(default_factory=list)  # its marks
    runs: list[Run] = dataclasses.field(default_factory=list)
    has_run: bool = False  # not skipped
    has_failed: bool = False  # independently of limits

    def taken(self) -> dict[str, int]:
        taken: dict[str, int] = {}
        for run in self.runs:
            for device, size in run.taken().items():
                taken[device] = max(taken.get(device, 0), size)
        return taken

    def most(self) -> int:
        return max(self.taken().values(), default=0)

    def unmeasured(self) -> str:
        if not self.runs:
            return "the process that ran it did not measure"
        return next((run.unmeasured for run in self.runs if run.unmeasured), "")


def held_by(peak: Peak) -> str:
    """ "1.5 GiB ReluBackward0.result (model.py:12 forward), ..." """
    return ", ".join(f"{_sizes.text(group.bytes)} {group.label}" + (f" ({group.source})" if group.source else "")
                     for group in peak.groups)


def why_unrecorded() -> str:
    """Why allocations of this process are not in the recording; empty: they are, or it has not used PyTorch yet."""
    if not is_recorded():
        return "its process is not recorded: it was forked from one that is, or tapelens.stop() was called"
    torch = sys.modules.get("torch")
    if not hasattr(torch, "empty") or _spools.has_spool():
        return ""
    torch.empty(0)  # type: ignore[union-attr]  # the recording begins with the first operator
    return "" if _spools.has_spool() else "its PyTorch could not be recorded (`tapelens doctor` says why)"


class Noting:
    """Adds begin, end and limits of the test to each report, in a process that runs tests."""

    def __init__(self, is_worker: bool) -> None:
        self.is_worker = is_worker
        self.begin_ns: dict[str, int] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Reports invalid marks before the first test runs. A worker can report them only in the test's report."""
        for item in items if not self.is_worker else []:
            limits_of(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Measures from the set-up of the test's fixtures to their end."""
        self.begin_ns[item.nodeid] = _spools.now_ns()
        try:
            return (yield)
        finally:
            self.begin_ns.pop(item.nodeid, None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report: Any = yield
        begin = self.begin_ns.get(item.nodeid)
        if begin is None:
            return report
        unmeasured, limits = why_unrecorded(), []
        try:
            limits = [[limit.bytes, limit.words, limit.device] for limit in limits_of(item)]
        except pytest.UsageError as wrong:
            unmeasured = str(wrong)
        # Plain values: a report may go to another process.
        report.tapelens = {"pid": os.getpid(), "begin_ns": begin, "end_ns": _spools.now_ns(), "unmeasured": unmeasured,
                           "limits": limits}
        return report


class Measuring:
    """Compares the peaks with the limits, in the process that has all reports of a recorded session."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = Settings.of(config)
        if file := config.getoption("tapelens_write_baseline"):
            baseline_to_write(pathlib.Path(file))  # before the tests run
        self.tests: dict[str, Test] = {}
        self.failed: list[str] = []
        self.remarks: list[str] = []
        self.is_over = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.is_over:  # a report of fail()
            return
        test = self.tests.setdefault(report.nodeid, Test(report.nodeid, report.location, MARK in report.keywords))
        test.has_run |= report.when == "call" and (report.outcome != "skipped" or hasattr(report, "wasxfail"))
        test.has_failed |= report.outcome == "failed"
        noted = getattr(report, "tapelens", None)
        if noted is None:
            return
        test.limits = [Limit(*limit) for limit in noted["limits"]]
        for run in test.runs:
            if (run.pid, run.begin_ns) == (noted["pid"], noted["begin_ns"]):
                run.end_ns = noted["end_ns"]
                run.unmeasured = run.unmeasured or noted["unmeasured"]
                return
        test.runs.append(Run(noted["pid"], noted["begin_ns"], noted["end_ns"], noted["unmeasured"]))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        self.is_over = True
        with tempfile.TemporaryDirectory(prefix="tapelens-") as folder:
            try:
                self.read(pathlib.Path(folder) / "session.tapelens")
            except Error as wrong:
                self.remarks.append(f"no peak is known: {wrong}")
                session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR
        if file := self.config.getoption("tapelens_write_baseline"):
            self.write(pathlib.Path(file))
        if self.failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def write(self, file: pathlib.Path) -> None:
        """Writes only tests that were measured. The others fail, because a later session could not check them."""
        unmeasured = [test for test in self.tests.values() if test.has_run and test.unmeasured()]
        write_baseline(file, {name: test.taken() for name, test in self.tests.items() if test not in unmeasured and test.runs})
        for test in unmeasured:
            if test.nodeid not in self.failed:
                self.fail(test, f"the test is not in the baseline {file}: {test.unmeasured()}")

    def read(self, file: pathlib.Path) -> None:
        recording = _spools.seal(file)
        for test in self.tests.values():
            for run in test.runs:
                self.measure(recording, run, top=0)
        for test in self.tests.values():
            for sentence in self.wrong(recording, test):
                self.fail(test, sentence)
        for test in self.listed():
            for run in test.runs:
                self.measure(recording, run)

    def measure(self, recording: Recording | None, run: Run, top: int = 3) -> None:
        """Reads the peaks of the test's process and its child processes. Without a recording no operator of LibTorch ran."""
        run.peaks = []
        for process in _spools.family(recording, run.pid) if recording is not None else []:
            for row in process.losses.rows():
                since = row["since_ns"]
                if row["kind"] in LOST and (row["kind"] == "steps_left_out" or since is None or since < run.end_ns):
                    run.unmeasured = run.unmeasured or f"the recording is incomplete: {row['message']}"
            run.peaks += process.peaks_between(run.begin_ns, run.end_ns, top=top)

    def limits_of(self, test: Test) -> list[Limit]:
        """The limits of a test: its marks, or else the limit of all tests."""
        return test.limits or ([self.settings.limit] if self.settings.limit else [])

    def wrong(self, recording: Recording | None, test: Test) -> Iterator[str]:
        """A sentence for each limit that the test exceeds, or that was not measured."""
        limits, before = self.limits_of(test), self.settings.baseline.get(test.nodeid, {})
        if not test.has_run and not test.runs:
            return
        if why := test.unmeasured():
            if (limits or before or test.is_marked) and test.has_run and not test.has_failed:
                yield f"the test has a limit, and its memory was not measured: {why}"
            return
        taken = test.taken()
        if test.has_run and not test.has_failed:
            yield from self.never_held(limits, before, taken)
        for device, size in taken.items():
            above = [limit.words for limit in limits if limit.device in (None, device) and size > limit.bytes]
            allowed = before.get(device)
            if allowed is not None and size > allowed * (1 + self.settings.tolerance):
                more = f" (+{(size - allowed) / allowed:.1%})" if allowed else ""
                above.append(f"{_sizes.text(allowed)} in the baseline {self.settings.baseline_name}{more}")
            if above:
                for run in test.runs:
                    self.measure(recording, run)
                peak = max((peak for run in test.runs for peak in run.peaks if peak.device == device),
                           key=lambda of: of.peak_bytes - of.begin_live_bytes)
                also = (f"; {_sizes.text(peak.begin_live_bytes)} besides were alive when it began"
                        if peak.begin_live_bytes else "")
                yield (f"the test took {_sizes.text(size)} on {device}, above {' and '.join(above)}. "
                       f"At the peak: {held_by(peak)}{also}")

    def never_held(self, limits: list[Limit], before: dict[str, int], taken: dict[str, int]) -> Iterator[str]:
        """Fails limits on a GPU that the test did not use: on a machine without the GPU they would always pass."""
        for limit in limits:
            if limit.device not in (None, "cpu", *taken):
                yield f"{limit.words} on {limit.device}, was not measured: the test allocated nothing on {limit.device}"
        for device, size in before.items():
            if device != "cpu" and device not in taken and size:
                yield (f"{_sizes.text(size)} on {device} in the baseline {self.settings.baseline_name} was not measured: "
                       f"the test allocated nothing on {device}; if this is intended, write a new baseline")

    def fail(self, test: Test, sentence: str) -> None:
        """Reports the test as failed."""
        self.failed.append(test.nodeid)
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:  # not also counted as passed
            for outcome in ("passed", "xpassed"):
                kept = [report for report in terminal.stats.get(outcome, []) if report.nodeid != test.nodeid]
                if outcome in terminal.stats:
                    terminal.stats[outcome] = kept
        report = pytest.TestReport(nodeid=test.nodeid, location=test.location, keywords={}, outcome="failed",
                                   longrepr=sentence, when="call")
        self.config.hook.pytest_runtest_logreport(report=report)

    def listed(self) -> list[Test]:
        most = sorted(self.tests.values(), key=lambda test: -test.most())
        return [test for test in most[: self.config.getoption("tapelens_top")] if test.most() > 0]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("memory, by Tapelens")
        unmeasured = {test.unmeasured() for test in self.tests.values() if test.has_run} - {""}
        for remark in self.remarks + [f"not every test was measured: {why}" for why in sorted(unmeasured)]:
            terminalreporter.write_line(remark)
        listed = self.listed()
        if not listed:
            terminalreporter.write_line("no test took memory of LibTorch's")
        for test in listed:
            peak = max((peak for run in test.runs for peak in run.peaks),
                       key=lambda of: of.peak_bytes - of.begin_live_bytes)
            terminalreporter.write_line(f"{_sizes.text(test.most()):>12}  {test.nodeid} on {peak.device}")
            terminalreporter.write_line(f"{'':>12}  {held_by(peak)}")
        if len(self.tests) > len(listed) and listed:
            terminalreporter.write_line(f"{'':>12}  and {len(self.tests) - len(listed)} more that took less")
        skipped = [test for test in self.tests.values() if (test.is_marked or test.nodeid in self.settings.baseline)
                   and not test.has_run and not test.has_failed]
        if skipped:
            terminalreporter.write_line(f"{'':>12}  {len(skipped)} with a limit skipped: {skipped[0].nodeid}"
                                        + (", ..." if len(skipped) > 1 else ""))
