"""`holdfast run` on etcd."""

import re
import sys
import time
import unittest

from on_a_server import RunOnAServer
from on_etcd import OnEtcd
from own_process import LoopbackPort
from program import PROGRAM, Driven, until

PASSWORD = "Xy7-secret"


class RunOnEtcd(RunOnAServer, OnEtcd):
    def test_nothing_is_left_behind(self):
        self.assertEqual(self.call("run", "a/b/c", "--", "true")[0], 0)
        self.assertEqual(self.server.keys(), [])

    def test_a_killed_wrapper_is_followed_after_its_lease(self):
        holder = self.hold("a", "--lease", "2s")
        killed = time.monotonic()
        holder.kill()
        self.assertEqual(self.call("run", "-w", "20s", "a", "--", "echo", "next")[1], "next\n")
        self.assertGreater(time.monotonic() - killed, 0.4, "its lease is not cut short")

    def test_the_lease_is_renewed_for_as_long_as_the_command_runs(self):
        self.hold("a", "--lease", "2s")
        self.assertEqual(self.call("run", "-w", "5s", "a", "--", "true")[0], 75)

    def test_inside_another(self):
        inner = [PROGRAM, "run", "-n", "a", "--", "echo", "inner"]
        self.assertEqual(self.call("run", "a", "--", *inner)[:2], (75, ""))
        self.assertEqual(self.call("run", "b", "--", *inner)[:2], (0, "inner\n"))
        self.assert_refused(["run", "--reenter", "a", "--", "true"], 64, "re-entry")

    def test_only_an_etcd_url_loads_its_library(self):
        self.environment["LD_DEBUG"] = "files"
        loaded = lambda *words: "".join(re.findall(r"calling init: (.*\n)", self.call(*words)[2]))
        self.assertIn("libgrpc", loaded("list"))
        for store in (f"local://{self.folder}", "redis://127.0.0.1:1"):
            self.assertNotIn("libgrpc", loaded("list", "-S", store))


class BesideEtcdctl(OnEtcd):
    PARAMETERS = "?prefix="

    def test_the_name_is_theirs(self):
        self.hold("locks/orders")
        (key,) = self.server.keys("locks/orders/")
        self.assertRegex(key, r"^locks/orders/[0-9a-f]+-[0-9a-f-]+$")

    def test_a_lock_of_theirs_keeps_us_out_until_it_is_given_back(self):
        holder = self.hold_by_etcdctl("orders")
        self.assertEqual(self.call("run", "-n", "orders", "--", "true")[0], 75)
        waiter = self.start("run", "orders", "--", "echo", "next")
        until(lambda: self.waiters("orders") == 1)
        self.end_etcdctl(holder)
        self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")

    def test_a_try_that_fails_leaves_no_key(self):
        self.hold_by_etcdctl("orders")
        before = self.server.keys()
        self.assertEqual(self.call("run", "-n", "orders", "--", "true")[0], 75)
        self.assertEqual(self.server.keys(), before)


class UnreachableEtcd(Driven):
    def test_nothing_listens(self):
        port = LoopbackPort()
        self.addCleanup(port.close)
        store = f"etcd://127.0.0.1:{port.number}?connect_timeout=1s&request_timeout=2s"
        for words in (["run", "-n", "a", "--", "true"], ["list", "a"], ["show", "a"]):
            with self.subTest(words):
                where = f"etcd 127.0.0.1:{port.number}"
                self.assert_refused([words[0], "-S", store, *words[1:]], 69, where)


class WrongEtcdUrls(OnEtcd):
    def test_are_bad_configuration(self):
        for parameters, parts in (
            ("?layout=plain", ("'layout'", "password_file")),
            ("/a", ("path", "prefix")),
            ("?password_file=/nowhere/at/all", ("/nowhere/at/all", "cannot be read")),
            ("?request_timeout=soon", ("request_timeout",)),
        ):
            with self.subTest(parameters):
                url = self.server.url(parameters)
                self.assert_refused(["run", "-S", url, "a", "--", "true"], 78, *parts)


class EtcdPasswords(OnEtcd):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.demand_passwords(PASSWORD)

    def with_password(self, password=PASSWORD):
        return f"etcd://root:{password}@{self.server.address}"

    def test_is_never_seen(self):
        for password, expected in ((PASSWORD, 0), (PASSWORD + "-wrong", 78)):
            store = self.with_password(password)
            for words in (
                ["run", "--verbose", "-S", store, "a", "--", "env"],
                ["list", "-S", store],
                ["show", "-S", store, "a"],
            ):
                with self.subTest(words):
                    code, out, err = self.call(*words)
                    self.assertEqual(code, expected, out + err)
                    self.assertNotIn(PASSWORD, out + err)

    def test_none(self):
        self.assert_refused(["run", "-S", self.store, "a", "--", "true"], 78, "user and password")

    def test_from_a_file(self):
        file = self.folder / "password"
        file.write_text(PASSWORD + "\n")
        store = f"etcd://root@{self.server.address}?password_file={file}"
        inner = [PROGRAM, "run", "b", "--", "echo", "inner"]
        code, out, err = self.call("run", "--verbose", "-S", store, "a", "--", *inner)
        self.assertEqual((code, out), (0, "inner\n"), err)
        self.assertNotIn(PASSWORD, err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
