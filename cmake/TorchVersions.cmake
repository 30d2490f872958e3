# The PyTorch releases Tapelens is built and tested with, one a line: TORCH/TORCHVISION, the default one last.
# CMake and scripts/ both read this list. Adding a minor is one line here and a green `.ci/run`: docs/supported-versions.md.
set(TAPELENS_TORCH_RELEASES
  2.11.0/0.26.0
  2.15.0/0.29.2
)
# Other minors: the wheel has their probes too (scripts/wheel), built from the PyTorch package alone. They are tested as
# installed wheels (tests/wheel), not by `.ci/run`.
set(TAPELENS_TORCH_PROBES
  2.8.0
  2.9.1
  2.10.0
  2.12.1
  2.13.0
  2.14.1
)
