"""Ways to run a program that must not change its results: bare, recorded, and with rewrites."""

import harness

WAYS = {"bare": None, "record": ["record"], "lossless": ["run", "--apply", "lossless"], "bitwise": ["run", "--apply", "bitwise"],
        "recompute": ["run", "--apply", "recompute"]}
WATCHED = [way for way in WAYS if way != "bare"]


def command(way, program, folder, rewriting=()):
    """The command line that runs `program` in this way. A recording goes into `folder`."""
    if way == "bare":
        return program
    options = ["-o", folder / f"{way}.tapelens", "--force"] if way == "record" else rewriting
    return [harness.BINARY, *WAYS[way], "--quiet", *options, "--", *program]
