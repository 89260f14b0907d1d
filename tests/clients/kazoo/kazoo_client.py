#!/usr/bin/env python3
"""Takes locks by kazoo's `Lock`, `ReadLock` and `WriteLock`, for tests that share them with it. It
is told what to do, and tells it, as CuratorClient.java is."""

import argparse
import pathlib
import sys
import time

from kazoo.client import KazooClient

# Whom each has to wait for, besides others of kazoo's: what Curator and we call our nodes.
PATTERNS = {
    "lock": ["-lock-"],
    "read": ["-__WRIT__"],
    "write": ["-__READ__", "-__WRIT__"],
}


def lock_on(client, kind, name):
    make = {"lock": client.Lock, "read": client.ReadLock, "write": client.WriteLock}[kind]
    return make("/" + name, "kazoo", extra_lock_patterns=PATTERNS[kind])


def count_up(counter):
    before = int(counter.read_text())
    counter.write_text(str(before + 1))


def look_twice(counter):
    before = counter.read_text()
    time.sleep(0)
    if counter.read_text() != before:
        sys.exit(f"kazoo_client: {counter} was changed while it was read-locked")


def run_rounds(lock, arguments):
    folder = pathlib.Path(arguments.folder)
    work = look_twice if arguments.kind == "read" else count_up
    for _ in range(arguments.rounds):
        with lock:
            work(folder / "counter")
            if arguments.mark:
                with open(folder / "journal", "a") as journal:
                    journal.write(arguments.mark)
    print(f"done {arguments.rounds}", flush=True)


def hold_until_told(lock):
    started = time.monotonic()
    print("waiting", flush=True)
    lock.acquire()
    print(f"held {round((time.monotonic() - started) * 1000)}", flush=True)
    sys.stdin.readline()
    lock.release()
    print("released", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connect", required=True, help="127.0.0.1:PORT")
    parser.add_argument("--name", required=True, help="the path without its first slash")
    parser.add_argument("--kind", choices=PATTERNS, default="lock")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", help="of the files `counter` and `journal`")
    parser.add_argument("--mark", help="what to append to `journal` in each round")
    parser.add_argument("--at-a-line", action="store_true", help="start when a line comes")
    parser.add_argument("--wait-one", action="store_true", help="hold once, until a line comes")
    parser.add_argument("--session", type=int, default=10_000, help="milliseconds")
    arguments = parser.parse_args()

    client = KazooClient(arguments.connect, timeout=arguments.session / 1000)
    client.start()
    lock = lock_on(client, arguments.kind, arguments.name)
    if arguments.wait_one:
        hold_until_told(lock)
    else:
        if arguments.at_a_line:
            print("ready", flush=True)
            sys.stdin.readline()
        run_rounds(lock, arguments)
    client.stop()


if __name__ == "__main__":
    main()
