"""A training that logs to Weights & Biases, MLflow or TensorBoard, offline: logger_run.py LOGGER FOLDER. It logs the
figures of its memory at the end."""

import contextlib
import pathlib
import sys

import torch

import tapelens

logger, folder = sys.argv[1], pathlib.Path(sys.argv[2])
with contextlib.ExitStack() as ends:
    if logger == "wandb":
        import wandb

        run = wandb.init(mode="offline", project="memory", dir=folder)
        ends.callback(run.finish)
    elif logger == "mlflow":
        import mlflow

        mlflow.set_tracking_uri(f"file://{folder}/mlruns")
        ends.enter_context(mlflow.start_run())
    else:
        from torch.utils.tensorboard import SummaryWriter

        writer = ends.enter_context(SummaryWriter(folder / "run"))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = []
    for step in range(5):
        loss = model(torch.ones(8, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(torch.ones(1 << 16))  # 256 KiB that each step adds
        if logger == "wandb":
            run.log({"loss": loss.item()})
        elif logger == "mlflow":
            mlflow.log_metric("loss", loss.item(), step=step)
        else:
            writer.add_scalar("loss", loss.item(), step)
    if logger == "wandb":
        logged = tapelens.log_to_wandb(run)
    elif logger == "mlflow":
        logged = tapelens.log_to_mlflow()
    else:
        logged = tapelens.log_to_tensorboard(writer)
    print("logged", logged)
