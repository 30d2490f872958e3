#!/usr/bin/env bash
# Run the checks that need a real GPU, in three commands of at most 330 s, 250 s and 200 s. They need
# Python 3.10 or later and PyTorch's CUDA build, and install nothing. docs/on-gpu.md lists the parts and their results.
#   bench/on_gpu.sh first TAPELENS     simulated beside real, context, communicator, order, workspaces, attention, counts
#   bench/on_gpu.sh second TAPELENS    snapshots, peaks, CUPTI, rewrites, overhead
#   bench/on_gpu.sh third TAPELENS     a GPT in less memory, by --apply and --fit
# TAPELENS: a wheel (scripts/wheel --minors 2.11 --no-gui), or the command, build/release/bin/tapelens by default.
#   --parts NAME,...    run only these parts
#   --limits FACTOR     multiply all time limits, on a slower machine
#   --quick             run one small program for each part
#   --simulated GPU     dry run on a simulated GPU: tests only the script
# Environment: PYTHON (.venv's, else python3), RESULTS (the folder for results, bench/results by default).
# Exit code: 0 if each part passed, 1 if not, 2 without a GPU or with wrong options.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
PYTHON=${PYTHON:-.venv/bin/python3}
[[ -x $PYTHON ]] || PYTHON=python3
case ${1-} in
  first | second | third) exec "$PYTHON" bench/on_gpu_session.py "$@" ;;
  *)
    sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
