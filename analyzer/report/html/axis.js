// The curve's axis: converts between times, in ns, and places, in pixels from the begin of the recording. The same
// layouts as those of the window (gui/picture/axis.h).
const mostPause = 28; // the widest that a pause becomes

// Knots of the layouts, in the order of time: so many units, which are equally wide, and so many pauses before a time.
function axisKnots(kind, end, pauses, times, numbers, events) {
  if (kind === "events") {
    // A unit is an event. Its point is where it begins.
    return [{ time: 0, units: 0, pauses: 0 }, ...times.map((time, i) => ({ time, units: numbers[i], pauses: 0 })),
      { time: end, units: events + 1, pauses: 0 }];
  }
  const knots = [{ time: 0, units: 0, pauses: 0 }];
  let paused = 0;
  if (kind === "pauses") {
    pauses.all.forEach(([from, to], i) => {
      knots.push({ time: from, units: from - paused, pauses: i }, { time: to, units: from - paused, pauses: i + 1 });
      paused += to - from;
    });
  }
  return [...knots, { time: end, units: end - paused, pauses: knots.at(-1).pauses }];
}

// 1, 2 or 5 times a power of ten.
function roundDistance(least) {
  const ten = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((part) => part * ten).find((every) => every >= least);
}

// As many digits as needed to distinguish two labels.
function tickText(ns, every) {
  const [scale, unit] = every >= 1e6 ? [1e9, "s"] : every >= 1e3 ? [1e6, "ms"] : [1e3, "us"];
  return (ns / scale).toFixed(Math.max(0, -Math.floor(Math.log10(every / scale)))) + " " + unit;
}

function makeAxis(kind, knots, pauses, end) {
  const narrow = kind === "pauses" ? pauses.narrow : 0;
  const between = (a, b, part) => a + (b - a) * part;
  // The last knot at or before a value, but not the last of all.
  function before(value, of) {
    let low = 0;
    for (let high = knots.length - 1; high - low > 1;) {
      const middle = (low + high) >> 1;
      if (of(knots[middle]) <= value) low = middle;
      else high = middle;
    }
    return low;
  }
  function at(time) {
    const low = before(time, (knot) => knot.time), [from, to] = [knots[low], knots[low + 1]];
    const part = to.time > from.time ? Math.min(1, (time - from.time) / (to.time - from.time)) : 0;
    return { units: between(from.units, to.units, part), pauses: between(from.pauses, to.pauses, part) };
  }
  // The view: its times, its width in pixels, pixels for each unit and for each pause.
  const view = { from: 0, to: end, width: 1, unit: 1, pause: 0 };
  const pauseWidth = (unit) => Math.min(mostPause, unit * narrow);
  const sum = (knot, unit, pause) => knot.units * unit + knot.pauses * pause;
  const place = (time, unit = view.unit, pause = view.pause) => sum(at(time), unit, pause);
  function timeOf(x, unit = view.unit, pause = view.pause) {
    const low = before(x, (knot) => sum(knot, unit, pause)), [from, to] = [knots[low], knots[low + 1]];
    const [left, right] = [sum(from, unit, pause), sum(to, unit, pause)];
    return Math.min(end, Math.max(0, between(from.time, to.time, right > left ? (x - left) / (right - left) : 0)));
  }
  // Pixels for each unit with which a range fills the width. A pause keeps its share of the picture up to a limit.
  function scaleOf(from, to) {
    const [a, b] = [at(from), at(to)], units = b.units - a.units, count = b.pauses - a.pauses;
    const unit = view.width / (units + count * narrow);
    // A range in one pause is as wide as the picture.
    if (units < 1e-9 || unit * narrow <= mostPause) return [unit, unit * narrow];
    return [(view.width - count * mostPause) / units, mostPause];
  }
  function show(from, to, width = view.width) {
    const length = Math.min(Math.max(to - from, 10), end);
    view.from = Math.min(Math.max(from, 0), end - length);
    view.to = view.from + length;
    view.width = width;
    [view.unit, view.pause] = scaleOf(view.from, view.to);
  }
  // Shows what begins at a place, at a scale.
  function showFrom(left, unit) {
    const pause = pauseWidth(unit), most = Math.max(0, place(end, unit, pause) - view.width);
    const begin = Math.min(Math.max(left, 0), most);
    show(timeOf(begin, unit, pause), most - begin < 1e-6 ? end : timeOf(begin + view.width, unit, pause));
  }
  const breaks = () => (kind !== "pauses" ? [] : pauses.all.filter(([from, to]) => to > view.from && from < view.to));
  return {
    view, place, timeOf, show, breaks,
    // Keeps the place of a time.
    zoom(time, factor) {
      const unit = Math.max(view.unit * factor, scaleOf(0, end)[0]);
      showFrom(place(time, unit, pauseWidth(unit)) - (place(time) - place(view.from)), unit);
    },
    move: (part) => showFrom(place(view.from) + part * view.width, view.unit),
    breakAt: (time) => breaks().find(([from, to]) => from <= time && time < to),
    // Labels at round numbers, at least `space` pixels apart and beside the labels of the breaks.
    ticks(space) {
      const every = roundDistance(space / view.unit), out = [];
      const marks = breaks().map(([from, to]) => (place(Math.max(from, view.from)) + place(Math.min(to, view.to))) / 2);
      const add = (x, text) => {
        if (out.length > 0 && x - out.at(-1).x < space) return;
        if (marks.every((mark) => Math.abs(mark - x) >= space * 0.65)) out.push({ x, text });
      };
      const next = (value) => Math.ceil(value / every) * every;
      if (kind === "events") {
        const last = at(view.to).units;
        for (let number = Math.max(every, next(at(view.from).units)); number < last; number += every) add(number * view.unit, countText(number));
        return out;
      }
      for (let time = next(view.from); time < view.to; time += every) {
        const pause = breaks().find(([from, to]) => from <= time && time < to);
        if (pause && pause[0] <= view.from && view.to <= pause[1]) return out;
        if (pause) time = next(pause[1]) - every;
        else add(place(time), tickText(time, every));
      }
      return out;
    },
  };
}
