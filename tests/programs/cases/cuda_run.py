"""Runs a program as Python does, and then writes PyTorch's counts of its memory: cuda_run.py PROGRAM ARGUMENTS..."""

import pathlib
import runpy
import sys

import cuda_stats

sys.argv = sys.argv[1:]
sys.path.insert(0, str(pathlib.Path(sys.argv[0]).parent))
cuda_stats.begin()
runpy.run_path(sys.argv[0], run_name="__main__")
cuda_stats.end()
