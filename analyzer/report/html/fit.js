// Memory against added time: the choices of `tapelens run --fit`, as a curve and a table. page.js calls it with its data
// and helpers.
"use strict";
function startFit(data, $, { element, table, breakable, bytesText }) {
  const fit = data.fit;
  $("fit-section").hidden = fit === null;
  if (fit === null) return;
  const svg = (tag, properties, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  // As wide as the page, so that a phone's letters are not scaled down.
  const WIDTH = Math.min(720, Math.max(280, $("fit-curve").clientWidth)), HEIGHT = 240;
  const LEFT = 64, RIGHT = 40, TOP = 28, BOTTOM = 44, PARTS = WIDTH < 500 ? 2 : 4;
  const points = fit.points;
  const most = points[0].bytes, slowest = Math.max(0.01, ...points.map(({ added }) => added));
  const x = (bytes) => LEFT + ((WIDTH - LEFT - RIGHT) * bytes) / most;
  const y = (added) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * added) / slowest;
  const percent = (part) => `${(100 * part).toFixed(slowest < 0.1 ? 1 : 0)} %`;

  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${fit.time} for less ${fit.memory}; the table below has the same values` });
  for (let i = 0; i <= PARTS; ++i) {
    const bytes = (most * i) / PARTS, added = (slowest * i) / PARTS;
    picture.append(svg("line", { class: "grid", x1: x(bytes), x2: x(bytes), y1: TOP, y2: HEIGHT - BOTTOM }),
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(added), y2: y(added) }),
      svg("text", { x: x(bytes), y: HEIGHT - BOTTOM + 20, "text-anchor": "middle" }, bytesText(bytes)),
      svg("text", { x: LEFT - 6, y: y(added) + 4, "text-anchor": "end" }, percent(added)));
  }
  picture.append(svg("text", { x: LEFT, y: 14 }, fit.time), svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, fit.memory));
  // A size between two points takes the choice of the smaller one.
  const path = points.map(({ bytes, added }, i) => (i === 0 ? `M${x(bytes)} ${y(added)}` : `V${y(added)}H${x(bytes)}`)).join("");
  picture.append(svg("path", { class: "steps", d: path }));
  const dots = points.map(({ bytes, added }) => svg("circle", { cx: x(bytes), cy: y(added), r: 5 }));
  picture.append(...dots);

  const cells = ({ name, bytes, added_text: added, layers, command }) => [
    name, bytesText(bytes), added,
    element("span", {}, ...layers.map((layer) => element("div", {}, ...breakable(layer))), command ? element("code", {}, command) : ""),
  ];
  const rows = table([["choice", false], [fit.memory, true], [fit.time, true], ["recomputed or encoded saves, and the line to type", false]],
    points.map((point) => ({ cells: cells(point) })));
  const bodies = rows.querySelectorAll("tbody tr");
  const choose = (at) => {
    dots.forEach((dot, i) => dot.classList.toggle("chosen", i === at));
    bodies.forEach((row, i) => row.classList.toggle("chosen", i === at));
    const { name, bytes, added_text: added } = points[at];
    $("fit-readout").textContent = `${name}: ${bytesText(bytes)}, ${added}`;
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDTH;
    const distances = points.map(({ bytes }) => Math.abs(x(bytes) - at));
    choose(distances.indexOf(Math.min(...distances)));
  });
  bodies.forEach((row, i) => row.addEventListener("pointerenter", () => choose(i)));
  picture.style.maxWidth = `${WIDTH}px`;
  $("fit-curve").append(picture);
  $("fit-table").append(rows);
  $("fit-note").textContent = fit.note;
  choose(0);
}
