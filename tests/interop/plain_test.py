"""One lock with redis-py's `Lock` and node `redlock`: `layout=plain`."""

import sys
import time
import unittest

from interop import PATIENCE
from shared_on_redis import SharedOnRedis
from suites import Deaths


class PlainShared(SharedOnRedis):
    LAYOUT = "plain"

    def each_kind(self):
        for start in (self.redis_py, self.node):
            with self.subTest(start.__name__):
                yield start


class PlainCounting(PlainShared):
    OFTEN = ("--look-every", 3)  # or ours would be done before theirs looked twice

    def assert_exact_count_of(self, ours, redis_py, node):
        self.assert_exact_count((self.ours, ours), (self.redis_py, redis_py, *self.OFTEN),
                                (self.node, node, *self.OFTEN))

    def test_four_of_ours_and_four_of_redis_py_count_exactly(self):
        self.assert_exact_count_of(ours=4, redis_py=4, node=0)

    def test_four_of_ours_and_four_of_node_redlock_count_exactly(self):
        self.assert_exact_count_of(ours=4, redis_py=0, node=4)

    def test_all_kinds_together_count_exactly(self):
        self.assert_exact_count_of(ours=4, redis_py=2, node=2)

    def test_who_takes_two_and_who_takes_one_of_them_count_exactly(self):
        also = ("--also", "another")
        self.assert_exact_count((self.ours, 2, *also), (self.ours, 1),
                                (self.node, 2, *also, *self.OFTEN),
                                (self.redis_py, 1, *self.OFTEN))

    def tearDown(self):
        # What is left are the counter, the journal and our fences, which end with their day.
        left = set(self.server.client.keys()) - {b"counter", b"journal"}
        fences = {b"holdfast_holds:{lock}", b"holdfast_holds:{another}"}
        self.assertLessEqual(left, fences)
        for fence in left:
            self.assertGreater(self.server.client.pttl(fence), 0)


class PlainWaking(PlainShared):
    def test_we_are_woken_by_their_release(self):
        for theirs in self.each_kind():
            self.assert_woken(theirs, self.ours, self.await_one_that_listens)

    def test_they_find_what_we_gave_back(self):
        for theirs in self.each_kind():
            looks_again = lambda: time.sleep(0.3)
            self.assertLess(self.pass_on(self.ours, theirs, looks_again), PATIENCE)


class PlainExpiry(Deaths, PlainShared):
    def pairs(self):
        return [(self.ours, self.redis_py), (self.ours, self.node)]

    def test_ours_is_not_stolen_while_it_is_renewed(self):
        self.assert_not_stolen(
            *((theirs.__name__, (self.ours, *self.RENEWED), (theirs, "--look-every", 20))
              for _, theirs in self.pairs()))

    def test_a_stale_holder_of_theirs_does_not_end_ours(self):
        stale = self.hold(self.redis_py, "--lease", 200)
        ours = self.hold(self.ours)
        stale.tell()
        stale.hear("lost")
        self.release(ours)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
