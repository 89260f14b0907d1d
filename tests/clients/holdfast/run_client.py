"""Counts under a lock that `holdfast run` takes, once a round, for tests that share it with the
clients of others. It is told what to do, and tells it, as those in tests/clients/ are: see
redisson_client.py."""

import argparse
import os
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--at-a-line", action="store_true", help="start when a line comes")
    parser.add_argument("--option", action="append", default=[], help="of holdfast run, such as -x")
    parser.add_argument("--work", required=True, help="for the shell, in two steps")
    arguments = parser.parse_args()
    words = [os.environ["HOLDFAST_PROGRAM"], "run", "-S", arguments.url, *arguments.option,
             arguments.name, "--", "sh", "-c", arguments.work]
    if arguments.at_a_line:
        print("ready", flush=True)
        sys.stdin.readline()
    for _ in range(arguments.rounds):
        subprocess.run(words, check=True)
    print(f"done {arguments.rounds}", flush=True)


if __name__ == "__main__":
    main()
