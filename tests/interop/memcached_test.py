"""One lock with programs that `add` and `delete` a key of memcached: `layout=plain`."""

import sys
import time
import unittest

from interop import PATIENCE
from shared_on_memcached import SharedOnMemcached
from suites import Deaths


class AddedCounting(SharedOnMemcached):
    def test_four_of_ours_and_four_that_add_a_key_count_exactly(self):
        self.assert_exact_count((self.ours, 4), (self.added, 4))
        self.assertEqual(self.server.ask("get lock"), "END")


class AddedTurns(SharedOnMemcached):
    def test_each_finds_what_the_other_gave_back(self):
        looks_again = lambda: time.sleep(0.3)
        for holder, waiter in ((self.ours, self.added), (self.added, self.ours)):
            with self.subTest(holder.__name__):
                self.assertLess(self.pass_on(holder, waiter, looks_again), PATIENCE)


class AddedExpiry(Deaths, SharedOnMemcached):
    def pairs(self):
        return [(self.ours, self.added)]

    def test_ours_is_not_stolen_while_it_is_renewed(self):
        self.assert_not_stolen(("lock", (self.ours, "--lease", 3000), (self.added,)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
