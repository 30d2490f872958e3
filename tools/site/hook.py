"""For MkDocs: brings pages into the site that lie elsewhere in the repository, and makes links between files links between pages.

Each fact has one home, so nothing is copied: the README is the front page, and the page of a check is that of its
plugin. Pages use links of the repository, so that the links work there as well. A link to a file without a page becomes
its name."""

import pathlib
import posixpath

from markdown_links import replace_relative
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
ELSEWHERE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md",
             "SECURITY.md": "security.md", "RELEASE.md": "release.md", "samples/README.md": "samples.md"}
ICON = "gui/linux/org.tapelens.Tapelens.svg"
CHECKS = {f"plugins/{path.parent.name}/README.md": f"checks/{path.parent.name}.md" for path in sorted(ROOT.glob("plugins/*/README.md"))}
PAGES = {**ELSEWHERE, **CHECKS}  # in the repository -> in the site


def named(nav):
    """The files that a navigation names."""
    for entry in nav:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from named(value) if isinstance(value, list) else [value]


def on_config(config):
    known = set(named(config.nav))
    more = sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name not in known)
    at = next(number for number, entry in enumerate(config.nav) if "Reference" in entry)
    config.nav[at:at] = [{"Checks": list(CHECKS.values())}, *([{"More": more}] if more else [])]
    return config


def on_files(files, config):
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    files.append(File.generated(config, "logo.svg", content=(ROOT / ICON).read_text(encoding="utf-8")))
    return files


def target_in_site(link, source, page):
    """The target in the site of a repository link; None if the site has no such file."""
    path, _, anchor = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if target in PAGES:
        target = PAGES[target]
    elif target.startswith("docs/") and (ROOT / target).is_file():
        target = target.removeprefix("docs/")
    else:
        if not (ROOT / target).exists():
            raise FileNotFoundError(f"{source}: a link to {link}, which is not there")
        return None
    return posixpath.relpath(target, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")


def on_page_markdown(markdown, page, config, files):
    place = page.file.src_uri
    source = next((name for name, target in PAGES.items() if target == place), f"docs/{place}")

    def moved(mark, text, link):
        target = target_in_site(link, source, place)
        return text if target is None else f"{mark}[{text}]({target})"

    return replace_relative(markdown, moved)
