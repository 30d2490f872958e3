// A tree as an icicle: the root at the top, each node as wide as its bytes, with its children below it.

// Draws in `box`; the button `zoomOut` shows the whole tree. A node is {name, parent, children, bytes, role, depth}:
// the widest child first, `role` is the number of its colour. Words and reactions are the page's:
// figures(nodes): the numbers of a node, or of several that are too narrow to be seen;
// freedPart(nodes): the part of their bytes to mark, null without marks;
// chosen(node): a node was chosen; pointed(node): the pointer is on a node, null: on none.
function makeIcicle(box, zoomOut, { figures, freedPart = () => null, chosen, pointed = () => {} }) {
  let root = null, zoomed = null, current = null;
  const ROW = 24;

  const pen = document.createElement("canvas").getContext("2d"); // measures text
  const widthOf = (text) => pen.measureText(text).width;
  // As much of a name as fits; empty if that is less than three letters.
  function fitted(name, room) {
    if (room < 12) return "";
    const whole = widthOf(name);
    if (whole <= room) return name;
    let end = Math.min(name.length - 1, Math.ceil((name.length * room) / whole));
    while (end >= 3 && widthOf(name.slice(0, end) + "…") > room) --end;
    return end >= 3 ? name.slice(0, end) + "…" : "";
  }

  function draw() {
    pen.font = `12px ${getComputedStyle(box).fontFamily}`; // as in page.css
    const width = Math.max(200, box.clientWidth);
    const inks = new Map(); // by role
    const ink = (role) => inks.get(role) ?? inks.set(role, textOn(role)).get(role);
    const picture = svg("svg", { role: "presentation" });
    let rows = 0, number = 0;
    // A node, or several that are too narrow to be seen: drawn as the widest, which is the first.
    const paint = (nodes, x, w, row) => {
      const node = nodes[0];
      const several = nodes.length > 1;
      rows = Math.max(rows, row + 1);
      const part = freedPart(nodes);
      const kind = ["node"];
      if (node === current && !several) kind.push("current");
      if (part === 0) kind.push("dim");
      const label = `${several ? `${nodes.length} narrow ones` : node.name}, ${figures(nodes)}`;
      const group = svg("g", { class: kind.join(" "), role: "treeitem", id: `${box.id}-node-${number++}`, "aria-label": label, "aria-selected": node === current && !several, "aria-level": node.depth + 1 },
        svg("title", {}, label));
      group.append(svg("rect", { class: "ground", x, y: row * ROW, width: w, height: ROW, style: `fill: ${node.parent ? roleColor(node.role) : "var(--line)"}` }));
      if (part > 0) group.append(svg("rect", { class: "freed", x, y: row * ROW + ROW - 6, width: w * part, height: 6 }));
      const shown = several ? "" : fitted(node.name, w - 8);
      if (shown) {
        group.append(svg("text", { x: x + 4, y: row * ROW + 16, fill: node.parent ? ink(node.role) : colorOf("--text") }, shown));
      }
      group.addEventListener("click", () => (node === current ? zoomTo(node) : choose(node)));
      group.addEventListener("pointerenter", () => pointed(node));
      if (node === current) box.setAttribute("aria-activedescendant", group.id);
      picture.append(group);
    };
    const place = (node, x, w, row) => {
      paint([node], x, w, row);
      const narrow = [];
      let at = x, narrowWidth = 0;
      for (const below of node.children) {
        const part = (w * below.bytes) / Math.max(1, node.bytes);
        if (part >= 1.5) place(below, at, part, row + 1);
        else {
          narrow.push(below);
          narrowWidth += part;
        }
        at += part;
      }
      if (narrowWidth >= 0.5) paint(narrow, at - narrowWidth, narrowWidth, row + 1);
    };
    const path = [];
    for (let node = zoomed.parent; node; node = node.parent) path.unshift(node);
    path.forEach((node, row) => paint([node], 0, width, row));
    place(zoomed, 0, width, path.length);
    picture.setAttribute("viewBox", `0 0 ${width} ${rows * ROW}`);
    picture.setAttribute("height", rows * ROW);
    box.replaceChildren(picture);
    zoomOut.disabled = zoomed === root;
  }

  function choose(node) {
    current = node;
    draw();
    chosen(node);
  }
  function zoomTo(node) {
    zoomed = node.children.length ? node : (node.parent ?? node);
    choose(node);
  }
  function sibling(by) {
    const all = current.parent?.children ?? [current];
    choose(all[Math.min(Math.max(all.indexOf(current) + by, 0), all.length - 1)]);
  }
  listen(box, {
    ArrowLeft: () => sibling(-1), ArrowRight: () => sibling(1), Enter: () => zoomTo(current),
    ArrowDown: () => current.children.length && choose(current.children[0]),
    ArrowUp: () => {
      if (current === zoomed && zoomed.parent) zoomed = zoomed.parent;
      choose(current.parent ?? current);
    },
    Escape: () => zoomTo(root), Home: () => zoomTo(root),
  });
  zoomOut.addEventListener("click", () => zoomTo(root));
  box.addEventListener("pointerleave", () => pointed(null));

  function show(tree) {
    root = zoomed = tree;
    choose(root);
  }
  let width = 0; // drawing changes the height
  new ResizeObserver(() => {
    if (root && width !== box.clientWidth) draw();
    width = box.clientWidth;
  }).observe(box);
  return { show, draw, root: () => root, current: () => current };
}
