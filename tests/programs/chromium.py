"""Opens a page in a headless Chromium, lets a script act on it, and reads what is there then."""

import html
import json
import pathlib
import re
import subprocess

# Into a copy of the page, so that the page itself needs no hook: its own nonce lets the script run.
ACTING = """
<script nonce="%s">
addEventListener("load", () => setTimeout(async () => {
  const out = {};
  const key = (target, name) => target.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true}));
  const rest = () => new Promise((done) => setTimeout(done, 200));
  try { %s } catch (error) { out.error = String(error) + error.stack; }
  const box = parent.document.createElement("pre");
  box.id = "test-result";
  box.textContent = JSON.stringify(out);
  parent.document.body.append(box);
}, 300));
</script>
"""

LEAST_WIDTH = 500  # of Chromium's window: a phone is a frame in it


def framed(page, folder, size):
    """The page, or one in which it is as large as a phone."""
    if size[0] >= LEAST_WIDTH:
        return pathlib.Path(page)
    inside = html.escape(pathlib.Path(page).read_text(encoding="utf-8"), quote=True)
    frame = folder / "framed.html"
    frame.write_text(f'<!doctype html><meta charset="utf-8"><body style="margin: 0"><iframe width="{size[0]}" height="{size[1]}" style="border: 0" '
                     f'srcdoc="{inside}"></iframe></body>', encoding="utf-8")
    return frame


def run(page, folder, *options, size=(1280, 900)):
    """The output of chromium, and the page's messages on the console."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
               f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=20000",
               f"--window-size={size[0]},{size[1]}", *options, framed(page, folder, size).resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, re.findall(r"^.*CONSOLE.*$", done.stderr, re.MULTILINE)


def act(page, folder, script, size=(1280, 900), options=()):
    """`out` of the script as a Python value, and the document at that time."""
    text = pathlib.Path(page).read_text(encoding="utf-8")
    nonce = re.search(r"'nonce-(\d+)'", text).group(1)
    acted = folder / "acted.html"
    acted.write_text(text.replace("</body>", ACTING % (nonce, script) + "</body>"), encoding="utf-8")
    document, said = run(acted, folder, "--dump-dom", *options, size=size)
    assert said == [], "nothing on the console"
    found = re.search(r'<pre id="test-result">(.*?)</pre>', document, re.DOTALL)
    assert found, document[-2000:]
    out = json.loads(html.unescape(found.group(1)))
    assert "error" not in out, out["error"]
    return out, document


def screenshot(page, folder, picture, size, options=()):
    _, said = run(page, folder, f"--screenshot={picture}", *options, size=size)
    assert said == [], "nothing on the console"
