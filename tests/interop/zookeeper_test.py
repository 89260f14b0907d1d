"""One lock with Curator's InterProcessMutex and InterProcessReadWriteLock, and with kazoo's Lock.
(Curator does not see kazoo's nodes, so that the three are never together.)"""

import sys
import unittest

from interop import READ, WRITE
from own_process import until
from shared_on_zookeeper import SharedOnZookeeper
from suites import BesideWriters, DeathsInLine, Turns


class CuratorCounting(SharedOnZookeeper):
    def test_three_of_ours_and_three_of_its_mutex_count_exactly(self):
        self.assert_exact_count((self.ours, 3), (self.curator, 3))

    def test_readers_and_writers_of_both_kinds_keep_apart(self):
        self.assert_exact_count((self.ours, 2, *WRITE), (self.ours, 2, *READ),
                                (self.curator, 2, *WRITE), (self.curator, 2, *READ))

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
        self.assert_exact_count((self.ours, 3), (self.kazoo, 3))

    def test_writers_of_both_kinds_and_readers_of_ours_keep_apart(self):
        # A reader of kazoo's waits for writers behind it too, and these for it: with as many of its
        # own it stands still.
        self.assert_exact_count((self.ours, 2, *WRITE), (self.ours, 2, *READ),
                                (self.kazoo, 2, *WRITE))


class ZookeeperTurns(Turns, AtALastingPath):
    def each_kind(self):
        return (self.curator, self.kazoo)

    def test_readers_of_both_kinds_read_together_and_keep_a_writer_out(self):
        for early, late in self.each_two():
            readers = [self.hold(start, *READ) for start in (early, late)]
            writer = self.line_up(late, *WRITE, place=3)
            self.release(readers[0])
            self.follow(readers[1], writer)
            self.release(writer)

    def test_a_reader_queues_behind_the_others_waiting_writer(self):
        for writing, reading in self.each_two():
            first = self.hold(reading, *READ)
            writer = self.line_up(writing, *WRITE, place=2)
            reader = self.line_up(reading, *READ, place=3)
            self.assertTrue(reader.is_silent())
            self.follow(first, writer)
            self.follow(writer, reader)
            self.release(reader)


class ZookeeperDeaths(DeathsInLine, AtALastingPath):
    SHORT_THEIRS = ("--session", 2000)

    def pairs(self):
        return [(self.ours, self.curator), (self.ours, self.kazoo)]


class BesideCuratorWriters(BesideWriters, SharedOnZookeeper):
    URL_PARAMETERS = "?prefix="
    COUNT = "cd {0.folder}; n=$(cat counter); printf %s $((n + 1)) > counter"

    @property
    def theirs(self):
        return self.curator

    def await_waiting(self):
        until(lambda: self.in_line() == 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
