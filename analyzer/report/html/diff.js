// The page of `tapelens diff --format html`. It reads the embedded JSON (diff_html.cpp), draws it and handles events.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  setRoleColors(data.growths);

  const signedText = (bytes) => (bytes > 0 ? "+" : "") + bytesText(bytes);
  const kindOf = (bytes) => (bytes > 0 ? "grew" : bytes < 0 ? "shrank" : "");
  const changed = (text, bytes) => element("span", { class: kindOf(bytes) }, text);
  function beforeAndAfter(a, b) {
    if (a === b) return `${bytesText(a)}, the same`;
    const part = a > 0 ? `, ${b > a ? "+" : ""}${((100 * (b - a)) / a).toFixed(1)} %` : "";
    return `${bytesText(a)} -> ${bytesText(b)} (${signedText(b - a)}${part})`;
  }
  const sum = (nodes, field) => nodes.reduce((all, one) => all + one[field], 0);
  const figures = (nodes) => beforeAndAfter(sum(nodes, "a"), sum(nodes, "b"));

  // Rows of a node: diff_html.cpp. Parents come first, and children are sorted.
  function treeOf(device) {
    const nodes = [];
    for (const [parent, name, before, isModule, layers, a, b, width, role, countA, countB] of device.nodes) {
      const above = parent === null ? null : nodes[parent];
      const node = { name: layers > 1 ? `${name} x${layers}` : name, before, isModule, layers, a, b, bytes: width, role, countA, countB,
        parent: above, children: [], depth: above ? above.depth + 1 : 0 };
      if (above) above.children.push(node);
      nodes.push(node);
    }
    nodes[0].name = device.name;
    return nodes[0];
  }

  function describe(node) {
    const names = [];
    for (let at = node; at.parent; at = at.parent) names.unshift(at.name);
    const allocations = node.countA === node.countB ? plural(node.countA, "allocation", "allocations")
      : `${countText(node.countA)} -> ${plural(node.countB, "allocation", "allocations")}`;
    return [element("strong", {}, names.join(" › ") || node.name),
      element("div", {}, node.parent ? swatch(node.role) : "", changed(figures([node]), node.b - node.a)),
      element("div", { class: "faint" }, [data.growths[node.role].label, node.before && `named ${node.before} in A`,
        node.layers > 1 && `${node.layers} equal layers`, allocations].filter(Boolean).join("; "))];
  }

  // Each class of growth in the picture, with the bytes of the holders of that class.
  function legendOf(device) {
    const change = data.growths.map(() => 0), has = data.growths.map(() => false);
    const count = (node) => {
      has[node.role] ||= node.parent !== null;
      for (const below of node.children) count(below);
      if (node.children.length === 0) change[node.role] += node.b - node.a;
    };
    count(device.tree);
    return element("ul", { class: "legend", "aria-label": "Colours, and the bytes of the holders that changed so" },
      ...data.growths.map(({ label }, role) => (has[role]
        ? element("li", {}, swatch(role), change[role] === 0 ? label : `${label} ${signedText(change[role])}`) : "")).filter(Boolean));
  }

  function groupsElement({ key, rows, left_out: left }, i) {
    return element("details", { open: i === 0 }, element("summary", {}, `By ${key}`),
      element("div", { class: "wide groups" }, table([[key, false], ["difference", true], ["A", true], ["B", true], ["change", false]],
        rows.map(([name, a, b, change]) => ({ cells: [element("code", {}, name), changed(signedText(b - a), b - a), bytesText(a), bytesText(b),
          change] }))), more(left, "groups: tapelens diff --format json")));
  }

  function startDevice(device, i) {
    device.tree = treeOf(device);
    const section = element("section", { "aria-label": device.name });
    const add = (...children) => section.append(...children);
    $("devices").append(section);
    if (data.devices.length > 1) add(element("h2", {}, `${device.name}: ${device.change}`));
    if (device.cause) {
      const { line, statement, why } = device.cause;
      add(element("p", {}, element("code", {}, statement ? `${line}: ${statement}` : line), ` (${why})`));
    }
    if (device.size) add(element("p", { class: "warning" }, device.size));
    add(element("dl", { class: "figures" }, ...device.figures.flatMap(({ name, text }) =>
      [element("dt", {}, name), element("dd", {}, text)])));
    add(element("h3", { class: "section" }, "Modules at the peak"));
    const zoomOut = element("button", { type: "button" }, "Show all");
    const box = element("div", { class: "icicle", id: `icicle-${i}`, tabindex: "0", role: "tree",
      "aria-label": `Modules at the peak of ${device.name}, coloured by growth: arrows move, Enter zooms in, Escape zooms out` });
    const block = element("div", { class: "block", role: "status" });
    add(element("div", { class: "tools" }, zoomOut), box, block, legendOf(device));
    add(element("p", { class: "faint" }, "Each box is as wide as the larger of A and B, summed over its contents. " +
      "Point at a box or move with the arrow keys for its numbers; Enter zooms in, Escape zooms out." +
      (device.nodes_left_out > 0 ? ` ${plural(device.nodes_left_out, "small box is", "small boxes are")} summed by their module.` : "")));
    const icicle = makeIcicle(box, zoomOut, {
      figures,
      chosen: (node) => block.replaceChildren(...describe(node)),
      pointed: (node) => block.replaceChildren(...describe(node ?? icicle.current())),
    });
    icicle.show(device.tree);
    add(element("h3", { class: "section" }, "Changed groups"), ...device.groups.map(groupsElement));
    if (device.groups.length === 0) add(element("p", {}, "No group changed."));
    return icicle;
  }

  document.title = $("title").textContent = data.title;
  for (const { label, file, command } of data.runs) {
    $("runs").append(element("dt", {}, label), element("dd", {}, element("code", {}, file), command ? ` ${command}` : ""));
  }
  for (const remark of data.remarks) $("remarks").append(element("li", { class: "faint" }, remark));
  const icicles = data.devices.map(startDevice);
  $("findings-section").hidden = data.findings.length === 0;
  $("findings").append(...data.findings.map(({ title, rows, left_out: left }) => element("div", {}, element("h3", { class: "section" }, title),
    table([["severity", false], ["finding", false], ["bytes", true], ["line", false]], rows.map(([severity, text, bytes, place]) =>
      ({ cells: [severity, text, bytesText(bytes), element("code", {}, place)] }))), more(left, "findings: tapelens diff --format json"))));
  $("footer").textContent = `Made by tapelens diff --format html, Tapelens ${data.version}. This file asks for nothing from the network.`;
  startTheme(() => icicles.forEach((icicle) => icicle.draw()));
})();
