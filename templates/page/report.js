"use strict";
(() => {
  const figure = document.getElementById("timeline");
  if (!figure) return;
  const data = JSON.parse(document.getElementById("drawing").textContent);
  const box = figure.querySelector(".drawing");
  const NS = "http://www.w3.org/2000/svg";
  const LANE = 20, HEADING = 24, PLOT = 92, GAP = 10, FOOT = 26;
  const shown = data.panels.map(() => true);
  let from = 0, to = data.end, at = null, brush = null, view = null;

  // Numbers as text, the way the tables write them.
  const group = n => n.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
  const digits = n => {
    if (n === 0) return "0";
    if (Number.isInteger(n) && n < 1000) return n.toFixed(0);
    if (n < 1e-4 || n >= 1e15) return n.toExponential(2).replace("+", "");
    if (n >= 999.5) return group(Math.round(n));
    return n.toFixed(Math.max(0, 2 - Number(n.toExponential(2).split("e")[1])));
  };
  const pad = n => String(n).padStart(2, "0");
  const seconds = n => {
    if (n === 0) return "0 s";
    if (n < 0.0009995) return digits(n * 1e6) + " µs";
    if (n < 0.9995) return digits(n * 1e3) + " ms";
    if (n < 119.5 || n >= 1e11) return digits(n) + " s";
    const all = Math.round(n), h = Math.trunc(all / 3600), m = Math.trunc(all % 3600 / 60);
    if (!h) return m + " min " + pad(all % 60) + " s";
    return h < 72 ? h + " h " + pad(m) + " min" : group(Math.trunc(h / 24)) + " d " + pad(h % 24) + " h";
  };
  const bytes = n => {
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
      if (n < 999.5) return digits(n) + " " + unit;
      n /= 1024;
    }
    return digits(n) + " TiB";
  };
  const human = (value, unit) => {
    const n = Math.abs(value);
    const text = unit === "s" ? seconds(n) : unit === "B" ? bytes(n)
      : unit === "count" ? (Number.isInteger(n) && n < 1e15 ? group(n) : digits(n))
      : unit === "ratio" ? (n * 100).toFixed(1) + " %"
      : unit === "" ? digits(n) : digits(n) + " " + unit;
    return value < 0 ? "\u2212" + text : text;
  };

  // Axes with round marks.
  const nice = rough => {
    if (!(rough > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(rough)), lead = rough / power;
    return (lead <= 1.000001 ? 1 : lead <= 2.000001 ? 2 : lead <= 5.000001 ? 5 : 10) * power;
  };
  const decimals = step => {
    for (let d = 0; d < 6; d++) {
      const n = step * 10 ** d;
      if (Math.abs(n - Math.round(n)) < 1e-6 * n) return d;
    }
    return 6;
  };
  // From which greatest value on a scale is taken, its size, its unit.
  const SCALES = {
    B: [[2 ** 41, 2 ** 40, " TiB"], [2 ** 31, 2 ** 30, " GiB"], [2 ** 21, 2 ** 20, " MiB"], [2048, 1024, " KiB"], [0, 1, " B"]],
    s: [[345600, 86400, " d"], [14400, 3600, " h"], [600, 60, " min"], [2, 1, " s"], [2e-3, 1e-3, " ms"], [0, 1e-6, " µs"]],
    ratio: [[0, 0.01, " %"]],
    other: [[2e12, 1e12, " T"], [2e9, 1e9, " G"], [2e6, 1e6, " M"], [2e4, 1e3, " k"], [0, 1, ""]],
  };
  const valueAxis = (least, most, unit) => {
    let low = least >= 0 && least < most * 0.5 ? 0 : least, high = most;
    if (!(high > low)) {
      const room = low === 0 ? 0 : Math.abs(low) * 0.05;
      [low, high] = room ? [low - room, low + room] : [0, 1];
    }
    const scales = SCALES[unit] || SCALES.other, top = Math.max(Math.abs(low), Math.abs(high));
    const [, size, suffix] = scales.find(scale => top >= scale[0]);
    const step = nice((high - low) / 3 / size) * size, d = decimals(step / size);
    low = Math.floor(low / step) * step;
    high = Math.ceil(high / step) * step;
    const marks = [];
    for (let i = 0; i < 24 && low + i * step <= high + step * 1e-6; i++) {
      const n = (low + i * step) / size;
      marks.push([low + i * step, n === 0 ? "0" : (Math.abs(n) >= 1e6 ? n.toExponential(1) : n.toFixed(d)).replace("-", "\u2212") + suffix]);
    }
    return { low, high, marks };
  };
  const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000];
  const timeText = time => {
    if (time === 0) return "0";
    if (time < 60 && !Number.isInteger(time)) return time.toFixed(decimals(Math.round(time * 1e6) / 1e6)) + " s";
    const all = Math.round(time);
    const parts = [[all / 86400, " d"], [all % 86400 / 3600, " h"], [all % 3600 / 60, " min"], [all % 60, " s"]];
    const first = parts.findIndex(p => Math.trunc(p[0]) > 0);
    if (first < 0) return "0";
    return parts.slice(first, first + 2).filter(p => Math.trunc(p[0]) > 0).map(p => Math.trunc(p[0]) + p[1]).join(" ");
  };
  const timeMarks = count => {
    const rough = (to - from) / count;
    const step = rough < 1 ? nice(rough) : ROUND.find(s => rough <= s) || nice(rough / 86400) * 86400;
    const marks = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-9) && marks.length < 24; i++) {
      const time = Number((i * step).toPrecision(12));
      marks.push([time, timeText(time)]);
    }
    return marks;
  };

  const make = (name, attributes, parent, text) => {
    const element = document.createElementNS(NS, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.appendChild(element);
    return element;
  };
  const px = n => Math.round(n * 10) / 10;
  // The last index whose time is not after `time`.
  const before = (times, time) => {
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time) low = middle; else high = middle - 1;
    }
    return low;
  };
  const nearest = (times, time) => {
    const i = before(times, time);
    return i + 1 < times.length && times[i + 1] - time < time - times[i] ? i + 1 : i;
  };

  const draw = () => {
    const width = Math.max(280, box.clientWidth), narrow = width < 560;
    const left = narrow ? 66 : 76, right = width - 8;
    const panels = data.panels.map((panel, i) => [panel, i]).filter(([, i]) => shown[i]);
    const top = data.lanes * LANE, bottom = top + panels.length * (HEADING + PLOT + GAP);
    const x = time => left + (time - from) / (to - from) * (right - left);
    const old = box.querySelector("svg");
    const label = old.getAttribute("aria-label");
    const svg = make("svg", { class: "chart", viewBox: `0 0 ${width} ${bottom + FOOT}`, role: "img", "aria-label": label });
    const clip = make("clipPath", { id: "plots" }, make("defs", {}, svg));
    make("rect", { x: left, y: 0, width: right - left, height: bottom + 1 }, clip);
    const bands = make("g", { "clip-path": "url(#plots)" }, svg);
    data.bands.forEach((band, i) => {
      if (band.lane || band.end < from || band.begin > to) return;
      make("rect", { class: "shade " + (i % 2 ? "odd" : "even"), x: px(x(band.begin)), y: top,
        width: px(Math.max(1, x(band.end) - x(band.begin))), height: bottom - top }, bands);
    });
    for (const [time, text] of timeMarks(Math.max(2, Math.min(8, Math.floor((right - left) / 90))))) {
      make("line", { class: "grid", x1: px(x(time)), x2: px(x(time)), y1: top, y2: bottom }, svg);
      const end = x(time) > right - 20;
      make("text", { class: "mark " + (end ? "end" : "middle"), x: end ? right : px(x(time)), y: bottom + 16 }, svg, text);
    }
    const names = make("g", { "clip-path": "url(#plots)" }, svg);
    data.bands.forEach((band, i) => {
      if (band.end < from || band.begin > to) return;
      const begin = Math.max(left, x(band.begin)), end = Math.min(right, x(band.end)), room = (end - begin - 8) / 6.6;
      const group = make("g", {}, names);
      make("title", {}, group, `${band.name}: ${timeText(band.begin)} to ${band.ended ? timeText(band.end) : "never ended"}`);
      make("rect", { class: "band " + (i % 2 ? "odd" : "even"), x: px(begin), y: band.lane * LANE,
        width: px(Math.max(1, end - begin)), height: 18, rx: 2 }, group);
      const name = [...band.name];
      const text = name.length <= room ? band.name : room >= 5 ? name.slice(0, Math.floor(room) - 1).join("") + "…" : "";
      if (text) make("text", { class: "band-name", x: px(begin + 5), y: band.lane * LANE + 13 }, group, text);
    });
    const drawn = panels.map(([panel, index], place) => {
      const y0 = top + place * (HEADING + PLOT + GAP), times = data.times[panel.times];
      const first = Math.max(0, before(times, from) - 1), last = Math.min(times.length - 1, before(times, to) + 1);
      let least = Infinity, most = -Infinity;
      for (let i = first; i <= last; i++) {
        least = Math.min(least, panel.middle[i], panel.low.length ? panel.low[i] : Infinity);
        most = Math.max(most, panel.middle[i], panel.high.length ? panel.high[i] : -Infinity);
      }
      const axis = valueAxis(least, most, panel.unit);
      const y = value => y0 + HEADING + (1 - (value - axis.low) / (axis.high - axis.low)) * PLOT;
      const group = make("g", { class: "series-" + index % 6 }, svg);
      make("text", { class: "panel-name", x: left, y: y0 + 15 }, group, panel.label);
      const note = make("text", { class: "mark end", x: right, y: y0 + 15 }, group, "greatest " + human(most, panel.unit));
      for (const [value, text] of axis.marks) {
        make("line", { class: "grid", x1: left, x2: right, y1: px(y(value)), y2: px(y(value)) }, group);
        make("text", { class: "mark end", x: left - 8, y: px(y(value) + 4) }, group, text);
      }
      const path = (values, order, command) => order.map((i, n) => (n || command ? "L" : "M") + px(x(times[i])) + " " + px(y(values[i]))).join("");
      const order = [];
      for (let i = first; i <= last; i++) order.push(i);
      const lines = make("g", { "clip-path": "url(#plots)" }, group);
      if (panel.high.length) make("path", { class: "area", d: path(panel.high, order) + path(panel.low, order.slice().reverse(), true) }, lines);
      make("path", { class: "line", d: path(panel.middle, order) }, lines);
      if (panel.dots) make("path", { class: "dots", d: order.map(i => "M" + px(x(times[i])) + " " + px(y(panel.middle[i])) + "h0").join("") }, lines);
      const dot = make("circle", { class: "dot", r: 4, visibility: "hidden" }, group);
      return { panel, times, y, note, dot, most };
    });
    const rect = make("rect", { class: "brush", y: top, height: bottom - top, width: 0, x: 0, visibility: "hidden" }, svg);
    const cursor = make("line", { class: "cursor", y1: 0, y2: bottom, visibility: "hidden" }, svg);
    old.replaceWith(svg);
    view = { svg, x, left, right, width, drawn, rect, cursor };
    out.disabled = reset.disabled = from === 0 && to === data.end;
    point();
  };

  const point = () => {
    const { x, drawn, rect, cursor, left, right } = view, on = at !== null && at >= from && at <= to;
    cursor.setAttribute("visibility", on ? "visible" : "hidden");
    if (on) for (const end of ["x1", "x2"]) cursor.setAttribute(end, px(x(at)));
    for (const { panel, times, y, note, dot, most } of drawn) {
      const i = on ? nearest(times, at) : 0;
      const seen = on && times[i] >= from && times[i] <= to;
      dot.setAttribute("visibility", seen ? "visible" : "hidden");
      if (seen) {
        dot.setAttribute("cx", px(x(times[i])));
        dot.setAttribute("cy", px(y(panel.middle[i])));
      }
      note.textContent = seen ? human(panel.middle[i], panel.unit) : "greatest " + human(most, panel.unit);
      note.setAttribute("class", seen ? "panel-name end" : "mark end");
    }
    rect.setAttribute("visibility", brush ? "visible" : "hidden");
    if (brush) {
      const [a, b] = [x(brush[0]), x(brush[1])].map(n => Math.min(right, Math.max(left, n))).sort((p, q) => p - q);
      rect.setAttribute("x", px(a));
      rect.setAttribute("width", px(b - a));
    }
    if (!on) {
      readout.textContent = "";
      return;
    }
    const inside = data.bands.filter(band => band.begin <= at && at <= band.end).map(band => band.name);
    const values = drawn.map(({ panel, times }) => `${panel.label} ${human(panel.middle[nearest(times, at)], panel.unit)}`);
    readout.replaceChildren();
    const time = document.createElement("b");
    time.textContent = "At " + seconds(at);
    readout.append(time, `${inside.length ? " in " + inside.join(", ") : ""}: ${values.join(", ")}`);
  };

  const zoom = (a, b) => {
    const least = data.end / 500;
    if (b - a < least) [a, b] = [(a + b - least) / 2, (a + b + least) / 2];
    from = Math.max(0, a);
    to = Math.min(data.end, b);
    draw();
  };
  const whole = () => zoom(0, data.end);
  const timeAt = event => {
    const frame = view.svg.getBoundingClientRect();
    const place = (event.clientX - frame.left) * view.width / frame.width;
    return from + Math.min(1, Math.max(0, (place - view.left) / (view.right - view.left))) * (to - from);
  };

  // Controls.
  figure.classList.add("live");
  const controls = document.createElement("div");
  controls.className = "controls";
  controls.setAttribute("role", "group");
  controls.setAttribute("aria-label", "What the chart shows");
  const button = (text, press, parent, swatch) => {
    const element = document.createElement("button");
    element.type = "button";
    if (swatch !== undefined) {
      const square = document.createElement("span");
      square.className = "swatch series-" + swatch % 6;
      element.append(square);
    }
    element.append(text);
    element.addEventListener("click", press);
    parent.append(element);
    return element;
  };
  if (data.panels.length > 1) data.panels.forEach((panel, i) => {
    const toggle = button(panel.label, () => {
      shown[i] = !shown[i];
      toggle.setAttribute("aria-pressed", shown[i]);
      draw();
    }, controls, i);
    toggle.setAttribute("aria-pressed", "true");
  });
  const zooms = document.createElement("div");
  controls.append(zooms);
  const scale = factor => {
    const here = at === null ? (from + to) / 2 : at;
    zoom(here - (here - from) * factor, here + (to - here) * factor);
  };
  button("Zoom in", () => scale(0.5), zooms);
  const out = button("Zoom out", () => scale(2), zooms);
  const reset = button("Whole run", whole, zooms);
  const readout = document.createElement("p");
  readout.className = "readout";
  readout.setAttribute("aria-live", "polite");
  const hint = document.createElement("figcaption");
  hint.className = "hint";
  hint.textContent = "Point to read values, drag to zoom, double-click for the whole run. With the keyboard: ← → move, + − zoom, 0 shows all, Esc leaves.";
  figure.prepend(controls);
  figure.append(readout, hint);
  box.setAttribute("role", "application");
  box.setAttribute("aria-label", "Timeline. Arrow keys read values, plus and minus zoom, 0 shows the whole run.");

  box.addEventListener("pointermove", event => {
    at = timeAt(event);
    if (brush) brush[1] = at;
    point();
  });
  box.addEventListener("pointerleave", event => {
    if (brush || event.pointerType === "touch") return;
    at = null;
    point();
  });
  box.addEventListener("pointerdown", event => {
    if (event.pointerType === "touch") {
      at = timeAt(event);
      point();
    }
    if (event.button !== 0 || event.pointerType === "touch") return;
    box.setPointerCapture(event.pointerId);
    brush = [timeAt(event), timeAt(event)];
  });
  box.addEventListener("pointerup", () => {
    if (!brush) return;
    const [a, b] = brush.sort((p, q) => p - q);
    brush = null;
    if (view.x(b) - view.x(a) > 6) zoom(a, b); else point();
  });
  box.addEventListener("pointercancel", () => { brush = null; point(); });
  box.addEventListener("dblclick", whole);
  box.addEventListener("keydown", event => {
    const span = to - from, step = span / (event.shiftKey ? 10 : 100);
    const here = at === null ? (from + to) / 2 : at;
    const move = time => {
      at = Math.min(data.end, Math.max(0, time));
      if (at < from) zoom(at, at + span); else if (at > to) zoom(at - span, at); else point();
    };
    const keys = {
      ArrowLeft: () => move(here - step), ArrowRight: () => move(here + step),
      Home: () => move(from), End: () => move(to),
      "+": () => scale(0.5), "=": () => scale(0.5), "-": () => scale(2),
      0: whole, Escape: () => { at = null; whole(); box.blur(); },
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  new ResizeObserver(() => { if (!view || box.clientWidth !== view.width) draw(); }).observe(box);
  draw();
})();
