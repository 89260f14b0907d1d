"""The program on independent nodes."""

import sys
import unittest

from program import Driven
from redis_server import RedisServer
from sites import PASSWORD, assert_never_said


class OnRedlock(Driven):
    """Three servers that were never used."""

    @classmethod
    def setUpClass(cls):
        cls.servers = [RedisServer() for _ in range(3)]
        for server in cls.servers:
            cls.addClassCleanup(server.close)

    def setUp(self):
        super().setUp()
        for server in self.servers:
            server.clear()
        self.hosts = [f"127.0.0.1:{server.port}" for server in self.servers]
        self.store = "redlock://" + ",".join(self.hosts)
        self.environment["HOLDFAST_STORE"] = self.store

    def test_a_set_that_is_new_counts_once_that_is_said(self):
        self.assert_refused(["run", "a", "--", "true"], 69, "may have forgotten who holds",
                            "holdfast init")
        self.assertEqual(self.call("init"), (0, "marked as new: nodes 3\n", ""))
        script = 'echo "$HOLDFAST_NAME:$((HOLDFAST_FENCE > 1600000000000000))"'
        self.assertEqual(self.call("run", "a", "--", "sh", "-c", script), (0, "a:1\n", ""))
        self.assert_refused(["init", self.store], 78, "the set is not new")

    def test_who_names_a_time_waits_for_a_set_that_may_have_forgotten(self):
        store = self.store + "?max_lease=2s"
        words = ["run", "-S", store, "--lease", "1s", "-w", "30s", "a", "--", "echo", "in"]
        self.assertEqual(self.call(*words)[:2], (0, "in\n"))

    def test_two_exclude_each_other_and_the_next_is_listed(self):
        self.call("init")
        holder = self.hold("a")
        self.assertTrue(self.is_held("a"))
        self.assertIn("held", self.call("list")[1])
        self.assertIn(" all ", self.call("show", "a")[1])
        self.end(holder)
        self.assertEqual(self.call("show", "a")[1], "a: free\n")

    def test_a_trial_finds_that_promises_are_kept(self):
        self.call("init")
        words = ("verify", "--time", "2s", "--lease", "1s", "--pauses", "--kills")
        code, out, err = self.call(*words)
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("\nnot judged, or no fault:\n  permits were not tried: ", out)

    def test_what_there_is_none_of_is_usage(self):
        self.call("init")
        for options in (["-j", "2"], ["--fairness", "fifo"], ["--reenter"], ["--lease", "2m"]):
            with self.subTest(options):
                self.assert_refused(["run", *options, "a", "--", "true"], 64)

    def test_a_password_is_said_by_no_command(self):
        self.call("init")
        for server in self.servers:
            server.client.config_set("requirepass", PASSWORD)
            self.addCleanup(server.client.config_set, "requirepass", "")
        hosts = ",".join(self.hosts)
        assert_never_said(self, PASSWORD, [
            f"redlock://:{PASSWORD}@{hosts}", f"redlock://:{PASSWORD}-wrong@{hosts}",
            f"redlock://:{PASSWORD}@127.0.0.1:1,127.0.0.1:2,127.0.0.1:3?request_timeout=100ms"])

    def test_wrong_urls_are_bad_configuration(self):
        for store, parts in (
            ("redlock://" + ",".join(self.hosts[:2]), ("three to nine",)),
            ("redlock://a,b,c,d", ("even number", "one of 3")),
            ("redlock://a,b,c?layout=plain", ("'layout'", "max_lease", "password_file")),
            ("redlock://a,b,c?max_lease=1ms", ("max_lease",)),
        ):
            with self.subTest(store):
                self.assert_refused(["run", "-S", store, "a", "--", "true"], 78, *parts)

    def test_other_stores_need_no_init(self):
        self.assertEqual(self.call("init", "memory:"),
                         (0, "nothing to do: this store needs no init\n", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
