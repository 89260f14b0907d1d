// Mouse and keys.

function rowAt(y) {
  return rows.find((row) => !row.title && y >= row.top - 1 && y <= row.top + row.height + 1);
}
function visitAt(pixel, y) {
  const row = rowAt(y);
  if (!row || pixel < gutter) return null;
  const near = 3 * (to - from) / (width - gutter), us = at(pixel);
  let found = null;
  for (const visit of row.visits) {
    const [top, tall] = box(visit, row);
    if (row.lock && visit.held && (y < top - 1 || y > top + tall + 1)) continue;
    const begin = visit.held ? visit.admitted : visit.asked;
    const end = visit.held && !isNotable(visit) ? visit.trusted : visit.until;
    const away = Math.max(begin - us, us - end, 0);
    const waits = away > 0 && row.place && visit.asked <= us && us < begin;
    if (away > near && !waits) continue;
    // Rather what was held than what was waited for.
    const far = away + (visit.held && away <= near ? 0 : report.length);
    if (!found || far <= found.far) found = { visit, far };
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
