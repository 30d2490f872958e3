"""CUDA programs on a simulated GPU: compares PyTorch's own counts with sizes computed here, and with figures that users
printed on real GPUs."""

import json
import pathlib
import subprocess

import pytest

import harness

CUDA = harness.CASES / "on_cuda.py"
MIB = 1 << 20
GIB = 1 << 30


def has_cuda():
    asked = "import torch; print(torch.version.cuda)"
    return subprocess.run([harness.PYTHON, "-c", asked], capture_output=True, text=True, check=True).stdout.strip() != "None"


pytestmark = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")


def command(options, *program):
    return [harness.BINARY, "run", *options, "--", *program]


def simulated(name, gpu="H100", options=(), env=None, timeout=300):
    """The output of a case on that GPU."""
    run = harness.bare(command(["--gpu", gpu, *options], harness.PYTHON, CUDA, name), env=env, timeout=timeout)
    assert run.code == 0, f"{name} ended with {run.code}:\n{run.stdout}{run.stderr}"
    return json.loads(run.stdout.splitlines()[-1])[name]


def rounded(size):
    """The size of a block of PyTorch's allocator."""
    return -(-size // 512) * 512


def test_the_program_sees_the_gpu_that_was_asked_for():
    seen = simulated("card", "A100-80GB:24GiBx3")
    assert seen == {"count": 3, "name": "NVIDIA A100-SXM4-80GB", "capability": [8, 0], "bytes": 24 * GIB, "processors": 108,
                    "free": 24 * GIB, "total": 24 * GIB}


def test_gpus_are_left_out_as_cuda_visible_devices_says():
    assert simulated("card", "T4x4", env={"CUDA_VISIBLE_DEVICES": "2,0"})["count"] == 2


def test_three_products_hold_what_they_held_on_a_real_gpu():
    # The first two were printed on a real GPU by their author; the third is 8192 x 512 twice and 8 x 64 x 64, of float32.
    broadcast, plain, batched, shape = simulated("products")
    assert (broadcast, plain) == (1_107_427_328, 34_603_008)
    assert batched == 4 * (2 * 8192 * 512 + 8 * 64 * 64)
    assert shape == [8, 8192, 64]


def test_training_with_adamw_holds_parameters_and_two_states_of_each():
    seen = simulated("adamw")
    weights, biases = rounded(4 * 1024 * 1024), rounded(4 * 1024)
    assert seen["parameters"] == 4 * (weights + biases)
    assert seen["left"] == 3 * seen["parameters"] + 4 * 1024 * 1024, "and the input"
    # In the optimizer's step: parameters, gradients, states, and temporaries of the same size.
    assert seen["allocated"] >= 5 * seen["parameters"] + 4 * 1024 * 1024
    assert seen["requested"] <= seen["allocated"] <= seen["active"] <= seen["reserved"]
    assert seen["reserved"] % (2 * MIB) == 0


def test_a_full_card_is_pytorchs_own_error_with_its_own_figures():
    kept, said = simulated("too_large", "H100:4GiB")
    assert kept == 3 * GIB
    assert said[0] == "CUDA out of memory"
    assert said[1] == "Tried to allocate 2.00 GiB"
    assert said[2].startswith("GPU 0 has a total capacity of 4.00 GiB of which 1024.00 MiB is free")


@pytest.mark.parametrize("setting, grown, kept", [
    ("", 5 * 30 * MIB, 4 * 30 * MIB),
    ("expandable_segments:True", 8 * 20 * MIB, 7 * 20 * MIB),
    ("max_split_size_mb:64", 5 * 30 * MIB, 4 * 30 * MIB),
    ("backend:cudaMallocAsync", 5 * 32 * MIB, 4 * 32 * MIB),
])
def test_segments_grow_and_shrink_as_the_allocators_settings_say(setting, grown, kept):
    seen = simulated("segments", env={"PYTORCH_CUDA_ALLOC_CONF": setting, "PYTORCH_ALLOC_CONF": setting})
    assert seen["left"] == 4 * 30 * MIB
    assert seen["grown"] == grown
    assert seen["kept"] == seen["used"] == kept
    assert seen["reserved"] == grown
    assert seen["allocated"] == 5 * 30 * MIB


def test_small_tensors_keep_their_values_and_new_ones_are_zero():
    assert simulated("values") == {"small": True, "pinned": True, "large": 0.0, "same_block": True, "clean": [0.0, 0.0, 0.0]}


def test_streams_and_captured_graphs():
    assert simulated("graph") == [True, False, [8, 256], 2]
    assert simulated("streams") == [True, 0]


@pytest.mark.parametrize("gpu", ["L4", "RTX-3090", "T4", "B200", "RTX-5090"])
def test_every_architecture_finds_its_kernels(gpu):
    assert simulated("sorts", gpu) == [[100_000], [100, 8]]


def test_a_launch_takes_a_millisecond_so_that_autotuning_chooses_the_same_each_time():
    assert simulated("times") == [5.0, True]


def test_several_gpus_have_their_own_memory():
    assert simulated("devices", "H100x2") == [2, [5, 6, 7], 0, True, [512, 512]]


def test_memory_that_cannot_be_shared_with_a_process_is_said():
    for setting in ("", "expandable_segments:True"):
        run = harness.bare(command(["--gpu", "H100"], harness.PYTHON, CUDA, "shared"), env={"PYTORCH_ALLOC_CONF": setting})
        assert json.loads(run.stdout)["shared"] in ("CUDA error: operation not supported", "CUDA driver error: operation not supported")
        said, = run.stderr.splitlines()  # and no fabric of GPUs
        assert said.startswith("tapelens: the memory of a simulated GPU cannot be shared with another process")


def test_layers_of_cudnn_run_forward_and_backward():
    assert simulated("networks") == {
        "conv1d": [2, 16, 18], "conv2d": [2, 16, 32, 32], "conv3d": [2, 16, 6, 6, 6], "transposed": [2, 16, 18, 18],
        "half": [2, 16, 30, 30], "batch_norm": [2, 8, 16, 16], "lstm": [8, 20, 128], "gru": [20, 8, 64],
        "rnn": [20, 8, 64], "projected": [5, 8, 16]}


def test_attention_holds_what_its_implementation_holds():
    seen = simulated("attention")
    assert seen["default"] == [2, 8, 1024, 64]
    scores = 2 * 8 * 1024 * 1024  # elements that only the plain implementation allocates
    for name in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"):
        assert seen[name] < 2 * scores < seen["MATH"]


def test_every_library_answers():
    assert simulated("libraries") == [[1000], [5], [0, 1], [0], [64, 64]]


def test_one_process_is_rank_0_of_a_world():
    rank, world, total, gathered, sharded = simulated("ranks", options=["--world", "64"])
    assert (rank, world) == (0, 64)
    assert total == [3.0 * 64, 4.0 * 64]
    assert gathered == 7 * 64
    assert sharded < 4 * (4 * 2048 * 2048 / 64) + 4 * MIB, "of each layer one part of 64, and what was gathered"


def test_groups_of_a_mesh_have_their_own_size():
    assert simulated("meshes", "H100x8", options=["--world", "8"]) == [4, 2, 3]


def test_torch_compile_makes_its_kernels(tmp_path):
    env = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"), "TRITON_CACHE_DIR": str(tmp_path / "triton")}
    shape, peak = simulated("compiled", env=env, timeout=600)
    assert shape == [MIB]
    assert peak == 2 * 4 * MIB, "the input and the result: nothing in between"


def test_nothing_of_it_is_loaded_without_the_option(target):
    program = "import torch; print(torch.cuda.is_available(), 'tapelens_gpu' in open('/proc/self/maps').read())"
    run = harness.record([harness.PYTHON, "-c", program], target)
    assert run.stdout == "False False\n"


def test_a_program_on_a_simulated_gpu_is_recorded(target):
    run = harness.record([harness.PYTHON, CUDA, "adamw"], target, ["--gpu", "H100"])
    assert run.code == 0, run.stderr
    report = harness.report(target)
    assert report["processes"]
    assert report["recording"]["simulated_gpu"] == "1 x NVIDIA H100 80GB HBM3"


COMMUNICATORS = """
import torch, torch.distributed as dist
x = torch.ones(1, device="cuda")
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=8, device_id=torch.device("cuda:0"))
group = dist.new_group([0, 1])
dist.all_reduce(x, group=group)
big = torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
free, every = torch.cuda.mem_get_info()
print(every - free == torch.cuda.memory_reserved())
"""


def test_what_is_outside_of_pytorch_is_estimated_and_in_no_figure(target):
    """PyTorch may use all memory of the GPU: `mem_get_info` does not include the estimate."""
    run = harness.record([harness.PYTHON, "-c", COMMUNICATORS], target, ["--gpu", "H100:4GiB"])
    assert (run.code, run.stdout) == (0, "True\n"), run.stderr
    report = harness.report(target)
    process, = report["processes"]
    assert process["outside_estimate"] == {
        "cuda_context_bytes": 528 * MIB, "nccl_communicators": [8, 2], "nccl_least_bytes": 1 << 30, "nccl_most_bytes": 4 << 30,
        "gpu_bytes": 4 << 30}
    device, = process["devices"]
    assert device["peak_bytes"] == (3 << 30) + 4
    said = " ".join(harness.bare([harness.BINARY, "report", target, "--verbose"]).stdout.split())
    assert "NCCL, 1.0 GiB to 4.0 GiB for 1 communicator of 8 ranks, 1 of 2 ranks." in said
    assert "With these the GPU's 4.0 GiB would not be enough." in said


def test_communicators_from_before_the_first_operator_are_known(target):
    program = ("import torch, torch.distributed as dist; "
               "dist.init_process_group('nccl', store=dist.HashStore(), rank=0, world_size=4, device_id=torch.device('cuda:0')); "
               "torch.ones(1, device='cuda')")
    run = harness.record([harness.PYTHON, "-c", program], target, ["--gpu", "H100"])
    assert run.code == 0, run.stderr
    assert harness.report(target)["processes"][0]["outside_estimate"]["nccl_communicators"] == [4]


def test_a_program_that_fails_is_told_that_values_were_zero(target):
    program = [harness.PYTHON, "-c", "import torch; assert torch.ones(1 << 20, device='cuda').sum() > 0"]
    for run in (harness.bare(command(["--gpu", "H100"], *program)),
                harness.record(program, target, ["--gpu", "H100"], quiet=False)):
        assert run.code == 1
        said, = (line for line in run.stderr.splitlines() if line.startswith("tapelens: the program ended"))
        assert "exit code 1 after it read values that the simulated GPU does not compute" in said and "as zero" in said
    assert "ended with" not in harness.bare(command(["--gpu", "H100", "--quiet"], *program)).stderr


def test_a_training_that_runs_out_of_memory_in_its_forward_is_told_that_and_no_finding(target):
    run = harness.record([harness.PYTHON, harness.SAMPLES / "cuda" / "gpt.py"], target, ["--gpu", "H100:2GiB"],
                         quiet=False)
    assert run.code == 1 and "torch.OutOfMemoryError" in run.stderr
    said = [line for line in run.stderr.splitlines() if line.startswith("tapelens: ")]
    assert len(said) == 1 and "peak 2.0 GiB on cuda:0, out of memory, " in said[0]
    process, = harness.report(target)["processes"]
    assert process["exit_code"] == 1 and len(process["out_of_memory"]) == 1
    assert [f for f in harness.advise(target)["findings"] if f["severity"] != "info"] == []


def test_a_pytorch_without_cuda_is_one_line_that_says_what_to_install(tmp_path):
    for name, text in {"torch/__init__.py": "", "torch/version.py": "__version__ = '2.15.0+cpu'\ncuda: str = None\n",
                       "torch-2.15.0+cpu.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.15.0+cpu\n"}.items():
        file = pathlib.Path(tmp_path, name)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    run = harness.bare(command(["--gpu", "H100"], harness.PYTHON, "-c", "print(1)"), env={"PYTHONPATH": str(tmp_path)})
    assert run.code == 2 and run.stdout == ""
    line, = run.stderr.splitlines()
    assert "is built without CUDA" in line and "pip install torch==2.15.0" in line


@pytest.mark.parametrize("options, said", [
    (["--gpu", "Voodoo"], "unknown GPU 'Voodoo'"),
    (["--gpu", "H100:1KiB"], "is not the size of a GPU's memory"),
    (["--gpu", "H100", "--world", "0"], "'0' is not a number of ranks"),
    (["--gpu", "H100", "--cudnn-workspace", "much"], "'much' is not a size"),
    (["--world", "8"], "nothing is simulated without --gpu"),
])
def test_what_cannot_be_is_a_line_and_exit_code_2(options, said):
    run = harness.bare(command(options, harness.PYTHON, "-c", "print(1)"))
    assert run.code == 2 and run.stdout == ""
    assert said in run.stderr and len(run.stderr.splitlines()) == 1
