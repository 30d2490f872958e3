"""The order in which the allocator reuses cached blocks of one size depends on the version of PyTorch, and the replay
uses the right one."""

import torch

import harness
import test_allocator_replay
import test_cuda

pytestmark = test_cuda.pytestmark
PROGRAM = harness.CASES / "cuda_order.py"


def test_cached_blocks_are_given_out_in_the_order_of_this_pytorch(target, tmp_path):
    """Before 2.12, the allocator reuses the lowest block of one size; since then, the block of the oldest segment."""
    counted = test_allocator_replay.run([PROGRAM, "many"], "", target, tmp_path)
    test_allocator_replay.expect_exact(test_allocator_replay.allocator(target), counted["devices"][0])
    bare = harness.bare([harness.BINARY, "run", "--gpu", "H100", "--", harness.PYTHON, PROGRAM],
                        env={"CUDA_STATS": str(tmp_path / "other.json")}, check=True)
    assert bare.stdout.split()[0] == ("address" if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 12) else "age")
