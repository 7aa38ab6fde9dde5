(() => {
  const source = document.getElementById("profiles");
  if (!source) return;
  const list = JSON.parse(source.textContent);
  const host = document.getElementById("call-tree");
  const still = host.querySelector(".drawing");
  const el = (name, attributes, parent, text) => {
    const element = document.createElement(name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  // Numbers as text.
  const group = n => n.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
  const digits = n => n === 0 ? "0" : n >= 999.5 ? group(n) : n < 1e-4 ? n.toExponential(2)
    : n.toFixed(Math.max(0, 2 - Number(n.toExponential(2).split("e")[1])));
  const amount = (value, unit) => {
    const n = Math.abs(value);
    let text;
    if (unit === "s") {
      text = n === 0 ? "0 s" : n < 9.995e-4 ? digits(n * 1e6) + " µs" : n < 0.9995 ? digits(n * 1e3) + " ms"
        : n < 119.5 ? digits(n) + " s" : n < 7200 ? Math.floor(Math.round(n) / 60) + " min " + String(Math.round(n) % 60).padStart(2, "0") + " s"
        : digits(n / 3600) + " h";
    } else if (unit === "B") {
      let rest = n, at = 0;
      while (rest >= 999.5 && at < 4) { rest /= 1024; at++; }
      text = digits(rest) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][at];
    } else if (unit === "ratio") text = (n * 100).toFixed(1) + " %";
    else text = (Number.isInteger(n) ? group(n) : digits(n)) + (unit === "count" || unit === "" ? "" : " " + unit);
    return value < 0 ? "\u2212" + text : text;
  };
  const percent = n => Number.isFinite(n) ? (n * 100).toFixed(n < 0.0995 ? 2 : 1) + " %" : "–";

  let at = 0, weight = 0, thread = -1, inverted = false, timed = false, query = "", shade = "module";
  let data, tree, zoom = 0, cursor = 0, boxes = [], sort = { by: "own", down: true }, code = "all", rows = 40, opened = -1;

  const where = f => (data.texts[data.file[f]] || data.texts[data.module[f]]) + (data.texts[data.file[f]] && data.line[f] ? ":" + data.line[f] : "");
  const unit = () => data.weights[weight].unit;
  const isCode = f => data.kind[f] !== 1 && data.kind[f] !== 2;

  // Trees: node 0 is everything.
  const empty = () => ({ parent: [-1], f: [-1], own: [0], total: [0], depth: [0], kids: [[]] });
  const push = (t, parent, f) => {
    const node = t.parent.length;
    t.parent.push(parent); t.f.push(f); t.own.push(0); t.total.push(0); t.depth.push(t.depth[parent] + 1); t.kids.push([]);
    t.kids[parent].push(node);
    return node;
  };
  const finish = t => {
    t.total = t.own.slice();
    for (let n = t.parent.length - 1; n > 0; n--) t.total[t.parent[n]] += t.total[n];
    for (const kids of t.kids) kids.sort((a, b) => t.total[b] - t.total[a] || a - b);
    return t;
  };
  const straight = () => {
    const t = empty(), from = data.tree, to = [];
    from.parent.forEach((parent, n) => {
      const above = parent < 0 ? 0 : to[parent];
      if (above === undefined || (parent < 0 && thread >= 0 && n !== thread)) { to.push(undefined); return; }
      const node = push(t, above, from.function[n]);
      t.own[node] = from.own[weight][n];
      to.push(node);
    });
    t.to = to;
    return finish(t);
  };
  const upside = from => {
    const t = empty(), known = new Map();
    for (let n = 1; n < from.parent.length; n++) {
      const own = from.own[n];
      if (!(own > 0)) continue;
      let parent = 0, last = 0;
      for (let m = n, steps = 0; m > 0 && steps < 60 && t.parent.length < 20000; m = from.parent[m]) {
        if (!isCode(from.f[m])) continue;
        const key = parent + ":" + from.f[m];
        let node = known.get(key);
        if (node === undefined) known.set(key, node = push(t, parent, from.f[m]));
        parent = last = node;
        steps++;
      }
      t.own[last] += own;
    }
    return finish(t);
  };
  // Of a table only a guess can be drawn: what a function spent is split among its callers.
  const guessed = () => {
    const t = empty(), from = data.table, total = (from.total[weight] || from.own[weight]);
    const callees = from.function.map(() => []), called = new Set(from.callee);
    from.caller.forEach((row, i) => { if (row !== from.callee[i]) callees[row].push(i); });
    const sum = data.weights[weight].sum;
    const grow = (parent, row, value, path) => {
      if (value < sum / 2000 || path.length > 60 || t.parent.length > 4000) return 0;
      const node = push(t, parent, from.function[row]), scale = total[row] > 0 ? value / total[row] : 0;
      let below = 0;
      for (const i of callees[row].sort((a, b) => from.between[b] - from.between[a])) {
        if (!path.includes(from.callee[i])) below += grow(node, from.callee[i], from.between[i] * scale, [...path, row]);
      }
      t.own[node] = Math.max(0, value - below);
      return value;
    };
    from.function.map((_, row) => row).filter(row => !called.has(row)).sort((a, b) => total[b] - total[a]).forEach(row => grow(0, row, total[row], []));
    if (t.parent.length === 1 && from.function.length) grow(0, 0, total[0], []);
    return finish(t);
  };
  // As it happened: neighbours of one function are one box.
  const chronological = () => {
    const t = empty(), base = straight(), orders = data.order.filter(o => thread < 0 || o.thread === thread || o.thread < 0);
    for (const order of orders) {
      let open = [];
      order.node.forEach((leaf, i) => {
        const path = [];
        for (let m = leaf < 0 ? 0 : base.to[leaf] ?? 0; m > 0; m = base.parent[m]) path.unshift(m);
        let same = 0;
        while (same < open.length && same < path.length && open[same][0] === path[same]) same++;
        open.length = same;
        for (let d = same; d < path.length; d++) open.push([path[d], push(t, d ? open[d - 1][1] : 0, base.f[path[d]])]);
        t.own[open.length ? open[open.length - 1][1] : 0] += order.length[i];
      });
    }
    const kids = t.kids.map(list => list.slice());
    finish(t);
    t.kids = kids;
    return t;
  };
  const hasOrder = () => data.order.length > 0 && weight === 0;
  const make = () => {
    tree = data.tree ? (timed && hasOrder() && !inverted ? chronological() : straight()) : guessed();
    if (inverted) tree = upside(tree);
    zoom = cursor = 0;
  };

  // Colours: own code by its module, everything else grey.
  let colours = {};
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    const get = name => style.getPropertyValue(name).trim();
    colours = { own: [0, 1, 2, 3, 4, 5, 6, 7].map(i => get("--f" + i)), library: [0, 1, 2].map(i => get("--l" + i)),
      other: get("--fo"), ink: get("--ink"), paper: get("--paper"), rule: get("--rule"), focus: get("--focus"), hit: get("--hit") };
  };
  let modules = new Map();
  const rank = () => {
    const sums = new Map();
    const fs = data.functions[weight];
    fs.function.forEach((f, i) => { if (data.origin[f] === 0) sums.set(data.module[f], (sums.get(data.module[f]) || 0) + fs.own[i]); });
    modules = new Map([...sums].sort((a, b) => b[1] - a[1]).map(([m], i) => [m, i % 8]));
  };
  const fill = f => {
    if (f < 0 || data.kind[f] > 0) return colours.other;
    if (shade === "origin") return data.origin[f] === 0 ? colours.own[0] : data.origin[f] === 1 ? colours.own[1] : colours.library[0];
    if (shade === "function") return data.origin[f] === 0 ? colours.own[f % 8] : colours.library[f % 3];
    return data.origin[f] === 0 ? colours.own[modules.get(data.module[f]) ?? 7] : colours.library[data.module[f] % 3];
  };
  const matches = f => f >= 0 && (data.name[f].toLowerCase().includes(query) || where(f).toLowerCase().includes(query) || data.texts[data.module[f]].toLowerCase().includes(query));

  // Controls.
  still.remove();
  for (const listed of document.querySelectorAll("#call-trees .listed")) listed.hidden = true;
  host.classList.add("live");
  const bar = el("div", { class: "controls", role: "group", "aria-label": "What the call tree shows" }, host);
  const choice = (label, parent) => {
    const wrap = el("label", {}, parent, label + " ");
    const select = el("select", {}, wrap);
    return { wrap, select };
  };
  const options = (select, values, chosen) => {
    select.replaceChildren(...values.map(([value, text]) => { const o = el("option", { value }, null, text); o.selected = String(value) === String(chosen); return o; }));
  };
  const toggle = (text, press) => {
    const button = el("button", { type: "button", "aria-pressed": "false" }, bar, text);
    button.addEventListener("click", press);
    return button;
  };
  const which = choice("Profile", bar), what = choice("Weight", bar), who = choice("Thread", bar), colour = choice("Colour", bar);
  const order = toggle("As it happened", () => { timed = !timed; refresh(); });
  const invert = toggle("Inverted", () => { inverted = !inverted; refresh(); });
  const find = el("label", { class: "find" }, bar, "Search ");
  const input = el("input", { type: "search", placeholder: "function, file or module" }, find);
  const crumbs = el("nav", { class: "crumbs", "aria-label": "Zoomed into" }, host);
  const stage = el("div", { class: "stage", tabindex: "0", role: "application", "aria-label": "Call tree. Arrow keys walk: down to the heaviest callee, up to the caller, left and right between callees. Enter zooms, Escape zooms out." }, host);
  const canvas = el("canvas", { role: "img", "aria-label": "Call tree as boxes: width is weight, callees stand below their caller" }, stage);
  const readout = el("p", { class: "readout", "aria-live": "polite" }, host);
  const note = el("p", { class: "hint" }, host);
  const legend = el("ul", { class: "legend", "aria-label": "Colours" }, host);
  const tableHead = el("div", { class: "controls", role: "group", "aria-label": "What the table shows" }, host);
  el("h3", {}, tableHead, "Functions");
  const whose = choice("Code", tableHead);
  options(whose.select, [["all", "all"], ["own", "own"], ["library", "libraries and runtime"]], code);
  const filterNote = el("span", { class: "quiet" }, tableHead);
  const scroll = el("div", { class: "scroll", role: "region", "aria-label": "Functions", tabindex: "0" }, host);
  const more = el("button", { type: "button", class: "more-rows" }, host, "Show more");

  // Drawing.
  const ROW = 20, context = canvas.getContext("2d");
  const pathTo = node => { const path = []; for (let n = node; n >= 0; n = tree.parent[n]) path.unshift(n); return path; };
  const layout = width => {
    boxes = [];
    const path = pathTo(zoom);
    path.forEach((node, depth) => boxes.push({ node, x: 0, w: width, depth }));
    const scale = tree.total[zoom] > 0 ? width / tree.total[zoom] : 0, open = [[zoom, 0, path.length]];
    while (open.length) {
      const [parent, start, depth] = open.pop();
      let x = start;
      for (const node of tree.kids[parent]) {
        const w = tree.total[node] * scale;
        if (w >= 0.4 && depth < 60) {
          boxes.push({ node, x, w, depth });
          open.push([node, x, depth + 1]);
        }
        x += w;
      }
    }
  };
  // Deeper than anything that can be read or hit nothing is drawn: zooming opens it.
  const deepest = () => Math.max(path().length, 6, ...boxes.filter(box => box.w >= 6).map(box => box.depth + 1)) + 1;
  const path = () => pathTo(zoom);
  const text = node => node === 0 ? "all" : data.name[tree.f[node]];
  const draw = () => {
    const width = Math.max(240, stage.clientWidth), ratio = window.devicePixelRatio || 1;
    layout(width);
    const limit = deepest();
    boxes = boxes.filter(box => box.depth < limit);
    const depth = boxes.reduce((most, box) => Math.max(most, box.depth), 0) + 1, height = depth * ROW, above = path().length - 1;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui,-apple-system,'Segoe UI',sans-serif";
    context.textBaseline = "middle";
    for (const { node, x, w, depth } of boxes) {
      const f = tree.f[node], hit = query && node > 0 && matches(f);
      context.globalAlpha = query && !hit ? 0.35 : node > 0 && depth < above ? 0.6 : 1;
      context.fillStyle = hit ? colours.hit : fill(f);
      context.fillRect(x, depth * ROW, Math.max(0.6, w - (w > 3 ? 1 : 0)), ROW - 1);
      context.globalAlpha = query && !hit ? 0.75 : 1;
      if (w > 26) {
        const room = Math.floor((w - 8) / 6.4), name = text(node);
        context.fillStyle = colours.ink;
        const label = name.length <= room ? name : room > 3 ? name.slice(0, room - 1) + "…" : "";
        if (label) context.fillText(label, x + 4, depth * ROW + ROW / 2);
      }
    }
    context.globalAlpha = 1;
    const box = boxes.find(box => box.node === cursor);
    if (box && document.activeElement === stage) {
      context.strokeStyle = colours.focus;
      context.lineWidth = 2;
      context.strokeRect(box.x + 1, box.depth * ROW + 1, Math.max(2, box.w - 3), ROW - 3);
    }
  };
  const say = node => {
    const sum = tree.total[0], f = tree.f[node];
    readout.replaceChildren();
    el("b", {}, readout, text(node));
    const place = f >= 0 && isCode(f) ? ", " + where(f) : "";
    const share = percent(tree.total[node] / sum);
    readout.append(`${place}: ${amount(tree.total[node], unit())} in all (${share}), ${amount(tree.own[node], unit())} itself`);
  };
  const sayMatch = () => {
    if (!query) { readout.textContent = ""; return; }
    let sum = 0, names = new Set();
    const inside = new Uint8Array(tree.parent.length);
    for (let n = 1; n < tree.parent.length; n++) {
      const hit = matches(tree.f[n]);
      if (hit) names.add(tree.f[n]);
      if (hit && !inside[tree.parent[n]]) sum += tree.total[n];
      inside[n] = inside[tree.parent[n]] || hit ? 1 : 0;
    }
    readout.textContent = `“${input.value}” matches ${names.size} function${names.size === 1 ? "" : "s"} of those drawn: ${amount(sum, unit())}, ${percent(sum / tree.total[0])} of all.`;
  };
  const showCrumbs = () => {
    crumbs.replaceChildren();
    const path = pathTo(zoom);
    path.forEach((node, i) => {
      if (path.length > 8 && i > 1 && i < path.length - 5) { if (i === 2) el("span", {}, crumbs, "…"); return; }
      const button = el("button", { type: "button" }, crumbs, text(node));
      if (i === path.length - 1) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => zoomTo(node));
    });
  };
  const zoomTo = node => { zoom = cursor = node; showCrumbs(); draw(); say(node); };
  const boxAt = event => {
    const frame = canvas.getBoundingClientRect(), x = event.clientX - frame.left, depth = Math.floor((event.clientY - frame.top) / ROW);
    return boxes.find(box => box.depth === depth && x >= box.x && x < box.x + Math.max(1, box.w));
  };
  canvas.addEventListener("pointermove", event => { const box = boxAt(event); canvas.style.cursor = box ? "pointer" : "default"; if (box) say(box.node); });
  canvas.addEventListener("pointerleave", sayMatch);
  canvas.addEventListener("click", event => { const box = boxAt(event); if (box) zoomTo(box.node); });
  stage.addEventListener("focus", draw);
  stage.addEventListener("blur", draw);
  stage.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const parent = tree.parent[cursor], among = parent < 0 ? [0] : tree.kids[parent], place = among.indexOf(cursor);
    const keys = {
      ArrowDown: () => tree.kids[cursor][0], ArrowUp: () => parent, ArrowLeft: () => among[place - 1], ArrowRight: () => among[place + 1], Home: () => 0,
    };
    if (keys[event.key]) {
      event.preventDefault();
      const to = keys[event.key]();
      if (to === undefined || to < 0) return;
      cursor = to;
      if (!boxes.some(box => box.node === cursor)) zoomTo(tree.parent[cursor] < 0 ? 0 : tree.parent[cursor]), cursor = to;
      draw(); say(cursor);
    } else if (event.key === "Enter" || event.key === " ") { event.preventDefault(); zoomTo(cursor); }
    else if (event.key === "Escape" || event.key === "Backspace") { event.preventDefault(); zoomTo(Math.max(0, tree.parent[zoom])); }
  });

  // The table.
  const COLUMNS = [["name", "Function", ""], ["place", "Where", ""], ["own", "Self", "number"], ["share", "Share", "number"], ["total", "With callees", "number"], ["calls", "Calls", "number"]];
  const entries = () => {
    const fs = data.functions[weight], sum = data.weights[weight].sum;
    return fs.function.map((f, i) => ({ f, name: data.name[f], place: where(f), own: fs.own[i], share: fs.own[i] / sum, total: fs.total[i], calls: fs.calls[i] }))
      .filter(e => (code === "all" || (code === "own") === (data.origin[e.f] === 0)) && (!query || matches(e.f)));
  };
  const relatives = f => {
    const up = new Map(), down = new Map(), add = (map, key, value) => map.set(key, (map.get(key) || 0) + value);
    if (data.table) {
      data.table.caller.forEach((row, i) => {
        const from = data.table.function[row], to = data.table.function[data.table.callee[i]];
        if (to === f) add(up, from, data.table.between[i]);
        if (from === f) add(down, to, data.table.between[i]);
      });
    } else {
      const t = straight();
      for (let n = 1; n < t.parent.length; n++) {
        const above = t.f[t.parent[n]];
        if (t.f[n] === f && above >= 0) add(up, above, t.total[n]);
        if (above === f) add(down, t.f[n], t.total[n]);
      }
    }
    const heaviest = map => [...map].sort((a, b) => b[1] - a[1]).slice(0, 8);
    return [heaviest(up), heaviest(down)];
  };
  const details = (f, width) => {
    const row = el("tr", { class: "details" }), cell = el("td", { colspan: width }, row);
    const [up, down] = relatives(f);
    const list = (title, items) => {
      const box = el("div", {}, cell);
      el("h4", {}, box, title);
      if (!items.length) { el("p", { class: "quiet" }, box, "none that are drawn"); return; }
      const ul = el("ul", {}, box);
      for (const [other, value] of items) {
        const item = el("li", {}, ul);
        const button = el("button", { type: "button" }, item, data.name[other]);
        button.addEventListener("click", () => { opened = other; search(data.name[other]); });
        item.append(" " + amount(value, data.table ? data.weights[0].unit : unit()));
      }
    };
    list("Called by", up);
    list("Calls", down);
    const lines = data.lines.line.map((_, i) => i).filter(i => data.lines.function[i] === f).slice(0, 12);
    if (lines.length) {
      const box = el("div", {}, cell);
      el("h4", {}, box, "Lines");
      const table = el("table", {}, box);
      for (const i of lines) {
        const tr = el("tr", {}, table);
        el("th", { scope: "row" }, tr, String(data.lines.line[i]));
        el("td", { class: "number" }, tr, amount(data.lines.own[i], data.weights[0].unit));
        const td = el("td", {}, tr);
        el("code", {}, td, data.lines.text[i] || "");
      }
    }
    return row;
  };
  const showTable = () => {
    const all = entries(), counted = all.some(e => e.calls >= 0), summed = all.some(e => e.total >= 0);
    const columns = COLUMNS.filter(([key]) => (key !== "calls" || counted) && (key !== "total" || summed));
    const of = e => e[sort.by];
    all.sort((a, b) => (typeof of(a) === "string" ? of(a).localeCompare(of(b)) : of(a) - of(b)) * (sort.down ? -1 : 1) || b.own - a.own);
    const table = el("table", { class: "functions" });
    el("caption", {}, table, `${data.weights[weight].name}, ${data.weights[weight].measured}; exact numbers of the whole profile`);
    const head = el("tr", {}, el("thead", {}, table));
    for (const [key, title, kind] of columns) {
      const th = el("th", { scope: "col", class: kind, "aria-sort": sort.by === key ? (sort.down ? "descending" : "ascending") : "none" }, head);
      const button = el("button", { type: "button" }, th, title + (sort.by === key ? (sort.down ? " ▾" : " ▴") : ""));
      button.addEventListener("click", () => {
        sort = { by: key, down: sort.by === key ? !sort.down : kind === "number" };
        showTable();
        scroll.querySelectorAll("thead button")[columns.findIndex(c => c[0] === key)].focus();
      });
    }
    const body = el("tbody", {}, table);
    for (const e of all.slice(0, rows)) {
      const tr = el("tr", {}, body), th = el("th", { scope: "row" }, tr);
      const button = el("button", { type: "button", class: "open", "aria-expanded": String(opened === e.f) }, th, e.name);
      button.addEventListener("click", () => { opened = opened === e.f ? -1 : e.f; showTable(); const again = [...scroll.querySelectorAll("button.open")].find(b => b.textContent === e.name); if (again) again.focus(); });
      for (const [key, , kind] of columns.slice(1)) {
        const value = key === "place" ? e.place : key === "share" ? percent(e.share) : key === "calls" ? (e.calls < 0 ? "–" : group(e.calls)) : e[key] < 0 ? "not known" : amount(e[key], unit());
        const td = el("td", { class: kind + (key === "place" ? " place" : "") }, tr);
        if (key === "place") el("code", {}, td, value); else td.textContent = value;
      }
      if (opened === e.f) body.append(details(e.f, columns.length));
    }
    scroll.replaceChildren(table);
    const count = data.functions[weight].all, listed = data.functions[weight].function.length;
    filterNote.textContent = `${Math.min(rows, all.length)} of ${all.length} shown` + (count > listed ? `; the ${listed} heaviest of ${group(count)} are listed` : "");
    more.hidden = all.length <= rows;
  };
  more.addEventListener("click", () => { rows += 80; showTable(); });

  const search = value => { input.value = value; query = value.trim().toLowerCase(); draw(); sayMatch(); showTable(); };
  input.addEventListener("input", () => search(input.value));
  whose.select.addEventListener("change", () => { code = whose.select.value; showTable(); });
  colour.select.addEventListener("change", () => { shade = colour.select.value; draw(); showLegend(); });
  const showLegend = () => {
    legend.replaceChildren();
    const entry = (text, name) => { const li = el("li", {}, legend); el("span", { class: "swatch " + name }, li); li.append(text); };
    if (shade === "function") { entry("own code, a colour for each function", "f0"); entry("libraries, runtime, system", "l0"); return; }
    if (shade === "origin") { entry("own code", "f0"); entry("libraries", "f1"); entry("runtime and system", "l0"); return; }
    [...modules].slice(0, 8).forEach(([m, i]) => entry(data.texts[m] || "own code", "f" + i));
    entry("libraries, runtime, system", "l0");
  };
  const refresh = () => {
    if (!hasOrder() || inverted) timed = false;
    order.hidden = !hasOrder() || inverted;
    order.setAttribute("aria-pressed", String(timed));
    invert.setAttribute("aria-pressed", String(inverted));
    rank(); make(); readColours(); showCrumbs(); draw(); sayMatch(); showLegend(); showTable();
    const parts = [data.tool];
    if (data.samples >= 0) parts.push(group(data.samples) + " samples");
    if (!data.tree) parts.push("a table of functions: the tree is a guess that splits each function among its callers");
    else if (data.nodes[0] > data.nodes[1]) parts.push(`${group(data.nodes[1])} of ${group(data.nodes[0])} nodes are drawn, the rest is put together at its place`);
    if (timed) parts.push("in the order of time, from left to right");
    note.textContent = parts.join(" · ") + ". Click or Enter zooms, Escape zooms out.";
  };
  const choose = () => {
    data = list[at];
    weight = Math.min(weight, data.weights.length - 1);
    options(which.select, list.map((one, i) => [i, `${one.label}${list.filter(o => o.label === one.label).length > 1 ? ` (${one.tool}, ${one.weights[0].name})` : ""}`]), at);
    options(what.select, data.weights.map((w, i) => [i, `${w.name}, ${w.measured}`]), weight);
    const threads = data.tree ? data.tree.parent.map((parent, n) => [parent, n]).filter(([parent, n]) => parent < 0 && [1, 2].includes(data.kind[data.tree.function[n]])).map(([, n]) => n) : [];
    if (!threads.includes(thread)) thread = -1;
    options(who.select, [[-1, "all"], ...threads.map(n => [n, data.name[data.tree.function[n]]])], thread);
    which.wrap.hidden = list.length < 2;
    what.wrap.hidden = data.weights.length < 2;
    who.wrap.hidden = threads.length < 2;
    opened = -1;
    rank();
    shade = modules.size > 1 ? "module" : "function";
    options(colour.select, [["module", "by module"], ["function", "by function"], ["origin", "own, library"]], shade);
    refresh();
  };
  which.select.addEventListener("change", () => { at = Number(which.select.value); weight = 0; thread = -1; choose(); });
  what.select.addEventListener("change", () => { weight = Number(what.select.value); refresh(); });
  who.select.addEventListener("change", () => { thread = Number(who.select.value); refresh(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
  let seen = 0;
  new ResizeObserver(() => { if (stage.clientWidth !== seen) { seen = stage.clientWidth; draw(); } }).observe(stage);
  choose();
})();
