"""Programs whose control flow depends on values: generation of text and speech, detection, a policy that samples its
actions, two nets that train each other, recurrent nets over lengths, averaged weights. On a simulated GPU, most of
those values are unknown."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

import cuda_stats

LOOPS = {}


def loop(function):
    LOOPS[function.__name__] = function
    return function


@loop
def gpt2_generates():
    from transformers import GPT2Config, GPT2LMHeadModel
    net = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=500)).cuda().eval()
    prompt = torch.randint(3, 500, (2, 7)).cuda()
    for count, how in [(12, {}), (9, {"do_sample": True, "top_k": 20, "top_p": 0.9}), (6, {"num_beams": 3})]:
        made = net.generate(prompt, max_new_tokens=count, pad_token_id=499, eos_token_id=499, **how)
        assert made.shape == (2, 7 + count), made.shape


@loop
def t5_generates():
    from transformers import T5Config, T5ForConditionalGeneration
    config = T5Config(num_layers=2, d_model=64, d_ff=128, num_heads=4, d_kv=16, vocab_size=300, decoder_start_token_id=0)
    net, tokens = T5ForConditionalGeneration(config).cuda(), torch.randint(3, 300, (2, 9)).cuda()
    net(input_ids=tokens, labels=tokens).loss.backward()
    assert net.eval().generate(tokens, max_new_tokens=10).shape == (2, 11)


@loop
def whisper_generates():
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    config = WhisperConfig(vocab_size=300, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
                           d_model=64, encoder_ffn_dim=128, decoder_ffn_dim=128, pad_token_id=2, bos_token_id=1, eos_token_id=2,
                           decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None)
    net = WhisperForConditionalGeneration(config).cuda().eval()
    assert net.generate(torch.randn(1, 80, 3000).cuda(), max_new_tokens=10).shape == (1, 10)


@loop
def sentence_pairs():
    from transformers import BertConfig, BertModel
    config = BertConfig(num_hidden_layers=2, hidden_size=96, num_attention_heads=4, intermediate_size=128, vocab_size=400)
    net, right = BertModel(config).cuda(), torch.arange(8, device="cuda")
    optimizer = torch.optim.AdamW(net.parameters(), 1e-4)

    def embedded(length):
        tokens = torch.randint(1, 400, (8, length)).cuda()
        mask = torch.arange(length).cuda() < torch.randint(4, length, (8, 1)).cuda()
        states = net(tokens, attention_mask=mask.long()).last_hidden_state
        return F.normalize((states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True).clamp(min=1), dim=-1)

    for _ in range(2):
        scores = embedded(16) @ embedded(20).T * 20
        optimizer.zero_grad()
        F.cross_entropy(scores, right).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
        optimizer.step()


@loop
def detection():
    from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn
    net = fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.005, momentum=0.9)
    for _ in range(2):
        images = [torch.rand(3, 240, 320).cuda(), torch.rand(3, 200, 300).cuda()]
        boxes = torch.tensor([[10.0, 20.0, 100.0, 120.0], [40.0, 30.0, 200.0, 180.0]])
        losses = net(images, [{"boxes": boxes.cuda(), "labels": torch.tensor([1, 2]).cuda()} for _ in images])
        optimizer.zero_grad()
        sum(losses.values()).backward()
        optimizer.step()
    with torch.no_grad():
        net.eval()(images)


@loop
def averaged_weights():
    import timm
    from timm.data import Mixup
    net = timm.create_model("efficientnet_b0", num_classes=10).cuda().to(memory_format=torch.channels_last)
    average, mixup = copy.deepcopy(net), Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, num_classes=10)
    optimizer, scaler = torch.optim.AdamW(net.parameters()), torch.amp.GradScaler()
    for _ in range(2):
        x, y = mixup(torch.randn(8, 3, 64, 64).cuda(), torch.randint(0, 10, (8,)).cuda())
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(net(x.to(memory_format=torch.channels_last)), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(net.parameters()), 0.01)
    assert scaler.get_scale() == 65536.0


@loop
def lstm():
    words, net, out = nn.Embedding(500, 64).cuda(), nn.LSTM(64, 128, 2, dropout=0.2, batch_first=True).cuda(), nn.Linear(128, 500).cuda()
    parameters, state = [p for part in (words, net, out) for p in part.parameters()], None
    optimizer = torch.optim.Adam(parameters)
    for _ in range(3):
        tokens = torch.randint(0, 500, (16, 36)).cuda()
        y, state = net(words(tokens[:, :-1]), state and tuple(part.detach() for part in state))
        optimizer.zero_grad()
        F.cross_entropy(out(y).flatten(0, 1), tokens[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(parameters, 0.25, error_if_nonfinite=True)
        optimizer.step()
    lengths = torch.arange(36, 20, -1)
    packed = nn.utils.rnn.pack_padded_sequence(words(tokens), lengths, batch_first=True)
    assert net(packed)[0].data.shape[0] == lengths.sum()


@loop
def gan():
    make = nn.Sequential(nn.ConvTranspose2d(32, 32, 4), nn.BatchNorm2d(32), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()).cuda()
    judge = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 32, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Flatten(),
                          nn.Linear(512, 1)).cuda()
    of_make, of_judge = (torch.optim.Adam(net.parameters(), 2e-4, betas=(0.5, 0.999)) for net in (make, judge))
    for _ in range(2):
        real, made = torch.randn(16, 3, 8, 8).cuda(), make(torch.randn(16, 32, 1, 1, device="cuda"))
        part = torch.rand(16, 1, 1, 1, device="cuda")
        between = (part * real + (1 - part) * made.detach()).requires_grad_()
        slope, = torch.autograd.grad(judge(between).sum(), between, create_graph=True)
        of_judge.zero_grad()
        (judge(made.detach()).mean() - judge(real).mean() + 10 * ((slope.flatten(1).norm(2, 1) - 1) ** 2).mean()).backward()
        of_judge.step()
        of_make.zero_grad()
        (-judge(made).mean()).backward()
        of_make.step()


@loop
def policy_gradient():
    net = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.6), nn.ReLU(), nn.Linear(64, 2), nn.Softmax(-1)).cuda()
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(2):
        state, chances = torch.zeros(4), []
        for _ in range(20):
            choice = torch.distributions.Categorical(net(state.cuda()[None]))
            action = choice.sample()
            chances.append(choice.log_prob(action))
            state = state + (0.1 if action.item() == 1 else -0.1)
        rewards = torch.arange(20.0, 0.0, -1).cuda()
        rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-8)
        optimizer.zero_grad()
        (-(torch.cat(chances) * rewards).sum()).backward()
        optimizer.step()


if __name__ == "__main__":
    cuda_stats.run(LOOPS)
