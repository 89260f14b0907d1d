"""One lock with Curator's InterProcessMutex and InterProcessReadWriteLock, and with kazoo's Lock.
(Curator does not see kazoo's nodes, so that the three are never together.)"""

import sys
import time
import unittest

from interop import until
from shared_on_zookeeper import SharedOnZookeeper

WRITE = ("--kind", "write")
READ = ("--kind", "read")


class CuratorCounting(SharedOnZookeeper):
    def test_three_of_ours_and_three_of_its_mutex_count_exactly(self):
        self.count_together(
            [(self.ours, ("--mark", "h"))] * 3 + [(self.curator, ("--mark", "c"))] * 3
        )
        self.assertEqual(self.count(), 6 * self.ROUNDS)
        self.tell_how_mixed()

    def test_readers_and_writers_of_both_kinds_keep_apart(self):
        self.count_together(
            [(self.ours, ("--mark", "h", *WRITE))] * 2
            + [(self.ours, READ)] * 2
            + [(self.curator, ("--mark", "c", *WRITE))] * 2
            + [(self.curator, READ)] * 2
        )
        self.assertEqual(self.count(), 4 * self.ROUNDS)
        self.tell_how_mixed()

    def tearDown(self):
        # Its container, which is removed when nobody has come for a while.
        until(lambda: "lock" not in self.server.client.get_children("/"))


class AtALastingPath(SharedOnZookeeper):
    """A lock of kazoo's makes its path once, and fails when the server has removed it meanwhile, as
    it does with the containers that Curator and we make. What was made by kazoo stays."""

    def setUp(self):
        super().setUp()
        self.server.client.create("/lock")


class KazooCounting(AtALastingPath):
    def test_three_of_ours_and_three_of_its_lock_count_exactly(self):
        self.count_together(
            [(self.ours, ("--mark", "h"))] * 3 + [(self.kazoo, ("--mark", "k"))] * 3
        )
        self.assertEqual(self.count(), 6 * self.ROUNDS)
        self.tell_how_mixed()

    def test_writers_of_both_kinds_and_readers_of_ours_keep_apart(self):
        # A reader of kazoo's waits for writers behind it too, and these for it: with as many of its
        # own it stands still.
        self.count_together(
            [(self.ours, ("--mark", "h", *WRITE))] * 2
            + [(self.ours, READ)] * 2
            + [(self.kazoo, ("--mark", "k", *WRITE))] * 2
        )
        self.assertEqual(self.count(), 4 * self.ROUNDS)
        self.tell_how_mixed()


class ZookeeperTurns(AtALastingPath):
    """Who waits for whom, and is woken by whom."""

    def each_kind(self):
        return (self.curator, self.kazoo)

    def await_in_line(self, count):
        until(lambda: self.in_line() == count)
        time.sleep(0.1)  # and the last of them has looked, and watches

    def test_each_is_woken_by_the_other(self):
        for start in self.each_kind():
            for holder, waiter in ((self.ours, start), (start, self.ours)):
                with self.subTest(holder=holder.__name__, waiter=waiter.__name__):
                    in_line = lambda: self.await_in_line(2)
                    latencies = [self.pass_on(holder, waiter, in_line) for _ in range(3)]
                    self.assert_soon(latencies, 0.3)  # a session lasts for seconds

    def test_one_line_is_served_in_its_order(self):
        for start in self.each_kind():
            with self.subTest(start.__name__):
                line = [self.hold(self.ours, "--name", "lock")]
                for place, follow in enumerate((start, self.ours, start, self.ours), 2):
                    line.append(follow("--name", "lock", "--wait-one"))
                    line[-1].hear("waiting")
                    self.await_in_line(place)
                for this, following in zip(line, line[1:]):
                    self.assertTrue(following.is_silent())
                    self.release(this)
                    following.hear("held")
                self.release(line[-1])

    def test_readers_of_both_kinds_read_together_and_keep_a_writer_out(self):
        for start in self.each_kind():
            for early, late in ((self.ours, start), (start, self.ours)):
                with self.subTest(late=late.__name__):
                    readers = [self.hold(it, "--name", "lock", *READ) for it in (early, late)]
                    writer = late("--name", "lock", "--wait-one", *WRITE)
                    writer.hear("waiting")
                    self.await_in_line(3)
                    for reader in readers:
                        self.assertTrue(writer.is_silent())
                        self.release(reader)
                    writer.hear("held")
                    self.release(writer)

    def test_a_reader_queues_behind_the_others_waiting_writer(self):
        for start in self.each_kind():
            for writing, reading in ((self.ours, start), (start, self.ours)):
                with self.subTest(reading=reading.__name__):
                    first = self.hold(reading, "--name", "lock", *READ)
                    writer = writing("--name", "lock", "--wait-one", *WRITE)
                    writer.hear("waiting")
                    self.await_in_line(2)
                    reader = reading("--name", "lock", "--wait-one", *READ)
                    reader.hear("waiting")
                    self.await_in_line(3)
                    self.assertTrue(writer.is_silent() and reader.is_silent())
                    self.release(first)
                    writer.hear("held")
                    self.assertTrue(reader.is_silent())
                    self.release(writer)
                    reader.hear("held")
                    self.release(reader)


class ZookeeperDeaths(AtALastingPath):
    SHORT = ("--session", 1500)

    def test_a_dead_one_of_theirs_is_followed_when_its_session_ends(self):
        for start in (self.curator, self.kazoo):
            with self.subTest(start.__name__):
                dead = self.hold(start, "--name", "lock", *self.SHORT)
                killed = time.monotonic()
                dead.kill()
                ours = self.hold(self.ours, "--name", "lock")
                self.assertGreater(time.monotonic() - killed, 0.5)
                self.release(ours)

    def test_ours_that_died_is_followed_when_its_session_ends(self):
        short = lambda *words: self.ours(*words, "--lease", 1500)
        for start in (self.curator, self.kazoo):
            with self.subTest(start.__name__):
                self.hold(short, "--name", "lock").kill()
                self.release(self.hold(start, "--name", "lock"))

    def test_a_dead_waiter_of_theirs_lets_nobody_in_early(self):
        for start in (self.curator, self.kazoo):
            with self.subTest(start.__name__):
                first = self.hold(self.ours, "--name", "lock")
                second = start("--name", "lock", "--wait-one", *self.SHORT)
                second.hear("waiting")
                until(lambda: self.in_line() == 2)
                third = self.ours("--name", "lock", "--wait-one")
                third.hear("waiting")
                until(lambda: self.in_line() == 3)
                second.kill()
                until(lambda: self.in_line() == 2)
                time.sleep(0.2)  # it is told, and looks
                self.assertTrue(third.is_silent())
                self.release(first)
                third.hear("held")
                self.release(third)


class BesideCuratorWriters(SharedOnZookeeper):
    """`holdfast run -x` is a writer of its InterProcessReadWriteLock; without it, a mutex."""

    COUNT = "cd {0}; n=$(cat counter); printf %s $((n + 1)) > counter; printf h >> journal"

    def write_once(self):
        process = self.curator("--name", "lock", "--wait-one", *WRITE)
        process.hear("waiting")
        until(lambda: self.in_line() == 2)
        return process

    def test_the_programs_and_its_own_keep_apart(self):
        self.assert_kept_apart(
            self.server.url("?prefix="),
            lambda: self.hold(self.curator, "--name", "lock", *WRITE),
            self.write_once,
        )

    def test_they_count_exactly(self):
        url = self.server.url("?prefix=")
        ours = lambda *words: self.programs_in_a_row(url, self.COUNT.format(self.folder), *words)
        self.count_together(
            [(ours, ("--rounds", 20))] * 2
            + [(self.curator, ("--mark", "c", *WRITE, "--rounds", 200))] * 2
        )
        self.assertEqual(self.count(), 2 * 20 + 2 * 200)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
