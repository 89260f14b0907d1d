#!/usr/bin/env python3
"""Takes locks by redis-py's `Lock`, for tests of `layout=plain`. It is told what to do, and tells
it, as redisson_client.py is."""

import argparse
import sys
import time

import redis


def run_rounds(server, lock, arguments):
    for _ in range(arguments.rounds):
        with lock:
            before = int(server.get(arguments.counter) or 0)
            server.set(arguments.counter, before + 1)
            if arguments.mark:
                server.append("journal", arguments.mark)
    print(f"done {arguments.rounds}", flush=True)


def hold_until_told(lock):
    started = time.monotonic()
    print("waiting", flush=True)
    lock.acquire()
    print(f"held {round((time.monotonic() - started) * 1000)}", flush=True)
    sys.stdin.readline()
    try:
        lock.release()
    except redis.exceptions.LockError as error:
        print(f"lost {error}", flush=True)
    else:
        print("released", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="redis://127.0.0.1:PORT")
    parser.add_argument("--name", required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--counter", default="counter", help="the key to work on")
    parser.add_argument("--mark", help="what to append to the key `journal` in each round")
    parser.add_argument("--at-a-line", action="store_true", help="start when a line comes")
    parser.add_argument("--wait-one", action="store_true", help="hold once, until a line comes")
    parser.add_argument("--lease", type=int, default=30_000, help="milliseconds, never renewed")
    parser.add_argument("--look-every", type=int, default=100, help="milliseconds")
    arguments = parser.parse_args()

    server = redis.Redis.from_url(arguments.url)
    lock = server.lock(
        arguments.name, timeout=arguments.lease / 1000, sleep=arguments.look_every / 1000
    )
    if arguments.wait_one:
        return hold_until_told(lock)
    if arguments.at_a_line:
        server.ping()
        print("ready", flush=True)
        sys.stdin.readline()
    run_rounds(server, lock, arguments)


if __name__ == "__main__":
    main()
