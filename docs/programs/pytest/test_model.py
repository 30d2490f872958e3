import pytest
import torch

MODEL = torch.nn.Sequential(torch.nn.Linear(256, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 256))


@pytest.mark.peak_memory("36 MiB")
def test_evaluation():
    with torch.no_grad():
        assert MODEL(torch.ones(1024, 256)).shape == (1024, 256)


@pytest.mark.peak_memory("36 MiB")
def test_training():
    MODEL(torch.ones(1024, 256)).sum().backward()
