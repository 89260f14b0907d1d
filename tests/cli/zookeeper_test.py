"""The program on ZooKeeper: what is ZooKeeper's own."""

import sys
import unittest

from kazoo.security import make_digest_acl

from program import Shown, until
from sites import PASSWORD, OnASite, Zookeeper, ZookeeperOfOthers


class OnZookeeper(OnASite):
    SITE = Zookeeper

    def test_fences_rise_also_when_all_nodes_were_removed(self):
        show = ["run", "a", "--", "sh", "-c", "echo $HOLDFAST_FENCE"]
        fences = []
        for _ in range(3):
            fences.append(int(self.call(*show)[1]))
            until(lambda: not self.server.client.exists("/holdfast/a"))
        self.assertEqual(fences, sorted(set(fences)))

    def test_nothing_is_left_behind(self):
        self.assertEqual(self.call("run", "a/b/c", "--", "true")[0], 0)
        until(lambda: self.server.rest() == [])

    def test_barging(self):
        holder = self.hold("a", "--fairness", "barging")
        again = ["run", "--fairness", "barging", "a", "--", "echo", "next"]
        self.assertEqual(self.call("run", "-n", *again[1:])[0], 75)
        waiter = self.start(*again)
        self.end(holder)
        self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")
        self.hold("b", "--fairness", "barging")
        self.assert_refused(["run", "b", "--", "true"], 78, "b: ", "barging")
        self.assertEqual(self.call("list")[1].splitlines()[-1].split("  ")[-1].strip(), "all")

    def test_a_lease_above_the_session_is_refused(self):
        words = ["run", "--lease", "50s", "a", "--", "true"]
        self.assert_refused(words, 64, "50 s", "40 s", "session")


class UsersOfZookeeper(OnASite):
    SITE = Zookeeper

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.SITE.demand_password(cls.server)

    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_STORE"] = f"zookeeper://me:{PASSWORD}@{self.server.address}"
        self.hold("a")

    def test_nodes_are_for_their_user_alone(self):
        (node,) = self.server.client.get_children("/holdfast/a")
        rights, _ = self.server.client.get_acls(f"/holdfast/a/{node}")
        self.assertEqual(rights, [make_digest_acl("me", PASSWORD, all=True)])

    def test_another_user_is_told(self):
        store = f"zookeeper://me:wrong@{self.server.address}"
        self.assert_refused(["run", "-n", "-S", store, "a", "--", "true"], 78, "a: ")

    def test_a_user_in_a_parameter_is_not_seen_either(self):
        code, out, err = self.call("list", "-S", self.server.url(f"?auth=me:{PASSWORD}"))
        self.assertEqual(code, 0)
        self.assertNotIn(PASSWORD, out + err)


class BesideCurator(Shown, OnASite):
    SITE = ZookeeperOfOthers

    def test_the_name_is_the_path(self):
        self.hold("locks/orders")
        (node,) = self.server.client.get_children("/locks/orders")
        self.assertRegex(node, r"^_c_[0-9a-f-]{36}-lock-[0-9]{10}$")

    def test_what_follows_the_hosts_is_before_all_names(self):
        self.use("/app?prefix=")
        self.hold("orders")
        self.assertEqual(len(self.server.client.get_children("/app/orders")), 1)

    def test_its_readers_beside_ours(self):
        self.SITE.hold_by_curator(self, "table", "--kind", "read")
        reader = self.only_holder("table")
        self.assertEqual((reader["foreign"], reader["weight"]), (True, 1))
        process = self.hold("table", "-s")
        (found,) = self.shown("table")
        self.assertEqual([h["pid"] for h in found["holders"]], [0, process.pid])
        self.assertEqual(self.call("break", "table", "--fence", "0")[0], 0)
        self.assertEqual(self.only_holder("table")["pid"], process.pid)

    def test_the_owner_that_kazoo_names(self):
        self.SITE.hold_by_kazoo(self, "jobs/1")
        self.assertEqual(self.only_holder("jobs/1")["owner"], "a kazoo")

    def test_what_else_is_there_is_not_listed(self):
        self.server.client.create("/app/settings", b"x", makepath=True)
        self.server.client.create("/app/queue/item-", b"x", makepath=True, sequence=True)
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.call("show", "app/queue"), (0, "app/queue: free\n", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
