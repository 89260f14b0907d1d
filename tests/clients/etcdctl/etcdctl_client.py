#!/usr/bin/env python3
"""Takes locks by `etcdctl lock`, a process for each hold, for tests that share them with it. It is
told what to do, and tells it, as etcd_client.go is."""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time

COUNT_UP = """cd "$0" && read -r count < counter; echo $((count + 1)) > counter
printf %s "$1" >> journal"""


def etcdctl_lock(arguments, *command):
    # 3.4 is the first that does not need to be told.
    environment = {**os.environ, "ETCDCTL_API": "3"}
    ttl = str(arguments.session // 1000)
    words = ["etcdctl", "--endpoints", arguments.connect, "lock", "--ttl", ttl, "--", arguments.name, *command]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)


def hold_until_told(arguments):
    started = time.monotonic()
    print("waiting", flush=True)
    with etcdctl_lock(arguments) as holder:
        holder.stdout.readline()  # its key: it holds
        print(f"held {round((time.monotonic() - started) * 1000)}", flush=True)
        sys.stdin.readline()
        holder.send_signal(signal.SIGINT)
        holder.wait()
    print("released", flush=True)


def run_rounds(arguments):
    command = ("sh", "-c", COUNT_UP, str(arguments.folder), arguments.mark)
    for _ in range(arguments.rounds):
        with etcdctl_lock(arguments, *command) as one:
            if one.wait() != 0:
                raise RuntimeError("etcdctl failed")
    print(f"done {arguments.rounds}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connect", required=True, help="127.0.0.1:PORT")
    parser.add_argument("--name", required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, help="of the files `counter` and `journal`")
    parser.add_argument("--mark", default="", help="what to append to `journal` in each round")
    parser.add_argument("--at-a-line", action="store_true", help="start when a line comes")
    parser.add_argument("--wait-one", action="store_true", help="hold once, until a line comes")
    parser.add_argument("--session", type=int, default=10_000, help="milliseconds, in whole seconds")
    arguments = parser.parse_args()

    if arguments.wait_one:
        hold_until_told(arguments)
        return
    if arguments.at_a_line:
        print("ready", flush=True)
        sys.stdin.readline()
    run_rounds(arguments)


if __name__ == "__main__":
    main()
