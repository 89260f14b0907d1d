// Takes locks by node `redlock`, for tests of `layout=plain`. It is told what to do, and tells it,
// as told.py says. Its packages are found by NODE_PATH.
"use strict";

const { once } = require("node:events");
const { parseArgs } = require("node:util");
const Redis = require("ioredis");
const { default: Redlock } = require("redlock");

const { values: options } = parseArgs({
  options: {
    url: { type: "string" },
    name: { type: "string" },
    also: { type: "string" }, // another lock, to be taken together with the first
    rounds: { type: "string", default: "1" },
    counter: { type: "string", default: "counter" }, // the key to work on
    mark: { type: "string" }, // what to append to the key `journal` in each round
    "at-a-line": { type: "boolean" }, // start when a line comes
    "wait-one": { type: "boolean" }, // hold once, until a line comes
    lease: { type: "string", default: "30000" }, // milliseconds, never renewed
    "look-every": { type: "string", default: "100" }, // milliseconds
  },
});

const say = (line) => process.stdout.write(`${line}\n`);
const aLine = () => once(process.stdin, "data");

async function runRounds(server, acquire) {
  const rounds = Number(options.rounds);
  for (let i = 0; i < rounds; ++i) {
    const lock = await acquire();
    const before = Number((await server.get(options.counter)) ?? 0);
    await server.set(options.counter, before + 1);
    if (options.mark) await server.append("journal", options.mark);
    await lock.release();
  }
  say(`done ${rounds}`);
}

async function holdUntilTold(acquire) {
  const started = Date.now();
  say("waiting");
  const lock = await acquire();
  say(`held ${Date.now() - started}`);
  await aLine();
  await lock.release();
  say("released");
}

async function main() {
  const server = new Redis(options.url);
  const every = Number(options["look-every"]);
  const redlock = new Redlock([server], {
    retryCount: -1,
    retryDelay: every,
    retryJitter: every / 2,
  });
  const names = options.also ? [options.name, options.also] : [options.name];
  const acquire = () => redlock.acquire(names, Number(options.lease));
  if (options["wait-one"]) {
    await holdUntilTold(acquire);
  } else {
    if (options["at-a-line"]) {
      await server.ping();
      say("ready");
      await aLine();
    }
    await runRounds(server, acquire);
  }
  process.stdin.destroy();
  await server.quit();
}

main().catch((error) => {
  console.error(`redlock_client: ${error.stack}`);
  process.exit(1);
});
