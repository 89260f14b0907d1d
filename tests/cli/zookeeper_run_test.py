"""`holdfast run` on ZooKeeper."""

import sys
import time
import unittest

from kazoo.security import make_digest_acl

from on_a_server import RunOnAServer
from on_zookeeper import OnZookeeper
from own_process import LoopbackPort
from program import PROGRAM, Driven, until

PASSWORD = "Xy7-secret"


class RunOnZookeeper(RunOnAServer, OnZookeeper):
    def test_fences_rise_also_when_all_nodes_were_removed(self):
        show = ["run", "a", "--", "sh", "-c", "echo $HOLDFAST_FENCE"]
        fences = []
        for _ in range(3):
            fences.append(int(self.call(*show)[1]))
            until(lambda: not self.server.client.exists("/holdfast/a"))
        self.assertEqual(fences, sorted(set(fences)))

    def test_nothing_is_left_behind(self):
        self.assertEqual(self.call("run", "a/b/c", "--", "true")[0], 0)
        until(lambda: self.server.client.get_children("/") == ["zookeeper"])

    def test_a_killed_wrapper_is_followed_when_its_session_ends(self):
        self.use("?tick=500ms")
        holder = self.hold("a", "--lease", "1s")
        killed = time.monotonic()
        holder.kill()
        again = ["run", "-w", "20s", "--lease", "1s", "a", "--", "echo", "next"]
        self.assertEqual(self.call(*again)[1], "next\n")
        self.assertGreater(time.monotonic() - killed, 0.4, "its session is not cut short")

    def test_the_hold_lasts_for_as_long_as_the_command_runs(self):
        self.use("?tick=500ms")
        self.hold("a", "--lease", "2s")
        self.assertEqual(self.call("run", "-w", "6s", "--lease", "2s", "a", "--", "true")[0], 75)

    def test_barging(self):
        holder = self.hold("a", "--fairness", "barging")
        again = ["run", "--fairness", "barging", "a", "--", "echo", "next"]
        self.assertEqual(self.call("run", "-n", *again[1:])[0], 75)
        waiter = self.start(*again)
        self.end(holder)
        self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")
        self.hold("b", "--fairness", "barging")
        self.assert_refused(["run", "b", "--", "true"], 78, "b: ", "barging")

    def test_inside_another(self):
        inner = [PROGRAM, "run", "-n", "a", "--", "echo", "inner"]
        self.assertEqual(self.call("run", "a", "--", *inner)[:2], (75, ""))
        self.assertEqual(self.call("run", "b", "--", *inner)[:2], (0, "inner\n"))
        self.assert_refused(["run", "--reenter", "a", "--", "true"], 64, "re-entry")

    def test_a_lease_above_the_session_is_refused(self):
        words = ["run", "--lease", "50s", "a", "--", "true"]
        self.assert_refused(words, 64, "50 s", "40 s", "session")


class BesideOthers(OnZookeeper):
    PARAMETERS = "?prefix="

    def test_the_name_is_the_path(self):
        self.hold("locks/orders")
        (node,) = self.server.client.get_children("/locks/orders")
        self.assertRegex(node, r"^_c_[0-9a-f-]{36}-lock-[0-9]{10}$")

    def test_what_follows_the_hosts_is_before_all_names(self):
        self.use("/app?prefix=")
        self.hold("orders")
        self.assertEqual(len(self.server.client.get_children("/app/orders")), 1)

    def test_a_lock_of_theirs_keeps_us_out_until_it_is_given_back(self):
        for kind, hold in (("kazoo", self.hold_by_kazoo), ("curator", self.hold_by_curator)):
            with self.subTest(kind):
                holder = hold(kind)
                self.assertEqual(self.call("run", "-n", kind, "--", "true")[0], 75)
                waiter = self.start("run", kind, "--", "echo", "next")
                until(lambda: self.waiters(kind) == 1)
                if kind == "kazoo":
                    holder.release()
                else:
                    self.end_curator(holder)
                self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")

    def test_a_try_that_fails_leaves_no_node(self):
        self.hold_by_kazoo("orders")
        before = self.server.client.get_children("/orders")
        self.assertEqual(self.call("run", "-n", "orders", "--", "true")[0], 75)
        self.assertEqual(self.server.client.get_children("/orders"), before)


class UnreachableZookeeper(Driven):
    def test_nothing_listens(self):
        port = LoopbackPort()
        self.addCleanup(port.close)
        store = f"zookeeper://127.0.0.1:{port.number}?connect_timeout=1s"
        for words in (["run", "-n", "a", "--", "true"], ["list", "a"], ["show", "a"]):
            with self.subTest(words):
                where = f"zookeeper 127.0.0.1:{port.number}"
                self.assert_refused([words[0], "-S", store, *words[1:]], 69, where)


class WrongZookeeperUrls(OnZookeeper):
    def test_are_bad_configuration(self):
        for parameters, parts in (
            ("?layout=plain", ("'layout'", "tick", "password_file")),
            ("//a", ("path",)),
            ("?auth=nobody", ("user:password",)),
            ("?password_file=/nowhere/at/all", ("/nowhere/at/all", "cannot be read")),
            ("?session=20s", ("'session'", "unknown parameter")),
            ("?prefix=/", ("slash", "the path /orders")),
        ):
            with self.subTest(parameters):
                url = self.server.url(parameters)
                self.assert_refused(["run", "-S", url, "a", "--", "true"], 78, *parts)


class ZookeeperPasswords(OnZookeeper):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # So that the test may look into, and remove, what belongs to that user.
        cls.server.client.add_auth("digest", f"me:{PASSWORD}")

    def with_password(self, password=PASSWORD):
        return f"zookeeper://me:{password}@{self.server.address}"

    def test_is_never_seen(self):
        for store in (self.with_password(), self.server.url(f"?auth=me:{PASSWORD}")):
            for words in (
                ["run", "--verbose", "-S", store, "a", "--", "env"],
                ["list", "-S", store],
                ["show", "-S", store, "a"],
            ):
                with self.subTest(words):
                    code, out, err = self.call(*words)
                    self.assertEqual(code, 0, out + err)
                    self.assertNotIn(PASSWORD, out + err)

    def test_nodes_are_for_their_user_alone(self):
        self.environment["HOLDFAST_STORE"] = self.with_password()
        self.hold("a")
        (node,) = self.server.client.get_children("/holdfast/a")
        rights, _ = self.server.client.get_acls(f"/holdfast/a/{node}")
        self.assertEqual(rights, [make_digest_acl("me", PASSWORD, all=True)])

    def test_another_user_is_told(self):
        self.environment["HOLDFAST_STORE"] = self.with_password()
        self.hold("a")
        words = ["run", "-n", "-S", self.with_password("wrong"), "a", "--", "true"]
        self.assert_refused(words, 78, "a: ")

    def test_from_a_file(self):
        file = self.folder / "password"
        file.write_text(PASSWORD + "\n")
        store = f"zookeeper://me@{self.server.address}?password_file={file}"
        inner = [PROGRAM, "run", "b", "--", "echo", "inner"]
        code, out, err = self.call("run", "--verbose", "-S", store, "a", "--", *inner)
        self.assertEqual((code, out), (0, "inner\n"), err)
        self.assertNotIn(PASSWORD, err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
