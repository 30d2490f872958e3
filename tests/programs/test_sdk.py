"""The CMake package of an installed Tapelens: projects outside of the tree that use its headers, a rewrite and the C library."""

import pathlib
import re
import shutil
import subprocess
import sysconfig

import pytest

import harness
import test_rewrite_host

BUILD = harness.BINARY.parents[1]
PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C CXX)
find_package(Tapelens {version} REQUIRED COMPONENTS {component})
{target}
"""
REWRITE = """\
add_library(outside MODULE {source})
target_link_libraries(outside PRIVATE Tapelens::Rewrite)
set_target_properties(outside PROPERTIES PREFIX "")
"""
PROGRAM = """\
add_executable(outside main.c)
target_link_libraries(outside PRIVATE Tapelens::C)
"""
MAIN = """\
#include <capi/tapelens.h>
#include <stdio.h>
int main(void) { return printf("%s %d\\n", tapelens_version(), tapelens_abi_version() == TAPELENS_ABI_VERSION) < 0; }
"""


@pytest.fixture(name="prefix", scope="module")
def installation(tmp_path_factory):
    if not (BUILD / "cmake_install.cmake").is_file():
        pytest.skip(f"{harness.BINARY} is not in its build tree")
    prefix = tmp_path_factory.mktemp("installed")
    harness.bare(["cmake", "--install", BUILD, "--prefix", prefix, "--component", "sdk"], check=True)
    return prefix


def build(folder, prefix, component, target, *options, version=""):
    (folder / "CMakeLists.txt").write_text(PROJECT.format(version=version, component=component, target=target), encoding="utf-8")
    configured = harness.bare(["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", *options])
    if configured.code == 0:
        harness.bare(["cmake", "--build", folder / "build"], check=True, timeout=600)
    return configured


def test_headers_need_nothing_that_is_not_installed(prefix):
    headers = sorted(path.relative_to(prefix / "include/tapelens").as_posix() for path in prefix.rglob("*.h"))
    assert {"analyzer/check/check.h", "analyzer/check/interface_hash.h", "profiler/rewrite/rewrite.h", "capi/tapelens.h"} <= set(headers)
    without_torch = [name for name in headers if not name.startswith("profiler/")]
    for names in (without_torch, without_torch[::-1]):
        source = "".join(f'#include "{name}"\n' for name in names)
        subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", prefix / "include/tapelens", "-x", "c++", "-"],
                       input=source, text=True, check=True)


def test_a_program_in_c_uses_the_library(prefix, tmp_path):
    (tmp_path / "main.c").write_text(MAIN, encoding="utf-8")
    build(tmp_path, prefix, "C", PROGRAM)
    said = harness.bare([tmp_path / "build/outside"], check=True).stdout
    version = harness.bare([harness.ROOT / "scripts/version"], check=True).stdout.strip()
    assert said == f"{version} 1\n"


def test_a_rewrite_is_built_and_applied(prefix, tmp_path, monkeypatch):
    torch = pathlib.Path(sysconfig.get_path("purelib")) / "torch"
    build(tmp_path, prefix, "Rewrite", REWRITE.format(source=harness.HERE / "cpp/operator_rewrite.cpp"), f"-DTAPELENS_TORCH_DIR={torch}")
    monkeypatch.setattr(test_rewrite_host, "OPERATOR", str(tmp_path / "build/outside.so"))
    test_rewrite_host.test_a_library_may_bring_a_rewrite_of_an_operator()


@pytest.mark.parametrize(("component", "version", "said"), [
    ("Rewrite", "", "needs -DTAPELENS_TORCH_DIR="), ("Cheque", "", "no component Cheque"), ("Check", "99.0", "compatible with requested version \"99.0\"")])
def test_the_package_says_why_it_is_not_usable(prefix, tmp_path, component, version, said):
    done = build(tmp_path, prefix, component, "", version=version)
    assert done.code != 0 and said in re.sub(r"\s+", " ", done.stderr), done.stderr


def interface_hash(root, headers, output):
    names = ",".join(path.relative_to(root).as_posix() for path in headers)
    harness.bare(["cmake", f"-DROOT={root}", f"-DHEADERS={names}", f"-DOUTPUT={output}", "-P", harness.ROOT / "cmake/InterfaceHash.cmake"], check=True)
    return re.search(r"0x[0-9a-f]{16}", output.read_text(encoding="utf-8"))[0]


def test_the_hash_of_the_interface_has_the_order_of_members_and_no_comments(tmp_path):
    root = tmp_path / "headers"
    shutil.copytree(harness.ROOT / "analyzer/check", root)
    shutil.copytree(harness.ROOT / "analyzer/peak", root / "peak")
    headers = sorted(root.rglob("*.h"))
    check, holders = root / "check.h", root / "peak/holders.h"
    before, output = {path: path.read_text(encoding="utf-8") for path in (check, holders)}, tmp_path / "hash.h"

    def changed(path, old, new):
        assert before[path].count(old) == 1
        path.write_text(before[path].replace(old, new), encoding="utf-8")
        now = interface_hash(root, headers, output)
        path.write_text(before[path], encoding="utf-8")
        return now

    same = interface_hash(root, headers, output)
    assert changed(check, "const peak::PeakSet& peak;       // the peak set before any change", "const peak::PeakSet& peak;") == same
    assert changed(check, "  NodeId node;\n  StringId field;\n", "\n  NodeId  node;\n  StringId field;\n") == same
    # Members of one size and one type that change places, and enumerators.
    assert changed(check, "  std::string title;               // \"conv", "  std::string other, title;        // \"conv") != same
    assert changed(check, "Bytes retained_at_peak;  ", "Bytes retained_at_peak_; ") != same
    assert changed(holders, "  gradient,\n  optimizer_state,\n", "  optimizer_state,\n  gradient,\n") != same
    assert changed(holders, "  uint32_t first_holder = 0, holders = 0;", "  uint32_t holders = 0, first_holder = 0;") != same
