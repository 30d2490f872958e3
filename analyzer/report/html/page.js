// The page of `tapelens report --format html`. It reads the embedded JSON (html_data.cpp), draws it and handles events.
// Names from a recording are only inserted as text nodes, never as innerHTML.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  setRoleColors(data.roles);

  // ---- The curve

  const curve = data.curve;
  const points = curve.times.length;
  const end = Math.max(data.duration, points ? curve.times[points - 1] : 0, 1);
  // The curve begins at zero, and its last value extends to the end.
  const times = [0, ...curve.times, end];
  const drawn = (values) => [0, ...values, points ? values[points - 1] : 0];
  // Tops of the stacked areas, from the bottom up: the sum of a role and the roles below it.
  const tops = [];
  for (const { bytes } of curve.held) {
    const below = tops.at(-1);
    tops.push(drawn(bytes).map((value, i) => value + (below ? below[i] : 0)));
  }
  const live = tops.at(-1) ?? times.map(() => 0);
  let selected = null; // into data.advice.what_ifs
  let whatIf = times.map(() => null);
  let plot = null;

  function curveWithout(place) {
    if (place === null) return times.map(() => null);
    const lower = new Array(points).fill(0);
    const steps = data.advice.what_ifs[place].lower;
    for (let i = 0, at = 0; i < steps.length; i += 2) {
      at += steps[i];
      lower.fill(steps[i + 1], at);
    }
    return drawn(curve.times.map((_, i) => live[i + 1] - lower[i]));
  }

  const numbers = curve.numbers.length ? curve.numbers : curve.times.map((_, i) => i + 1);
  const axes = { pauses: "Time without pauses", time: "Time", events: "Events" };
  if (curve.pauses.all.length === 0) delete axes.pauses;
  let axis = null;
  function makeCurveAxis(kind) {
    const view = axis?.view ?? { from: 0, to: end };
    axis = makeAxis(kind, axisKnots(kind, end, curve.pauses, curve.times, numbers, curve.events), curve.pauses, end);
    axis.kind = kind;
    axis.show(view.from, view.to, plotWidth());
  }
  const plotWidth = () => Math.max(100, $("curve").clientWidth - 82);
  // An event has its own place, also beside others of the same time.
  const places = () => (axis.kind === "events"
    ? [0, ...numbers.map((number) => number * axis.view.unit), axis.place(end)] : times.map((time) => axis.place(time)));
  const xOf = (u, time) => Math.round(u.valToPos(axis.place(time), "x", true));

  // A band with torn edges, and below it the length of the pause, "+4.938 s", unless that of a longer one is there.
  function drawBreaks(u) {
    const { ctx, bbox } = u, px = devicePixelRatio, labels = [];
    ctx.font = `${12 * px}px system-ui, "DejaVu Sans", sans-serif`;
    for (const [from, to] of axis.breaks()) {
      const left = Math.max(bbox.left, xOf(u, from)), right = Math.min(bbox.left + bbox.width, Math.max(left + px, xOf(u, to)));
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, bbox.top, right - left, bbox.height);
      ctx.clip();
      ctx.globalAlpha = 0.6;
      ctx.fillStyle = colorOf("--window");
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.strokeStyle = colorOf("--faint");
      ctx.lineWidth = px;
      ctx.beginPath();
      for (let y = bbox.top; y < bbox.top + bbox.height + right - left; y += 8 * px) {
        ctx.moveTo(left, y);
        ctx.lineTo(right, y - (right - left));
      }
      ctx.stroke();
      ctx.restore();
      ctx.strokeStyle = colorOf("--faint");
      ctx.lineWidth = px;
      for (const x of right - left > 8 * px ? [left, right] : []) {
        ctx.beginPath();
        for (let y = bbox.top, side = -2; y <= bbox.top + bbox.height; y += 6 * px, side = -side) ctx.lineTo(x + side * px, y);
        ctx.stroke();
      }
      const text = `+${timeText(to - from)}`, half = ctx.measureText(text).width / 2 + 3 * px;
      labels.push({ text, half, length: to - from, x: Math.min(Math.max((left + right) / 2, bbox.left + half), bbox.left + bbox.width - half) });
    }
    ctx.fillStyle = colorOf("--text");
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    const placed = [];
    for (const label of labels.sort((a, b) => b.length - a.length)) {
      if (placed.some((other) => Math.abs(other.x - label.x) < other.half + label.half)) continue;
      placed.push(label);
      ctx.fillText(label.text, label.x, bbox.top + bbox.height + 15 * px);
    }
  }

  function mark(u, time, text, color, row) {
    const x = xOf(u, time);
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
    const { ctx } = u;
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, u.bbox.top);
    ctx.lineTo(x, u.bbox.top + u.bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
    const isRight = x > u.bbox.left + u.bbox.width / 2;
    ctx.textAlign = isRight ? "right" : "left";
    ctx.textBaseline = "top";
    ctx.font = `600 ${12 * devicePixelRatio}px system-ui, "DejaVu Sans", sans-serif`;
    ctx.fillText(text, x + (isRight ? -5 : 5) * devicePixelRatio, u.bbox.top + (3 + 16 * row) * devicePixelRatio);
  }

  // Borders of steps where there is room for them, the moment that is looked at, the peak that would be left.
  function drawMarks(u) {
    const { ctx, bbox } = u;
    ctx.save();
    drawBreaks(u);
    let last = -Infinity;
    ctx.strokeStyle = colorOf("--faint");
    ctx.lineWidth = devicePixelRatio;
    for (const step of data.steps) {
      const x = xOf(u, step.begin);
      if (x < bbox.left || x > bbox.left + bbox.width || x - last < 6 * devicePixelRatio) continue;
      last = x;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top + bbox.height - 8 * devicePixelRatio);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    mark(u, data.peak.time, (data.is_peak ? "peak " : "this moment ") + bytesText(data.peak.bytes), colorOf("--peak"), 0);
    if (data.failure && data.failure.alive !== null && data.failure.time !== data.peak.time) {
      mark(u, data.failure.time, "out of memory", colorOf("--peak"), 2);
    }
    if (selected !== null) {
      const left = data.advice.what_ifs[selected];
      mark(u, left.time, "peak then " + bytesText(left.peak), colorOf("--what-if"), 1);
    }
    ctx.restore();
  }

  // At the moment of the page the legend has the bytes of its live allocations. Elsewhere a role is that of an
  // allocation's whole life.
  const peakIndex = Math.max(0, times.findLastIndex((time) => time <= data.peak.time));
  const shownRoles = [...curve.held.map(({ role }) => role),
    ...[...data.roles.keys()].filter((role) => data.roles[role].bytes > 0 && !curve.held.some((one) => one.role === role))];
  function pointAt(u, index) {
    const at = index ?? peakIndex;
    const pause = index === null ? null : axis.breakAt(axis.timeOf(u.posToVal(u.cursor.left, "x")));
    $("readout").textContent = `${timeText(times[at])}: ${bytesText(live[at])} alive` +
      (selected !== null ? `, ${bytesText(whatIf[at])} without what is chosen` : "") +
      (pause ? `; then a pause of ${timeText(pause[1] - pause[0])}, drawn narrow` : "");
    shownRoles.forEach((role, i) => {
      const drawnBytes = i < tops.length ? tops[i][at] - (i > 0 ? tops[i - 1][at] : 0) : 0;
      const value = at === peakIndex ? data.roles[role].bytes : drawnBytes;
      $("legend").children[shownRoles.length - 1 - i].lastChild.textContent = " " + bytesText(value);
    });
  }

  function makeCurve() {
    plot?.destroy();
    axis ? axis.show(axis.view.from, axis.view.to, plotWidth()) : makeCurveAxis(Object.keys(axes)[0]);
    let ticks = [];
    const stepped = uPlot.paths.stepped({ align: 1 });
    const lines = { stroke: colorOf("--faint"), grid: { stroke: colorOf("--grid"), width: 1 }, ticks: { stroke: colorOf("--grid") } };
    // The highest of the stack first: those below are painted over it.
    const layers = curve.held.map(({ role }, i) => ({
      label: data.roles[role].label, fill: colorOf(`--role-${role}`), stroke: colorOf(`--role-${role}`),
      width: 0, paths: stepped, points: { show: false }, values: tops[i],
    })).reverse();
    const line = (label, color, width, dash) => ({ label, stroke: color, width, dash, paths: stepped, points: { show: false } });
    plot = new uPlot({
      width: $("curve").clientWidth,
      height: matchMedia("(max-width: 600px)").matches ? 240 : 320,
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => showAll() } },
      scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } },
      axes: [
        { ...lines, splits: () => (ticks = axis.ticks(90)).map(({ x }) => x), values: () => ticks.map((tick) => tick.text) },
        { ...lines, values: (_, all) => all.map(bytesText), incrs: Array.from({ length: 51 }, (_, i) => 2 ** i), size: 82 },
      ],
      series: [
        {}, ...layers.map(({ values, ...layer }) => layer),
        line("alive", colorOf("--text"), 1), line("without what is chosen", colorOf("--what-if"), 2, [5, 3]),
      ],
      hooks: { draw: [drawMarks], setCursor: [(u) => pointAt(u, u.cursor.idx)], setSelect: [zoomTo] },
    }, curveData(), $("curve"));
    showAxis();
    pointAt(plot, null);
  }
  const curveData = () => [places(), ...tops.toReversed(), live, whatIf];

  function showAxis() {
    plot.setData(curveData(), false);
    plot.setScale("x", { min: axis.place(axis.view.from), max: axis.place(axis.view.to) });
  }
  function show(from, to) {
    axis.show(from, to);
    showAxis();
  }
  function zoomTo(u) {
    const { left, width } = u.select;
    if (width === 0) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    show(axis.timeOf(u.posToVal(left, "x")), axis.timeOf(u.posToVal(left + width, "x")));
  }
  function zoomBy(factor) {
    const middle = axis.timeOf(axis.place(axis.view.from) + axis.view.width / 2);
    axis.zoom(plot.cursor.idx === null ? middle : times[plot.cursor.idx], factor);
    showAxis();
  }
  function moveBy(part) {
    axis.move(part);
    showAxis();
  }
  const showAll = () => show(0, end);
  function showPeak() {
    const step = data.steps.find(({ begin, end: last }) => begin <= data.peak.time && data.peak.time < last);
    if (step) return show(step.begin, step.end);
    showAll();
    axis.zoom(data.peak.time, 50);
    showAxis();
  }

  const curveKeys = {
    "+": () => zoomBy(2), "=": () => zoomBy(2), "-": () => zoomBy(0.5), ArrowLeft: () => moveBy(-0.2),
    ArrowRight: () => moveBy(0.2), 0: showAll, Home: showAll, p: showPeak,
  };
  function startCurve() {
    for (const [name, label, act] of [["+", "Zoom in", () => zoomBy(2)], ["−", "Zoom out", () => zoomBy(0.5)],
      ["←", "Earlier", () => moveBy(-0.2)], ["→", "Later", () => moveBy(0.2)],
      ["Whole run", null, showAll], ["Step of the peak", null, showPeak]]) {
      $("curve-tools").append(element("button", { type: "button", "aria-label": label, onclick: act }, name));
    }
    const kinds = Object.entries(axes).map(([kind, name]) => element("option", { value: kind }, name));
    $("curve-tools").append(element("span", { class: "tools" }, element("label", { for: "axis" }, "Axis"), element("select", { id: "axis", onchange: () => {
      makeCurveAxis($("axis").value);
      showAxis();
    } }, ...kinds)));
    for (const role of shownRoles.toReversed()) {
      $("legend").append(element("li", {}, swatch(role), data.roles[role].label, element("span", {}, "")));
    }
    $("curve-note").textContent = (curve.is_every_event
      ? `Every one of ${plural(curve.events, "event", "events")} is drawn. `
      : `Down-sampled: ${countText(points)} of ${countText(curve.events)} events, the least and the most of each of many ` +
        "short spans, shorter where more happens and in the step that is looked at; tapelens view shows every event. ") +
      `At ${data.is_peak ? "the peak" : "the moment that is marked"} the figures are those of what was alive then; elsewhere, and in the areas, ` +
      "a role is that of an allocation's whole life.";
    makeCurve();
    listen($("curve"), curveKeys);
    let timer = 0;
    new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        plot.setSize({ width: $("curve").clientWidth, height: plot.height });
        axis.show(axis.view.from, axis.view.to, plotWidth());
        showAxis();
      }, 50);
    }).observe($("curve"));
  }

  // ---- What was alive, as an icicle

  // Fields of a block: html_data.cpp.
  const [BYTES, ROLE, HOLDER, MODULE, OP, SOURCE, LAYOUT, SINCE, HOLDERS] = Array(9).keys();
  const text = (block, field) => data.strings[block[field]];
  const roleName = (block) => [data.roles[block[ROLE]].label];
  const or = (value, other) => (value === "" ? other : value);
  const moduleName = (block) => or(text(block, MODULE), "(outside of modules)");
  const modulePath = (block) => moduleName(block).split(".");
  const SAVED = data.roles.findIndex(({ name }) => name === "saved");
  const isSaved = (block) => block[ROLE] === SAVED;
  const field = (block) => (isSaved(block) ? [text(block, HOLDER).replace(/ x\d+$/, "")] : []);
  const operator = (block) => [or(text(block, OP), "(no operator)")];
  const source = (block) => [or(text(block, SOURCE), "(no line)")];
  // Of each grouping the levels, the outermost first; each gives the names of one or more levels.
  const groupings = {
    module: ["role, module", [roleName, modulePath, field]],
    field: ["role, field of a node", [roleName, field, (block) => [moduleName(block)]]],
    source: ["source line", [source, field]],
    operator: ["operator", [operator, (block) => [moduleName(block)], field]],
    step: ["step that made it", [(block) => [text(block, SINCE)], roleName, field]],
  };
  const firstGrouping = { node: "field", category: "module" }[data.by] ?? data.by;

  let freed = new Set(); // places of blocks

  function child(node, name, key = name) {
    let found = node.byKey.get(key);
    if (!found) {
      found = { name, parent: node, children: [], byKey: new Map(), bytes: 0, count: 0, blocks: [], roles: {}, depth: node.depth + 1 };
      node.byKey.set(key, found);
      node.children.push(found);
    }
    return found;
  }
  function count(node, bytes, allocations, role, place) {
    for (let at = node; at; at = at.parent) {
      at.bytes += bytes;
      at.count += allocations;
      at.roles[role] = (at.roles[role] ?? 0) + bytes;
      if (place !== null) at.blocks.push(place);
    }
  }
  function makeTree(by) {
    const top = { name: data.is_peak ? "peak" : "alive", parent: null, children: [], byKey: new Map(), bytes: 0, count: 0, blocks: [], roles: {}, depth: 0 };
    data.blocks.forEach((block, place) => {
      let node = top;
      for (const level of groupings[by][1]) for (const name of level(block)) node = child(node, name);
      const leaf = child(node, isSaved(block) ? or(text(block, LAYOUT), bytesText(block[BYTES])) : text(block, HOLDER), `#${place}`);
      leaf.block = block;
      count(leaf, block[BYTES], 1, block[ROLE], place);
    });
    for (const { role, allocations, bytes } of data.smaller) {
      const label = data.roles[role].label;
      const under = groupings[by][1][0] === roleName ? child(top, label) : top;
      const name = `${plural(allocations, "smaller allocation", "smaller allocations")} (${label})`;
      count(child(under, name), bytes, allocations, role, null);
    }
    const sort = (node) => {
      node.children.sort((a, b) => b.bytes - a.bytes || natural.compare(a.name, b.name));
      node.role = Number(Object.entries(node.roles).sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0);
      node.children.forEach(sort);
    };
    sort(top);
    return top;
  }

  const freedIn = (node) => node.blocks.reduce((sum, place) => sum + (freed.has(place) ? data.blocks[place][BYTES] : 0), 0);

  function describe(node) {
    const names = [];
    for (let at = node; at.parent; at = at.parent) names.unshift(at.name);
    const lines = [element("strong", {}, names.join(" › ") || node.name), element("div", {},
      `${bytesText(node.bytes)}, ${percentText(node.bytes, icicle.root().bytes)}, ${plural(node.count, "allocation", "allocations")}` +
      (freed.size > 0 ? `; ${bytesText(freedIn(node))} of it would not be there` : ""))];
    const block = node.block ?? (node.blocks.length ? data.blocks[Math.min(...node.blocks)] : null);
    if (block) {
      const made = [or(text(block, OP), "(no operator)"), text(block, MODULE) && `in ${text(block, MODULE)}`, text(block, SOURCE)];
      lines.push(element("div", {}, swatch(block[ROLE]), (node.block ? "" : `The biggest in it, ${bytesText(block[BYTES])}: `) + text(block, HOLDERS)),
        element("div", { class: "faint" }, [text(block, LAYOUT), made.filter(Boolean).join(", "), text(block, SINCE)].filter(Boolean).join("; ")));
    }
    $("block").replaceChildren(...lines);
  }
  const icicle = makeIcicle($("icicle"), $("zoom-out"), {
    figures: (nodes) => {
      const bytes = nodes.reduce((sum, one) => sum + one.bytes, 0);
      return bytesText(bytes) + (nodes.length > 1 ? "" : `, ${percentText(bytes, icicle.root().bytes)}`);
    },
    freedPart: (nodes) => (freed.size === 0 ? null
      : nodes.reduce((sum, one) => sum + freedIn(one), 0) / Math.max(1, nodes.reduce((sum, one) => sum + one.bytes, 0))),
    chosen: describe,
  });

  function startIcicle() {
    for (const [name, [label]] of Object.entries(groupings)) $("grouping").append(element("option", { value: name }, label));
    $("grouping").value = firstGrouping;
    $("grouping").addEventListener("change", () => icicle.show(makeTree($("grouping").value)));
    const smaller = data.smaller.reduce((sum, one) => sum + one.allocations, 0);
    $("set-note").textContent = `The ${plural(data.blocks.length, "biggest allocation", "biggest allocations")}` +
      (smaller > 0 ? `; ${countText(smaller)} smaller ones are summed by role.` : ", which are all.") + " Colours are those of the roles above.";
    icicle.show(makeTree(firstGrouping));
  }

  // ---- Findings

  function select(place, name) {
    selected = selected === place ? null : place;
    whatIf = curveWithout(selected);
    freed = new Set();
    if (selected !== null) {
      let at = 0;
      for (const distance of data.advice.what_ifs[selected].blocks) freed.add((at += distance));
    }
    for (const head of document.querySelectorAll(".head[data-what-if]")) {
      head.setAttribute("aria-pressed", String(selected !== null && Number(head.dataset.whatIf) === selected));
    }
    plot.setData(curveData(), false);
    plot.redraw();
    pointAt(plot, plot.cursor.idx);
    icicle.draw();
    describe(icicle.current());
    if (selected === null) return $("selection").replaceChildren();
    const left = data.advice.what_ifs[selected];
    const hidden = left.freed - freed.size;
    const change = left.peak - data.advice.peak_before;
    $("selection").replaceChildren(
      `With ${name} fixed: peak ${bytesText(data.advice.peak_before)} -> ${bytesText(left.peak)} ` +
      `(${change > 0 ? "+" : ""}${percentText(change, data.advice.peak_before)}), then ${timeText(left.time)} after the start. Of what was alive at ` +
      `${data.is_peak ? "the peak" : "this moment"}, ${bytesText(left.freed_bytes)} in ${plural(left.freed, "allocation", "allocations")} would not be there` +
      (hidden > 0 ? ` (${countText(hidden)} of them too small to be marked)` : "") + ".",
      element("button", { type: "button", onclick: () => select(selected, "") }, "Clear"));
  }

  function head(name, figures, place, spoken) {
    const inside = [element("span", { class: "name" }, name), ...figures];
    if (place === null) return element("div", { class: "head" }, ...inside);
    return element("button", { type: "button", class: "head", "data-what-if": place, "aria-pressed": "false", onclick: () => select(place, spoken) }, ...inside);
  }

  function findingElement(finding, name) {
    const line = (content, kind) => (content ? element("div", { class: kind ?? "" }, content) : "");
    const patch = finding.patch.map((row) =>
      element("div", { class: row[0] === "+" ? "added" : row[0] === "-" ? "removed" : "" }, row || " "));
    return element("div", { class: "finding" },
      head(finding.title, [element("span", { class: "figure" }, bytesText(finding.bytes))], finding.what_if, name),
      line(finding.source && element("code", {}, finding.source + (finding.statement ? "   " + finding.statement : ""))),
      line(finding.place, "faint"), line(`${bytesText(finding.bytes)} ${finding.times}; ${finding.effect}`), line(finding.message),
      line(finding.proved ? "" : "The recording cannot prove this: check before you change anything.", "warning"),
      line(`Fix: ${finding.fix}`), patch.length ? element("div", { class: "patch", tabindex: "0", role: "region", "aria-label": "patch" }, element("code", {}, ...patch)) : "",
      ...[...finding.notes, ...finding.evidence].map((note) => line("- " + note, "faint")),
      line(`${finding.check} ${finding.id}`, "faint"));
  }

  function startFindings() {
    const advice = data.advice;
    const box = $("findings");
    if (!advice) return box.append("No checks were run.");
    for (const refused of advice.refused) box.append(element("p", { class: "warning" }, "Check failed: " + refused));
    box.append(more(advice.refused_left_out, "checks that failed"));
    $("outlook").textContent = `Peak ${bytesText(advice.peak_before)}${advice.outlook}`;
    if (advice.call) box.append(element("p", {}, "All code changes are for ", element("code", {}, advice.call)));
    if (advice.entries.length === 0) box.append(element("p", {}, `No findings, of ${plural(advice.checks, "check", "checks")}.`));
    if (advice.all !== null) {
      box.append(element("div", { class: "entry" }, head(`All together: ${advice.fixed} fixed`,
        [element("span", { class: "figure" }, bytesText(advice.peak_after_all))], advice.all, advice.fixed)));
    }
    let section = "";
    advice.entries.forEach((entry, i) => {
      if (entry.section !== section) box.append(element("h3", { class: "section" }, (section = entry.section)));
      const name = `${i + 1}. ${entry.title}`;
      const figures = [element("span", { class: "figure" }, entry.peak_after),
        element("span", { class: "figure" + (entry.lowers ? " lower" : "") }, entry.change)];
      const inside = entry.findings.map((at) => findingElement(advice.findings[at], `"${advice.findings[at].title}"`));
      box.append(element("div", { class: "entry" }, head(name, figures, entry.what_if, `entry ${i + 1} alone`),
        entry.line ? element("div", { class: "line" }, element("code", {}, entry.line)) : "",
        entry.command ? element("div", { class: "line" }, "run ", element("code", {}, entry.command)) : "",
        element("details", {}, element("summary", {}, inside.length === 1 ? "Evidence and fix" : plural(inside.length, "finding", "findings")),
          ...inside, more(entry.more, "findings: tapelens advise --all"))));
    });
    if (advice.entries.length) {
      box.append(element("p", { class: "faint" }, "Beside each entry: the peak after this entry and all entries before it, and the reduction of the peak; " +
        "for an alternative, the peak after this entry alone. Choose an entry or a finding to see its effect on the curve and the live allocations."));
    }
    box.append(more(advice.entries_left_out, "entries: tapelens advise --all"));
    if (advice.remaining.length) {
      box.append(element("h3", { class: "section" }, advice.entries.length ? "Alive at the peak with all of that fixed" : "What holds the peak"),
        table([["bytes", true], ["what", false]], advice.remaining.map(({ bytes, text: what, remedy }) =>
          ({ cells: [bytesText(bytes), element("span", {}, what, remedy ? element("div", { class: "faint" }, remedy) : "")] }))));
    }
  }

  // ---- The request that found no memory

  function startFailure() {
    const failure = data.failure;
    if (!failure) return;
    $("failure-section").hidden = false;
    $("failure-title").textContent = failure.title;
    $("failure-text").textContent = failure.text;
    const box = $("failure");
    if (failure.alive !== null) {
      box.append(element("h3", { class: "section" }, `Alive then: ${bytesText(failure.alive)}`),
        table([["bytes", true], ["of it", true], ["what", false]], failure.held_by.map(({ bytes, text: what }) =>
          ({ cells: [bytesText(bytes), percentText(bytes, failure.alive), what] }))));
    }
    if (failure.fits.length) box.append(element("h3", { class: "section" }, "Changes with which it fits"));
    for (const sentence of failure.fits) box.append(element("p", {}, sentence));
    for (const { text: way, reserved, commands } of failure.ways) {
      box.append(element("div", { class: "way" }, `${way}: ${reserved}`,
        ...commands.map((command) => element("div", {}, element("code", {}, command)))));
    }
    if (failure.rest) box.append(element("p", { class: "warning" }, failure.rest));
    box.append(element("dl", {}, ...failure.commands.flatMap(({ command, why }) =>
      [element("dt", {}, element("code", {}, command)), element("dd", {}, why)])));
  }

  // ---- Tables, and the rest of the page

  function startTables() {
    const most = data.peak.bytes;
    $("lines").append(table([["line", false], ["bytes", true], ["of it", true], ["allocations", true]], data.lines.map((line) =>
      ({ cells: [element("span", {}, element("code", {}, line.text), bar(line.bytes / Math.max(1, most))), bytesText(line.bytes), percentText(line.bytes, most), countText(line.allocations)] }))),
    more(data.lines_left_out, "lines"));
    $("modules-section").hidden = data.modules.tables.length === 0;
    for (const { title, heading, rows, rows_left_out: left } of data.modules.tables) {
      $("modules").append(element("h3", {}, title),
        table([[heading, false], ["all", true], ...data.modules.columns.map((name) => [name, true])], rows.map((row) =>
          ({ cells: [element("code", {}, row.module), ...[row.all, ...row.bytes].map((bytes) => (bytes > 0 ? bytesText(bytes) : "-"))] }))),
        more(left, "modules"));
    }
    const highest = Math.max(1, ...data.steps.map(({ peak }) => peak));
    const stepButton = (step) => element("button", { type: "button", title: "Show it in the curve", onclick: () => {
      show(step.begin, step.end);
      $("curve").scrollIntoView({ block: "center" });
    } }, step.complete ? String(step.index) : "after the last");
    $("steps").append(table([["step", false], ["peak", true], ["", false], ["at its begin", true], ["allocations", true], ["allocated", true], ["time", true]],
      data.steps.map((step) => ({
        cells: [stepButton(step), bytesText(step.peak), bar(step.peak / highest), bytesText(step.begin_live), countText(step.allocations),
          bytesText(step.allocated), timeText(step.end - step.begin)],
        chosen: step.begin <= data.peak.time && data.peak.time < step.end,
      }))), more(data.steps_left_out, "steps, between the first and the last of these: tapelens report --format json"));
    $("processes").append(table([["process", true], ["rank", true], ["device", false], ["peak", true], ["after the start", true], ["allocations", true]],
      data.processes.map((row) => ({ cells: [String(row.pid), row.rank === null ? "" : String(row.rank), row.device, bytesText(row.peak), timeText(row.time), countText(row.allocations)], chosen: row.chosen }))),
    more(data.processes_left_out, "rows"));
    for (const { command, why } of data.commands) $("commands").append(element("dt", {}, element("code", {}, command)), element("dd", {}, why));
  }

  function startPage() {
    document.title = $("title").textContent = data.title;
    $("when").textContent = data.when;
    $("run").textContent = data.run;
    for (const { text: said, warning } of data.remarks) $("remarks").append(element("li", { class: warning ? "warning" : "" }, said));
    $("footer").textContent = `Made by tapelens report --format html, Tapelens ${data.version}. This file asks for nothing from the network.`;
    startTheme(() => {
      makeCurve();
      icicle.draw();
    });
    for (const [keys, what] of [["Tab", "the next button, curve or picture"], ["← →", "curve: earlier, later; picture: the group beside"],
      ["+ −", "curve: zoom"], ["0", "curve: the whole run"], ["p", "curve: the step of the peak"], ["↑ ↓", "picture: the group around, the biggest in it"],
      ["Enter", "picture: zoom in; a finding: show what it changes"], ["Esc", "picture: show all"], ["?", "this"],
      ["drag", "curve: zoom; double click: the whole run"]]) {
      $("keys").append(element("dt", {}, element("kbd", {}, keys)), element("dd", {}, what));
    }
    const help = () => $("help").open || $("help").showModal();
    $("help-open").addEventListener("click", help);
    listen(document, { "?": help });
  }

  startCurve();
  startIcicle();
  startFindings();
  startFailure();
  startFit(data, $, { element, table, breakable, bytesText });
  startTables();
  startPage();
})();
