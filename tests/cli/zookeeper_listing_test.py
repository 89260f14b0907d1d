"""`holdfast list`, `show` and `break` on ZooKeeper, of our locks and of those of others."""

import json
import socket
import sys
import unittest

from on_zookeeper import OnZookeeper
from program import until


class Administering(OnZookeeper):
    def shown(self, name):
        code, out, err = self.call("show", name, "--json")
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def only_holder(self, name):
        (found,) = self.shown(name)
        self.assertEqual((found["name"], found["waiters"]), (name, []))
        (holder,) = found["holders"]
        return holder


class OursOnZookeeper(Administering):
    def test_a_holder(self):
        process = self.hold("jobs/7", "--owner", "nightly", "--lease", "20s")
        holder = self.only_holder("jobs/7")
        self.assertEqual((holder["owner"], holder["pid"]), ("nightly", process.pid))
        self.assertEqual((holder["host"], holder["foreign"]), (socket.gethostname(), False))
        self.assertGreater(holder["fence"], 0)
        self.assertTrue(0 < holder["lease_left_ms"] <= 20_000, holder)
        page = self.call("show", "jobs/7")[1]
        self.assertTrue(page.startswith("jobs/7: held\n"), page)
        for word in ("nightly", str(holder["fence"]), socket.gethostname(), str(process.pid)):
            self.assertIn(word, page)
        (row,) = self.call("list", "jobs/")[1].splitlines()[1:]
        self.assertRegex(row, rf"^jobs/7 +held +nightly +{holder['fence']} ")

    def test_all_of_them(self):
        names = ["a", "a/b", "a/b/lock-7", "b{c}*", "caf\u00e9 \U0001f512", "zookeeper"]
        for name in names:
            self.hold(name)
        self.assertEqual([found["name"] for found in self.listed()], names)
        self.assertEqual([found["name"] for found in self.listed("a/b")], ["a/b", "a/b/lock-7"])
        self.assertEqual([found["name"] for found in self.listed("b{")], ["b{c}*"])

    def test_waiters_in_order(self):
        self.hold("deploy", "--owner", "first")
        for place, owner in enumerate(("second", "third"), 1):
            self.start("run", "--owner", owner, "deploy", "--", "true")
            until(lambda: self.waiters("deploy") == place)
        (found,) = self.shown("deploy")
        self.assertEqual([w["owner"] for w in found["waiters"]], ["second", "third"])
        self.assertEqual({w["fence"] for w in found["waiters"]}, {0})

    def test_shares(self):
        self.hold("a", "-s")
        self.hold("b", "-j", "3")
        self.hold("c", "--fairness", "barging")
        rows = self.call("list")[1].splitlines()[1:]
        self.assertEqual([row.split("  ")[-1].strip() for row in rows], ["shared", "1 of 3", "all"])

    def test_breaking(self):
        self.hold("deploy", "--owner", "first")
        fence = self.only_holder("deploy")["fence"]
        self.assert_refused(["break", "deploy", "--fence", str(fence - 1)], 1, f"fence {fence}\n")
        self.assert_refused(["break", "deploy", "--fence", "0"], 1, "it is held")
        waiter = self.start("run", "deploy", "--", "sh", "-c", "echo $HOLDFAST_FENCE")
        code, out, err = self.call("break", "deploy", "--fence", str(fence))
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"deploy: ended the hold of first with fence {fence};", out)
        self.assertGreater(int(waiter.communicate(timeout=20)[0]), fence)

    def test_the_holder_learns_that_it_was_broken(self):
        holder = self.hold("deploy", "--lease", "3s")
        fence = self.only_holder("deploy")["fence"]
        self.assertEqual(self.call("break", "deploy", "--fence", str(fence))[0], 0)
        _, err = holder.communicate(timeout=20)
        self.assertEqual(holder.returncode, 76)
        self.assertIn(f"deploy: hold with fence {fence} lost", err)

    def test_what_is_free(self):
        self.assertEqual(self.call("show", "deploy"), (0, "deploy: free\n", ""))
        self.assertEqual(self.shown("deploy"), [])
        self.assert_refused(["break", "deploy", "--fence", "7"], 1, "it is free\n")
        self.assert_refused(["break", "deploy", "--fence", "0"], 1, "it is free\n")


class TheirsOnZookeeper(Administering):
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
        self.hold_by_kazoo("deploy")
        self.hold_by_kazoo("deployment")
        waiter = self.start("run", "deploy", "--", "echo", "in")
        until(lambda: self.waiters("deploy") == 1)
        code, out, err = self.call("break", "deploy", "--fence", "0")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\Adeploy: ended what another library held; [^\n]*\n\Z")
        self.assertEqual(waiter.communicate(timeout=20)[0], "in\n")
        self.assertEqual(self.only_holder("deployment")["owner"], "a kazoo")

    def test_breaking_their_reader_leaves_ours(self):
        self.hold_by_curator("table", "--kind", "read")
        process = self.hold("table", "-s")
        self.assertEqual(self.call("break", "table", "--fence", "0")[0], 0)
        self.assertEqual(self.only_holder("table")["pid"], process.pid)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
