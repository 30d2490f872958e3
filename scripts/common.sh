# Shared by the scripts: strict mode, one line a step with the time it took, and which PyTorch is meant.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD

# TORCH/TORCHVISION, one a line, the default last: the list that CMake reads too.
releases() { grep -oE '^ *[0-9]+\.[0-9]+\.[0-9]+/[0-9.]+' cmake/TorchVersions.cmake | tr -d ' '; }
DEFAULT_TORCH=$(releases | tail -n 1 | cut -d/ -f1)
TORCH=${TAPELENS_TORCH:-$DEFAULT_TORCH}
TORCHVISION=$(releases | awk -F/ -v torch="$TORCH" '$1 == torch { print $2 }')
if [[ -z $TORCHVISION ]]; then
  echo "TAPELENS_TORCH=$TORCH is not supported. Supported: $(releases | cut -d/ -f1 | xargs | sed 's/ /, /g')." \
       "docs/supported-versions.md says how to add one." >&2
  exit 2
fi
# The default version has plain names; the others carry theirs.
SUFFIX=
[[ $TORCH == "$DEFAULT_TORCH" ]] || SUFFIX=-$TORCH
# shellcheck disable=SC2034 # the scripts that source this use it
VENV=$ROOT/.venv$SUFFIX

build_folder() { # PRESET
  case $1 in
    analyzer | asan | tsan) echo "build/$1" ;; # without LibTorch: one for all versions
    *) echo "build/$1$SUFFIX" ;;
  esac
}

# The environment in which packages are built and checked.
PACKAGING_TOOLS=$ROOT/build/wheel-tools
packaging_tools() {
  local want
  want=$(sha256sum < scripts/requirements-wheel.txt)
  [[ $(cat "$PACKAGING_TOOLS/.made-from" 2> /dev/null) == "$want" ]] && return
  rm -rf "$PACKAGING_TOOLS"
  python3 -m venv "$PACKAGING_TOOLS"
  "$PACKAGING_TOOLS/bin/pip" install --quiet --disable-pip-version-check -r scripts/requirements-wheel.txt
  echo "$want" > "$PACKAGING_TOOLS/.made-from"
}

# As many jobs as there are processors, and no more than one for each 2 GiB of memory: the probe's files are large.
jobs() {
  local processors memory
  processors=$(nproc)
  memory=$(awk '/MemAvailable/ { print int($2 / 2097152) }' /proc/meminfo)
  ((memory < 1)) && memory=1
  echo $((processors < memory ? processors : memory))
}

# step "what is done" COMMAND...: shows the command's output only if it fails, or with TAPELENS_VERBOSE=1.
step() {
  local what=$1 begin=$SECONDS log
  shift
  if [[ -n ${TAPELENS_VERBOSE:-} ]]; then
    echo "==> $what"
    "$@"
    return
  fi
  log=$(mktemp)
  printf '==> %s ... ' "$what"
  if "$@" > "$log" 2>&1; then
    echo "$((SECONDS - begin)) s"
    rm -f "$log"
  else
    local code=$?
    echo "failed after $((SECONDS - begin)) s"
    tail -n 100 "$log"
    rm -f "$log"
    return $code
  fi
}
