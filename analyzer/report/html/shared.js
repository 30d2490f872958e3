// Elements, numbers and colours for every page. Names from a recording are only inserted as text nodes, never as
// innerHTML.
const $ = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

function bytesText(bytes) {
  if (Math.abs(bytes) < 1024) return bytes + " B";
  let value = bytes / 1024;
  let unit = 0;
  while (Math.abs(value) >= 1023.95 && unit < 5) {
    value /= 1024;
    ++unit;
  }
  return value.toFixed(1) + " " + ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit];
}
function timeText(ns) {
  if (ns >= 1e9) return (ns / 1e9).toFixed(3) + " s";
  if (ns >= 1e6) return (ns / 1e6).toFixed(1) + " ms";
  return ns >= 1e3 ? (ns / 1e3).toFixed(1) + " us" : Math.round(ns) + " ns";
}
const countText = (count) => count.toLocaleString("en-US");
const natural = new Intl.Collator("en", { numeric: true });
const plural = (count, one, many) => countText(count) + " " + (count === 1 ? one : many);
const percentText = (part, whole) => ((100 * part) / Math.max(1, whole)).toFixed(1) + " %";

// The current value of a colour of the style sheet, in a form that a canvas accepts.
function colorOf(name) {
  const probe = element("span", { style: `color: var(${name})` });
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}
const roleColor = (role) => `var(--role-${role})`;
// `roles` is a list of {light, dark}.
function setRoleColors(roles) {
  roles.forEach((role, place) => {
    document.documentElement.style.setProperty(`--role-${place}`, `light-dark(${role.light}, ${role.dark})`);
  });
}
// Black or white: the colour that is easier to read on the role's colour.
function textOn(role) {
  const [r, g, b] = colorOf(`--role-${role}`).match(/[\d.]+/g).map((part) => (Number(part) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#10151b" : "#ffffff";
}
const swatch = (role) => element("span", { class: "swatch", style: `background: ${roleColor(role)}` });

function table(columns, rows) {
  const head = columns.map(([name, isNumber]) => element("th", { scope: "col", class: isNumber ? "number" : "" }, name));
  const body = rows.map(({ cells, chosen }) =>
    element("tr", { class: chosen ? "chosen" : "" },
      ...cells.map((cell, i) => element("td", { class: columns[i][1] ? "number" : "" }, cell))));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}
// A dotted path that wraps behind its dots.
const breakable = (path) => path.split(/(?<=\.)/).flatMap((part, i) => (i > 0 ? [element("wbr"), part] : [part]));
const more = (count, what) => (count > 0 ? element("p", { class: "faint" }, `and ${countText(count)} more ${what}`) : "");
const bar = (part) => element("span", { class: "bar", style: `width: ${Math.max(0.5, 100 * part).toFixed(1)}%` });

function listen(target, keys) {
  target.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

const SVG = "http://www.w3.org/2000/svg";
function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// The button that changes between light and dark. `repaint` draws what does not follow the style sheet.
function startTheme(repaint) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const name = () => ($("theme").textContent = isDark() ? "Light" : "Dark");
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
    repaint();
  });
  dark.addEventListener("change", () => {
    name();
    repaint();
  });
  name();
}
