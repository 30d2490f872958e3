"""A private desktop for a program with a window: an X server without a screen, a window manager, real keys and clicks.
Used by test_window.py and tools/screenshots."""

import os
import pathlib
import re
import struct
import subprocess
import tempfile
import time

PATIENCE = 30  # seconds


class Desktop:
    def __init__(self, width=1400, height=900):
        self.size = (width, height)
        self.folder = tempfile.TemporaryDirectory(prefix="tapelens-desktop-")
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+", encoding="utf-8")
        self.started = []
        read, write = os.pipe()
        self._start(["Xvfb", "-displayfd", str(write), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp",
                     "-fbdir", self.folder.name], pass_fds=[write])
        os.close(write)
        with os.fdopen(read, encoding="ascii") as number:
            self.display = f":{number.readline().strip()}"
        assert self.display != ":", self.said()
        config = pathlib.Path(self.folder.name) / "openbox.xml"
        config.write_text('<openbox_config xmlns="http://openbox.org/3.4/rc"/>', encoding="utf-8")  # no key bindings
        self._start(["openbox", "--config-file", config], env=self.environment())
        self.until(lambda: "window id" in self._ask("xprop", "-root", "_NET_SUPPORTING_WM_CHECK"), "a window manager")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.terminate()
            process.wait(PATIENCE)
        self.log.close()
        self.folder.cleanup()

    def _start(self, command, **options):
        self.started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                             **options))

    def _ask(self, *command):
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        return done.stdout

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def environment(self):
        """The environment of a program on this desktop, without another desktop's themes, dialogs, screens or
        settings."""
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith(("QT_", "XDG_", "DBUS_", "GTK_", "TAPELENS_", "SESSION_")) and k != "WAYLAND_DISPLAY"}
        return kept | {"DISPLAY": self.display, "XDG_CONFIG_HOME": f"{self.folder.name}/config",
                       "XDG_RUNTIME_DIR": self.folder.name}

    def until(self, true, what):
        """Waits until `true()` returns a true value, and returns the value."""
        end = time.monotonic() + PATIENCE
        while True:
            value = true()
            if value:
                return value
            assert time.monotonic() < end, f"waited in vain for {what}: {self.said()}"
            time.sleep(0.05)

    def windows(self, name):
        """The ids of windows whose title contains `name`."""
        return self._ask("xdotool", "search", "--onlyvisible", "--name", name).split()

    def window(self, name):
        return self.until(lambda: self.windows(name), f"the window '{name}'")[-1]

    def activate(self, window):
        self._ask("xdotool", "windowactivate", "--sync", window)

    def key(self, *keys):
        self._ask("xdotool", "key", "--clearmodifiers", *keys)

    def type(self, text):
        self._ask("xdotool", "type", "--delay", "5", text)

    def move(self, window, x, y):
        left, top, _, _ = self.geometry(window)
        self._ask("xdotool", "mousemove", str(left + x), str(top + y))

    def rest(self):
        """Moves the mouse to a place that highlights no widget."""
        self._ask("xdotool", "mousemove", str(self.size[0] - 1), str(self.size[1] - 1))

    def click(self, window, x, y):
        """Clicks at a place in the window, in pixels."""
        self.move(window, x, y)
        self._ask("xdotool", "click", "1")

    def geometry(self, window):
        """x, y, width, height of the program's area, without the window manager's border."""
        said = self._ask("xwininfo", "-id", window)
        return tuple(int(re.search(rf"{name}: +(-?\d+)", said).group(1)) for name in
                     ("Absolute upper-left X", "Absolute upper-left Y", "Width", "Height"))

    def picture(self, window):
        """The screen's pixels at the window: width, height, rows of BGRX."""
        data = (pathlib.Path(self.folder.name) / "Xvfb_screen0").read_bytes()  # an XWD file, see X11/XWDFile.h
        header = struct.unpack(">25I", data[:100])
        begin, stride = header[0] + 12 * header[19], header[12]
        assert header[11] == 32
        x, y, width, height = self.geometry(window)
        rows = (data[begin + row * stride + 4 * x:begin + row * stride + 4 * (x + width)]
                for row in range(y, y + height))
        return width, height, b"".join(rows)

    def settled(self, window, seconds=0.4):
        """Waits until the picture does not change for a while, and returns the picture."""
        def same():
            before = self.picture(window)
            time.sleep(seconds)
            return before if self.picture(window) == before else None
        return self.until(same, "a picture that stays as it is")
