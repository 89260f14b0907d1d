"""Tests that are the same for each server that has what they are about, and for each kind of clients
of others: to be inherited beside one of shared_on_*.py."""

import subprocess
import sys
import time

from interop import CLIENTS, PATIENCE, PROGRAM, WRITE
from own_process import until


class Deaths:
    """A dead one is followed when its time is up. For each pair of a starter of ours and one of
    theirs: pairs()."""

    SHORT_OURS = SHORT_THEIRS = ("--lease", 2000)

    def each_pair(self):
        for ours, theirs in self.pairs():
            with self.subTest(ours=ours.__name__, theirs=theirs.__name__):
                yield ours, theirs

    def test_theirs_that_died_is_followed_when_its_time_is_up(self):
        for ours, theirs in self.each_pair():
            dead = self.hold(theirs, *self.SHORT_THEIRS)
            killed = time.monotonic()
            dead.kill()
            heir = self.hold(ours)
            self.assertGreater(time.monotonic() - killed, 0.5)
            self.release(heir)

    def test_ours_that_died_is_followed_when_its_time_is_up(self):
        for ours, theirs in self.each_pair():
            self.hold(ours, *self.SHORT_OURS).kill()
            self.release(self.hold(theirs))


class InLine:
    """Where all stand in one line: in_line() tells how many."""

    def await_in_line(self, count):
        until(lambda: self.in_line() == count)
        time.sleep(0.1)  # and the last of them has looked, and watches

    def line_up(self, start, *words, place):
        process = self.wait(start, *words)
        self.await_in_line(place)
        return process


class Turns(InLine):
    """Who waits for whom, and is woken by whom: ours, and each_kind() of theirs."""

    def each_two(self, ours=None):
        """Of ours and theirs, in both orders."""
        ours = ours or self.ours
        for theirs in self.each_kind():
            for one, other in ((ours, theirs), (theirs, ours)):
                with self.subTest(one=one.__name__, other=other.__name__):
                    yield one, other

    def test_each_is_woken_by_the_other(self):
        for holder, waiter in self.each_two():
            self.assert_woken(holder, waiter, lambda: self.await_in_line(2))

    def test_one_line_is_served_in_its_order(self):
        for one, other in self.each_two():
            line = [self.hold(one)]
            for place, start in enumerate((other, one, other, one), 2):
                line.append(self.line_up(start, place=place))
            for this, following in zip(line, line[1:]):
                self.follow(this, following)
            self.release(line[-1])


class DeathsInLine(InLine, Deaths):
    def test_a_dead_waiter_lets_nobody_in_early(self):
        for ours, theirs in self.each_pair():
            for living, dead, short in ((ours, theirs, self.SHORT_THEIRS),
                                        (theirs, ours, self.SHORT_OURS)):
                first = self.hold(living)
                second = self.line_up(dead, *short, place=2)
                third = self.line_up(living, place=3)
                second.kill()
                self.await_in_line(2)  # the third is told, and looks
                self.follow(first, third)
                self.release(third)


class BesideWriters:
    """`holdfast run -x` is a writer of their lock for readers and writers; without it, a mutex.
    URL_PARAMETERS say where, `theirs` starts one of theirs, COUNT counts up in a shell, and
    await_waiting() returns when one of theirs waits."""

    def setUp(self):
        super().setUp()
        self.url = self.server.url(self.URL_PARAMETERS)

    def program(self, *words):
        """How `holdfast run` ends with a command that does nothing."""
        words = [PROGRAM, "run", "-S", self.url, "-n", *words, "lock", "--", "true"]
        return subprocess.run(words, timeout=PATIENCE).returncode

    def programs_in_a_row(self, *words):
        """A process that counts under `holdfast run -x`, again and again."""
        client = CLIENTS / "holdfast/run_client.py"
        return self.start(sys.executable, client, "--url", self.url, "--option=-x",
                          "--work", self.COUNT.format(self), *words)

    def test_the_programs_and_its_own_keep_apart(self):
        theirs = self.hold(self.theirs, *WRITE)
        self.assertEqual([self.program("-x"), self.program("-s")], [75, 75])
        self.release(theirs)
        self.assertEqual(self.program("-x"), 0)
        ours = subprocess.Popen([PROGRAM, "run", "-S", self.url, "-x", "lock", "--", "sh", "-c",
                                 "echo in; read line"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(ours.wait, PATIENCE)
        with ours.stdin, ours.stdout:
            self.assertEqual(ours.stdout.readline(), "in\n")
            theirs = self.wait(self.theirs, *WRITE)
            self.await_waiting()
            time.sleep(0.3)  # it would be in by now
            self.assertTrue(theirs.is_silent())
            ours.stdin.write("go\n")
        theirs.hear("held")
        self.release(theirs)

    def test_they_count_exactly(self):
        self.count_together((self.programs_in_a_row, 2, "--rounds", 20),
                            (self.theirs, 2, *WRITE, "--rounds", 200))
        self.assertEqual(self.count(), 2 * 20 + 2 * 200)
