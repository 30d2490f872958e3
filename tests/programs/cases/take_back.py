"""take_back.py True|False: what the end of an attachment takes back from PyTorch, in a Python with or without a GIL. Prints
whether it reads frames, the hooks that are left, and the calls of hooks in the next step."""
import pathlib
import sys

import torch

HAS_GIL = sys.argv[1] == "True"
SOURCE = pathlib.Path(__file__).resolve().parents[3] / "profiler/observe/attached.py"
hooks = sys.modules["torch.optim.optimizer"]
called, read = [], []
frames_of = sys._current_frames
sys._is_gil_enabled = lambda: HAS_GIL
sys._current_frames = lambda: read.append(True) or frames_of()
ours = {"hooked": [hooks.register_optimizer_step_pre_hook(lambda *_: called.append("before")),
                   hooks.register_optimizer_step_post_hook(lambda *_: called.append("after"))]}
exec(compile(SOURCE.read_text(encoding="utf-8"), SOURCE, "exec"), ours)
ours["take_back"]()
weight = torch.ones(4, requires_grad=True)
weight.sum().backward()
torch.optim.SGD([weight], lr=0.1).step()
left = len(hooks._global_optimizer_pre_hooks), len(hooks._global_optimizer_post_hooks)
print(f"read {bool(read)}, hooks {left[0]} {left[1]}, called {len(called)}")
