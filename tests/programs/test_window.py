"""The window on a desktop, with keys and clicks: from a recording to a plan for verify."""

import hashlib
import json
import subprocess
import time

import desktop
import harness

SAMPLE = [harness.PYTHON, harness.SAMPLES / "resnet_finetune.py", "--size", "small"]
PAGES = 8
TABS = 41  # the middle of the row with the pages' names, in pixels from the top


def body(picture):
    """A digest of a page's picture, without the menus, the tabs and the arrows. pytest compares two different pictures
    byte by byte for its message, which takes a quarter of an hour."""
    width, _, rows = picture
    return hashlib.sha256(rows[4 * width * (TABS + 20):]).hexdigest()


def test_a_recording_is_looked_at_and_its_plan_is_verified(target, tmp_path):
    harness.record(SAMPLE, target, check=True)
    plan = tmp_path / "plan.json"
    with desktop.Desktop() as screen:
        view = subprocess.Popen([harness.BINARY, "view", target, "--size", "1280x720", "--scheme", "light"],
                                env=screen.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            window = screen.window("run.tapelens")
            screen.activate(window)
            assert screen.geometry(window)[2:] == (1280, 720)

            screen.rest()
            pictures = []
            for page in range(1, PAGES + 1):
                screen.key(f"ctrl+{page}")
                pictures.append(body(screen.settled(window)))
            assert len(set(pictures)) == PAGES, "every page shows something else"
            screen.key("alt+Left")
            assert body(screen.settled(window)) == pictures[-2]
            clicked = set()
            for x in range(110, 710, 30):
                screen.click(window, x, TABS)
                screen.rest()
                clicked.add(body(screen.settled(window, 0.2)))
            assert clicked == set(pictures), "a click on each name shows its page"

            # On the timeline, zooms with the keyboard, selects an allocation with the mouse, and goes back to the
            # start.
            screen.key("ctrl+1", "p")
            zoomed = body(screen.settled(window))
            assert zoomed != pictures[0]
            screen.click(window, 640, 520)
            screen.rest()
            assert body(screen.settled(window)) != zoomed
            screen.key("slash")
            screen.type("ReluBackward0")
            screen.key("Return")
            assert body(screen.settled(window)) != zoomed
            screen.key("Escape")

            # On the advice page, saves all findings that a rewrite fixes as a plan.
            screen.key("ctrl+3")

            screen.settled(window)
            screen.key("alt+a")
            screen.settled(window)
            screen.key("alt+p")
            screen.activate(screen.window("Save plan"))
            screen.type(str(plan))

            def confirmed():  # the first Return may only close what completes the path
                screen.key("Return")
                time.sleep(0.5)
                return plan.exists()
            screen.until(confirmed, "the plan")
            screen.until(lambda: not screen.windows("Save plan"), "the end of the dialog")

            screen.activate(window)
            screen.key("ctrl+q")
            out, error = view.communicate(timeout=desktop.PATIENCE)
        finally:
            view.kill()
        assert (view.returncode, out, error) == (0, "", "")

    assert json.loads(plan.read_text())["sites"]
    verdict = tmp_path / "verdict.json"
    harness.bare([harness.BINARY, "verify", "--apply", plan, "--format", "json", "-o", verdict, "--", *SAMPLE], check=True)
    said = json.loads(verdict.read_text())
    assert said["identical"] and said["applied"]
    assert said["rewritten"]["peak_bytes"] <= said["bare"]["peak_bytes"]
