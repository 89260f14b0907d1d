// What is drawn of the part of time that is shown.

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
