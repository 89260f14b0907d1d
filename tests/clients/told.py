"""Clients in Python that are told what to do, and tell it in lines, as all in tests/clients are.

One works `--rounds` times under a lock on an unguarded counter, so that two holders at one time
show: it counts up in two steps, or, as a reader, finds the counter changed under its eyes. Or, with
`--wait-one`, it takes the lock once and holds it until a line comes on standard input."""

import argparse
import pathlib
import sys
import time

MILLISECONDS = {"type": int, "help": "milliseconds"}


def arguments_of(description, **more):
    """What its command line says: the options of all clients, and more, with what argparse is to
    know of each."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--name", required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--mark", default="", help="what to append to the journal in each round")
    parser.add_argument("--at-a-line", action="store_true", help="start when a line comes")
    parser.add_argument("--wait-one", action="store_true", help="hold once, until a line comes")
    for name, settings in more.items():
        parser.add_argument("--" + name.replace("_", "-"), **settings)
    return parser.parse_args()


class Lost(Exception):
    """By a lock that is given back too late."""


def say(line):
    print(line, flush=True)


def await_line():
    sys.stdin.readline()


def hold_once(lock, until_told):
    started = time.monotonic()
    say("waiting")
    lock.acquire()
    say(f"held {round((time.monotonic() - started) * 1000)}")
    until_told()
    try:
        lock.release()
    except Lost as error:
        say(f"lost {error}")
    else:
        say("released")


def obey(arguments, lock, visit, until_told=await_line):
    """`lock` can be acquired and released, and is a context; `visit` is what is done under it."""
    if arguments.wait_one:
        hold_once(lock, until_told)
        return
    if arguments.at_a_line:
        say("ready")
        await_line()
    for _ in range(arguments.rounds):
        with lock:
            visit()
    say(f"done {arguments.rounds}")


class InAFolder:
    """What a lock guards, in the files `counter` and `journal`."""

    def __init__(self, folder):
        self._folder = pathlib.Path(folder)

    def read(self):
        return (self._folder / "counter").read_text()

    def write(self, text):
        (self._folder / "counter").write_text(text)

    def note(self, mark):
        with open(self._folder / "journal", "a") as journal:
            journal.write(mark)


class OnAServer:
    """The same in the keys `counter` and `journal` of a Redis."""

    def __init__(self, server):
        self._server = server

    def read(self):
        return self._server.get("counter") or b"0"

    def write(self, text):
        self._server.set("counter", text)

    def note(self, mark):
        self._server.append("journal", mark)


def visit_of(guarded, arguments):
    """One visit to what is guarded, by one who reads or one who counts."""

    def look_twice():
        before = guarded.read()
        time.sleep(0)
        if guarded.read() != before:
            sys.exit(f"{sys.argv[0]}: it was changed while it was read-locked")

    def visit():
        if getattr(arguments, "kind", "") == "read":
            look_twice()
        else:
            guarded.write(str(int(guarded.read()) + 1))
        if arguments.mark:
            guarded.note(arguments.mark)

    return visit
