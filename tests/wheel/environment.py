"""Environments with an installed wheel, like those of users: a Python and a PyTorch, but no compiler."""

import os
import pathlib
import platform
import re
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIP = [os.environ.get("TAPELENS_WHEEL_PIP", ROOT / "build/wheel-tools/bin/pip"), "--disable-pip-version-check", "--quiet"]
SITE_PACKAGES = pathlib.Path(sysconfig.get_path("purelib"))  # packages of the interpreter that runs the tests


def wheel():
    [found] = (ROOT / "dist").glob(f"tapelens-*_{platform.machine()}.whl")
    return found


def cuda_of(torch):
    """The CUDA libraries of a folder with PyTorch's wheel: those of the tests' own PyTorch, which have CUDA 13. Wheels
    for CUDA 12 name their own ones, which all share a folder."""
    [description] = torch.glob("torch-*.dist-info/METADATA")
    needed = re.findall(r"^Requires-Dist: (nvidia-\S+-cu12==[\d.]+)", description.read_text(), re.M)
    if not needed:
        return SITE_PACKAGES / "nvidia"
    folder = ROOT / "build/wheel-torch/cuda-12"
    if not (folder / "nvidia").exists():
        subprocess.run([*PIP, "install", "--no-deps", "--target", folder, *needed], check=True)
    return folder / "nvidia"


def torch_of(release):
    """A folder with PyTorch's wheel and CUDA libraries. Pure Python packages come from the tests' environment."""
    folder = ROOT / f"build/wheel-torch/{release}"
    if not (folder / "nvidia").exists():
        subprocess.run([*PIP, "install", "--no-deps", "--target", folder, f"torch=={release}"], check=True)
        (folder / "nvidia").symlink_to(cuda_of(folder))
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
