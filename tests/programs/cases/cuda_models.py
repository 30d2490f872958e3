"""Twelve small published models with random weights on CUDA: two steps of each in bfloat16 autocast."""

import functools

import torch
from torch.nn import functional as F

import cuda_stats

CLASSES, VOCABULARY = 10, 256
MODELS = {}


def images(size=64):
    return torch.randn(2, 3, size, size, device="cuda"), torch.randint(0, CLASSES, (2,), device="cuda")


def train(net, loss_of):
    net.train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of(net)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()


def classifier(make, size=64):
    with torch.device("cuda"):
        net = make()
    x, y = images(size)
    train(net, lambda net: F.cross_entropy(net(x), y))


def of_torchvision(name, **options):
    import torchvision
    classifier(lambda: getattr(torchvision.models, name)(weights=None, num_classes=CLASSES, **options))


def of_timm(name, size=64, **options):
    import timm
    classifier(lambda: timm.create_model(name, pretrained=False, num_classes=CLASSES, **options), size)


def of_transformers(name, **options):
    import transformers
    make = getattr(transformers, name)
    with torch.device("cuda"):
        net = make(make.config_class(vocab_size=VOCABULARY, **options))
        tokens = torch.randint(3, VOCABULARY, (2, 32))
    train(net, lambda net: net(input_ids=tokens, labels=tokens).loss)


def model(name, build, *arguments, **options):
    MODELS[name] = functools.partial(build, *arguments, **options)


model("resnet18", of_torchvision, "resnet18")
model("densenet121", of_torchvision, "densenet121")
model("mobilenet_v3", of_torchvision, "mobilenet_v3_small")
model("efficientnet", of_torchvision, "efficientnet_b0")
model("vit", of_timm, "vit_tiny_patch16_224", img_size=64, depth=4)
model("convnext", of_timm, "convnext_atto")
model("swin", of_timm, "swin_tiny_patch4_window7_224", size=56, img_size=56, depths=(1, 1, 2, 1))
model("mixer", of_timm, "mixer_s32_224", img_size=64)
model("gpt2", of_transformers, "GPT2LMHeadModel", n_embd=64, n_layer=2, n_head=4, n_positions=64)
model("llama", of_transformers, "LlamaForCausalLM", hidden_size=64, intermediate_size=128, num_hidden_layers=2,
      num_attention_heads=4, num_key_value_heads=2)
model("bert", of_transformers, "BertForMaskedLM", hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)
model("t5", of_transformers, "T5ForConditionalGeneration", d_model=64, d_ff=128, d_kv=16, num_layers=2, num_heads=4,
      decoder_start_token_id=0)

if __name__ == "__main__":
    cuda_stats.run(MODELS)
