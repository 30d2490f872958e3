"""compiled_gpt.py BACKEND [FILE]: two steps of a small GPT under torch.compile. Writes to FILE PyTorch's own data about
the tensors that the compiled function saves: the operator, the place in this file, and the bytes of each tensor, from
the partitioner's graph (as objects) and from the node."""

import json
import operator
import re
import sys

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, WORDS, TOKENS = 64, 4, 300, 32


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.out, self.up, self.down = (nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 4 * WIDTH),
                                                   nn.Linear(4 * WIDTH, WIDTH))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm(x))
        q, k, v = qkv.view(batch, tokens, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, width))
        hidden = F.gelu(self.up(x))
        return x + self.down(F.dropout(hidden, 0.1, self.training))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.words(words)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def place_of(node):
    found = re.findall(r'File "([^"]+)", line (\d+), in (\w+)', node.stack_trace or "")
    return [found[-1][0].rpartition("/")[2], int(found[-1][1]), found[-1][2]] if found else None


def named(node):
    """The operator whose result is kept, and its line. For a view, the operator that made its base."""
    part = ""
    while node.op == "call_function":
        if node.target is operator.getitem:
            part = f"[{node.args[1]}]"
            node = node.args[0]
            break
        returns = node.target._schema.returns
        is_view = returns and returns[0].alias_info is not None and not returns[0].alias_info.is_write
        if not is_view and "_unsafe_view" not in str(node.target):
            break
        node, part = node.args[0], ""
    if node.op == "placeholder":
        return "input", None
    return node.target._schema.name.partition("::")[2] + part, place_of(node)


def listen(told):
    from torch._functorch._aot_autograd import graph_compile
    log = graph_compile._log_fw_bw_graphs

    def logged(fw_module, *arguments):
        output = next(node for node in fw_module.graph.nodes if node.op == "output")
        saved = [node for node, kind in zip(output.args[0], output.meta["desc"], strict=True)
                 if type(kind).__name__ == "SavedForBackwardsAOTOutput" and isinstance(node.meta["val"], torch.Tensor)]
        told.extend(named(node) for node in saved)
        return log(fw_module, *arguments)

    graph_compile._log_fw_bw_graphs = logged


def step(run, optimizer, told):
    words = torch.randint(0, WORDS, (4, TOKENS))
    loss = F.cross_entropy(traced(run(words), told).flatten(0, 1), words.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"{loss.item():.4f}")


def traced(out, told):
    if told:
        node = out.grad_fn
        while type(node).__name__ != "CompiledFunctionBackward":
            node = node.next_functions[0][0]
        saved = [[what, place, tensor.numel() * tensor.element_size()]
                 for (what, place), tensor in zip(told, node.saved_tensors, strict=True)]
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            json.dump(saved, file)
        told.clear()
    return out


def main():
    torch.manual_seed(0)
    told = []
    if len(sys.argv) > 2:
        listen(told)
    model = GPT()
    run = torch.compile(model, backend=sys.argv[1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        step(run, optimizer, told)


if __name__ == "__main__":
    main()
