"""nets.py NAME: one training step of a net of torchvision, transformers or timm with random weights, marked as range
"region step". nets.py --list names them; --saves OUT runs them all, each forward under PyTorch's own hooks."""

import json
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch.autograd.profiler import record_function


def images(size, batch=2):
    return torch.randn(batch, 3, size, size)


def vision(name, size=64, **options):
    def make():
        import torchvision.models as models
        net = getattr(models, name)(weights=None, **options)
        return net, lambda: total(net(images(size)))
    return make


def vision_transformer():
    from torchvision.models import VisionTransformer
    net = VisionTransformer(32, 8, num_layers=3, num_heads=4, hidden_dim=64, mlp_dim=128, dropout=0.1)
    return net, lambda: total(net(images(32)))


def swin():
    from torchvision.models import SwinTransformer
    net = SwinTransformer([4, 4], 24, [2, 2], [3, 6], [7, 7], stochastic_depth_prob=0.2)
    return net, lambda: total(net(images(64)))


def segmentation():
    from torchvision.models.segmentation import lraspp_mobilenet_v3_large
    net = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    return net, lambda: total(net(images(64))["out"])


def timm_net(name, size):
    def make():
        import timm
        net = timm.create_model(name, pretrained=False, num_classes=10)
        return net, lambda: total(net(images(size)))
    return make


def transformer(model, config, *, labels="labels", length=16, **options):
    def make():
        import transformers
        settings = getattr(transformers, config)(**options)
        net = getattr(transformers, model)(settings)
        tokens = torch.randint(2, 90, (2, length))
        return net, lambda: net(input_ids=tokens, **{labels: tokens}).loss
    return make


def total(output):
    """A scalar from the output of any net: a tensor, or a tuple with auxiliary heads."""
    if isinstance(output, torch.Tensor):
        return output.square().mean()
    return sum(part.square().mean() for part in output if isinstance(part, torch.Tensor))


SMALL = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
NETS = {
    "resnet18": vision("resnet18"),
    "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3_small": vision("mobilenet_v3_small"),
    "densenet121": vision("densenet121"),
    "densenet121_dropout": vision("densenet121", drop_rate=0.2),
    "efficientnet_b0": vision("efficientnet_b0"),
    "squeezenet1_1": vision("squeezenet1_1"),
    "shufflenet_v2": vision("shufflenet_v2_x0_5"),
    "googlenet": vision("googlenet", init_weights=False, aux_logits=True),
    "inception_v3": vision("inception_v3", size=75, init_weights=False, aux_logits=False),
    "convnext_tiny": vision("convnext_tiny", size=32),
    "regnet_y_400mf": vision("regnet_y_400mf"),
    "vision_transformer": vision_transformer,
    "swin": swin,
    "lraspp": segmentation,
    "bert": transformer("BertForMaskedLM", "BertConfig", **SMALL),
    "gpt2": transformer("GPT2LMHeadModel", "GPT2Config", vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=32,
                        bos_token_id=0, eos_token_id=0),
    "llama": transformer("LlamaForCausalLM", "LlamaConfig", **SMALL),
    "mixtral": transformer("MixtralForCausalLM", "MixtralConfig", **SMALL, num_key_value_heads=2, num_local_experts=4),
    "t5": transformer("T5ForConditionalGeneration", "T5Config", vocab_size=96, d_model=32, d_kv=8, d_ff=64,
                      num_layers=2, num_heads=4, decoder_start_token_id=0),
    "mamba": transformer("MambaForCausalLM", "MambaConfig", vocab_size=96, hidden_size=32, num_hidden_layers=2,
                         state_size=8),
    "timm_vit": timm_net("test_vit", 160),
    "timm_efficientnet": timm_net("test_efficientnet", 64),
    "timm_convnext": timm_net("test_convnext", 64),
}


def prepare(name):
    torch.manual_seed(0)
    net, forward = NETS[name]()
    net.train()
    return torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9), forward


def step(name):
    optimizer, forward = prepare(name)
    with record_function("region step"):
        loss = forward()
        loss.backward()
        optimizer.step()
    print(f"{name} {loss.item()!r}")


def saves(name):
    seen = []
    _, forward = prepare(name)

    def pack(tensor):
        seen.append(tensor.numel() * tensor.element_size())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        forward()
    return {"count": len(seen), "logical_bytes": sum(seen)}


def main():
    torch.set_num_threads(1)
    if sys.argv[1] == "--list":
        print("\n".join(NETS))
    elif sys.argv[1] == "--saves":
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            json.dump({name: saves(name) for name in sys.argv[3:] or NETS}, file)
    else:
        step(sys.argv[1])


if __name__ == "__main__":
    main()
