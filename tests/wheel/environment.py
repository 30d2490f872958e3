"""Environments with an installed wheel, like those of users: a Python and a PyTorch, but no compiler."""

import os
import pathlib
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIP = [os.environ.get("TAPELENS_WHEEL_PIP", ROOT / "build/wheel-tools/bin/pip"), "--disable-pip-version-check", "--quiet"]
SITE_PACKAGES = pathlib.Path(sysconfig.get_path("purelib"))  # packages of the interpreter that runs the tests


def wheel():
    [found] = (ROOT / "dist").glob("tapelens-*.whl")
    return found


def torch_of(release):
    """A folder with PyTorch's wheel and with the CUDA libraries of the tests' own PyTorch, which have the same major
    version. Pure Python packages also come from the tests' environment."""
    folder = ROOT / f"build/wheel-torch/{release}"
    if not (folder / "nvidia").exists():
        subprocess.run([*PIP, "install", "--no-deps", "--target", folder, f"torch=={release}"], check=True)
        (folder / "nvidia").symlink_to(SITE_PACKAGES / "nvidia")
    return folder


class Environment:
    """`packages`: folders of packages, in the order of the search."""

    def __init__(self, folder, packages):
        self.folder = folder
        self.bin = folder / "bin"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = self.bin / "python"
        self.site_packages = folder / f"lib/python{sysconfig.get_python_version()}/site-packages"
        (self.site_packages / "torch.pth").write_text("".join(f"{package}\n" for package in packages))
        subprocess.run([*PIP, "--python", self.python, "install", "--no-deps", "--no-index", wheel()], check=True)

    def run(self, *command, path="", check=True, **variables):
        """Runs the command in the environment. `path`: further folders in PATH."""
        kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "TMPDIR")}
        kept |= {"PATH": f"{self.bin}:{path}", "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(self.folder / "cache")}
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=kept | variables,
                              cwd=self.folder, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done
