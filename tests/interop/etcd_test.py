"""One lock with the Mutex of etcd's Go client, and with `etcdctl lock`."""

import sys
import unittest

from interop import READ, as_kind
from shared_on_etcd import SharedOnEtcd
from suites import DeathsInLine, Turns


class EtcdctlCounting(SharedOnEtcd):
    def test_four_of_ours_and_four_of_etcdctl_count_exactly(self):
        self.assert_exact_count((self.ours, 4), (self.etcdctl, 4))
        self.assertEqual(self.in_line(), 0)


class EtcdGoCounting(SharedOnEtcd):
    def test_four_of_ours_and_four_of_its_mutex_count_exactly(self):
        self.assert_exact_count((self.ours, 4), (self.go, 4))
        self.assertEqual(self.in_line(), 0)


class EtcdTurns(Turns, SharedOnEtcd):
    def each_kind(self):
        return (self.go, self.etcdctl)

    def test_theirs_keep_out_our_readers_and_ours_keep_out_theirs(self):
        readers = as_kind(self.ours, READ)
        for early, late in self.each_two(ours=readers):
            first = self.hold(early)
            second = self.line_up(late, place=2)
            self.follow(first, second)
            self.release(second)


class EtcdDeaths(DeathsInLine, SharedOnEtcd):
    SHORT_THEIRS = ("--session", 2000)

    def pairs(self):
        return [(self.ours, self.go)]


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
