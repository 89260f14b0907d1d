// npm's redlock, measured on request: each line of the input is a request, and answered by a line of
// nanoseconds (of CLOCK_MONOTONIC, which all processes of the machine share).
//
//   pairs COUNT   how long each acquire and release took together
//   hold          when it was acquired
//   wait          says "waiting" at once, and when it was acquired; then gives it back
//   release       when the release began
//
// Its packages are found by NODE_PATH. Arguments: the name, and the port of each server.
"use strict";

const readline = require("node:readline");
const Redis = require("ioredis");
const { default: Redlock } = require("redlock");

const [name, ...ports] = process.argv.slice(2);
// As it waits by default, without an end.
const redlock = new Redlock(ports.map((port) => new Redis(Number(port))), { retryCount: -1 });
const acquire = () => redlock.acquire([name], 30000);
const now = () => process.hrtime.bigint();
const say = (words) => process.stdout.write(`${words}\n`);
let held;

async function pairs(count) {
  const times = [];
  for (let i = 0; i < count; ++i) {
    const start = now();
    await (await acquire()).release();
    times.push(now() - start);
  }
  return times.join(" ");
}

async function answer(request) {
  const [what, count] = request.split(" ");
  if (what === "pairs") say(await pairs(Number(count)));
  if (what === "wait") say("waiting");
  if (what === "hold" || what === "wait") {
    held = await acquire();
    say(now());
  }
  if (what === "release") say(now());
  if (what === "release" || what === "wait") await held.release();
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) await answer(line);
  process.exit(0);
}

main();
