"""top.py TAPELENS PYTHON FILE.svg: makes the moving picture of docs/top.md. A terminal shows `tapelens top` while a sample
is recorded, and the picture has its screens as text. scripts/screenshots runs it."""

import fcntl
import html
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

COLUMNS, ROWS = 96, 27
CELL, LINE, FONT, MARGIN = 8, 17, 13.3, 14  # pixels
SLOT, SLOTS_OF_LAST = 0.4, 8  # seconds of a screen in the picture; the last one stays longer
LARGEST = 200_000  # bytes of the picture
PROGRAM = [pathlib.Path(__file__).resolve().parents[2] / "samples/gpt.py", "--size", "medium", "--steps", "12"]
COLORS = {"31": "#ff7b72", "32": "#3fb950", "33": "#d29922", "34": "#58a6ff", "35": "#bc8cff", "36": "#39c5cf"}
TEXT, DIM, BACKGROUND = "#e6edf3", "#8b949e", "#0d1117"
BAR = COLORS["32"]
UP, RIGHT = "▁▂▃▄▅▆▇█", "▏▎▍▌▋▊▉█"
SCREEN = re.compile(rb"\x1b\[\?2026h\x1b\[H(.*?)\x1b\[J\x1b\[\?2026l", re.DOTALL)


def screens(tapelens, python):
    """The screens of a run with their times in seconds, as lists of lines with their colours."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.Popen([tapelens, "record", "--quiet", "--", python, *PROGRAM], cwd=folder, stdout=subprocess.DEVNULL)
        while not list(pathlib.Path(folder).glob("run.tapelens.spool/*.spool")):
            if run.poll() is not None:
                sys.exit(f"the sample ended with {run.returncode} and was not recorded")
            time.sleep(0.01)
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        top = subprocess.Popen([tapelens, "top"], cwd=folder, stdin=side, stdout=side, stderr=side, start_new_session=True,
                               env={**os.environ, "TERM": "xterm-256color"})
        found, data, ended = [], b"", None
        while top.poll() is None:
            if select.select([main], [], [], 0.05)[0]:
                data += os.read(main, 1 << 16)
            while (screen := SCREEN.search(data)) is not None:
                lines = screen[1].decode().replace("\x1b[K", "").split("\r\n")
                found.append((time.monotonic(), lines))
                data = data[screen.end():]
            if run.poll() is not None and ended is None:
                ended = time.monotonic()
            if ended is not None and time.monotonic() - ended > 3:
                os.write(main, b"q")
                ended = float("inf")
        os.close(main)
        os.close(side)
        return found


def cells(line):
    """(character, colour, is bold) of each cell."""
    color, bold = TEXT, False
    for part in re.findall(r"\x1b\[[0-9;]*m|.", line):
        if not part.startswith("\x1b"):
            yield part, color, bold
            continue
        for code in part[2:-1].split(";"):
            if code in ("", "0"):
                color, bold = TEXT, False
            elif code == "1":
                bold = True
            else:
                color = DIM if code == "2" else COLORS.get(code, TEXT)


def drawn(line):
    """A line as SVG, at the origin. Blocks are rectangles, because fonts draw them with gaps."""
    out, at, row = "", 0, list(cells(line))
    while at < len(row):
        character, color, bold = row[at]
        end = at
        if character in UP + RIGHT:
            while end < len(row) and row[end][0] == character:
                end += 1
            is_bar = character in RIGHT and color == BAR  # the full block belongs to bars and to the curve
            part = (RIGHT if is_bar else UP).index(character) + 1
            height, width = (LINE - 4, (end - at) * part / 8) if is_bar else (LINE * part / 8, end - at)
            bottom = LINE - 2 if is_bar else LINE
            out += f'<path fill="{color}" d="M{at * CELL} {bottom - height:g}h{width * CELL:g}v{height:g}h{-width * CELL:g}z"/>'
        else:
            while end < len(row) and row[end][1:] == (color, bold) and row[end][0] not in UP + RIGHT:
                end += 1
            text = "".join(cell[0] for cell in row[at:end])
            begin = at + len(text) - len(text.lstrip(" "))
            if text := text.strip(" "):
                weight = ' font-weight="bold"' if bold else ""
                out += (f'<text x="{begin * CELL}" y="{LINE - 4}" fill="{color}"{weight} textLength="{len(text) * CELL}">'
                        f"{html.escape(text, quote=False)}</text>")
        at = end
    return out


def picture(found):
    """The screens as an SVG that moves by CSS. Equal lines are written once."""
    frames = []
    for when, lines in found:
        if not frames or when - frames[-1][0] >= SLOT:
            frames.append((when, lines))
    if frames[-1][1] != found[-1][1]:
        frames.append(found[-1])
    numbers, uses = {}, []
    for _, lines in frames:
        placed = [(number, drawn(line)) for number, line in enumerate(lines)]
        uses.append("".join(f'<use href="#l{numbers.setdefault(svg, len(numbers))}" y="{MARGIN + number * LINE}"/>'
                            for number, svg in placed if svg))
    slots = len(frames) - 1 + SLOTS_OF_LAST
    width, height = COLUMNS * CELL + 2 * MARGIN, ROWS * LINE + 2 * MARGIN
    style = (f"text{{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:{FONT}px;white-space:pre}}"
             f"g.f,g.e{{visibility:hidden;animation:f {slots * SLOT:g}s step-end infinite}}g.e{{animation-name:e}}"
             f"@keyframes f{{0%{{visibility:visible}}{100 / slots:.4f}%{{visibility:hidden}}}}"
             f"@keyframes e{{0%{{visibility:visible}}{100 * SLOTS_OF_LAST / slots:.4f}%{{visibility:hidden}}}}"
             "@media(prefers-reduced-motion:reduce){g.f,g.e{animation:none}g.e{visibility:visible}}")
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
           "<title>tapelens top, while a transformer is trained</title>", f"<style>{style}</style>",
           f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>', "<defs>"]
    out += [f'<g id="l{number}">{svg}</g>' for svg, number in numbers.items()]
    out.append("</defs>")
    for number, lines in enumerate(uses):
        kind = "e" if number == len(uses) - 1 else "f"
        out.append(f'<g class="{kind}" transform="translate({MARGIN})" style="animation-delay:{(number - slots) * SLOT:.1f}s">{lines}</g>')
    return "\n".join([*out, "</svg>\n"])


def main(tapelens, python, file):
    text = picture(screens(tapelens, python))
    size = len(text.encode())
    if size > LARGEST:
        sys.exit(f"{file}: {size} bytes")
    pathlib.Path(file).write_text(text, encoding="utf-8")
    print(f"{file}  {size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
