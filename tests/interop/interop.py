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


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come to pass")
        time.sleep(0.005)


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


class Shared(unittest.TestCase):
    """One server for the tests of a class. Others know which, and where the locks and what they
    guard are: shared_on_redis.py."""

    ROUNDS = 50 if SANITIZED else 500

    @classmethod
    def setUpClass(cls):
        cls.server = cls.SERVER()
        cls.addClassCleanup(cls.server.close)

    def start(self, *words):
        process = Process([str(word) for word in words])
        self.addCleanup(process.end)
        return process

    def count_together(self, starters):
        """Each starter, given words, starts a process that makes its rounds under the lock."""
        processes = [
            starter("--name", "lock", "--rounds", self.ROUNDS, "--at-a-line", *words)
            for starter, words in starters
        ]
        for process in processes:
            process.hear("ready")
        for process in processes:
            process.tell()
        for process in processes:
            process.hear("done")
            self.assertTrue(process.ended_well())

    def tell_how_mixed(self):
        """How often the lock went from one kind of client to another: they start at one moment, and
        the rest is luck. That it goes from each to each is what pass_on() is for."""
        journal = self.journal()
        passed = sum(one != next_one for one, next_one in zip(journal, journal[1:]))
        print(f"{len(journal)} rounds, passed between kinds {passed} times", file=sys.stderr)

    def assert_soon(self, latencies, limit):
        """That one is woken: half of them in less than a re-check would take."""
        shown = ", ".join(f"{latency * 1000:.1f}" for latency in latencies)
        print(f"woken after {shown} ms", file=sys.stderr)
        self.assertLess(sorted(latencies)[len(latencies) // 2], limit)

    def hold(self, start, *words):
        """A process that holds until it is told."""
        process = start("--wait-one", *words)
        process.hear("waiting")
        process.hear("held")
        return process

    def program(self, url, *words):
        """How `holdfast run` ends with a command that does nothing."""
        done = subprocess.run([PROGRAM, "run", "-S", url, *words, "--", "true"], timeout=PATIENCE)
        return done.returncode

    def programs_in_a_row(self, url, work, *words):
        """A process that does the work under `holdfast run -x`, again and again."""
        client = CLIENTS / "holdfast/run_client.py"
        return self.start(sys.executable, client, "--url", url, "--option=-x", "--work", work, *words)

    def assert_kept_apart(self, url, hold_theirs, wait_for_theirs):
        """The program's writers and another library's, each while the other one holds the lock."""
        theirs = hold_theirs()
        self.assertEqual(self.program(url, "-n", "-x", "lock"), 75)
        self.assertEqual(self.program(url, "-n", "-s", "lock"), 75)
        self.release(theirs)
        self.assertEqual(self.program(url, "-n", "-x", "lock"), 0)
        ours = subprocess.Popen([PROGRAM, "run", "-S", url, "-x", "lock", "--", "sh", "-c",
                                 "echo in; read line"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(ours.wait, PATIENCE)
        with ours.stdin, ours.stdout:
            self.assertEqual(ours.stdout.readline(), "in\n")
            theirs = wait_for_theirs()
            time.sleep(0.3)  # it would be in by now
            self.assertTrue(theirs.is_silent())
            ours.stdin.write("go\n")
        theirs.hear("held")
        self.release(theirs)

    def release(self, process):
        process.tell()
        process.hear("released")

    def assert_not_stolen(self, holders_and_rivals):
        """Each pair is for a lock of its own, and started by a function."""
        pairs = []
        for start_holder, start_rival in holders_and_rivals:
            holder = start_holder()
            rival = start_rival()
            rival.hear("waiting")
            pairs.append((holder, rival))
        time.sleep(5)  # they would be over by now
        for holder, rival in pairs:
            self.assertTrue(rival.is_silent())
            self.release(holder)
            rival.hear("held")
            self.release(rival)

    def pass_on(self, holder, waiter, is_waiting, name="lock"):
        """How long it takes from a release by one process to the other's hold."""
        first = self.hold(holder, "--name", name)
        second = waiter("--name", name, "--wait-one")
        second.hear("waiting")
        is_waiting()
        told = time.monotonic()
        first.tell()
        latency = second.hear("held") - told
        first.hear("released")
        self.release(second)
        return latency
