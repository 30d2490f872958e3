"""Compares PythonSource with Python's own tokenize: python_statements.py PROGRAM [FILES OR FOLDERS...]

By default, compares the modules of the standard library that are not packages. Skips files that Python itself cannot
compile. The exit code is 1 if one of the other files gives different tokens.
"""

import io
import pathlib
import subprocess
import sys
import sysconfig
import tokenize
import warnings

KINDS = {tokenize.NAME: "n", tokenize.NUMBER: "p", tokenize.STRING: "s", tokenize.OP: "o"}
FSTRING_START = {getattr(tokenize, name, None) for name in ("FSTRING_START", "TSTRING_START")} - {None}
FSTRING_END = {getattr(tokenize, name, None) for name in ("FSTRING_END", "TSTRING_END")} - {None}


def expected(text: str) -> list[str]:
    """The statements of a file in PROGRAM's output format."""
    lines = text.split("\n")
    statements, tokens, strings = [], [], []

    def add(kind, start, end):
        first, last = start[0] - 1, end[0] - 1
        parts = [lines[row] for row in range(first, last + 1)]
        parts[-1] = parts[-1][: end[1]]
        parts[0] = parts[0][start[1] :]
        tokens.append(f"{start[0]}:{kind}:{len(chr(10).join(parts).encode())} ")

    def end_statement():
        if tokens:
            statements.append("".join(tokens))
            tokens.clear()

    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in FSTRING_START:
            strings.append(token.start)
        elif token.type in FSTRING_END:
            start = strings.pop()
            if not strings:
                add("s", start, token.end)
        elif strings:
            pass
        elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER) or token.string == ";":
            end_statement()
        elif token.type in KINDS:
            add(KINDS[token.type], token.start, token.end)
    return statements


def python_files(names: list[str]) -> list[pathlib.Path]:
    paths = [pathlib.Path(name) for name in names]
    return sorted(file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py")))


def main() -> int:
    program, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    wrong, wanted = 0, {}
    for file in python_files(names) or sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py")):
        content = file.read_bytes()
        try:
            text = content.decode()
            compile(content, str(file), "exec")
            if "\r" not in text:
                wanted[str(file)] = expected(text)
        except (SyntaxError, ValueError, tokenize.TokenError, RecursionError):
            continue
    files, found = list(wanted), {}
    for at in range(0, len(files), 200):
        printed = subprocess.run([program, *files[at : at + 200]], capture_output=True, text=True, check=True).stdout
        for line in printed.splitlines():
            if line.startswith(("file ", "refused ")):
                verdict, name = line.split(" ", 1)
                found[name] = [] if verdict == "file" else None
            else:
                found[name].append(line)
    for name in files:
        if found[name] != wanted[name]:
            wrong += 1
            pairs = zip(wanted[name], found[name] or [])
            first = next(((a, b) for a, b in pairs if a != b), ("", "refused" if found[name] is None else "length"))
            print(f"{name}: Python reads {first[0]!r}, PythonSource {first[1]!r}")
    print(f"{len(files)} files compared, {wrong} read differently")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
