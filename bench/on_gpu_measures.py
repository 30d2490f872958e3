"""The parts of on_gpu.py that measure only a real GPU: `context`, `communicator`, `workspaces`, `attention`."""

from on_gpu_base import Failed, Table, bare, lines, mib, on_simulated

MULTIPROCESSOR_MIB = 3  # of CUDA's context, as reports of simulated runs estimate it (docs/simulated-gpu.md)


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
