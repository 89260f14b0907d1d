"""What the tests of shared locks have in common: processes of ours and of others at one server."""

import os
import pathlib
import queue
import subprocess
import sys
import threading
import time
import unittest

CLIENTS = pathlib.Path(__file__).resolve().parent.parent / "clients"
OURS = os.environ["HOLDFAST_CLIENT"]
PROGRAM = os.environ.get("HOLDFAST_PROGRAM", "")
SANITIZED = bool(os.environ.get("HOLDFAST_SANITIZED"))
PATIENCE = 120 if SANITIZED else 60


class Process:
    """Talked to in lines. Says of each line when it came."""

    def __init__(self, words):
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put((line.strip(), time.monotonic()))
        self._lines.put((None, time.monotonic()))

    def tell(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def hear(self, word, seconds=PATIENCE):
        """When it said so, as its next line."""
        line, moment = self._lines.get(timeout=seconds)
        if line is None or line.split()[0] != word:
            raise AssertionError(f"it said {line!r} instead of {word!r}")
        return moment

    def is_silent(self):
        return self._lines.empty()

    def ended_well(self, seconds=PATIENCE):
        return self._process.wait(seconds) == 0

    def kill(self):
        self._process.kill()

    def end(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdin.close()
        self._process.stdout.close()


WRITE = ("--kind", "write")
READ = ("--kind", "read")


def as_kind(start, kind):
    """The same starter, of processes that take locks of that kind."""

    def started(*words):
        return start(*words, *kind)

    started.__name__ = "_".join([start.__name__, *kind[1:]])
    return started


class Shared(unittest.TestCase):
    """One server for the tests of a class. Others know which, where the locks and what they guard
    are, and how processes of each kind are started: shared_on_redis.py. A starter is given more
    words for the process."""

    ROUNDS = 50 if SANITIZED else 500

    @classmethod
    def setUpClass(cls):
        cls.server = cls.SERVER()
        cls.addClassCleanup(cls.server.close)

    def start(self, *words):
        process = Process([str(word) for word in words])
        self.addCleanup(process.end)
        return process

    def hold(self, start, *words, name="lock"):
        """A process that holds until it is told."""
        process = self.wait(start, *words, name=name)
        process.hear("held")
        return process

    def wait(self, start, *words, name="lock"):
        """One that begins to take the lock."""
        process = start("--name", name, "--wait-one", *words)
        process.hear("waiting")
        return process

    def release(self, process):
        process.tell()
        process.hear("released")

    def follow(self, process, following):
        """The one releases what the other, silent up to then, waits for."""
        self.assertTrue(following.is_silent())
        self.release(process)
        following.hear("held")

    def count_together(self, *groups):
        """Processes that make their rounds under the lock, from one moment on: of each group, a
        starter, how many, and more words for each. Those that do not only read count."""
        processes = [
            start("--name", "lock", "--rounds", self.ROUNDS, "--at-a-line", *words)
            for start, number, *words in groups
            for _ in range(number)
        ]
        for process in processes:
            process.hear("ready")
        for process in processes:
            process.tell()
        for process in processes:
            process.hear("done")
            self.assertTrue(process.ended_well())

    def assert_exact_count(self, *groups):
        """Of such groups. Each kind but readers leaves its mark in a journal."""
        marked = [(start, number, *words) if "read" in words
                  else (start, number, "--mark", start.__name__[0], *words)
                  for start, number, *words in groups]
        self.count_together(*marked)
        counting = sum(number for _, number, *words in groups if "read" not in words)
        self.assertEqual(self.count(), counting * self.ROUNDS)
        self.tell_how_mixed()

    def tell_how_mixed(self):
        """How often the lock went from one kind of client to another: they start at one moment, and
        the rest is luck. That it goes from each to each is what pass_on() is for."""
        journal = self.journal()
        passed = sum(one != next_one for one, next_one in zip(journal, journal[1:]))
        print(f"{len(journal)} rounds, passed between kinds {passed} times", file=sys.stderr)

    def pass_on(self, holder, waiter, is_waiting, name="lock"):
        """How long it takes from a release by one process to the other's hold."""
        first = self.hold(holder, name=name)
        second = self.wait(waiter, name=name)
        is_waiting()
        told = time.monotonic()
        first.tell()
        latency = second.hear("held") - told
        first.hear("released")
        self.release(second)
        return latency

    def assert_woken(self, holder, waiter, is_waiting, name="lock"):
        """Half of the times in less than a re-check would take: a second, or a lease."""
        latencies = [self.pass_on(holder, waiter, is_waiting, name) for _ in range(3)]
        shown = ", ".join(f"{latency * 1000:.1f}" for latency in latencies)
        print(f"woken after {shown} ms", file=sys.stderr)
        self.assertLess(sorted(latencies)[len(latencies) // 2], 0.3)

    def assert_not_stolen(self, *lines):
        """Each is a name, who holds the lock of that name, and a rival, both with their words."""
        pairs = [(self.hold(*holder, name=name), self.wait(*rival, name=name))
                 for name, holder, rival in lines]
        time.sleep(5)  # they would be over by now
        for holder, rival in pairs:
            self.follow(holder, rival)
            self.release(rival)
