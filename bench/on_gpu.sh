#!/usr/bin/env bash
# What a simulated GPU cannot prove, on a machine with a real one, in under 10 minutes: recordings have what PyTorch counted,
# the replay does what the allocator did, CUPTI and NVML agree, simulated peaks beside real ones, rewrites keep the bits, what a recording costs. Writes bench/results/on-gpu.md; the exit code is 1 if a count is
# wrong or a program failed, 2 without a GPU.
#   bench/on_gpu.sh [--quick]      --quick: a minute, to see that everything begins
# Environment: TAPELENS_BINARY, PYTHON (with PyTorch's CUDA build; pytest is not needed), RESULTS (another folder).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

case ${1-} in
  '') COUNTS=150 PEAKS=80 ROUNDS=5 CASES=() NETS=() ;;
  --quick) COUNTS=1 PEAKS=1 ROUNDS=1 CASES=(--cases gpt_cuda) NETS=(transformer-sdpa) ;;
  *)
    sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac

BINARY=${TAPELENS_BINARY:-build/release/bin/tapelens}
PYTHON=${PYTHON:-.venv/bin/python3}
[[ -x $PYTHON ]] || PYTHON=python3
RESULTS=${RESULTS:-bench/results}
if [[ ! -x $BINARY ]]; then
  echo "on_gpu.sh: there is no $BINARY: run scripts/build, or set TAPELENS_BINARY" >&2
  exit 2
fi
if ! GPU=$("$PYTHON" -c 'import torch; assert torch.cuda.is_available(); print(torch.cuda.get_device_name(0))' 2> /dev/null); then
  echo "on_gpu.sh: $PYTHON sees no GPU here, so nothing was measured: run it on a machine that has one" >&2
  exit 2
fi
# The one of `tapelens gpus` that bears the name of this GPU, or a large one.
KIND=$("$BINARY" gpus | awk -v name="$GPU" 'index($0, name) {print $1; exit}')

mkdir -p "$RESULTS"
OUT=$RESULTS/on-gpu.md
FAILED=0
part() { # TITLE COMMAND...
  echo -e "\n## $1\n"
  "${@:2}" || FAILED=1
}
{
  echo "# $GPU, $("$PYTHON" -c 'import torch; print("PyTorch", torch.__version__)'), $("$BINARY" --version), $(git rev-parse --short HEAD 2> /dev/null)"
  part "Counts of recordings" "$PYTHON" bench/on_gpu.py counts --binary "$BINARY" --seconds $COUNTS
  part "Memory outside of PyTorch, beside NVML" "$PYTHON" bench/on_gpu.py cupti --binary "$BINARY"
  part "Peaks, real and simulated" "$PYTHON" bench/on_gpu.py peaks --binary "$BINARY" --gpu "${KIND:-H200}" --seconds $PEAKS
  echo -e "\n## Rewrites: bits under deterministic algorithms, saved bytes, peak, time of a step\n\n\`\`\`"
  "$PYTHON" bench/rewrites_cuda.py --real --binary "$BINARY" "${NETS[@]}" --json "$RESULTS/on-gpu-rewrites.json" || FAILED=1
  echo '```'
  echo -e "\n## Overhead\n\n\`\`\`"
  "$PYTHON" bench/overhead_cuda.py --real --binary "$BINARY" --rounds $ROUNDS "${CASES[@]}" --json "$RESULTS/on-gpu-overhead.json" || FAILED=1
  echo '```'
  echo -e "\nIn $SECONDS s."
  exit $FAILED
} 2>&1 | tee "$OUT"
exit "${PIPESTATUS[0]}"
