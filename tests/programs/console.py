"""The console blocks of README.md, CONTRIBUTING.md, docs/ and plugins/ show the output of their commands.

    scripts/docs [PAGE...]           runs the commands and writes their output into the pages, where it differs
    scripts/docs --check [PAGE...]   prints the differences; tests/programs/test_pages.py does the same

A console block is one between three backticks whose first line begins with "$ ". The output of a command follows it;
lines of "..." stand for omitted lines. A block runs in a fresh folder with samples/ of the repository, shared by all
blocks of a page. A comment before a block says otherwise:

    <!-- console: NAME -->            in a folder with the files of docs/programs/NAME, after its `prepare` was run there
    <!-- console, not run: REASON -->

The tables of docs/commands.md are the commands of `tapelens --help` with their pages, and the lists of
docs/trace-format.md are the declarations in trace/ (trace_format.py).

Blocks that make a recording of samples/ by the same command share one run. The comparison ignores times and other
values that differ between runs (same_in_every_run). If only these differ, the page keeps its text.
"""

import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

import harness
import trace_format

PROGRAMS = harness.ROOT / "docs/programs"
REPOSITORY = "repository"  # the folder of blocks without a comment
FENCE = re.compile(r"^(?P<fence>`{3,})\w*\n(?P<text>\$ .*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!-- console(?:: (?P<scene>[\w-]+)|, not run: (?P<reason>[^>]+)) -->\s*\Z")
# Kernels and their workspace depend on the processor, unless these variables select them.
# pytest cuts its summary to the width of the terminal only where CI and BUILD_NUMBER are not set.
ENVIRONMENT = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "PYTHONDONTWRITEBYTECODE": "1", "CI": "", "BUILD_NUMBER": ""}
LEFT_OUT = "..."
COMMANDS = harness.ROOT / "docs/commands.md"
TABLES = re.compile(r"(<!-- scripts/docs writes these tables -->\n).*?(<!-- end of the tables -->\n)", re.DOTALL)


def pages():
    """Every page with console blocks, in the order of comparison."""
    return [*(harness.ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *sorted((harness.ROOT / "docs").glob("*.md")),
            *sorted((harness.ROOT / "plugins").glob("*/README.md")), harness.ROOT / "samples/README.md"]


@dataclasses.dataclass
class Command:
    text: str  # without "$ "
    output: list  # lines
    space: int = 0  # empty lines before the next command


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    begin: int  # offset of the text between the backticks
    end: int
    commands: list
    scene: str = REPOSITORY
    reason: str = ""  # the reason not to run it


def commands_of(text):
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif found[-1].text.endswith("\\") and not found[-1].output:
            found[-1].text += "\n" + line
        else:
            found[-1].output.append(line)
    for command in found:
        while command.output and not command.output[-1]:
            command.output.pop()
            command.space += 1
    return found


def blocks_of(page, text=None):
    text = page.read_text(encoding="utf-8") if text is None else text
    found = []
    for match in FENCE.finditer(text):
        block = Block(page, text.count("\n", 0, match.start()) + 1, match.start("text"), match.end("text"), commands_of(match["text"]))
        comment = COMMENT.search(text, 0, match.start())
        if comment:
            block.scene, block.reason = comment["scene"] or REPOSITORY, (comment["reason"] or "").strip()
        found.append(block)
    return found


def command_groups():
    """The titles of `tapelens --help` -> {command: its summary}"""
    groups, title = {}, None
    for line in harness.bare([harness.BINARY, "--help"], env={"COLUMNS": "160"}, check=True).stdout.splitlines():
        if match := re.fullmatch(r"(\S.*):", line):
            title = match[1]
        elif (match := re.fullmatch(r"  ([a-z][a-z-]*)  +(.+)", line)) and title:
            groups.setdefault(title, {})[match[1]] = match[2]
    return groups


def page_of(command):
    """The name of the page that has `tapelens COMMAND` in its first lines; a page of the command's name comes first."""
    for page in [harness.ROOT / f"docs/{command}.md", *sorted((harness.ROOT / "docs").glob("*.md"))]:
        if page.exists() and page.name != COMMANDS.name:
            begin = "".join(page.read_text(encoding="utf-8").splitlines(keepends=True)[:8])
            if re.search(rf"(?:^    |`)tapelens {command}\b(?!-)", begin, re.MULTILINE):
                return page.name
    return None


def with_tables(text):
    """The text of docs/commands.md with its generated tables."""
    tables = []
    for title, commands in command_groups().items():
        rows = [f"| [`tapelens {name}`]({page_of(name)}) | {summary} |\n" for name, summary in commands.items()]
        tables.append(f"## {title}\n\n| command | |\n| --- | --- |\n" + "".join(rows) + "\n")
    return TABLES.sub(lambda match: match[1] + "\n" + "".join(tables) + match[2], text)


GENERATED = {COMMANDS: with_tables, trace_format.PAGE: trace_format.with_lists}  # page -> its text with generated tables


def same_in_every_run(text):
    """The text without times, process ids, paths, and rankings by measured time."""
    text = text.replace(str(harness.PYTHON), "python")
    text = re.sub(r"\b\d+(\.\d+)? ?(s|ms|us)\b", "TIME", text)
    text = re.sub(r"TIME( *\(?)[-+]\d+\.\d %", r"TIME\1CHANGE", text)
    text = re.sub(r"PyTorch [\d.]+\w*(\+\w+)?", "PyTorch VERSION", text)
    text = re.sub(r"^Trade compute for memory.*?(?=^\S)", "Trade compute for memory: ranked by time\n\n", text,
                  flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"[\d,]+ events", "EVENTS", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "DATE", text)
    text = re.sub(r"\s+At\s+this\s+rate\s+the\s.*?\sof\s+cpu\s.*?\smore\s+steps?\.", " AT THIS RATE.", text, flags=re.DOTALL)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def comparable(lines):
    """The words of a block's lines, without long floats and sizes of files. The comparison is by words, because line
    breaks and widths of columns depend on the number of digits in a time."""
    text = same_in_every_run("\n".join(lines))
    text = re.sub(r"-?\d+\.\d{6,}\b", "FLOAT", text)
    text = re.sub(r"\b\d\.\d+e[-+]\d\d\b", "FLOAT", text)
    text = re.sub(r"\bx\d+\.\d\d\b", "xRATIO", text)
    text = re.sub(r"(\.tapelens) \([\d.]+ [KM]?i?B\)", r"\1 (SIZE)", text)
    text = re.sub(r"\b(process|pid|--process) +\d+", r"\1 PID", text)
    return text.split()


def is_shown(shown, printed):
    """Whether a block shows the output of its command. A line "..." stands for any lines, but not for the whole
    output."""
    if shown == [LEFT_OUT]:
        return False
    chunks = [[]]
    for line in shown:
        if line == LEFT_OUT:
            chunks.append([])
        else:
            chunks[-1].append(line)
    shown, printed = [comparable(chunk) for chunk in chunks], comparable(printed)
    if len(shown) == 1:
        return shown[0] == printed
    first, *middle, last = shown
    if printed[:len(first)] != first or len(first) + len(last) > len(printed) or (last and printed[-len(last):] != last):
        return False
    at, end = len(first), len(printed) - len(last)
    for chunk in middle:
        at = next((start + len(chunk) for start in range(at, end - len(chunk) + 1) if printed[start:start + len(chunk)] == chunk), None)
        if at is None:
            return False
    return True


def renewed(shown, printed):
    """The printed lines. A line that differs from its earlier text only in times or similar values keeps that text."""
    keys = [[" ".join(comparable([line])) for line in lines] for lines in (shown, printed)]
    out = list(printed)
    for block in difflib.SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks():
        out[block.b:block.b + block.size] = shown[block.a:block.a + block.size]
    return out


def shortened(shown, printed):
    """The printed lines with the same omission as before: as many lines at the begin, and as many at the end."""
    if LEFT_OUT not in shown or shown == [LEFT_OUT]:
        return printed
    first, last = shown.index(LEFT_OUT), shown[::-1].index(LEFT_OUT)
    if first + last >= len(printed):
        return printed
    return [*printed[:first], LEFT_OUT, *(printed[-last:] if last else [])]


class Runner:
    """Runs the commands of blocks in folders below `root`."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.lock = threading.Lock()
        self.once = {}  # key of a shared result -> its Future
        tools = self.root / "bin"
        tools.mkdir()
        (tools / "tapelens").symlink_to(harness.BINARY)
        self.path = f"{tools}:{os.path.dirname(harness.PYTHON)}:{os.environ['PATH']}"

    def run(self, command, folder):
        """(exit code, lines)"""
        environment = harness.environment({**ENVIRONMENT, "PATH": self.path, "HOME": str(self.root), "PYTHONPATH": str(harness.PACKAGE), "REPOSITORY": str(harness.ROOT), "TORCHINDUCTOR_CACHE_DIR": str(self.root / "inductor"),
                                           "TRAINER": harness.TRAINER})
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        # A recording may have been made in the folder of another page.
        text = re.sub(rf"{re.escape(str(self.root))}/[^/\s]+/[^/\s]+/", "", done.stdout).replace(str(self.root), "~")
        if command.startswith("tapelens ranks"):
            text = re.sub(rf"\b{re.escape(socket.gethostname())}\b", "node0", text)
        text = text.replace(f"{harness.ROOT}/", "").replace(f"{pathlib.Path(harness.PYTHON).parents[1]}/", ".venv/")
        return done.returncode, [line.rstrip() for line in text.rstrip().splitlines()]

    def only_once(self, key, work):
        with self.lock:
            mine = key not in self.once
            future = self.once.setdefault(key, concurrent.futures.Future())
        if mine:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    def prepared(self, scene, folder):
        """A folder for the blocks of a page. A recording has paths of files, so the folder is never moved."""
        folder.mkdir(parents=True)
        if scene != REPOSITORY:
            shutil.copytree(PROGRAMS / scene, folder, dirs_exist_ok=True)
        (folder / "samples").symlink_to(harness.SAMPLES)
        if (folder / "prepare").exists():
            code, lines = self.run("./prepare", folder)
            assert code == 0, f"docs/programs/{scene}/prepare ended with {code}:\n" + "\n".join(lines)
            (folder / "prepare").unlink()
        return folder

    def recorded(self, command, folder):
        """Like run(), but another block may have made the recording already."""
        words = shlex.split(command)
        options = words[:words.index("--")]
        name = options[options.index("-o") + 1] if "-o" in options else "run.tapelens"
        code, lines, made = self.only_once(command, lambda: (*self.run(command, folder), folder / name))
        if made.exists() and made != folder / name:
            shutil.copyfile(made, folder / name)
        return code, lines

    def page(self, page, blocks):
        """The output of each command of the blocks."""
        name = str(page.relative_to(harness.ROOT)).replace("/", "-")
        folders = {}
        for block in blocks:
            if block.scene not in folders:
                folders[block.scene] = self.prepared(block.scene, self.root / name / block.scene)
            folder = folders[block.scene]
            for command in block.commands:
                is_record = block.scene == REPOSITORY and re.fullmatch(r"tapelens record [^|>&;]+", command.text)
                _, lines = self.recorded(command.text, folder) if is_record else self.run(command.text, folder)
                yield block, command, lines


def differences(page, runner):
    """(place, shown, printed) of each command whose output differs from its block."""
    found = []
    for block, command, printed in runner.page(page, [block for block in blocks_of(page) if not block.reason]):
        if not is_shown(command.output, printed):
            found.append((f"{page.relative_to(harness.ROOT)}:{block.line}: $ {command.text}", command.output, printed))
    if page in GENERATED and (text := page.read_text(encoding="utf-8")) != (now := GENERATED[page](text)):
        found.append((f"{page.relative_to(harness.ROOT)}: the generated tables", text.splitlines(), now.splitlines()))
    return found


def rewritten(page, runner):
    """The text of the page, with the current output of each command whose output differs."""
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(page, text)
    for block, command, printed in runner.page(page, [block for block in blocks if not block.reason]):
        if not is_shown(command.output, printed):
            command.output = renewed(command.output, shortened(command.output, printed))
    for block in reversed(blocks):
        new = "".join(f"{line}\n" for command in block.commands for line in ["$ " + command.text, *command.output, *[""] * command.space])
        text = text[:block.begin] + new + text[block.end:]
    return GENERATED[page](text) if page in GENERATED else text


def main(words):
    is_check = words[:1] == ["--check"]
    chosen = [pathlib.Path(word).resolve() for word in words[is_check:]] or pages()
    unknown = [page for page in chosen if page not in pages()]
    if unknown or any(word.startswith("-") for word in words[is_check:]):
        sys.exit("\n".join(__doc__.splitlines()[2:4]) if not unknown else f"{unknown[0]} is not a page of the documents")
    if not harness.BINARY.exists():
        sys.exit(f"{harness.BINARY} is missing: run scripts/build")
    wrong = 0
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(2) as pool:
        runner = Runner(root)
        work = differences if is_check else rewritten
        for page, result in [(page, pool.submit(work, page, runner)) for page in chosen if blocks_of(page) or page in GENERATED]:
            if is_check:
                for place, shown, printed in result.result():
                    wrong += 1
                    print("\n".join([place, *difflib.unified_diff(shown, printed, "shown", "printed", lineterm="")]))
            elif result.result() != page.read_text(encoding="utf-8"):
                page.write_text(result.result(), encoding="utf-8")
                print(f"{page.relative_to(harness.ROOT)}: written")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
