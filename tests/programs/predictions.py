"""Predictions of `tapelens advise --apply` for rewrites of a program, and their measured effect."""

import dataclasses

import harness

ARCHITECTURES = ("convlstm", "convlstm_split", "gru_packed", "lstm_cells", "gpt", "experts", "experts_gated", "vae", "vae_autocast",
                 "vae_linear_autocast", "unet", "squeeze_excite", "message_passing", "gan")
TOLERANCE = 0.01


def program(name, steps=3):
    return [harness.PYTHON, harness.CASES / "architectures.py", name, str(steps)]


@dataclasses.dataclass
class Figure:
    of: str  # "peak" or "saved"
    bare: int
    least: int  # predicted; equals `most` if the prediction has no bounds
    most: int
    measured: int

    def off(self):
        """The relative distance of the measured value from the prediction."""
        nearest = min(max(self.measured, self.least), self.most)
        return nearest / self.measured - 1 if self.measured else float(nearest > 0)

    def is_right(self):
        return abs(self.off()) <= TOLERANCE

    def predicted(self):
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


def compare(command, folder, level, options=(), recording=()):
    """Records the program bare (once for each folder) and with the rewrites of `level`. `recording`: options of
    `record` only."""
    bare = folder / "bare"
    if not bare.exists():
        run = harness.record(command, bare, recording, timeout=900)
        assert run.code == 0, run.stderr
        (folder / "said").write_text(run.stdout)
    plan = harness.advise(bare, ["--apply", level, *options])["advice"]["plan"]
    rewritten = harness.record(command, folder / level, [*recording, "--apply", level, *options], timeout=900)
    assert (rewritten.code, rewritten.stdout) == (0, (folder / "said").read_text()), f"{level}: {rewritten.stderr}"
    report = harness.report(folder / level, ["--top", "0"])
    measured = {"peak": report["peak"]["bytes"], "saved": report["rewritten"]["saved_peak_bytes"] if "rewritten" in report else plan["saved_peak_before_bytes"]}
    for of, key in (("peak", "peak_{}_bytes"), ("saved", "saved_peak_{}_bytes")):
        after = plan[key.format("after")]
        yield Figure(of, plan[key.format("before")], after, plan[key.format("after_at_most")], measured[of])
