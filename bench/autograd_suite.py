"""Runs PyTorch's own tests of autograd bare and in each way: every test must pass or fail as in the bare run.

    python bench/autograd_suite.py --file PYTORCH/test/test_autograd.py [--ways record bitwise] [--only PATTERN] [--json FILE]

The file is PyTorch's and is not part of Tapelens: it comes from PyTorch's repository or from a source package of it (on Debian
`apt-get source --tar-only pytorch`), with test/autograd/ beside it, best of the installed version. Tests that fail bare because
the versions differ must fail in each way. Storages of all sizes are rewritten. Those of EXCEPTIONS differ by documented
intent, with the reason. Exit code 1 where any other test differs."""

import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import soak

# A pattern of tests, the ways to which the exception applies, and the reason.
EXCEPTIONS = [
    ("*TestAutograd.test_grad_fn_attr_bindings", ("lossless", "bitwise"), "grad_fn._saved_* of a rewritten save has no values outside of a backward"),
    ("*TestAutograd.test_no_unnecessary_unwrapping", ("bitwise",), "grad_fn._saved_* of a rewritten save returns an equal tensor, not the same object"),
    *((f"*TestAutograd.{name}", ("lossless", "bitwise"), "a rewritten save has hooks already, so that _raw_saved_*.register_hooks() raises")
      for name in ("test_pack_hook_with_inplace_modification_should_fail", "test_saved_tensor_hooks_extra_exit_during_bw_no_crash",
                   "test_saved_variable_packing_unpacking_did_not_save_original_with_hooks",
                   "test_saved_variable_packing_unpacking_saved_original_with_hooks")),
]
WAYS = {"record": ["record", "--quiet"], "lossless": ["run", "--quiet", "--apply", "lossless", "--rewrite-min-bytes", "1"],
        "bitwise": ["run", "--quiet", "--apply", "bitwise", "--rewrite-min-bytes", "1", "--recompute-budget", "100%"]}


# ---- in the process of the tests, which does not use Tapelens

def tests_of(file):
    """name -> test, in the order of unittest."""
    import unittest
    sys.path.insert(0, str(file.parent))
    sys.argv = [str(file)]
    module = __import__(file.stem)
    found, left = {}, [unittest.TestLoader().loadTestsFromModule(module)]
    while left:
        one = left.pop()
        if isinstance(one, unittest.TestSuite):
            left += reversed(list(one))
        else:
            found[one.id()] = one
    return found


def run_tests(file, answers, names):
    import unittest

    import torch
    torch.set_num_threads(1)
    every = tests_of(file)
    with open(answers, "a", encoding="utf-8") as out:
        for name in names or every:
            result = unittest.TestResult()
            every[name].run(result)
            problems = [text for _, text in result.failures + result.errors]
            outcome = ("failed" if problems else "skipped" if result.skipped else "expected failure" if result.expectedFailures
                       else "unexpected success" if result.unexpectedSuccesses else "passed")
            said = "\n".join(problems) or "".join(reason for _, reason in result.skipped)
            out.write(json.dumps([name, outcome, said[-1500:]]) + "\n")
            out.flush()


# ---- the comparison

def outcomes(way, file, names, folder):
    """name -> (outcome, output). The death of a process is an outcome of its test. The next tests run in another
    process."""
    answers = folder / f"{way}.jsonl"
    found, left, finished = {}, list(names), False
    while not finished:
        program = [sys.executable, "-W", "ignore", __file__, "--tests-of", file, answers, *left]
        options = [] if way == "bare" else [soak.binary(), *WAYS[way], *(["-o", folder / "run.tapelens", "--force"] if way == "record" else []), "--"]
        done = subprocess.run([*map(str, options), *map(str, program)], env=soak.environment(), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        found = dict((name, (outcome, said)) for name, outcome, said in map(json.loads, answers.read_text(encoding="utf-8").splitlines())
                     ) if answers.exists() else {}
        left = [name for name in names if name not in found]
        finished = done.returncode == 0 or not left
        if not finished:
            with answers.open("a", encoding="utf-8") as out:
                out.write(json.dumps([left.pop(0), f"exit code {done.returncode}", done.stderr[-1500:]]) + "\n")
            finished = not left
    return dict((name, (outcome, said)) for name, outcome, said in map(json.loads, answers.read_text(encoding="utf-8").splitlines()))


def exception(name, way):
    return next((reason for pattern, ways, reason in EXCEPTIONS if way in ways and fnmatch.fnmatch(name, pattern)), None)


def listed(file):
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--list-of", str(file)], env=soak.environment(), capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"autograd_suite: {file} cannot be imported with this PyTorch: {(done.stderr.splitlines() or ['?'])[-1]}")
    return [line[6:] for line in done.stdout.splitlines() if line.startswith("test: ")]


def main():
    if sys.argv[1:2] == ["--tests-of"]:
        return run_tests(pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
    if sys.argv[1:2] == ["--list-of"]:
        return print("\n".join(f"test: {name}" for name in tests_of(pathlib.Path(sys.argv[2]))))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", required=True, type=pathlib.Path, help="test_autograd.py of PyTorch's repository")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--only", default="*", metavar="PATTERN", help="tests whose names match, like '*checkpoint*'")
    parser.add_argument("--json", help="write each outcome, with the output of the test, to a file")
    arguments = parser.parse_args()
    soak.binary()  # or the reason why not
    file = arguments.file.resolve()
    names = [name for name in listed(file) if fnmatch.fnmatch(name, arguments.only)]
    everything, wrong = {}, []
    print(f"{len(names)} tests of {file.name}")
    print(f"{'way':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'other':>7}{'as bare':>9}{'excepted':>10}{'differ':>8}{'seconds':>9}")
    with tempfile.TemporaryDirectory(prefix="autograd-suite-") as folder:
        for way in ["bare", *arguments.ways]:
            begin = time.perf_counter()
            found = everything[way] = outcomes(way, file, names, pathlib.Path(folder))
            counts = {kind: sum(outcome == kind for outcome, _ in found.values()) for kind in ("passed", "failed", "skipped")}
            other = [name for name in names if found[name][0] != everything["bare"][name][0]]
            excepted = [name for name in other if exception(name, way)]
            wrong += [(way, name) for name in other if name not in excepted]
            print(f"{way:<10}{counts['passed']:>8}{counts['failed']:>8}{counts['skipped']:>9}{len(names) - sum(counts.values()):>7}"
                  f"{len(names) - len(other):>9}{len(excepted):>10}{len(other) - len(excepted):>8}{time.perf_counter() - begin:>9.0f}", flush=True)
            for name in excepted:
                print(f"    {name}: {exception(name, way)}")
    for way, name in wrong:
        said = (everything[way][name][1].strip().splitlines() or [""])[-1]
        print(f"{way}: {name}: {everything['bare'][name][0]} bare, {everything[way][name][0]} here: {said[:300]}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(everything, indent=1), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
