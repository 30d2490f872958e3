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

# The folder for files that are slow to make and that all trees share.
cache_folder() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/tapelens"; }

# The mirror of this machine, if it runs Debian.
debian_mirror() {
  (source /etc/os-release && [[ ${ID-} == debian ]] && apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' \
    | awk -v release="$VERSION_CODENAME" '$1 == release && $2 ~ /^http/ && !found { print $2; found = 1 }')
}

# Packages of another Debian release into an empty folder.
download_from() { apt_of deb "$1" "$2" download "${@:3}"; } # RELEASE FOLDER PACKAGE...
# The archive of a program's sources, without Debian's changes.
download_sources_from() { apt_of deb-src "$1" "$2" source --download-only --tar-only "$3"; } # RELEASE FOLDER PACKAGE

# Runs apt-get in FOLDER on another Debian release, with apt's check of signatures. Debian moves old releases to its archive.
apt_of() { # deb|deb-src RELEASE FOLDER COMMAND...
  local type=$1 release=$2 folder=$3 lists mirror options
  shift 3
  lists=$(mktemp -d)
  mkdir -p "$folder" "$lists"/{state/lists,cache/archives}/partial
  touch "$lists/status"
  options=(-q -o Dir::State="$lists/state" -o Dir::State::Status="$lists/status" -o Dir::Cache="$lists/cache" -o APT::Architecture=amd64
    -o APT::Architectures=amd64 -o Dir::Etc::SourceList="$lists/sources" -o Dir::Etc::SourceParts=- -o Acquire::Languages=none
    -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false -o APT::Update::Error-Mode=any)
  for mirror in $(debian_mirror) http://deb.debian.org/debian http://archive.debian.org/debian; do
    echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" > "$lists/sources"
    if apt-get "${options[@]}" update && (cd "$folder" && apt-get "${options[@]}" "$@"); then
      rm -rf "$lists"
      return
    fi
  done
  rm -rf "$lists"
  echo "Debian's $release cannot be downloaded now" >&2
  return 1
}

# The installed debootstrap, or Debian's package unpacked in the cache.
debootstrap() {
  local own
  own=$(cache_folder)/debootstrap
  if command -v /usr/sbin/debootstrap > /dev/null; then
    /usr/sbin/debootstrap "$@"
    return
  fi
  if [[ ! -x $own/usr/sbin/debootstrap ]]; then
    rm -rf "$own"
    mkdir -p "$own"
    (cd "$own" && { apt-get download debootstrap || { apt-get update && apt-get download debootstrap; }; } && dpkg-deb -x debootstrap_*.deb .) || return
  fi
  DEBOOTSTRAP_DIR=$own/usr/share/debootstrap "$own/usr/sbin/debootstrap" "$@"
}

# Makes a folder with a Debian release, from the mirror of this machine or that of debootstrap. Runs in a private mount namespace.
make_release() { # RELEASE FOLDER PACKAGE,PACKAGE...
  local fresh=$2.part
  rm -rf "$fresh"
  mkdir -p "${2%/*}"
  # shellcheck disable=SC2046 # other systems have no such mirror
  debootstrap --variant=minbase --include="$3" "$1" "$fresh" $(debian_mirror) || return
  rm -f "$fresh"/var/cache/apt/archives/*.deb
  umount -l "$fresh/proc" "$fresh/sys" 2> /dev/null || true
  mv "$fresh" "$2"
}

# Mounts paths of this machine at the same place in a folder with a release. Kernel file systems, /tmp, network settings and
# certificates are mounted too.
show_machine() { # FOLDER PATH...
  local release=$1 path
  shift
  for path in /proc /sys /dev /tmp "$@" /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs; do
    [[ -e $path ]] || continue
    path=$(realpath "$path")
    if [[ -d $path ]]; then mkdir -p "$release$path"; else mkdir -p "$release${path%/*}" && touch "$release$path"; fi
    mount --rbind "$path" "$release$path"
  done
}

# For pip on this machine: wheels for aarch64 and the Python of scripts/debian-aarch64, with every C library.
PIP_FOR_AARCH64=(--only-binary ':all:' --python-version 311 --implementation cp --abi cp311 --abi abi3 --abi none --platform manylinux2014_aarch64)
for minor in {17..36}; do PIP_FOR_AARCH64+=(--platform "manylinux_2_${minor}_aarch64"); done

# Runs pytest. The last line is "N passed, N failed", without the skipped tests; it fails if a test failed, or none passed.
run_pytest() { # ARGUMENT...
  local results passed failed
  results=$(mktemp)
  "$VENV/bin/python3" -m pytest -q --no-header -rf -p no:cacheprovider "$@" --junit-xml "$results" || true
  read -r passed failed < <(python3 - "$results" << 'PYTHON'
import sys, xml.etree.ElementTree as xml
try:
    suite = xml.parse(sys.argv[1]).getroot().find("testsuite").attrib
    failed = int(suite["failures"]) + int(suite["errors"])
    print(int(suite["tests"]) - int(suite["skipped"]) - failed, failed)
except Exception:
    print(0, 1)  # it did not come to its end
PYTHON
  )
  rm -f "$results"
  echo "$passed passed, $failed failed"
  ((failed == 0 && passed > 0))
}

# The configuration of a build as text: arguments, and the contents of files. CMake reads a toolchain file and its system only
# once, so a build with another configuration begins in an empty folder.
configuration() { # FILE... -- ARGUMENT...
  local contents
  contents=$(while [[ $1 != -- ]]; do sha256sum < "$1" || exit; shift; done) || return
  while [[ $1 != -- ]]; do shift; done
  printf '%s\n' "${@:2}" "$contents"
}
is_configured() { [[ -e $1/build.ninja && $(cat "$1/.tapelens-configured" 2> /dev/null) == "$2" ]]; } # FOLDER CONFIGURATION

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
