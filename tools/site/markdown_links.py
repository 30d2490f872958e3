"""Replaces links in Markdown, but not in its blocks of code."""

import re

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
CODE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)


def is_relative(link):
    return not re.match(r"[a-z]+:|#", link)


def replace_relative(markdown, replacement):
    """`replacement(mark, text, link)` is called with the parts of each relative link: "!" or "", text, target."""
    def replaced(match):
        return replacement(*match.groups()) if is_relative(match[3]) else match[0]

    out, at = [], 0
    for code in CODE.finditer(markdown):
        out += [LINK.sub(replaced, markdown[at:code.start()]), code[0]]
        at = code.end()
    return "".join([*out, LINK.sub(replaced, markdown[at:])])
