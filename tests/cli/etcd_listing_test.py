"""`holdfast list`, `show` and `break` on etcd, of our locks and of those of others."""

import sys
import unittest

from on_a_server import Administering
from on_etcd import OnEtcd


class OursOnEtcd(Administering, OnEtcd):
    def test_a_holder(self):
        self.check_ours()

    def test_all_of_them(self):
        names = ["a", "a/b", "a/b/0", "b{c}*", "caf\u00e9 \U0001f512"]
        for name in names:
            self.hold(name)
        self.assertEqual([found["name"] for found in self.listed()], names)
        self.assertEqual([found["name"] for found in self.listed("a/b")], ["a/b", "a/b/0"])
        self.assertEqual([found["name"] for found in self.listed("b{")], ["b{c}*"])

    def test_waiters_in_order(self):
        self.check_waiters_in_order()

    def test_shares(self):
        self.hold("a", "-s")
        self.hold("b", "-j", "3")
        rows = self.call("list")[1].splitlines()[1:]
        self.assertEqual([row.split("  ")[-1].strip() for row in rows], ["shared", "1 of 3"])

    def test_breaking(self):
        self.check_breaking_ours()

    def test_the_holder_learns_that_it_was_broken(self):
        self.check_that_the_holder_learns_of_it()

    def test_what_is_free(self):
        self.check_what_is_free()


class TheirsOnEtcd(Administering, OnEtcd):
    PARAMETERS = "?prefix="

    def test_a_holder_of_theirs(self):
        self.hold_by_etcdctl("jobs/1")
        holder = self.only_holder("jobs/1")
        self.assertIs(holder["foreign"], True)
        self.assertEqual((holder["host"], holder["pid"]), ("", 0))
        self.assertEqual(holder["weight"], holder["capacity"])
        self.assertEqual([found["name"] for found in self.listed()], ["jobs/1"])

    def test_what_else_is_there_is_not_listed(self):
        self.server.ctl("put", "app/settings", "x")
        self.server.ctl("put", "app/694d5765fc71500b", "x")
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.call("show", "app"), (0, "app: free\n", ""))

    def test_breaking_theirs_lets_the_next_in(self):
        self.check_breaking_theirs(self.hold_by_etcdctl)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
