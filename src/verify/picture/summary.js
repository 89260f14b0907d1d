// What stands above and below the drawing.

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
