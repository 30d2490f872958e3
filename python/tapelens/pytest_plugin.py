"""pytest --tapelens: the peak of each test, limits, and comparison with a baseline. docs/pytest.md explains it.

The session runs under `tapelens record`: it is started once more, as the command of it. Each test's begin and end are
noted; when the session is over the recording is read, and a test that is above its limit fails.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tapelens import _files, _installed, _sizes, _spools, is_recorded
from tapelens._errors import Error
from tapelens._recording import Peak, Process

MARK = "peak_memory"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tapelens", "memory, by Tapelens")
    group.addoption("--tapelens", action="store_true", help="measure the peak of each test's memory, and hold it "
                    f"against @pytest.mark.{MARK}, the limit of all tests, and the baseline")
    group.addoption("--tapelens-output", metavar="FILE", help="keep the session's recording")
    group.addoption("--tapelens-limit", metavar="SIZE", help="the most that any test may take, like 2GiB")
    group.addoption("--tapelens-baseline", metavar="FILE", help="what each test may not be above")
    group.addoption("--tapelens-write-baseline", metavar="FILE", help="write this session's peaks as a baseline")
    group.addoption("--tapelens-tolerance", metavar="PERCENT", help="how much more than the baseline is allowed: 5 %%")
    group.addoption("--tapelens-top", metavar="N", type=int, default=10, help="how many tests to list: 10")
    parser.addini("tapelens_limit", "as --tapelens-limit")
    parser.addini("tapelens_baseline", "as --tapelens-baseline")
    parser.addini("tapelens_tolerance", "as --tapelens-tolerance", default="5%")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(size, device=None): with --tapelens, the most memory that the test may "
                            "take beside what was alive when it began, on each device or on this one")
    if config.getoption("tapelens") and is_recorded() and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Measuring(config), "tapelens-measuring")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Starts the session once more, recorded."""
    options = config.option
    if not options.tapelens or is_recorded() or options.collectonly or options.help or options.version:
        return None
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
        return subprocess.run(record, cwd=config.invocation_params.dir, check=False).returncode


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

    def limits_of(self, item: pytest.Item) -> list[Limit]:
        """The test's own mark stands for the limit of all."""
        marked = []
        for mark in item.iter_markers(MARK):
            if len(mark.args) != 1 or set(mark.kwargs) - {"device"}:
                raise pytest.UsageError(f"{item.nodeid}: {MARK} takes a size, like '2 GiB', and perhaps device=")
            size = _size(mark.args[0], f"{item.nodeid}: {MARK}")
            marked.append(Limit(size, f"its limit, {mark.args[0]}", mark.kwargs.get("device")))
        return marked or ([self.limit] if self.limit else [])


def read_baseline(file: pathlib.Path) -> dict[str, dict[str, int]]:
    if file.exists() and not file.is_file():
        raise pytest.UsageError(f"the baseline {file} is not a regular file")
    try:
        if not file.is_file():  # a FIFO would wait for its writer
            raise FileNotFoundError(errno.ENOENT, "there is no such file")
        held = json.loads(file.read_text(encoding="utf-8"))
        return {str(test): {str(device): int(size) for device, size in peaks.items()}
                for test, peaks in held["tests"].items()}
    except OSError as wrong:
        raise pytest.UsageError(f"the baseline {file} cannot be read: {wrong.strerror}") from None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise pytest.UsageError(f"{file} is no baseline that --tapelens-write-baseline wrote") from None


def write_baseline(file: pathlib.Path, peaks: dict[str, dict[str, int]]) -> None:
    """Of tests that did not run what the file has already stays."""
    tests = {**baseline_to_write(file), **peaks}
    with _files.whole(file, "baseline", lambda _: True, 0o600) as part:  # the mode of the session's recording
        part.write_text(json.dumps({"tests": tests}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def baseline_to_write(file: pathlib.Path) -> dict[str, dict[str, int]]:
    """What the file has already; an error if it is one that may not be replaced."""
    try:
        _files.check(file, "baseline", lambda _: True)
    except Error as wrong:
        raise pytest.UsageError(f"--tapelens-write-baseline: {wrong}") from None
    return read_baseline(file) if file.exists() and file.stat().st_size > 0 else {}


@dataclasses.dataclass
class Measured:
    item: pytest.Item
    begin_ns: int
    end_ns: int = 0
    peaks: list[Peak] = dataclasses.field(default_factory=list)

    def taken(self) -> dict[str, int]:
        """By device: the most beside what was alive when the test began. Of devices that it used."""
        return {peak.device: peak.peak_bytes - peak.begin_live_bytes for peak in self.peaks
                if peak.peak_bytes > peak.begin_live_bytes}

    def most(self) -> int:
        return max(self.taken().values(), default=0)


def held_by(peak: Peak) -> str:
    """ "1.5 GiB ReluBackward0.result (model.py:12 forward), ..." """
    return ", ".join(f"{_sizes.text(group.bytes)} {group.key}" + (f" ({group.source})" if group.source else "")
                     for group in peak.groups)


class Measuring:
    """Of a session that is recorded."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = Settings.of(config)
        if file := config.getoption("tapelens_write_baseline"):
            baseline_to_write(pathlib.Path(file))  # before the tests run
        self.tests: dict[str, Measured] = {}
        self.failed: list[str] = []
        self.remarks: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:  # a mark that says nothing is said before anything runs
            self.settings.limits_of(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """From the set-up of the test's fixtures to their end."""
        measured = self.tests[item.nodeid] = Measured(item, _spools.now_ns())
        try:
            return (yield)
        finally:
            measured.end_ns = _spools.now_ns()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        with tempfile.TemporaryDirectory(prefix="tapelens-") as folder:
            try:
                self.read(pathlib.Path(folder) / "session.tapelens")
            except Error as wrong:
                self.remarks.append(f"no peak is known: {wrong}")
                session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR
        if self.failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if file := self.config.getoption("tapelens_write_baseline"):
            write_baseline(pathlib.Path(file), {name: test.taken() for name, test in self.tests.items()})
        return (yield)

    def read(self, file: pathlib.Path) -> None:
        recording = _spools.seal(file)
        process = _spools.this_process(recording) if recording is not None else None
        if process is None:  # no operator of LibTorch ran: nothing was taken
            return
        self.remarks += [f"not all was recorded: {row['message']}" for row in process.losses.rows()
                         if row["is_data"] and row["kind"] != "truncated_spool"]
        for test in self.tests.values():
            test.peaks = process.peaks_between(test.begin_ns, test.end_ns, top=0)
        for name, test in self.tests.items():
            for sentence in self.wrong(process, test):
                self.fail(name, test, sentence)
        for test in self.listed():
            test.peaks = process.peaks_between(test.begin_ns, test.end_ns)

    def wrong(self, process: Process, test: Measured) -> Iterator[str]:
        """A sentence for each limit that the test is above."""
        for device, taken in test.taken().items():
            above = [limit.words for limit in self.settings.limits_of(test.item)
                     if limit.device in (None, device) and taken > limit.bytes]
            before = self.settings.baseline.get(test.item.nodeid, {}).get(device)
            if before is not None and taken > before * (1 + self.settings.tolerance):
                more = f" (+{(taken - before) / before:.1%})" if before else ""
                above.append(f"{_sizes.text(before)} in the baseline {self.settings.baseline_name}{more}")
            if above:
                (peak,) = (p for p in process.peaks_between(test.begin_ns, test.end_ns) if p.device == device)
                also = (f"; {_sizes.text(peak.begin_live_bytes)} besides were alive when it began"
                        if peak.begin_live_bytes else "")
                yield (f"the test took {_sizes.text(taken)} on {device}, above {' and '.join(above)}. "
                       f"At the peak: {held_by(peak)}{also}")

    def fail(self, name: str, test: Measured, sentence: str) -> None:
        """As a test that fails by itself is reported."""
        self.failed.append(name)
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:  # it is not counted as passed as well
            for outcome in ("passed", "xpassed"):
                kept = [report for report in terminal.stats.get(outcome, []) if report.nodeid != name]
                if outcome in terminal.stats:
                    terminal.stats[outcome] = kept
        report = pytest.TestReport(nodeid=name, location=test.item.location, keywords={}, outcome="failed",
                                   longrepr=sentence, when="call")
        test.item.ihook.pytest_runtest_logreport(report=report)

    def listed(self) -> list[Measured]:
        most = sorted(self.tests.values(), key=lambda test: -test.most())
        return [test for test in most[: self.config.getoption("tapelens_top")] if test.most() > 0]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("memory, by Tapelens")
        for remark in self.remarks:
            terminalreporter.write_line(remark)
        listed = self.listed()
        if not listed:
            terminalreporter.write_line("no test took memory of LibTorch's")
        for test in listed:
            peak = max(test.peaks, key=lambda of: of.peak_bytes - of.begin_live_bytes)
            terminalreporter.write_line(f"{_sizes.text(test.most()):>12}  {test.item.nodeid} on {peak.device}")
            terminalreporter.write_line(f"{'':>12}  {held_by(peak)}")
        if len(self.tests) > len(listed) and listed:
            terminalreporter.write_line(f"{'':>12}  and {len(self.tests) - len(listed)} more that took less")
