"""The documents: each console block shows the output of its commands, the site is complete, and every command has a
page."""

import concurrent.futures
import difflib
import re
import subprocess

import pytest

import console
import harness
import test_docs

PAGES = [page for page in console.pages() if console.blocks_of(page)]
LEAST_BLOCKS = 25  # approximate number of blocks that run
LEFT_OUT = 2  # largest number of blocks that cannot run here


def name_of(page):
    return str(page.relative_to(harness.ROOT))


@pytest.fixture(scope="module")
def printed(request, tmp_path_factory):
    """The differences on each page, computed for two pages at a time."""
    chosen = {item.callspec.params["page"] for item in request.session.items
              if item.module is request.module and hasattr(item, "callspec")}
    runner = console.Runner(tmp_path_factory.mktemp("console"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield {page: pool.submit(console.differences, page, runner) for page in PAGES if page in chosen}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_blocks_show_is_what_commands_print(page, printed):
    different = printed[page].result()
    assert not different, "scripts/docs writes what is printed:\n" + "\n".join(
        "\n".join([place, *difflib.unified_diff(shown, lines, "shown", "printed", lineterm="")]) for place, shown, lines in different)


def test_what_differs_is_seen_and_what_is_left_out_is_not():
    assert console.is_shown(["a", "b"], ["a", "b"]) and not console.is_shown(["a", "b"], ["a", "c"])
    assert console.is_shown(["peak 2 MiB, 3.14 s"], ["peak 2 MiB, 20 s"]) and not console.is_shown(["peak 2 MiB"], ["peak 3 MiB"])
    for shown in (["a", "...", "d"], ["a", "..."], ["...", "c", "..."], ["a", "...", "b", "...", "d"]):
        assert console.is_shown(shown, ["a", "b", "c", "d"]), shown
    for shown in (["..."], ["a", "..."], ["a", "...", "c", "...", "b", "..."], ["a", "b", "c", "d", "...", "d"]):
        assert not console.is_shown(shown, ["x", "b", "c", "d"]), shown
    assert console.shortened(["x", "...", "y"], ["a", "b", "c", "d"]) == ["a", "...", "d"]
    assert console.renewed(["a 1.0 s", "b"], ["a 9.0 s", "c"]) == ["a 1.0 s", "c"]
    command, other = console.commands_of("$ first \\\n  more\na\n\nb\n\n$ other\n")
    assert (command.text, command.output, command.space, other.output) == ("first \\\n  more", ["a", "", "b"], 1, [])


def test_blocks_that_are_not_run_say_why():
    blocks = [block for page in PAGES for block in console.blocks_of(page)]
    left_out = {f"{name_of(block.page)}:{block.line}": block.reason for block in blocks if block.reason}
    assert all(len(reason.split()) >= 4 for reason in left_out.values()), left_out
    assert len(left_out) <= LEFT_OUT, left_out
    assert len(blocks) - len(left_out) >= LEAST_BLOCKS


def test_each_page_of_the_site_leads_somewhere(tmp_path):
    done = subprocess.run([harness.PYTHON, "-m", "mkdocs", "--quiet", "build", "--strict", "--site-dir", tmp_path / "site"], cwd=harness.ROOT,
                          env=harness.environment({"NO_MKDOCS_2_WARNING": "1"}), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {str(page.parent.relative_to(tmp_path / "site")) for page in (tmp_path / "site").rglob("index.html")}
    assert {"check", "ci", "out-of-memory", "checks/wide-save", "contributing", "trace-format"} <= pages
    front = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    assert 'href="rewrites/"' in front and 'src="gui/timeline-allocation.png"' in front


def test_each_command_has_a_page():
    without = [name for name in test_docs.commands() if console.page_of(name) is None]
    assert not without, f"no page of docs/ names in its first lines: {without}"


def test_the_tables_of_commands_are_those_of_help():
    text = console.COMMANDS.read_text(encoding="utf-8")
    assert console.TABLES.search(text) and console.with_tables(text) == text, "scripts/docs docs/commands.md writes them"


def test_each_check_is_listed():
    said = harness.bare([harness.BINARY, "advise", "--list"], check=True).stdout
    page = (harness.ROOT / "docs/checks.md").read_text(encoding="utf-8")
    for line in said.splitlines():
        if match := re.match(r"([a-z-]+)  +(.+)", line):
            assert f"| `{match[1]}` | [{match[2]}](../plugins/{match[1]}/README.md) |" in page
