"""The page of `tapelens report --format html` in a browser: it works from a file without a network, agrees with the
other formats, and names of a recording cannot inject markup."""

import json

import chromium
import harness
import pytest

SAMPLE = [harness.PYTHON, harness.SAMPLES / "gpt.py", "--size", "small", "--steps", "3"]
MOST_BYTES = 2 << 20

# A program, a module and a file with names that end a script, begin a comment, or load a picture.
HOSTILE = """
import torch

EVIL = "</script><img src=x onerror=document.title=1><!-- <script>"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module((EVIL + "\\u2028\\u202e&amp;").replace(".", ""), torch.nn.Linear(256, 256))
        code = "def forward(layer, x):\\n    return torch.relu(layer(x)).exp()\\n"
        self.names = {"torch": torch}
        exec(compile(code, "/tmp/" + EVIL.replace("/", "\\\\") + ".py", "exec"), self.names)

    def forward(self, x):
        for layer in self.children():
            x = self.names["forward"](layer, x)
        return x


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.rand(512, 256)).mean().backward()
    optimizer.step()
"""


def page_of(target, page, *options):
    harness.bare([harness.BINARY, "report", target, "--format", "html", "-o", page, *options], check=True)
    assert page.stat().st_size <= MOST_BYTES
    return page


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    target = folder / "run.tapelens"
    harness.record(SAMPLE, target, check=True)
    return target, page_of(target, folder / "run.html")


def test_the_page_says_what_the_report_says(recorded, tmp_path):
    target, page = recorded
    report = harness.report(target)
    text = harness.bare([harness.BINARY, "report", target], check=True).stdout
    out, _ = chromium.act(page, tmp_path, """
      out.title = document.getElementById("title").textContent;
      out.when = document.getElementById("when").textContent;
      out.entries = [...document.querySelectorAll("#findings .entry > .head .name")].map((one) => one.textContent);
      out.steps = document.querySelectorAll("#steps tbody tr").length;
      out.root = document.querySelector("#icicle .node").getAttribute("aria-label");
      out.canvas = document.querySelector("#curve canvas").width;
      out.resources = performance.getEntriesByType("resource").map((one) => one.name);
    """)
    assert text.startswith(out["title"] + "\n")
    assert " ".join(text.split()).startswith(f"{out['title']} {out['when']} ")
    assert len(out["entries"]) == len(report["advice"]["entries"]) + 1, "and all of them together"
    assert out["steps"] == len(report["steps"])
    assert out["root"].endswith("100.0 %")
    assert out["canvas"] > 500
    assert out["resources"] == []


def test_a_finding_shows_what_it_changes(recorded, tmp_path):
    target, page = recorded
    advice = harness.report(target)["advice"]
    assert advice["peak_after_all_bytes"] < advice["peak_before_bytes"]
    out, _ = chromium.act(page, tmp_path, """
      const data = JSON.parse(document.getElementById("data").textContent);
      out.all = data.advice.what_ifs[data.advice.all];
      out.most = Math.max(...data.curve.times.map((_, i) => data.curve.held.reduce((sum, {bytes}) => sum + bytes[i], 0)));
      const head = document.querySelector("#findings .head[data-what-if]");
      head.click();
      await rest();
      out.pressed = head.getAttribute("aria-pressed");
      out.said = document.getElementById("selection").textContent;
      out.freed = document.querySelectorAll("#icicle rect.freed").length;
      out.dim = document.querySelectorAll("#icicle .dim").length;
      head.click();
      await rest();
      out.after = [head.getAttribute("aria-pressed"), document.getElementById("selection").textContent,
                   document.querySelectorAll("#icicle rect.freed").length];
    """)
    assert out["all"]["peak"] == advice["peak_after_all_bytes"]
    assert out["all"]["freed_bytes"] > 0
    assert out["most"] == advice["peak_before_bytes"]
    assert out["pressed"] == "true"
    assert "would not be there" in out["said"]
    assert out["freed"] > 0
    assert out["dim"] > 0
    assert out["after"] == ["false", "", 0]


def test_memory_against_time_is_a_curve_and_a_table(recorded, tmp_path):
    _, page = recorded
    out, _ = chromium.act(page, tmp_path, """
      out.fit = JSON.parse(document.getElementById("data").textContent).fit;
      out.hidden = document.getElementById("fit-section").hidden;
      out.dots = document.querySelectorAll("#fit-curve circle").length;
      out.rows = [...document.querySelectorAll("#fit-table tbody tr")].map((row) => row.textContent);
      const colors = () => getComputedStyle(document.querySelector("#fit-curve .steps")).stroke;
      out.colors = [colors()];
      document.getElementById("theme").click();
      out.colors.push(colors());
      const svg = document.querySelector("#fit-curve svg"), box = svg.getBoundingClientRect();
      svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left, clientY: box.top}));
      out.chosen = document.querySelectorAll("#fit-curve .chosen, #fit-table .chosen").length;
      out.readout = document.getElementById("fit-readout").textContent;
    """)
    points = out["fit"]["points"]
    assert not out["hidden"] and out["dots"] == len(out["rows"]) == len(points) > 2
    assert points[0]["name"] == "as it is" and points[0]["added"] == 0
    for before, after in zip(points, points[1:]):
        assert after["bytes"] < before["bytes"] and after["added"] >= before["added"]
        assert after["command"].startswith("tapelens run --fit ") and after["layers"]
    assert points[-1]["command"] in out["rows"][-1]
    assert out["colors"][0] != out["colors"][1], "light and dark"
    assert out["chosen"] == 2 and out["readout"].startswith(points[-1]["name"] + ": ")


def test_keys_zoom_and_move(recorded, tmp_path):
    _, page = recorded
    out, _ = chromium.act(page, tmp_path, """
      const curve = document.getElementById("curve"), icicle = document.getElementById("icicle");
      const labels = () => document.querySelector("#curve canvas").toDataURL();
      const drawn = [labels()];
      for (const name of ["+", "+", "ArrowRight", "p", "0"]) {
        key(curve, name);
        await rest();
        drawn.push(labels());
      }
      out.different = new Set(drawn.slice(0, 5)).size;
      out.back = drawn[0] === drawn[5];
      const current = () => document.querySelector("#icicle .current")?.getAttribute("aria-label");
      out.walked = [current()];
      for (const name of ["ArrowDown", "ArrowRight", "ArrowLeft", "Enter", "ArrowUp", "Escape"]) {
        key(icicle, name);
        out.walked.push(current());
      }
      out.active = icicle.getAttribute("aria-activedescendant") === document.querySelector("#icicle .current").id;
      const grouping = document.getElementById("grouping");
      out.groupings = [];
      for (const option of grouping.options) {
        grouping.value = option.value;
        grouping.dispatchEvent(new Event("change"));
        out.groupings.push([current(), document.querySelectorAll("#icicle .node").length > 5]);
      }
      key(document, "?");
      out.help = document.getElementById("help").open;
      const ground = () => getComputedStyle(document.body).backgroundColor;
      const before = ground();
      document.getElementById("theme").click();
      await rest();
      out.themes = [before, ground()];
      out.focusable = [...document.querySelectorAll("button, select, [tabindex]")].every((one) => one.tabIndex === 0);
      out.unnamed = [...document.querySelectorAll("button")].filter((one) => !one.textContent && !one.ariaLabel).length;
    """)
    assert out["different"] == 5
    assert out["back"]
    assert out["walked"][0] == out["walked"][-1]
    assert out["walked"][1] == out["walked"][3] != out["walked"][2]
    assert None not in out["walked"]
    assert out["active"]
    assert len(out["groupings"]) == 5
    assert all(current == out["walked"][0] and has_more for current, has_more in out["groupings"])
    assert out["help"]
    assert len(set(out["themes"])) == 2
    assert out["focusable"]
    assert out["unnamed"] == 0


# Two bursts, with three seconds before, between and after them.
PAUSES = """
import time, torch
for _ in range(2):
    time.sleep(3)
    kept = [torch.rand(1000) for _ in range(200)]
time.sleep(3)
"""


def test_pauses_are_narrow_and_every_axis_has_its_labels(target, tmp_path):
    program = tmp_path / "pauses.py"
    program.write_text(PAUSES, encoding="utf-8")
    harness.record([harness.PYTHON, program], target, check=True)
    page = page_of(target, tmp_path / "run.html")
    out, _ = chromium.act(page, tmp_path, """
      const data = JSON.parse(document.getElementById("data").textContent), {curve} = data;
      out.curve = curve;
      out.duration = data.duration;
      const numbers = curve.numbers.length ? curve.numbers : curve.times.map((_, i) => i + 1);
      const list = document.getElementById("axis"), picture = () => document.querySelector("#curve canvas").toDataURL();
      out.kinds = [...list.options].map((option) => option.value);
      await rest();
      const drawn = [picture()];
      const {fillText} = CanvasRenderingContext2D.prototype, said = new Set();
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        said.add(text);
        fillText.call(this, text, ...place);
      };
      for (const kind of ["time", "events", "pauses"]) {
        list.value = kind;
        list.dispatchEvent(new Event("change"));
        await rest();
        drawn.push(picture());
        const axis = makeAxis(kind, axisKnots(kind, data.duration, curve.pauses, curve.times, numbers, curve.events), curve.pauses, data.duration);
        axis.show(0, data.duration, 1000);
        const [from, to] = curve.pauses.all.findLast(([begin, end]) => end - begin > 2.9e9 && end < data.duration);
        const labels = axis.ticks(90);
        out[kind] = {
          width: axis.place(data.duration),
          pause: axis.place(to) - axis.place(from),
          monotone: curve.times.every((time, i) => i === 0 || axis.place(time) >= axis.place(curve.times[i - 1])),
          error: Math.max(...curve.times.map((time) => Math.abs(axis.timeOf(axis.place(time)) - time))),
          breaks: axis.breaks().length,
          labels: labels.map(({x, text}) => [axis.timeOf(x), text]),
          apart: labels.every(({x}, i) => i === 0 || x - labels[i - 1].x >= 90),
        };
        const time = curve.times[10], left = axis.place(time) - axis.place(axis.view.from);
        axis.zoom(time, 3);
        out[kind].anchor = [left, axis.place(time) - axis.place(axis.view.from)];
        for (let i = 0; i < 9; ++i) axis.zoom(time, 0.5);
        out[kind].all = [axis.view.from, axis.view.to];
      }
      out.lengths = [...said].filter((text) => text.startsWith("+"));
      out.same = drawn[0] === drawn[3];
      out.different = new Set(drawn).size;
    """)
    pauses = out["curve"]["pauses"]["all"]
    assert out["kinds"] == ["pauses", "time", "events"] and out["same"] and out["different"] == 3
    assert sum(end - begin > 2.9e9 for begin, end in pauses) >= 3
    assert out["lengths"], "a length is not a time"
    assert {float(text[1:-2]) for text in out["lengths"] if text.endswith(" s")} <= {round((end - begin) / 1e9, 3) for begin, end in pauses}
    for kind in out["kinds"]:
        got = out[kind]
        assert got["width"] == pytest.approx(1000) and got["monotone"] and got["error"] < 1000 and got["apart"], kind
        assert got["labels"] and got["anchor"][1] == pytest.approx(got["anchor"][0], abs=0.5), kind
        assert got["all"] == pytest.approx([0, out["duration"]], abs=1), f"{kind}, in ns"
    for time, text in out["time"]["labels"] + out["pauses"]["labels"]:
        value, unit = text.split()
        assert float(value) * {"s": 1e9, "ms": 1e6, "us": 1e3}[unit] == pytest.approx(time, rel=1e-6, abs=1000)
    assert out["time"]["pause"] > 100 and out["pauses"]["pause"] <= 28 and out["events"]["pause"] < 10
    assert out["pauses"]["breaks"] == len(pauses) and out["time"]["breaks"] == 0


def test_a_hostile_recording_is_text(target, tmp_path):
    program = tmp_path / "hostile.py"
    program.write_text(HOSTILE, encoding="utf-8")
    evil = "</script><img src=x onerror=document.title=2>"
    harness.record([harness.PYTHON, program, evil], target, check=True)
    page = page_of(target, tmp_path / "<img src=x onerror=document.title=3>.html".replace("/", ""), "--by", "module")
    text = page.read_text(encoding="utf-8")
    assert "<img" not in text
    assert "\u2028" not in text
    out, _ = chromium.act(page, tmp_path, """
      out.images = document.images.length;
      out.scripts = document.scripts.length;
      out.title = document.title;
      out.run = document.getElementById("run").textContent;
      out.names = [...document.querySelectorAll("#icicle title")].map((one) => one.textContent);
      out.lines = document.getElementById("lines").textContent;
    """)
    assert out["images"] == 0
    assert out["scripts"] == 3, "the data, the page's, and this test's"
    assert out["title"].startswith("Peak ")
    assert evil in out["run"]
    assert any("</script><img src=x onerror=document" in name for name in out["names"])
    assert "onerror=document.title=1><!-- <script>.py" in out["lines"]


@pytest.mark.parametrize(("size", "options"), [((1280, 900), ()), ((390, 844), ()), ((1280, 900), ("--blink-settings=preferredColorScheme=0",))])
def test_it_is_readable_at_this_size(recorded, tmp_path, size, options):
    """No element is wider than the screen, and no letter is smaller than 12 pixels. A picture's labels do not overlap.
    The background follows the system's colour scheme."""
    _, page = recorded
    out, _ = chromium.act(page, tmp_path, """
      out.width = [innerWidth, document.documentElement.scrollWidth];
      out.ground = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
      const sizeOf = (one) => parseFloat(getComputedStyle(one).fontSize) * (one.getScreenCTM?.().a ?? 1);
      out.smallest = Math.min(...[...document.querySelectorAll("p, td, li, button, text")].map(sizeOf));
      const boxes = [...document.querySelectorAll("#fit-curve text")].map((one) => one.getBoundingClientRect());
      out.overlaps = boxes.filter((a, i) => boxes.slice(i + 1).some((b) =>
        a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
      const table = document.getElementById("fit-table");
      out.table = [table.scrollWidth, table.clientWidth];
      const middle = (one) => (one.getBoundingClientRect().top + one.getBoundingClientRect().bottom) / 2;
      out.axis = middle(document.getElementById("axis")) - middle(document.querySelector("label[for=axis]"));
    """, size=size, options=options)
    assert out["width"][0] == size[0]
    assert out["width"][1] <= size[0]
    assert (max(out["ground"][:3]) < 64) == bool(options)
    assert out["smallest"] >= 11.9
    assert out["overlaps"] == 0
    assert out["table"][0] <= out["table"][1], "every column of the choices is visible"
    assert abs(out["axis"]) < 5, "the list is beside its label"


def test_the_data_is_json_with_every_byte(recorded):
    target, page = recorded
    text = page.read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
    peak = harness.report(target)["peak"]
    assert sum(block[0] for block in data["blocks"]) + sum(rest["bytes"] for rest in data["smaller"]) == peak["bytes"]
    assert sum(line["bytes"] for line in data["lines"]) == peak["bytes"] or data["lines_left_out"] > 0
