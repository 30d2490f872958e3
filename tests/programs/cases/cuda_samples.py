"""Every Python sample on CUDA, one after another in one process: cuda_samples.py FOLDER."""

import contextlib
import runpy
import sys

import cuda_stats

SAMPLES = ["resnet_finetune.py", "gpt.py", "gpt.py --fused", "lstm.py", "lstm.py --own-cell", "densenet.py", "jacobian.py", "gan.py",
           "custom_function.py", "custom_function.py --no-checkpoint", "dataloader.py"]


def main():
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    cuda_stats.begin()
    for sample in SAMPLES:
        file, *options = sample.split()
        sys.argv = [file, "--device", "cuda", "--size", "small", *options]
        with contextlib.redirect_stdout(None):
            runpy.run_path(f"{folder}/{file}", run_name="__main__")
        print(sample, flush=True)
    cuda_stats.end()


if __name__ == "__main__":
    main()
