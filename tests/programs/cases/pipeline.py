"""pipeline.py: two stages of a pipeline, each a process; under torchrun."""

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

WIDTH, ROWS, MICROBATCHES = 48, 64, 4


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    net = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH))
    stage = PipelineStage(net, dist.get_rank(), dist.get_world_size(), torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=MICROBATCHES, loss_fn=lambda out, target: (out - target).square().mean())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        inputs, targets = torch.randn(ROWS * MICROBATCHES, WIDTH), torch.randn(ROWS * MICROBATCHES, WIDTH)
        if dist.get_rank() == 0:
            schedule.step(inputs)
        else:
            schedule.step(target=targets)
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


main()
