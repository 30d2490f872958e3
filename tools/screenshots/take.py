"""take.py RECORDING OTHER GPU RANK FOLDER: takes the pictures of docs/gui.md and docs/diff.md, of the real window on a private desktop and
of a page in a browser.
The comparison page compares RECORDING with OTHER, GPU is of a training on one, RANK lies in a folder of a run's ranks.
scripts/screenshots makes all of them."""

import pathlib
import subprocess
import sys
import tempfile
import time

from PIL import Image

import chromium
import desktop
import harness

SIZE = (1280, 720)
CARD = (1200, 675)
PAGE = (1100, 600)
LARGEST = 120_000  # bytes of a picture in the repository


def reduced(picture):
    """With a palette of the 256 most frequent colours, exactly as they are. A coloured word carries meaning: colours
    far from grey have more weight than the many shades of letters."""
    def weight(entry):
        count, color = entry
        return count * (1 + max(color) - min(color))
    most = sorted(picture.getcolors(1 << 24), key=weight, reverse=True)[:256]
    palette = Image.new("P", (1, 1))
    palette.putpalette([channel for _, color in most for channel in color])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def save_card(recording, path):
    subprocess.run([harness.BINARY.parent / "tapelens-gui", recording, "--export-card", path, "--force"], check=True)
    reduced(Image.open(path).convert("RGB").resize(CARD, Image.Resampling.LANCZOS)).save(path, optimize=True)
    size = path.stat().st_size
    assert size < LARGEST, f"{path}: {size} bytes"
    print(f"{path}  {size:,} bytes")


def save_diff(before, after, path):
    """The page of `tapelens diff`, in a headless Chromium."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([harness.BINARY, "diff", before.name, after.name, "--format", "html", "-o", folder / "diff.html"],
                       check=True, cwd=before.parent)
        chromium.screenshot(folder / "diff.html", folder, folder / "diff.png", PAGE)
        reduced(Image.open(folder / "diff.png").convert("RGB")).save(path, optimize=True)
    size = path.stat().st_size
    assert size < LARGEST, f"{path}: {size} bytes"
    print(f"{path}  {size:,} bytes")


def save_live(path):
    """The window while a program is recorded."""
    program = pathlib.Path(__file__).parent / "train_live.py"
    with tempfile.TemporaryDirectory() as folder:
        recording = pathlib.Path(folder) / "run.tapelens"
        record = subprocess.Popen([harness.BINARY, "record", "--quiet", "-o", recording, "--", harness.PYTHON, program])
        time.sleep(14)  # some hundred steps
        subprocess.run([harness.BINARY.parent / "tapelens-gui", f"{recording}.spool", "--screenshot", path, "--force",
                        "--scheme", "light", "--size", "x".join(map(str, SIZE))], check=True)
        assert record.wait() == 0
    reduced(Image.open(path).convert("RGB")).save(path, optimize=True)
    print(f"{path}  {path.stat().st_size:,} bytes")


class Window:
    def __init__(self, screen, *files, scheme="light"):
        self.screen = screen
        self.program = subprocess.Popen(
            [harness.BINARY.parent / "tapelens-gui", *files, "--scheme", scheme, "--size", "x".join(map(str, SIZE))],
            env=screen.environment())
        self.id = screen.window(pathlib.Path(files[0]).name)
        screen.activate(self.id)
        screen.rest()
        screen.settled(self.id, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.screen.key("ctrl+q")
        code = self.program.wait(desktop.PATIENCE)
        assert code == 0, code

    def key(self, *keys):
        self.screen.key(*keys)
        self.screen.settled(self.id)

    def click(self, x, y):
        self.screen.click(self.id, x, y)
        self.screen.settled(self.id)

    def save(self, path):
        self.screen.rest()
        width, height, rows = self.screen.settled(self.id)
        picture = Image.frombytes("RGB", (width, height), rows, "raw", "BGRX")
        reduced(picture).save(path, optimize=True)
        size = path.stat().st_size
        assert picture.size == SIZE and size < LARGEST, f"{path}: {picture.size}, {size} bytes"
        print(f"{path}  {size:,} bytes")


def main():
    recording, other, gpu, rank, folder = map(pathlib.Path, sys.argv[1:])
    save_card(recording, folder / "card.png")
    save_diff(recording, other, folder / "diff.png")
    save_live(folder / "live.png")
    with desktop.Desktop() as screen:
        with Window(screen, recording, scheme="dark") as window:
            window.save(folder / "timeline-dark.png")
        with Window(screen, recording, other) as window:
            window.save(folder / "compare.png")
            window.key("ctrl+1")
            window.save(folder / "timeline-light.png")
            window.key("p")
            window.click(560, 500)  # a block of the lane of allocations
            window.save(folder / "timeline-allocation.png")
            window.key("Escape")
            window.key("ctrl+2")
            window.click(300, 522)  # a row
            window.save(folder / "peak.png")
            window.key("ctrl+3")
            window.click(20, 287)  # opens the first entry
            window.click(41, 287)  # its box
            window.save(folder / "advice.png")
            window.key("ctrl+4")
            window.save(folder / "steps.png")
            window.key("ctrl+5")
            window.save(folder / "modules.png")
        with Window(screen, gpu) as window:
            window.save(folder / "timeline-gpu.png")
            window.key("ctrl+7")
            window.click(330, 328)  # a block
            window.save(folder / "segments.png")
        with Window(screen, rank) as window:
            window.key("ctrl+8")
            window.save(folder / "ranks.png")


main()
