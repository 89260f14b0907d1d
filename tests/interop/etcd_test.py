"""One lock with the Mutex of etcd's Go client, and with `etcdctl lock`."""

import sys
import time
import unittest

from interop import until
from shared_on_etcd import SharedOnEtcd


class EtcdctlCounting(SharedOnEtcd):
    def test_four_of_ours_and_four_of_etcdctl_count_exactly(self):
        self.count_together(
            [(self.ours, ("--mark", "h"))] * 4 + [(self.etcdctl, ("--mark", "e"))] * 4
        )
        self.assertEqual(self.count(), 8 * self.ROUNDS)
        self.tell_how_mixed()
        self.assertEqual(self.in_line(), 0)


class EtcdGoCounting(SharedOnEtcd):
    def test_four_of_ours_and_four_of_its_mutex_count_exactly(self):
        self.count_together(
            [(self.ours, ("--mark", "h"))] * 4 + [(self.go, ("--mark", "g"))] * 4
        )
        self.assertEqual(self.count(), 8 * self.ROUNDS)
        self.tell_how_mixed()
        self.assertEqual(self.in_line(), 0)


class EtcdTurns(SharedOnEtcd):
    """Who waits for whom, and is woken by whom."""

    def each_kind(self):
        return (self.go, self.etcdctl)

    def await_in_line(self, count):
        until(lambda: self.in_line() == count)
        time.sleep(0.1)  # and the last of them has looked, and watches

    def test_each_is_woken_by_the_other(self):
        for start in self.each_kind():
            for holder, waiter in ((self.ours, start), (start, self.ours)):
                with self.subTest(holder=holder.__name__, waiter=waiter.__name__):
                    in_line = lambda: self.await_in_line(2)
                    latencies = [self.pass_on(holder, waiter, in_line) for _ in range(3)]
                    self.assert_soon(latencies, 0.3)  # a lease lasts for seconds

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

    def test_theirs_keep_out_our_readers_and_ours_keep_out_theirs(self):
        for start in self.each_kind():
            for early, late in ((self.read, start), (start, self.read)):
                with self.subTest(late=late.__name__):
                    first = self.hold(early, "--name", "lock")
                    second = late("--name", "lock", "--wait-one")
                    second.hear("waiting")
                    self.await_in_line(2)
                    self.assertTrue(second.is_silent())
                    self.release(first)
                    second.hear("held")
                    self.release(second)

    def read(self, *words):
        return self.ours("--kind", "read", *words)


class EtcdDeaths(SharedOnEtcd):
    SHORT = ("--session", 2000)

    def test_a_dead_one_of_theirs_is_followed_when_its_lease_ends(self):
        dead = self.hold(self.go, "--name", "lock", *self.SHORT)
        killed = time.monotonic()
        dead.kill()
        ours = self.hold(self.ours, "--name", "lock")
        self.assertGreater(time.monotonic() - killed, 0.5)
        self.release(ours)

    def test_ours_that_died_is_followed_when_its_lease_ends(self):
        self.hold(self.ours, "--name", "lock", "--lease", 2000).kill()
        self.release(self.hold(self.go, "--name", "lock"))

    def test_a_dead_waiter_of_theirs_lets_nobody_in_early(self):
        first = self.hold(self.ours, "--name", "lock")
        second = self.go("--name", "lock", "--wait-one", *self.SHORT)
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

    def test_a_dead_waiter_of_ours_lets_none_of_theirs_in_early(self):
        first = self.hold(self.go, "--name", "lock")
        second = self.ours("--name", "lock", "--wait-one", "--lease", 2000)
        second.hear("waiting")
        until(lambda: self.in_line() == 2)
        third = self.go("--name", "lock", "--wait-one")
        third.hear("waiting")
        until(lambda: self.in_line() == 3)
        second.kill()
        until(lambda: self.in_line() == 2)
        time.sleep(0.2)  # it is told, and looks
        self.assertTrue(third.is_silent())
        self.release(first)
        third.hear("held")
        self.release(third)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
