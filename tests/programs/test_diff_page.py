"""The page of `tapelens diff --format html` in a browser: the modules of two runs as one picture, with the numbers of
the JSON, for mouse and keyboard, light and dark, on a screen and a phone."""

import json

import chromium
import harness
import pytest

BEFORE = """
import torch

EVIL = "</script><img src=x onerror=document.title=1>"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(256, 256) for _ in range(4))
        self.head = torch.nn.Linear(256, 8)
        self.add_module(EVIL.replace(".", ""), torch.nn.Linear(256, 256))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(list(self.children())[2](x))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.rand(512, 256)).mean().backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The JSON and the page of a run and one with two layers more."""
    folder = tmp_path_factory.mktemp("diff")
    for name, source in (("before", BEFORE), ("after", BEFORE.replace("range(4)", "range(6)").replace("class Net", "class Model")
                                              .replace("net = Net()", "net = Model()").replace("relu(layer(x))", "relu(layer(x) * 2)"))):
        program = folder / name / "train.py"
        program.parent.mkdir()
        program.write_text(source, encoding="utf-8")
        harness.record([harness.PYTHON, program], folder / f"{name}.tapelens", check=True)
    runs = [folder / "before.tapelens", folder / "after.tapelens"]
    page = folder / "diff.html"
    harness.bare([harness.BINARY, "diff", *runs, "--format", "html", "-o", page], check=True)
    value = json.loads(harness.bare([harness.BINARY, "diff", *runs, "--format", "json"], check=True).stdout)
    return value, page, harness.bare([harness.BINARY, "diff", *runs], check=True).stdout


def test_the_modules_of_both_runs_add_up_to_both_peaks(compared):
    value, _, _ = compared
    device = value["devices"][0]
    nodes = device["modules"]
    peak = device["figures"]["peak"]
    assert [nodes[0]["before_bytes"], nodes[0]["after_bytes"]] == [peak["before"], peak["after"]]
    for key in ("before_bytes", "after_bytes", "before_allocations", "after_allocations"):
        below = [0] * len(nodes)
        for node in nodes[1:]:
            below[node["parent"]] += node[key]
        has_children = {node["parent"] for node in nodes}
        assert all(below[at] == nodes[at][key] for at in has_children if at is not None)
    model = next(node for node in nodes if node["parent"] == 0 and node["kind"] == "module" and not node["name"].startswith("("))
    assert (model["name"], model["before_name"]) == ("Model", "Net"), "a class with another name is the same node"
    layers = [node["name"] for node in nodes if node["kind"] == "module"]
    assert any(name.startswith("{4,5}") for name in layers), layers


def test_the_page_says_what_the_other_formats_say(compared, tmp_path):
    value, page, text = compared
    out, _ = chromium.act(page, tmp_path, """
      out.title = document.getElementById("title").textContent;
      out.root = document.querySelector(".icicle .node").getAttribute("aria-label");
      out.names = [...document.querySelectorAll(".icicle title")].map((one) => one.textContent);
      out.legend = [...document.querySelectorAll(".legend li")].map((one) => one.textContent);
      out.groups = [...document.querySelectorAll(".groups tbody")].map((body) => body.rows.length);
      out.summaries = [...document.querySelectorAll("summary")].map((one) => one.textContent);
      out.resources = performance.getEntriesByType("resource").length;
      out.images = document.images.length;
    """)
    device = value["devices"][0]
    assert text.startswith(out["title"] + "\n")
    assert out["title"].endswith(out["root"].split(", ", 1)[1])
    assert any(name.startswith("Model, ") for name in out["names"])
    assert any("</script><img src=x onerror=document" in name for name in out["names"])
    assert any(label.startswith("new +") for label in out["legend"])
    changed = [sum(group["change"] != "same" for group in groups) for groups in device["groups"].values()]
    assert out["groups"] == [count for count in changed if count]
    assert out["summaries"] == [f"By {key}" for key, count in zip(device["groups"], changed) if count]
    assert out["resources"] == out["images"] == 0


def test_a_module_is_looked_at_by_key_and_by_mouse(compared, tmp_path):
    _, page, _ = compared
    out, _ = chromium.act(page, tmp_path, """
      const icicle = document.querySelector(".icicle"), block = document.querySelector(".block");
      const said = () => block.querySelector("strong").textContent;
      out.walked = [said()];
      for (const name of ["ArrowDown", "ArrowDown", "Enter", "Escape"]) {
        key(icicle, name);
        out.walked.push(said());
      }
      out.figures = block.textContent;
      const node = [...icicle.querySelectorAll(".node")].find((one) => one.getAttribute("aria-label").startsWith("Model, "));
      node.dispatchEvent(new PointerEvent("pointerenter"));
      out.pointed = block.textContent;
      icicle.dispatchEvent(new PointerEvent("pointerleave"));
      out.left = said();
      const color = () => getComputedStyle(icicle.querySelectorAll(".node rect")[1]).fill;
      out.colors = [color()];
      document.getElementById("theme").click();
      await rest();
      out.colors.push(color());
      out.active = icicle.getAttribute("aria-activedescendant") === icicle.querySelector(".current").id;
    """)
    whole, module, below, zoomed, left = out["walked"]
    assert whole == left == "cpu" != module
    assert below.startswith(f"{module} › ") and zoomed == below
    assert "named Net in A" in out["pointed"] and " -> " in out["pointed"]
    assert out["left"] == "cpu"
    assert len(set(out["colors"])) == 2
    assert out["active"]


@pytest.mark.parametrize(("size", "options"), [((1280, 900), ()), ((390, 844), ()), ((1280, 900), ("--blink-settings=preferredColorScheme=0",))])
def test_it_is_readable_at_this_size(compared, tmp_path, size, options):
    _, page, _ = compared
    out, _ = chromium.act(page, tmp_path, """
      for (const one of document.querySelectorAll("details")) one.open = true;
      out.width = [innerWidth, document.documentElement.scrollWidth];
      out.ground = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
      out.smallest = Math.min(...[...document.querySelectorAll("p, td, li, button, text")].map((one) => parseFloat(getComputedStyle(one).fontSize)));
      out.cut = [...document.querySelectorAll(".groups, #findings")].filter((one) => one.scrollWidth > one.clientWidth).length;
      // WCAG 2: the contrast of each label in the picture with its box.
      const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
      out.contrast = Math.min(...[...document.querySelectorAll(".icicle .node")].filter((one) => one.querySelector("text")).map((one) => {
        const pair = [one.querySelector("rect"), one.querySelector("text")].map((of) => light(getComputedStyle(of).fill)).sort((a, b) => b - a);
        return (pair[0] + 0.05) / (pair[1] + 0.05);
      }));
    """, size=size, options=options)
    assert out["width"][0] == size[0] and out["width"][1] <= size[0]
    assert (max(out["ground"][:3]) < 64) == bool(options)
    assert out["smallest"] >= 12
    assert out["contrast"] >= 4.5
    assert out["cut"] == 0, "no column has to be scrolled to"
