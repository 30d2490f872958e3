"""The parts of on_gpu.py that measure only a real GPU: `context`, `communicator`, `workspaces`, `attention`, `fit`."""

import sys

from on_gpu_base import Failed, Table, bare, lines, mib, no_time, on_simulated, simulating

MULTIPROCESSOR_MIB = 4  # of CUDA's context, as reports of simulated runs estimate it (docs/simulated-gpu.md)
FITS = ("14GB", "11GB")


def stages(args, program):
    """A part for a program that prints the memory in use outside of PyTorch's segments."""
    table = Table(args, "after", "outside of PyTorch, MiB", "more than before")
    last = 0
    try:
        for told in lines(bare(args), program):
            table.row(told["stage"], mib(told["outside"]), mib(told["outside"] - last), **told)
            last = told["outside"]
    except Failed as failed:
        table.row(failed, "", "", fine=False)
    return table


def context(args):
    table = stages(args, "context")
    if table.figures and "total" in table.figures[0]:
        print(f"\nNVML's total: {table.figures[0]['total']} bytes. `tapelens fit --list-gpus` and reports estimate {MULTIPROCESSOR_MIB} MiB a multiprocessor.")
    return table.wrong


def communicator(args):
    return stages(args, "communicator").wrong


def workspaces(args):
    table = Table(args, "images", "weight", "stride, padding, dilation, groups", "dtype", "forward, MiB", "backward, MiB")
    try:
        for told in lines(bare(args), "workspaces", *(["--quick"] if args.quick else [])):
            shape = ["x".join(map(str, told[of])) for of in ("images", "weight")]
            how = ", ".join(str(told[of]) for of in ("stride", "padding", "dilation", "groups")) + (", transposed" if told["transposed"] else "")
            found = [told["error"], ""] if "error" in told else [" + ".join(map(mib, told[of])) or "0" for of in ("forward", "backward")]
            table.row(*shape, how, told["dtype"], *found, fine="error" not in told, **told)
    except Failed as failed:
        table.row(failed, "", "", "", "", "", fine=False)
    return table.wrong


def attention(args):
    """Real and simulated GPU must also agree about which implementations are available."""
    key = lambda told: tuple(str(told[of]) for of in ("shape", "causal", "implementation", "dtype", "dropout"))
    quick = ["--quick"] if args.quick else []
    table = Table(args, "shape", "causal", "implementation", "dtype", "dropout", "saved", "forward", "backward", "simulated")
    try:
        simulated = {key(told): told for told in lines(on_simulated(args, args.simulate_gpu or args.gpu), "attention", *quick)}
        for told in lines(bare(args), "attention", *quick):
            other = simulated.get(key(told), {})
            figures = [told.get(of, "") for of in ("saved", "forward", "backward")]
            others = [other.get(of, "") for of in ("saved", "forward", "backward")]
            same = figures == others
            said = "the same" if same else f"DIFFERENT: {', '.join(map(str, others))} {other.get('error', '')}"
            table.row(*key(told), *([told["error"], "", ""] if "error" in told else figures), said, fine=same, **told, simulated=others)
    except Failed as failed:
        table.row(failed, *[""] * 8, fine=False)
    return table.wrong


def fit(args):
    """samples/cuda/gpt.py, bare, with `--apply bitwise` and `recompute`, and with `run --fit`: parameters and losses must have the same bits."""
    quick = ["--quick"] if args.quick else []
    tapelens = [args.binary, "run", "--quiet", *simulating(args)]
    table = Table(args, "command", "allocated", "of bare", "reserved", "s a step", "of bare", "kernels, s", "same bits")
    plain = None
    for how in ((), ("--apply", "bitwise"), ("--apply", "recompute"), *(("--fit", size) for size in FITS)):
        said, limit = f"`tapelens run {' '.join(how)}`" if how else "bare", size_of(how)
        if no_time(args):
            table.row(said, no_time(args), *[""] * 6)
            continue
        try:
            told, = lines([*tapelens, *how, "--", sys.executable] if how else bare(args), "gpt", *quick)
        except (Failed, ValueError) as failed:
            table.row(said, failed, *[""] * 6, fine=False)
            continue
        plain = plain or told
        same = (told["digest"], told["losses"]) == (plain["digest"], plain["losses"])
        fits = limit is None or told["reserved"] <= limit
        table.row(said, told["allocated"], f"{told['allocated'] / plain['allocated']:.3f}", f"{told['reserved']}{'' if fits else ' TOO MUCH'}",
                  f"{told['seconds']:.4f}", f"{told['seconds'] / plain['seconds']:.3f}", f"{told['kernel_seconds']:.4f}", "yes" if same else "NO", fine=same and fits, **told,
                  command=said)
    return table.wrong


def size_of(how):
    return int(how[1].removesuffix("GB")) * 10**9 if how[:1] == ("--fit",) else None
