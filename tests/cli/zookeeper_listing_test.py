"""`holdfast list`, `show` and `break` on ZooKeeper, of our locks and of those of others."""

import sys
import unittest

from on_a_server import Administering
from on_zookeeper import OnZookeeper


class OursOnZookeeper(Administering, OnZookeeper):
    def test_a_holder(self):
        self.check_ours()

    def test_all_of_them(self):
        names = ["a", "a/b", "a/b/lock-7", "b{c}*", "caf\u00e9 \U0001f512", "zookeeper"]
        for name in names:
            self.hold(name)
        self.assertEqual([found["name"] for found in self.listed()], names)
        self.assertEqual([found["name"] for found in self.listed("a/b")], ["a/b", "a/b/lock-7"])
        self.assertEqual([found["name"] for found in self.listed("b{")], ["b{c}*"])

    def test_waiters_in_order(self):
        self.check_waiters_in_order()

    def test_shares(self):
        self.hold("a", "-s")
        self.hold("b", "-j", "3")
        self.hold("c", "--fairness", "barging")
        rows = self.call("list")[1].splitlines()[1:]
        self.assertEqual([row.split("  ")[-1].strip() for row in rows], ["shared", "1 of 3", "all"])

    def test_breaking(self):
        self.check_breaking_ours()

    def test_the_holder_learns_that_it_was_broken(self):
        self.check_that_the_holder_learns_of_it()

    def test_what_is_free(self):
        self.check_what_is_free()


class TheirsOnZookeeper(Administering, OnZookeeper):
    PARAMETERS = "?prefix="

    def test_a_holder_of_kazoos(self):
        self.hold_by_kazoo("jobs/1")
        holder = self.only_holder("jobs/1")
        self.assertEqual((holder["owner"], holder["foreign"]), ("a kazoo", True))
        self.assertEqual((holder["host"], holder["pid"]), ("", 0))
        self.assertEqual(holder["weight"], holder["capacity"])

    def test_holders_of_curators(self):
        self.hold_by_curator("mutex")
        self.hold_by_curator("table", "--kind", "read")
        self.assertIs(self.only_holder("mutex")["foreign"], True)
        reader = self.only_holder("table")
        self.assertEqual((reader["foreign"], reader["weight"]), (True, 1))
        process = self.hold("table", "-s")
        (found,) = self.shown("table")
        self.assertEqual([h["pid"] for h in found["holders"]], [0, process.pid])
        self.assertEqual([found["name"] for found in self.listed()], ["mutex", "table"])

    def test_what_else_is_there_is_not_listed(self):
        self.server.client.create("/app/settings", b"x", makepath=True)
        self.server.client.create("/app/queue/item-", b"x", makepath=True, sequence=True)
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.call("show", "app/queue"), (0, "app/queue: free\n", ""))

    def test_breaking_theirs_lets_the_next_in(self):
        self.check_breaking_theirs(self.hold_by_kazoo)
        self.assertEqual(self.only_holder("deployment")["owner"], "a kazoo")

    def test_breaking_their_reader_leaves_ours(self):
        self.hold_by_curator("table", "--kind", "read")
        process = self.hold("table", "-s")
        self.assertEqual(self.call("break", "table", "--fence", "0")[0], 0)
        self.assertEqual(self.only_holder("table")["pid"], process.pid)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
