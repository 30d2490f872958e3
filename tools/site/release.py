"""For scripts/release: the notes of a release, and checks of its packages that twine does not have.

    release.py notes             prints the notes: the first section of CHANGELOG.md, with absolute links
    release.py check FILE...     fails if a package has another version, or a link that leads nowhere outside of the repository
"""

import email
import pathlib
import re
import sys
import tarfile
import tomllib
import zipfile

from description import ROOT, absolute
from markdown_links import CODE, LINK, is_relative

NAME = re.compile(r"tapelens-([^-]+?)(?:-.*\.whl|\.tar\.gz)")
HTML_LINK = re.compile(r"(?:src|href)=\"([^\"]+)\"")


def repository():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]


def version():
    return re.search(r"^project\(tapelens VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)[1]


def notes(changelog, repository, version):
    """The section of the version, which must be the first, without its title."""
    begin = re.match(rf"# Changelog\n\n## {re.escape(version)}, [^\n]+\n", changelog)
    if begin is None:
        raise SystemExit(f"CHANGELOG.md: does not begin with a section of {version}: scripts/version {version}")
    section = re.split(r"^## ", changelog[begin.end():], maxsplit=1, flags=re.MULTILINE)[0].strip()
    if not section:
        raise SystemExit(f"CHANGELOG.md: the section of {version} is empty")
    return f"    pip install tapelens=={version}\n\n{absolute(section, repository, version)}\n"


def metadata(package):
    """The metadata of a wheel or an sdist, as a message with headers and the long description."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            (name,) = [name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
            return email.message_from_bytes(wheel.read(name))
    with tarfile.open(package) as sdist:
        (name,) = [name for name in sdist.getnames() if re.fullmatch(r"[^/]+/PKG-INFO", name)]
        return email.message_from_binary_file(sdist.extractfile(name))


def relative_links(markdown):
    text = CODE.sub("", markdown)
    links = [match[3] for match in LINK.finditer(text)] + HTML_LINK.findall(text)
    return [link for link in links if is_relative(link)]


def faults(package, version):
    """The sentences to print for a package that must not be published."""
    named = NAME.fullmatch(package.name)
    if named is None or named[1] != version:
        yield f"{package}: is not of version {version}: remove it, and build again"
        return
    facts = metadata(package)
    if facts["Version"] != version:
        yield f"{package}: its metadata has version {facts['Version']}"
    if not facts.get_all("Project-URL"):
        yield f"{package}: has no addresses: [project.urls] of pyproject.toml"
    text = facts.get_payload(decode=True).decode("utf-8") or facts.get("Description", "")
    if not text.strip():
        yield f"{package}: has no long description"
    for link in relative_links(text):
        yield f"{package}: the link {link} of its long description leads nowhere outside of the repository"


def main(words):
    if words == ["notes"]:
        print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), repository(), version()), end="")
        return 0
    if len(words) > 1 and words[0] == "check":
        found = [fault for file in words[1:] for fault in faults(pathlib.Path(file), version())]
        print("\n".join(found), end="\n" if found else "", file=sys.stderr)
        return 1 if found else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
