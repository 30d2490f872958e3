"""Trains one of twelve models of transformers, torchvision, timm, diffusers and PyTorch for three steps on CUDA, with inputs
of random numbers:

    python bench/programs/models.py NAME [--batch N] [--steps N]

fsdp2 needs the variables of torchrun: tapelens run --gpu H100 --world 8 -- python bench/programs/models.py fsdp2"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F


def tokens(rows, length, vocabulary):
    return torch.randint(0, vocabulary, (rows, length), device="cuda")


def images(rows, size):
    return torch.randn(rows, 3, size, size, device="cuda")


def labels(rows, classes=1000):
    return torch.randint(0, classes, (rows,), device="cuda")


def language(model, length, vocabulary):
    def loss(rows):
        read = tokens(rows, length, vocabulary)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return model(input_ids=read, labels=read).loss
    return [model], [loss]


def classifier(model, size, autocast=False):
    def loss(rows):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            return F.cross_entropy(model(images(rows, size)), labels(rows))
    return [model], [loss]


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return language(GPT2LMHeadModel(GPT2Config(use_cache=False)), 1024, 50257)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16,
                         num_key_value_heads=4, use_cache=False)
    return language(LlamaForCausalLM(config), 1024, 32000)


def bert():
    from transformers import BertConfig, BertForMaskedLM
    return language(BertForMaskedLM(BertConfig()), 512, 30522)


def t5():
    from transformers import T5Config, T5ForConditionalGeneration
    return language(T5ForConditionalGeneration(T5Config(use_cache=False, decoder_start_token_id=0)), 512, 32128)


def resnet50():
    import torchvision
    return classifier(torchvision.models.resnet50(), 224)


def vit():
    import torchvision
    return classifier(torchvision.models.vit_b_16(), 224, autocast=True)


def faster_rcnn():
    import torchvision
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)

    def loss(rows):
        boxes = torch.tensor([[20.0, 20.0, 200.0, 200.0], [100.0, 50.0, 300.0, 260.0]], device="cuda")
        targets = [{"boxes": boxes, "labels": labels(2, 91)} for _ in range(rows)]
        return sum(model([image for image in images(rows, 512)], targets).values())
    return [model], [loss]


def convnext():
    import timm
    return classifier(timm.create_model("convnext_tiny"), 224)


def unet():
    from diffusers import UNet2DModel
    model = UNet2DModel(sample_size=64, block_out_channels=(128, 256, 384, 512))

    def loss(rows):
        noisy, noise = images(rows, 64), images(rows, 64)
        return F.mse_loss(model(noisy, torch.randint(0, 1000, (rows,), device="cuda")).sample, noise)
    return [model], [loss]


def lstm():
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10_000, 512)
            self.layers = nn.LSTM(512, 1024, num_layers=3, batch_first=True, dropout=0.2)
            self.head = nn.Linear(1024, 10_000)

        def forward(self, read):
            return self.head(self.layers(self.embed(read))[0])
    model = Reader()

    def loss(rows):
        read = tokens(rows, 256, 10_000)
        return F.cross_entropy(model(read).flatten(0, 1), read.flatten())
    return [model], [loss]


def gan():
    def up(inputs, outputs):
        return nn.Sequential(nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True))

    def down(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2, True))
    generator = nn.Sequential(nn.ConvTranspose2d(100, 512, 4), nn.ReLU(True), up(512, 256), up(256, 128), up(128, 64),
                              nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh())
    judge = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2, True), down(64, 128), down(128, 256), down(256, 512),
                          nn.Conv2d(512, 1, 4), nn.Flatten(0))

    def judged(read, is_real):
        verdict = judge(read)
        return F.binary_cross_entropy_with_logits(verdict, torch.full_like(verdict, is_real))

    def made(rows):
        return generator(torch.randn(rows, 100, 1, 1, device="cuda"))
    return [judge, generator], [lambda rows: judged(images(rows, 64), 1.0) + judged(made(rows).detach(), 0.0),
                                lambda rows: judged(made(rows), 1.0)]


def fsdp2():
    import torch.distributed as dist
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    dist.init_process_group("nccl")
    with torch.device("cuda"):
        layers = [nn.TransformerEncoderLayer(2048, 16, 8192, dropout=0.0, batch_first=True, norm_first=True) for _ in range(12)]
        model = nn.Sequential(nn.Embedding(32000, 2048), *layers, nn.Linear(2048, 32000, bias=False))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    for layer in layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)

    def loss(rows):
        read = tokens(rows, 1024, 32000)
        return F.cross_entropy(model(read).flatten(0, 1).float(), read.flatten())
    return [model], [loss]


# Each gives models, and for each model the function that gives its loss for a batch of so many rows.
MODELS = {"gpt2": (gpt2, 8), "llama": (llama, 8), "bert": (bert, 16), "t5": (t5, 16), "resnet50": (resnet50, 64), "vit": (vit, 64),
          "faster_rcnn": (faster_rcnn, 4), "convnext": (convnext, 64), "unet": (unet, 16), "lstm": (lstm, 64), "gan": (gan, 1024),
          "fsdp2": (fsdp2, 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("--batch", type=int, help="rows (default: enough for some GiB of activations)")
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    make, rows = MODELS[args.name]
    models, losses = make()
    optimizers = [torch.optim.AdamW(model.train().cuda().parameters(), lr=1e-4) for model in models]
    for _ in range(args.steps):
        for optimizer, loss in zip(optimizers, losses):
            loss(args.batch or rows).backward()
            optimizer.step()
            optimizer.zero_grad()
    print("done")


if __name__ == "__main__":
    main()
