"""One lock with redis-py's `Lock` and node `redlock`: `layout=plain`."""

import sys
import time
import unittest

from interop import PATIENCE
from shared_on_redis import SharedOnRedis


class PlainShared(SharedOnRedis):
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
        self.tell_how_mixed()

    def test_four_of_ours_and_four_of_node_redlock_count_exactly(self):
        self.count_together(self.start_all(ours=4, redis_py=0, node=4))
        self.assertEqual(self.count(), 8 * self.ROUNDS)
        self.tell_how_mixed()

    def test_all_kinds_together_count_exactly(self):
        self.count_together(self.start_all(ours=4, redis_py=2, node=2))
        self.assertEqual(self.count(), 8 * self.ROUNDS)
        self.tell_how_mixed()

    def test_who_takes_two_and_who_takes_one_of_them_count_exactly(self):
        self.count_together(
            [(self.ours, ("--mark", "h", "--also", "another"))] * 2
            + [(self.ours, ("--mark", "h"))]
            + [(self.node, ("--mark", "n", "--also", "another", *self.OFTEN))] * 2
            + [(self.redis_py, ("--mark", "p", *self.OFTEN))]
        )
        self.assertEqual(self.count(), 6 * self.ROUNDS)
        self.tell_how_mixed()

    def tearDown(self):
        # What is left are the counter, the journal and our fences, which end with their day.
        left = set(self.server.client.keys()) - {b"counter", b"journal"}
        fences = {b"holdfast_holds:{lock}", b"holdfast_holds:{another}"}
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
    SHORT = ("--lease", 1500)

    def test_their_lock_that_nobody_renews_is_taken_over(self):
        for kind, start in self.one_of_each():
            with self.subTest(kind):
                dead = self.hold(start, "--name", "lock", *self.SHORT)
                taken = time.monotonic()
                dead.kill()
                ours = self.hold(self.ours, "--name", "lock")
                self.assertGreater(time.monotonic() - taken, 0.5)
                self.release(ours)

    def test_ours_is_not_stolen_while_it_is_renewed(self):
        self.assert_not_stolen(
            (
                lambda name=name: self.hold(self.ours, "--name", name, *self.RENEWED),
                lambda name=name, start=start: start(
                    "--name", name, "--wait-one", "--look-every", 20
                ),
            )
            for name, start in self.one_of_each()
        )

    def test_ours_that_died_is_taken_over(self):
        for kind, start in self.one_of_each():
            with self.subTest(kind):
                self.hold(self.ours, "--name", "lock", *self.SHORT).kill()
                self.release(self.hold(start, "--name", "lock", "--look-every", 20))

    def test_a_stale_holder_of_theirs_does_not_end_ours(self):
        stale = self.hold(self.redis_py, "--name", "lock", "--lease", 200)
        ours = self.hold(self.ours, "--name", "lock")
        stale.tell()
        stale.hear("lost")
        self.release(ours)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
