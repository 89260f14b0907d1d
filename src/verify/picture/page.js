"use strict";
// What a trial has shown, drawn: locks above, with who held each; clients below, with what each did.
const report = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const canvas = element("time");
const pen = canvas.getContext("2d");

// --- words ---------------------------------------------------------------------------------------

const endings = ["went on", "released", "found it held", "failed", "lost: not heard of in time",
  "lost: ended on the store"];
const holders = ["#3b78c2", "#db8527", "#2f9e6e", "#9a5cb8", "#2ea3b5", "#a8921f", "#8f6f51",
  "#cf64a8"];

function time(us) {
  if (us < 1000) return us + " \u00b5s";
  if (us < 1e6) return (us / 1000).toFixed(us < 1e4 ? 2 : 1) + " ms";
  return (us / 1e6).toFixed(us < 1e7 ? 2 : 1) + " s";
}
const moment = (us) => (us / 1e6).toFixed(4) + " s";
const number = (value) => value.toLocaleString("en").replaceAll(",", "\u2009");

function add(parent, tag, text) {
  const made = document.createElement(tag);
  made.textContent = text ?? "";
  parent.append(made);
  return made;
}

// --- what there is -------------------------------------------------------------------------------

const threads = report.threads.map((name) => ({ name, client: name.split("/")[0] }));
const clients = [...new Set(threads.map((thread) => thread.client))];
const colour = (client) => holders[clients.indexOf(client) % holders.length];

const visits = report.visits.map(
  ([thread, count, resource, asked, admitted, trusted, ended, fence, ending, weight, capacity]) => ({
    thread: threads[thread], name: threads[thread].name + "/" + count, resource, asked, admitted,
    trusted, ended, fence, ending, weight, capacity,
    held: admitted !== null, lost: ending >= 4, broken: false,
    client: threads[thread].client,
  }));
const byName = new Map(visits.map((visit) => [visit.name, visit]));
for (const broken of report.broken) {
  broken.visits = broken.who.map((name) => byName.get(name)).filter(Boolean);
  for (const visit of broken.visits) visit.broken = true;
}
const killedAt = new Map(report.interferences.filter((one) => one.killed)
  .map((one) => [one.client, one.begin]));
/** Until when a visit is seen: a killed one's until its process was. */
for (const visit of visits) {
  visit.until = visit.ended ?? killedAt.get(visit.client) ?? Math.max(visit.trusted ?? 0, visit.asked);
}
const isNotable = (visit) => visit.broken || visit.lost || (visit.held && visit.ending === 0);
const notable = visits.filter(isNotable).sort((a, b) => a.until - b.until);

// --- rows ----------------------------------------------------------------------------------------

const gutter = 128, strip = 16, axis = 24, lane = 11, heading = 26;

/** Beside each other where they hold at one time. */
function laid(held) {
  const ends = [];
  for (const visit of held.sort((a, b) => a.admitted - b.admitted)) {
    let free = ends.findIndex((end) => end <= visit.admitted);
    if (free < 0) free = ends.length;
    ends[free] = visit.trusted;
    visit.lane = free;
  }
  return Math.max(ends.length, 1);
}

/** Who came in a killed one's place has its rows. */
function places() {
  const found = [];
  for (const client of clients) {
    const first = visits.find((visit) => visit.client === client).asked;
    const free = found.find((place) => killedAt.get(place.at(-1)) <= first);
    if (free) free.push(client);
    else found.push([client]);
  }
  return found;
}
function named(place) {
  const some = place.length > 3 ? [place[0], "\u2026", place.at(-1)] : place;
  return "client " + some.join(", ");
}

function rowsOf() {
  const rows = [];
  let top = strip + axis;
  const title = (text) => { rows.push({ title: text, top, height: heading }); top += heading; };
  const row = (one) => { rows.push({ ...one, top }); top += one.height + 3; };
  title("locks");
  report.resources.forEach((label, index) => {
    const here = visits.filter((visit) => visit.resource === index);
    const lanes = laid(here.filter((visit) => visit.held));
    row({ label, lock: true, visits: here, lanes, height: Math.max(lanes * lane, 20) });
  });
  title("clients");
  const numbers = [...new Set(threads.map((thread) => thread.name.split("/")[1]))].sort();
  for (const place of places()) {
    for (const count of numbers) {
      const names = new Set(place.map((client) => client + "/" + count));
      row({ label: count === numbers[0] ? named(place) : "", thread: count, place, lanes: 1,
        height: 13, visits: visits.filter((visit) => names.has(visit.thread.name)) });
    }
  }
  return { rows, height: top + 8 };
}
const { rows, height } = rowsOf();

// --- the view ------------------------------------------------------------------------------------

let from = 0, to = report.length, width = 800, selected = null, chosen = null, pending = false;
const shortest = 200;
const x = (us) => gutter + (us - from) / (to - from) * (width - gutter);
const at = (pixel) => from + (pixel - gutter) / (width - gutter) * (to - from);

function show(begin, end) {
  const span = Math.min(Math.max(end - begin, shortest), report.length);
  from = Math.min(Math.max(begin, 0), report.length - span);
  to = from + span;
  if (!pending) requestAnimationFrame(draw);
  pending = true;
}
function zoom(by, around) {
  const span = (to - from) * by;
  const part = (around - from) / (to - from);
  show(around - span * part, around + span * (1 - part));
}
const move = (part) => show(from + (to - from) * part, to + (to - from) * part);

function look(visit) {
  const begin = visit.asked, end = Math.max(visit.until, visit.asked + 1);
  const span = Math.min(to - from, Math.max((end - begin) * 4, 200000));
  const middle = visit.lost || !visit.held ? end : visit.admitted;
  show(middle - span / 2, middle + span / 2);
  select(visit);
}
function select(visit) {
  selected = visit;
  element("selected").textContent = visit ? told(visit).join(" \u00b7 ") : "";
  show(from, to);
}

function told(visit) {
  const lines = [report.resources[visit.resource] + share(visit) + ", client " + visit.client];
  if (!visit.held) {
    return [...lines, "asked at " + moment(visit.asked), endings[visit.ending] + " after " +
      time(visit.until - visit.asked)];
  }
  if (report.fences) lines.push("fence " + visit.fence);
  lines.push("waited " + time(visit.admitted - visit.asked));
  lines.push("held " + time(visit.trusted - visit.admitted) + " from " + moment(visit.admitted));
  const killed = visit.ending === 0 && killedAt.has(visit.client);
  lines.push(killed ? "killed" : endings[visit.ending]);
  if (visit.broken) lines.push("BROKEN");
  return lines;
}
function share(visit) {
  if (visit.weight === visit.capacity) return "";
  return visit.capacity > 1000 ? " (reader)" : ` (${visit.weight} of ${visit.capacity})`;
}

// --- drawing -------------------------------------------------------------------------------------

let ink = {};
function mix() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["panel", "text", "soft", "line", "row", "bad", "still", "wait", "focus"]) {
    ink[name] = style.getPropertyValue("--" + name).trim();
  }
}

function box(visit, row) {
  const exclusive = visit.weight === visit.capacity;
  const one = row.height / row.lanes;
  if (row.place || exclusive) return [row.top, row.height];
  return [row.top + visit.lane * one, Math.max(one - 1, 2)];
}

function fill(begin, end, top, tall, style) {
  const left = Math.max(x(begin), gutter), right = Math.min(x(end), width);
  if (right < gutter || left > width) return 0;
  pen.fillStyle = style;
  pen.fillRect(left, top, Math.max(right - left, 1), tall);
  return right - left;
}

function drawWait(visit, row) {
  const end = visit.admitted ?? visit.until;
  if (row.place) {
    fill(visit.asked, end, row.top + row.height / 2 - 1.5, 3, ink.wait);
    return;
  }
  pen.globalAlpha = 0.35;
  fill(visit.asked, end, row.top + row.height - 2, 3, ink.wait);
  pen.globalAlpha = 1;
}

function drawHold(visit, row) {
  const [top, tall] = box(visit, row);
  const wide = fill(visit.admitted, visit.trusted, top, tall, colour(visit.client));
  if (visit.lost || visit.ending === 0) fill(visit.trusted, visit.until, top + tall / 2 - 1, 2, ink.bad);
  if (isNotable(visit)) fill(visit.trusted, visit.trusted + 3 * (to - from) / width, top, tall, ink.bad);
  if (visit.broken) outline(visit, top, tall, ink.bad);
  if (wide > 46 && tall > 9) {
    const text = row.lock ? "client " + visit.client : report.resources[visit.resource];
    pen.save();
    pen.beginPath();
    pen.rect(Math.max(x(visit.admitted), gutter), top, wide, tall);
    pen.clip();
    pen.fillStyle = "#fff";
    pen.font = "10.5px system-ui, sans-serif";
    pen.fillText(text, Math.max(x(visit.admitted), gutter) + 4, top + tall / 2 + 0.5);
    pen.restore();
  }
}

function outline(visit, top, tall, style) {
  const left = Math.max(x(visit.admitted ?? visit.asked), gutter);
  const right = Math.min(x(visit.held ? visit.trusted : visit.until), width);
  if (right < gutter || left > width) return;
  pen.strokeStyle = style;
  pen.lineWidth = 2;
  pen.strokeRect(left - 1, top - 1, Math.max(right - left, 1) + 2, tall + 2);
}

function drawInterferences(row) {
  for (const one of report.interferences) {
    if (!row.place.includes(one.client)) continue;
    if (one.killed) {
      const here = x(one.begin), middle = row.top + row.height / 2;
      if (here < gutter || here > width) continue;
      pen.strokeStyle = ink.bad;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(here - 4, middle - 4); pen.lineTo(here + 4, middle + 4);
      pen.moveTo(here - 4, middle + 4); pen.lineTo(here + 4, middle - 4);
      pen.stroke();
    } else {
      hatch(Math.max(x(one.begin), gutter), Math.min(x(one.end), width), row);
    }
  }
}
function hatch(left, right, row) {
  if (right <= left) return;
  pen.save();
  pen.beginPath();
  pen.rect(left, row.top, right - left, row.height);
  pen.clip();
  pen.globalAlpha = 0.75;
  pen.fillStyle = ink.panel;
  pen.fillRect(left, row.top, right - left, row.height);
  pen.globalAlpha = 1;
  pen.strokeStyle = ink.still;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (let along = left - row.height; along < right; along += 6) {
    pen.moveTo(along, row.top + row.height);
    pen.lineTo(along + row.height, row.top);
  }
  pen.stroke();
  pen.restore();
}

function drawAxis() {
  const step = [1, 2, 5].flatMap((digit) => [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8].map((ten) => digit * ten))
    .sort((a, b) => a - b).find((one) => (width - gutter) * one / (to - from) > 90) ?? 1e9;
  pen.font = "11px system-ui, sans-serif";
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
    const here = Math.round(x(tick)) + 0.5;
    pen.strokeStyle = ink.line;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(here, strip + 4); pen.lineTo(here, height);
    pen.stroke();
    const digits = step >= 1e6 ? 0 : Math.ceil(Math.log10(1e6 / step));
    pen.fillStyle = ink.soft;
    if (here < width - 40) pen.fillText((tick / 1e6).toFixed(digits) + " s", here + 4, strip + 13);
  }
}

/** All of the time, and which part of it is shown. */
function drawStrip() {
  const whole = width - gutter;
  pen.fillStyle = ink.row;
  pen.fillRect(gutter, 0, whole, strip);
  const part = (us) => gutter + us / report.length * whole;
  pen.fillStyle = ink.bad;
  for (const visit of notable) {
    pen.fillRect(part(visit.until) - 0.5, visit.broken ? 0 : 6, visit.broken ? 2 : 1, strip);
  }
  pen.strokeStyle = ink.focus;
  pen.lineWidth = 2;
  pen.strokeRect(part(from) + 1, 1, Math.max(part(to) - part(from), 4) - 2, strip - 2);
}

function drawRow(row) {
  if (row.title) {
    pen.fillStyle = ink.soft;
    pen.font = "600 12px system-ui, sans-serif";
    pen.fillText(row.title, 10, row.top + row.height / 2 + 2);
    return 0;
  }
  let drawn = 0;
  const seen = row.visits.filter((visit) => visit.until >= from && visit.asked <= to);
  for (const visit of seen) drawWait(visit, row);
  for (const visit of seen) if (visit.held) drawHold(visit, row), ++drawn;
  if (row.place) drawInterferences(row);
  if (selected && row.visits.includes(selected)) outline(selected, ...box(selected, row), ink.focus);
  return drawn;
}

function drawGutter(row) {
  if (row.title) return;
  pen.fillStyle = row === chosen ? ink.row : ink.panel;
  pen.fillRect(0, row.top - 1, gutter - 2, row.height + 3);
  if (row.place) {
    const each = row.height / row.place.length;
    row.place.forEach((client, index) => {
      pen.fillStyle = colour(client);
      pen.fillRect(gutter - 8, row.top + index * each, 4, each);
    });
  }
  pen.fillStyle = ink.text;
  pen.font = "12px system-ui, sans-serif";
  pen.fillText(row.label, 10, row.top + row.height / 2 + 0.5, gutter - 22);
}

function draw() {
  pending = false;
  const scale = devicePixelRatio || 1;
  width = canvas.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + "px";
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.textBaseline = "middle";
  pen.fillStyle = ink.panel;
  pen.fillRect(0, 0, width, height);
  for (const row of rows) {
    if (row.title) continue;
    pen.fillStyle = ink.row;
    pen.fillRect(gutter, row.top, width - gutter, row.height);
  }
  drawAxis();
  let drawn = 0;
  for (const row of rows) drawn += row.lock ? drawRow(row) : (drawRow(row), 0);
  for (const row of rows) drawGutter(row);
  drawStrip();
  Object.assign(canvas.dataset, { from: Math.round(from), to: Math.round(to), drawn });
}

// --- mouse and keys ------------------------------------------------------------------------------

function rowAt(y) {
  return rows.find((row) => !row.title && y >= row.top - 1 && y <= row.top + row.height + 1);
}
function visitAt(pixel, y) {
  const row = rowAt(y);
  if (!row || pixel < gutter) return null;
  const near = 3 * (to - from) / (width - gutter), us = at(pixel);
  let found = null;
  for (const visit of row.visits) {
    const begin = visit.held && row.lock ? visit.admitted : visit.asked;
    if (begin > us + near || visit.until < us - near) continue;
    const [top, tall] = box(visit, row);
    if (row.lock && visit.held && (y < top - 1 || y > top + tall + 1)) continue;
    const rank = (visit.held ? 2 : 0) + (begin <= us && visit.until >= us ? 1 : 0);
    if (!found || rank >= found.rank) found = { visit, rank };
  }
  return found?.visit ?? null;
}

const tip = element("tip");
function point(event) {
  const { left, top } = canvas.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}
function hover(event) {
  const [pixel, y] = point(event);
  const visit = visitAt(pixel, y);
  tip.hidden = !visit;
  if (!visit) return;
  tip.textContent = told(visit).join("\n");
  const below = y + tip.offsetHeight + 24 < height;
  tip.style.left = Math.max(Math.min(pixel + 14, width - tip.offsetWidth - 8), 4) + "px";
  tip.style.top = Math.max(below ? y + 16 : y - tip.offsetHeight - 12, 2) + "px";
}

let dragged = null;
canvas.addEventListener("pointerdown", (event) => {
  const [pixel, y] = point(event);
  if (event.button !== 0) return;
  dragged = { pixel, from, to, moved: false, strip: y < strip };
  canvas.setPointerCapture(event.pointerId);
  if (dragged.strip) jump(pixel);
});
canvas.addEventListener("pointermove", (event) => {
  if (!dragged) return hover(event);
  const [pixel] = point(event);
  if (dragged.strip) return jump(pixel);
  const by = (dragged.pixel - pixel) / (width - gutter) * (dragged.to - dragged.from);
  if (Math.abs(dragged.pixel - pixel) > 3) dragged.moved = true;
  if (!dragged.moved) return;
  canvas.classList.add("dragged");
  tip.hidden = true;
  show(dragged.from + by, dragged.to + by);
});
canvas.addEventListener("pointerup", (event) => {
  if (dragged && !dragged.moved && !dragged.strip) select(visitAt(...point(event)));
  canvas.classList.remove("dragged");
  dragged = null;
});
canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
function jump(pixel) {
  const middle = (pixel - gutter) / (width - gutter) * report.length;
  show(middle - (to - from) / 2, middle + (to - from) / 2);
}
canvas.addEventListener("wheel", (event) => {
  if (event.shiftKey) return;
  event.preventDefault();
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return move(event.deltaX / 800);
  zoom(Math.exp(event.deltaY / 400), Math.max(at(point(event)[0]), from));
  hover(event);
}, { passive: false });

function chooseRow(by) {
  const real = rows.filter((row) => !row.title);
  const next = chosen ? real.indexOf(chosen) + by : by > 0 ? 0 : real.length - 1;
  chosen = real[Math.min(Math.max(next, 0), real.length - 1)];
  const name = chosen.lock ? chosen.label : named(chosen.place) + ", thread " + chosen.thread;
  element("selected").textContent = name + ": " + number(chosen.visits.filter((v) => v.held).length) +
    " holds";
  show(from, to);
}
function step(among, by) {
  const known = among.indexOf(selected);
  const middle = (from + to) / 2;
  let next = known + by;
  if (known < 0) {
    const behind = among.findIndex((visit) => visit.until > middle);
    next = by > 0 ? behind : (behind < 0 ? among.length : behind) - 1;
  }
  if (among[next]) look(among[next]);
}
const heldIn = (row) => (row ? row.visits : visits).filter((visit) => visit.held)
  .sort((a, b) => a.admitted - b.admitted);

const keys = {
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  "+": () => zoom(0.6, (from + to) / 2), "=": () => zoom(0.6, (from + to) / 2),
  "-": () => zoom(1 / 0.6, (from + to) / 2), _: () => zoom(1 / 0.6, (from + to) / 2),
  0: () => show(0, report.length), Home: () => show(0, to - from),
  End: () => show(report.length - (to - from), report.length),
  ArrowUp: () => chooseRow(-1), ArrowDown: () => chooseRow(1),
  ".": () => step(heldIn(chosen), 1), ",": () => step(heldIn(chosen), -1),
  n: () => step(notable, 1), p: () => step(notable, -1),
  Escape: () => select(null),
};
canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => keys[button.dataset.key]());
}

// --- the rest of the page ------------------------------------------------------------------------

function write() {
  const broken = report.broken.length;
  const verdict = element("verdict");
  verdict.textContent = broken === 0 ? "\u2714 Every promise was kept"
    : "\u2716 " + (broken === 1 ? "A promise was broken" : "Promises were broken " + number(broken) + " times");
  verdict.className = broken === 0 ? "good" : "bad";
  document.title = (broken === 0 ? "kept" : "BROKEN") + ": " + report.store;
  element("about").textContent = `${report.store} \u00b7 ${time(report.length)} \u00b7 leases of ` +
    `${report.lease_ms / 1000} s \u00b7 seed ${report.seed}`;
  const figures = report.figures;
  const card = (name, value, note) => {
    const div = add(element("figures"), "div");
    add(div, "dt", name);
    const dd = add(div, "dd", value + " ");
    if (note) add(dd, "small", note);
  };
  card("holds", number(figures.holds), "of " + number(figures.asked) + " asked");
  if (figures.wait.count) card("wait", time(figures.wait.p50), "p99 " + time(figures.wait.p99));
  if (figures.hand_off.count) {
    card("hand-off", time(figures.hand_off.p50), "p99 " + time(figures.hand_off.p99));
  }
  card("lost", number(figures.lost), figures.lost_standing_still
    ? number(figures.lost_standing_still) + " standing still" : "");
  const pauses = report.interferences.filter((one) => !one.killed).length;
  card("clients", number(clients.length), [pauses && pauses + " pauses", killedAt.size && killedAt.size +
    " killed"].filter(Boolean).join(", "));
  if (figures.errors) card("not answered", number(figures.errors));
}
function writeFindings() {
  element("findings").hidden = report.broken.length === 0;
  const most = 200;
  for (const one of report.broken.slice(0, most)) {
    const button = add(add(element("findings").querySelector("ol"), "li"), "button");
    add(button, "b", one.promise);
    button.append((one.at === null ? "" : moment(one.at) + "  ") + one.what);
    button.addEventListener("click", () => {
      if (one.visits[0]) look(one.visits[0]);
      else if (one.at !== null) show(one.at - 100000, one.at + 100000);
      canvas.focus();
    });
  }
  if (report.broken.length > most) {
    add(element("findings").querySelector("ol"), "li", `and ${number(report.broken.length - most)} more`);
  }
  element("exempt").hidden = report.exempt.length === 0;
  for (const one of report.exempt) {
    add(element("exempt").querySelector("dl"), "dt", one.what);
    add(element("exempt").querySelector("dl"), "dd", one.why);
  }
  if (report.left_out > 0) {
    element("left-out").hidden = false;
    element("left-out").textContent = `Too many to draw: ${number(report.left_out)} of the first visits ` +
      "are left out, but for those that were lost, killed or broken.";
  }
}
function writeLegend() {
  const sample = (background, text) => {
    const item = add(element("legend"), "li");
    add(item, "i").style.background = background;
    item.append(text);
  };
  const some = clients.slice(0, 3).map((client) => colour(client));
  sample(`linear-gradient(90deg, ${some.map((one, i) =>
    `${one} ${i * 100 / some.length}% ${(i + 1) * 100 / some.length}%`).join(", ")})`,
  "held, in the colour of the client");
  sample("var(--wait)", "waited");
  sample("linear-gradient(90deg, var(--wait) 75%, var(--bad) 75%)", "lost, or its client was killed");
  if (report.interferences.some((one) => !one.killed)) {
    sample("repeating-linear-gradient(135deg, var(--still) 0 2px, transparent 2px 5px)",
      "client stopped (SIGSTOP)");
  }
  if (killedAt.size) sample("none", "\u2715 client killed (SIGKILL)");
}

write();
writeFindings();
writeLegend();
mix();
canvas.setAttribute("aria-label", `Line of time: ${time(report.length)}, ` +
  `${number(report.figures.holds)} holds of ${report.resources.length} locks by ${clients.length} clients, ` +
  `${report.figures.lost} lost, ${report.broken.length} broken`);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { mix(); show(from, to); });
new ResizeObserver(() => show(from, to)).observe(canvas);
// A part of it by its seconds: page.html#1.5-2
const part = /^#([\d.]+)-([\d.]+)$/.exec(location.hash);
if (part) show(part[1] * 1e6, part[2] * 1e6);
draw();
