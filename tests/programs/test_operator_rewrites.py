"""The rewrites by name: of operators (expanded-save, trivial-concat) and of the optimizer (late-gradient). Programs run
bare and with the probe, in separate processes; the results are compared. On a simulated GPU, which computes the values
of small tensors, too."""

import pytest
import torch

import harness
from test_cuda import has_cuda

SEES_WRITES = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15)
on_cuda = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")


def rewritten(command, allow, folder, min_bytes=1):
    """Runs the command with the probe. Returns the run and its counts: (rewrite, reason or None) -> (times, bytes,
    kept)."""
    folder.mkdir()
    run = harness.bare(command, env={"LD_PRELOAD": str(harness.INJECT), "TAPELENS_REWRITE": "1", "TAPELENS_ALLOW": allow,
                                     "TAPELENS_REWRITE_MIN_BYTES": str(min_bytes), "TAPELENS_TALLY": str(folder)})
    done = {}
    for rewrite, reason, *counts in harness.tally_rows(folder):
        before = done.get((rewrite, reason), (0, 0, 0))
        done[rewrite, reason] = tuple(a + b for a, b in zip(before, counts))
    return run, done


def both(function, allow, tmp_path):
    """The results of a function of operator_cases.py without and with the probe."""
    results = []
    for name in ("bare", "rewritten"):
        command = [harness.PYTHON, harness.CASES / "operator_cases.py", function, tmp_path / name]
        if name == "bare":
            run = harness.bare(command)
        else:
            run, done = rewritten(command, allow, tmp_path / "tally")
        assert (run.code, run.stdout, run.stderr) == (0, "", ""), run.stderr
        results.append(torch.load(tmp_path / name, weights_only=False))
    assert results[0].keys() == results[1].keys()
    return *results, done


def run_on_gpu(allow, *program, min_bytes=1):
    """A run on a simulated GPU, bare if `allow` is empty."""
    rewriting = ["--allow", allow, "--rewrite-min-bytes", str(min_bytes)] if allow else []
    return harness.bare([harness.BINARY, "run", "--gpu", "H100", *rewriting, "--", harness.PYTHON, "-W", "ignore", *program],
                        check=True)


def both_on_gpu(allow, tmp_path, case, function, *arguments):
    """The files and outputs of a function of a case without and with the rewrite, and the closing line."""
    results = []
    for name in ("bare", "rewritten"):
        run = run_on_gpu(allow if name == "rewritten" else "", harness.CASES / case, function, tmp_path / name, "cuda", *arguments)
        results.append((torch.load(tmp_path / name, weights_only=False), run.stdout))
    return *results, run.stderr


def same(stock, got, path=()):
    """Compares all bits, and all visible properties."""
    if isinstance(stock, torch.Tensor):
        assert torch.equal(stock.contiguous().view(torch.uint8) if stock.dim() else stock,
                           got.contiguous().view(torch.uint8) if got.dim() else got), path
    elif isinstance(stock, dict):
        assert stock.keys() == got.keys(), path
        for key, value in stock.items():
            same(value, got[key], (*path, key))
    elif isinstance(stock, (list, tuple)):
        assert len(stock) == len(got), path
        for place, value in enumerate(stock):
            same(value, got[place], (*path, place))
    else:
        assert stock == got, path


ROUNDING = {torch.bfloat16: 3e-2, torch.float16: 5e-3, torch.float32: 2e-6, torch.complex64: 2e-6, torch.float64: 1e-13}


def close(stock, got, path, rounding):
    assert got.shape == stock.shape and got.dtype == stock.dtype, path
    error = (got - stock).to(torch.complex128).norm()
    assert error <= rounding * stock.to(torch.complex128).norm(), path


def all_close(stock, got):
    for name, expected in stock.items():
        if isinstance(expected, str):
            assert got[name] == expected
            continue
        # Autocast rounds the sides, whose gradients are float32.
        rounding = ROUNDING.get(expected["out"]["dtype"], 0) if "autocast" not in name else ROUNDING[torch.bfloat16]
        close(expected["out"].pop("values"), got[name]["out"].pop("values"), name, rounding)
        assert got[name]["out"] == expected["out"], name
        for order in ("first", "second"):
            for (values, *stock_rest), (found, *got_rest) in zip(expected.get(order, []), got[name].get(order, [])):
                close(values, found, (*name, order), rounding)
                # The gradient of a side with special strides has these strides.
                assert got_rest == stock_rest or name[0] in ("transposed", "permuted batch", "sliced"), (*name, order)


def test_a_folded_matmul_is_the_same_but_for_rounding(tmp_path):
    stock, got, done = both("matmuls", "expanded-save", tmp_path)
    assert done["expanded-save", None][0] > 200
    all_close(stock, got)


@on_cuda
def test_so_is_one_on_a_gpu(tmp_path):
    (stock, _), (got, _), said = both_on_gpu("expanded-save", tmp_path, "operator_cases.py", "matmuls")
    assert "tapelens: rewrote 256 saves" in said
    assert sum(bool(case["out"]["values"].any()) for case in stock.values() if "out" in case) > 300
    all_close(stock, got)


def test_a_folded_matmul_rounds_about_as_the_one_it_replaces(tmp_path):
    """Compares both with the same product in float64. A rewritten gradient is one long sum instead of a sum of sums."""
    program = """
import sys, torch
torch.manual_seed(0)
a, b = torch.randn(8, 1, 64, 128, dtype=torch.float64), torch.randn(6, 128, 32, dtype=torch.float64)
def everything(dtype):
    sides = [x.to(dtype, copy=True).requires_grad_() for x in (a, b)]
    out = torch.matmul(*sides)
    out.square().sum().backward()
    return [out.detach().double()] + [x.grad.double() for x in sides]
torch.save([((x - y).norm() / y.norm()).item() for x, y in zip(everything(torch.float32), everything(torch.float64))], sys.argv[1])
"""
    harness.bare([harness.PYTHON, "-c", program, tmp_path / "bare"], check=True)
    _, done = rewritten([harness.PYTHON, "-c", program, tmp_path / "rewritten"], "expanded-save", tmp_path / "tally")
    assert done["expanded-save", None][0] == 2
    for stock, got in zip(torch.load(tmp_path / "bare"), torch.load(tmp_path / "rewritten")):
        assert got <= 2 * stock


# A published program, which prints 1107427328 on a GPU: 1 GiB is the copy of `weight` for each row of `x`.
BROADCAST = """
import torch
x, weight = torch.FloatTensor(8192, 512).requires_grad_().cuda(), torch.FloatTensor(8, 64, 64).cuda()
out = torch.matmul(x.view(8192, 8, 1, 64), weight)
print(torch.cuda.memory_allocated())
out.sum().backward()
"""


@on_cuda
def test_a_broadcast_product_on_a_gpu_keeps_its_sides_alone():
    bare, rewritten = (run_on_gpu(allow, "-c", BROADCAST, min_bytes=1 << 16) for allow in ("", "expanded-save"))
    assert int(bare.stdout) - int(rewritten.stdout) == 1 << 30
    if SEES_WRITES:  # before, the allocator also counts the workspace of cuBLAS
        assert int(rewritten.stdout) == 33685504
    assert rewritten.stderr == "tapelens: rewrote 1 save at 1 site, 1.0 GiB kept as 0 B over the whole run\n"


@on_cuda
def test_a_gradient_that_a_gpu_would_add_in_any_order_is_left_alone():
    """The fold reads the repeated rows of `weight` by as_strided(), whose gradient is an index_add."""
    program = """
import torch
x, weight = torch.ones(16, 1, 4, 64).cuda(), torch.ones(1, 64, 4).cuda().expand(3, 64, 4).detach()
for trained in (False, True):
    torch.matmul(x, weight.requires_grad_(trained))
"""
    said = run_on_gpu("expanded-save", "-c", program).stderr
    assert "rewrote 1 save at 1 site" in said and "its gradient would be added in any order (expanded-save, 1)" in said


# The memory of each stays at its address in a captured graph, whose replays read and write it unseen by PyTorch.
CAPTURED = """
import torch
x, weight = torch.full((8, 1, 4, 8), 2.0).cuda(), torch.full((4, 8, 4), 3.0).cuda().requires_grad_()
torch.matmul(x, weight).sum().backward()
side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = torch.matmul(x, weight)
    gradient, = torch.autograd.grad(out.sum(), weight)
graph.replay()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    other = torch.matmul(x, weight).sum()
other.backward()
print(out.sum().item(), gradient.sum().item(), other.item(), weight.grad.sum().item())
"""


@on_cuda
def test_a_product_is_folded_in_a_graph_and_on_every_stream():
    """It consists of ordinary operators, on the stream of the program."""
    bare, rewritten = (run_on_gpu(allow, "-c", CAPTURED) for allow in ("", "expanded-save"))
    assert rewritten.stdout == bare.stdout and float(bare.stdout.split()[2]) > 0
    assert "rewrote 3 saves" in rewritten.stderr


@on_cuda
def test_a_concatenation_on_a_gpu_is_a_copy_and_the_reason_is_counted():
    program = """
import torch
x = torch.ones(64, 64).cuda().requires_grad_()
joined, stacked = torch.cat([x.exp()]), torch.stack([x.exp()])
joined.mul_(2)
print(joined.sum().item(), stacked.sum().item())
"""
    bare, rewritten = (run_on_gpu(allow, "-c", program) for allow in ("", "trivial-concat"))
    assert rewritten.stdout == bare.stdout
    assert "nothing was rewritten; skipped 2 sites: PyTorch's CUDA allocator has no copy-on-write" in rewritten.stderr


def test_a_concatenation_of_one_tensor_is_shared_until_it_is_written(tmp_path):
    stock, got, done = both("concats", "trivial-concat", tmp_path)
    assert done["trivial-concat", None][0] > 1000
    same(stock, got)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", ["guards", "compiled"])
def test_unusual_tensors_and_moments_go_the_usual_way(function, tmp_path):
    stock, got, _ = both(function, "expanded-save,trivial-concat", tmp_path)
    if function == "guards":  # below vmap's layer, ordinary tensors have a product that may be folded
        for name in ("vmap",):
            close(stock[name].pop("values"), got[name].pop("values"), (name,), ROUNDING[torch.float32])
    same(stock, got)


def test_nothing_is_rewritten_that_was_not_named_or_is_small(tmp_path):
    command = [harness.PYTHON, harness.CASES / "operator_cases.py", "concats", tmp_path / "out"]
    assert not rewritten(command, "", tmp_path / "none")[1]
    assert not rewritten(command, "expanded-save,trivial-concat", tmp_path / "small", min_bytes=1 << 20)[1]


# ---- late-gradient


def late(function, tmp_path):
    """Standard output without and with the probe, the numbers of gradients after each backward, and the counts of
    rewrites."""
    command = [harness.PYTHON, "-W", "ignore", harness.CASES / "late_gradients.py", function]
    bare = harness.bare(command, check=True)
    run, done = rewritten(command, "late-gradient", tmp_path / "tally")
    assert run.code == 0, run.stderr
    return bare, run, done


def applied(done):
    return done.get(("late-gradient", None), (0, 0, 0))[0]


def reasons(done):
    return [reason for _, reason in done if reason is not None]


def test_every_optimizer_steps_to_the_same_bits_in_the_backward(tmp_path):
    bare, run, done = late("every_optimizer", tmp_path)
    assert run.stdout == bare.stdout
    assert not reasons(done)
    steps = len(run.stderr.splitlines())
    # 7 parameters. The first step of the first optimizer is observed. Of each other optimizer, the second step is.
    assert applied(done) == 7 * (steps - 2 * (steps // 6) + 1)
    assert run.stderr.splitlines()[-4:] == ["0"] * 4


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", ["two_groups_and_a_schedule", "state_saved_and_loaded", "group_added", "two_models",
                                      "checkpointed"])
def test_what_a_program_does_with_its_optimizer_still_works(function, tmp_path):
    bare, run, done = late(function, tmp_path)
    assert run.stdout == bare.stdout
    assert applied(done) > 0


def test_a_tied_parameter_waits_for_the_step(tmp_path):
    bare, run, done = late("tied", tmp_path)
    assert run.stdout == bare.stdout
    assert reasons(done) == ["two modules have the parameter"]
    assert run.stderr.splitlines() == ["5"] + ["1"] * 5


REFUSED = {
    "clipped": "something else reads the gradients",
    "logged_after_the_step": "something else reads the gradients",
    "read_by_numpy": "something else reads the gradients",
    "scaled": "something else reads the gradients",
    "shared_by_two_optimizers": "something else reads the gradients",
    "two_optimizers_in_turn": "something else reads the gradients",
    "accumulated": "the gradients are accumulated over several backwards",
    "never_zeroed": "the gradients are kept from step to step",
    "zeroed_in_place": "the gradients are kept from step to step",
    "closure": "its step is given a closure",
    "graph_kept": "the graph is kept for another backward",
    "graph_of_the_gradients": "the backward makes a graph (create_graph=True)",
    "hooks_on_gradients": "the program has hooks on gradients",
    "hooks_on_steps": "the program has hooks on its steps",
    "scheduled_before_the_step": "its options change between the backward and the step",
    "parameters_read_before_the_step": "something reads the parameters before their step",
    "gradients_replaced": "the program replaces gradients before the step",
    "rate_as_a_tensor": "one of its options is a tensor",
    "step_replaced": "the program replaced its step",
    "of_its_own": "its step may need all gradients at once",
    "lbfgs": "its step may need all gradients at once",
    "parameter_saved_elsewhere": "the rest of the backward may still read the parameter",
    "autocast_around_the_backward": "the backward runs under autocast",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", REFUSED)
def test_it_is_refused_where_somebody_could_tell(function, tmp_path):
    bare, run, done = late(function, tmp_path)
    assert run.said() == bare.said()
    assert applied(done) == 0
    assert set(reasons(done)) == {REFUSED[function]}


def test_several_processes_are_left_alone(tmp_path):
    command = harness.torchrun(harness.CASES / "late_gradients.py", "distributed")
    bare = harness.in_order(lambda: harness.bare(command))
    tallies = {}

    def counted():
        run, tallies["last"] = rewritten(command, "late-gradient", tmp_path / f"tally{len(list(tmp_path.iterdir()))}")
        return run

    run = harness.in_order(counted)
    assert sorted(run.stdout.splitlines()) == sorted(bare.stdout.splitlines())
    assert set(reasons(tallies["last"])) == {"the gradients may be reduced over several processes"}


@pytest.mark.parametrize("function, said, reason", [
    ("accumulated_later", "a second backward came before the step", "a second backward came before the step"),
    ("another_optimizer_later", "another optimizer has the same parameters", "something else reads the gradients"),
])
def test_what_was_not_observed_is_said_when_it_shows(function, said, reason, tmp_path):
    _, run, done = late(function, tmp_path)
    assert run.stderr.count(f"tapelens: late-gradient: {said}") == 1
    assert reasons(done) == [reason]


def test_a_closure_ends_it(tmp_path):
    bare, run, done = late("closure_later", tmp_path)
    assert run.stdout == bare.stdout
    assert "differs" not in run.stderr
    assert applied(done) > 0
    assert reasons(done) == ["its step is given a closure"]


def test_programs_of_cpp_are_left_alone(tmp_path):
    _, done = rewritten([harness.TRAINER], "late-gradient", tmp_path / "tally")
    assert reasons(done) == ["optimizers of C++ programs are not rewritten"]


# ---- scan-save


def scanned(function, tmp_path):
    """Bytes alive after each forward without and with the probe, and the counts of rewrites. Checks that the gradients
    have the same bits."""
    runs = []
    for name in ("bare", "rewritten"):
        command = [harness.PYTHON, "-W", "ignore", harness.CASES / "scans.py", function, tmp_path / name]
        if name == "bare":
            run = harness.bare(command, check=True)
        else:
            run, done = rewritten(command, "scan-save", tmp_path / "tally", min_bytes=1 << 16)
        assert run.code == 0, run.stderr
        assert "tapelens" not in run.stderr  # PyTorch 2.11 writes the body's graph there
        runs.append([int(line) for line in run.stdout.splitlines()])
    same(*(torch.load(tmp_path / name) for name in ("bare", "rewritten")))
    return *runs, done


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function, views", [("product", 1), ("changed_before_the_backward", 1), ("chain_of_views", 1),
                                             ("two_products", 2)])
def test_a_scan_keeps_a_view_of_its_weight_once(function, views, tmp_path):
    weight, steps = 256 * 256 * 4, 64
    # The gradient of `other` also reads the scanned inputs, transposed.
    slices, stack = (1, steps * 8 * 256 * 4) if function == "two_products" else (0, 0)
    bare, run, done = scanned(function, tmp_path)
    for before, after in zip(bare, run, strict=True):
        assert before > views * steps * weight
        assert before - after == views * (steps - 1) * weight + stack
    # Counts of both rounds.
    assert done == {("scan-save", None): (2 * (views + slices), 2 * (views * steps * weight + stack), 2 * views * weight)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", ["over_weights", "over_weights_by_views", "over_weights_changed_before_the_backward"])
def test_a_scan_over_weights_does_not_keep_them_transposed_as_well(function, tmp_path):
    stack = 64 * 256 * 256 * 4
    bare, run, done = scanned(function, tmp_path)
    assert [before - after for before, after in zip(bare, run, strict=True)] == [stack, stack]
    assert done == {("scan-save", None): (2, 2 * stack, 0)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", ["no_view", "bias", "without_gradients"])
def test_other_scans_are_left_alone(function, tmp_path):
    bare, run, done = scanned(function, tmp_path)
    assert run == bare
    assert not done


def test_a_scan_that_is_not_known_is_left_alone(tmp_path):
    bare, run, done = scanned("of_another_pytorch", tmp_path)
    assert run == bare
    assert list(done) == [("scan-save", "the scan of this PyTorch is not one that is known")]


SCANS_ON_GPU = {"product": 1, "changed_before_the_backward": 1, "chain_of_views": 1, "two_products": 2, "over_weights": 0,
                "over_weights_by_views": 0, "over_weights_changed_before_the_backward": 0, "no_view": 0}


@on_cuda
@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", SCANS_ON_GPU)
def test_a_scan_on_a_gpu_keeps_what_is_constant_once(function, tmp_path):
    """Views of a scanned input need PyTorch's reports of writes, since 2.15."""
    steps, width = 8, 32
    weight = width * width * 4
    (stock, bare), (got, run), said = both_on_gpu("scan-save", tmp_path, "scans.py", function, str(steps), str(width))
    same(stock, got)
    assert any(t.any() for t in stock[0])
    views = SCANS_ON_GPU[function]
    stack = {"two_products": steps * 8 * width * 4}.get(function, steps * weight if function.startswith("over_weights") else 0)
    expected = views * (steps - 1) * weight + (stack if SEES_WRITES else 0)
    for before, after in zip(bare.split(), run.split(), strict=True):
        assert int(before) - int(after) == expected
    assert ("its scanned input may be written (scan-save, 1)" in said) == bool(stack and not SEES_WRITES)


@on_cuda
def test_slices_that_are_not_aligned_are_left_alone_on_a_gpu(tmp_path):
    """A library may choose another kernel for a matrix at another alignment."""
    (stock, bare), (got, run), said = both_on_gpu("scan-save", tmp_path, "scans.py", "product", "4", "30")
    same(stock, got)
    assert run == bare
    assert "the slices of its stack are not aligned as a tensor is" in said
