"""For scikit-build-core: the long description of the Python package is the README, with absolute links.

PyPI shows the text without the repository, so relative links and pictures would lead nowhere. They become links to the
files of the released version (pyproject.toml, tool.dynamic-metadata)."""

import pathlib

from markdown_links import replace_relative

ROOT = pathlib.Path(__file__).resolve().parents[2]


def absolute(markdown, repository, version):
    """`repository`: https://github.com/OWNER/NAME"""
    files = f"{repository}/blob/v{version}"
    pictures = f"{repository.replace('https://github.com/', 'https://raw.githubusercontent.com/')}/v{version}"
    return replace_relative(markdown, lambda mark, text, link: f"{mark}[{text}]({pictures if mark else files}/{link})")


def dynamic_metadata(settings, project):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return {"readme": {"content-type": "text/markdown", "text": absolute(text, project["urls"]["Source"], project["version"])}}
