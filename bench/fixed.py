"""Compares the replay with real runs: for each program with an inefficiency and a fix by hand, the peak that `tapelens
advise` predicts, and the peak of the fixed program.

    python bench/fixed.py [CHECK...]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/programs"))

import check_programs  # noqa: E402


def main():
    wanted = sys.argv[1:] or check_programs.check_ids()
    programs = [p for p in check_programs.collect() if p.fixed and p.check in wanted]
    if not programs:
        sys.exit(f"no program of {', '.join(wanted)} is fixed by hand")
    width = max(len(p.id) for p in programs)
    print(f"{'program':{width}}  {'peak':>13}  {'predicted':>13}  {'measured':>13}  ratio")
    worst = 1.0
    pool = check_programs.Pool(programs)
    try:
        for program in programs:
            outcome = pool.outcome(program)
            if len(outcome.findings) != 1:
                sys.exit(f"{program.id}: {len(outcome.findings)} findings")
            predicted = outcome.findings[0]["peak_after_bytes"]
            ratio = predicted / outcome.fixed_peak
            worst = max(worst, ratio, 1 / ratio)
            print(f"{program.id:{width}}  {outcome.peak:13,}  {predicted:13,}  {outcome.fixed_peak:13,}  {ratio:.4f}",
                  flush=True)
    finally:
        pool.close()
    print(f"{len(programs)} pairs, the worst is {100 * (worst - 1):.2f} % off")


if __name__ == "__main__":
    main()
