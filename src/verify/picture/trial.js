"use strict";
// What a trial has shown, as its page draws it: visits, and the rows that they stand in.

const report = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const canvas = element("time");
const pen = canvas.getContext("2d");

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
