"""One lock with redis-py's `Lock` and node `redlock`: `layout=plain`."""

import sys
import time
import unittest

from interop import PATIENCE, Shared


class PlainShared(Shared):
    LAYOUT = "plain"

    def one_of_each(self):
        return {"redis-py": self.redis_py, "node": self.node}.items()


class PlainCounting(PlainShared):
    OFTEN = ("--look-every", 3)  # or ours would be done before theirs looked twice

    def start_all(self, ours, redis_py, node):
        return (
            [(self.ours, ("--mark", "h"))] * ours
            + [(self.redis_py, ("--mark", "p", *self.OFTEN))] * redis_py
            + [(self.node, ("--mark", "n", *self.OFTEN))] * node
        )

    def test_four_of_ours_and_four_of_redis_py_count_exactly(self):
        self.count_together(self.start_all(ours=4, redis_py=4, node=0))
        self.assertEqual(self.count(), 8 * self.ROUNDS)
        self.assert_mixed(10)

    def test_four_of_ours_and_four_of_node_redlock_count_exactly(self):
        self.count_together(self.start_all(ours=4, redis_py=0, node=4))
        self.assertEqual(self.count(), 8 * self.ROUNDS)
        self.assert_mixed(10)

    def test_all_kinds_together_count_exactly(self):
        self.count_together(self.start_all(ours=4, redis_py=2, node=2))
        self.assertEqual(self.count(), 8 * self.ROUNDS)
        self.assert_mixed(10)

    def test_who_takes_two_and_who_takes_one_of_them_count_exactly(self):
        self.count_together(
            [(self.ours, ("--mark", "h", "--also", "another"))] * 2
            + [(self.ours, ("--mark", "h"))]
            + [(self.node, ("--mark", "n", "--also", "another", *self.OFTEN))] * 2
            + [(self.redis_py, ("--mark", "p", *self.OFTEN))]
        )
        self.assertEqual(self.count(), 6 * self.ROUNDS)
        self.assert_mixed(10)

    def tearDown(self):
        # What is left are the counter, the journal and our fences, which end with their day.
        left = set(self.server.client.keys()) - {b"counter", b"journal"}
        fences = {b"holdfast_fence:{lock}", b"holdfast_fence:{another}"}
        self.assertLessEqual(left, fences)
        for fence in left:
            self.assertGreater(self.server.client.pttl(fence), 0)


class PlainWaking(PlainShared):
    def test_we_are_woken_by_their_release(self):
        for kind, start in self.one_of_each():
            with self.subTest(kind):
                latencies = [
                    self.pass_on(start, self.ours, self.await_one_that_listens) for _ in range(3)
                ]
                self.assert_soon(latencies, 0.3)  # a re-check comes after 1 s

    def test_they_find_what_we_gave_back(self):
        for kind, start in self.one_of_each():
            with self.subTest(kind):
                looks_again = lambda: time.sleep(0.3)
                self.assertLess(self.pass_on(self.ours, start, looks_again), PATIENCE)


class PlainExpiry(PlainShared):
    def test_their_lock_that_nobody_renews_is_taken_over(self):
        for kind, start in self.one_of_each():
            with self.subTest(kind):
                dead = start("--name", "lock", "--wait-one", "--lease", 1000)
                dead.hear("waiting")
                taken = dead.hear("held")
                dead.kill()
                ours = self.ours("--name", "lock", "--wait-one")
                ours.hear("waiting")
                self.assertGreater(ours.hear("held") - taken, 0.8)
                ours.tell()
                ours.hear("released")

    def test_ours_is_not_stolen_while_it_is_renewed(self):
        for kind, start in self.one_of_each():
            with self.subTest(kind):
                ours = self.ours("--name", "lock", "--wait-one", "--lease", 1500)
                ours.hear("waiting")
                ours.hear("held")
                rival = start("--name", "lock", "--wait-one", "--look-every", 20)
                rival.hear("waiting")
                time.sleep(4)  # more than two leases
                self.assertTrue(rival.is_silent())
                ours.tell()
                ours.hear("released")
                rival.hear("held")
                rival.tell()
                rival.hear("released")

    def test_ours_that_died_is_taken_over(self):
        for kind, start in self.one_of_each():
            with self.subTest(kind):
                ours = self.ours("--name", "lock", "--wait-one", "--lease", 1000)
                ours.hear("waiting")
                ours.hear("held")
                ours.kill()
                heir = start("--name", "lock", "--wait-one", "--look-every", 20)
                heir.hear("waiting")
                heir.hear("held")
                heir.tell()
                heir.hear("released")

    def test_a_stale_holder_of_theirs_does_not_end_ours(self):
        stale = self.redis_py("--name", "lock", "--wait-one", "--lease", 200)
        stale.hear("waiting")
        stale.hear("held")
        ours = self.ours("--name", "lock", "--wait-one")
        ours.hear("waiting")
        ours.hear("held")
        stale.tell()
        stale.hear("lost")
        ours.tell()
        ours.hear("released")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
