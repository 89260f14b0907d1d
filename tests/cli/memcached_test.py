"""The program on memcached, which has no line, no fence and no list."""

import signal
import sys
import time
import unittest

from program import PAGE, PROGRAM, Shown, until
from run_on_stores_test import RunAnywhere
from sites import PASSWORD, Memcached, MemcachedPlain, OnASite, assert_never_said


class OnMemcached(OnASite):
    SITE = Memcached

    def test_the_command_finds_no_fence(self):
        self.environment["HOLDFAST_FENCE"] = "7"  # as it is inside another one
        script = 'echo "$HOLDFAST_NAME:$HOLDFAST_FENCE:$HOLDFAST_STORE"'
        code, out, err = self.call("run", "jobs/7", "--", "sh", "-c", script)
        self.assertEqual((code, out, err), (0, f"jobs/7::{self.store}\n", ""))
        code, out, _ = self.call("run", "b", "a", "--", "sh", "-c", script)
        self.assertEqual((code, out), (0, f"a\nb::{self.store}\n"))
        self.assert_refused(["run", "--fenced", "a", "--", "true"], 64, "fences", "zookeeper:")

    def test_two_exclude_each_other(self):
        holder = self.hold("a")
        self.assertTrue(self.is_held("a"))
        self.assertTrue(self.is_held("a", "-w", "50ms"))
        waiter = self.start("run", "--verbose", "a", "--", "echo", "next")
        RunAnywhere.await_waiting(waiter)
        self.end(holder)
        self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")

    def test_several_names_are_taken_all_or_none(self):
        holder = self.hold("b")
        self.assertEqual(self.call("run", "-n", "a", "b", "--", "true")[0], 75)
        self.assertEqual(self.call("show", "a")[1], "a: free\n")
        self.end(holder)
        self.assertEqual(self.call("run", "-n", "a", "b", "--", "true")[0], 0)

    def test_a_killed_wrapper_is_followed_after_its_lease(self):
        self.hold("a", "--lease", "1s").kill()
        again = ["run", "-w", "20s", "a", "--", "echo", "next"]
        self.assertEqual(self.call(*again)[1], "next\n")

    def test_the_lease_is_renewed_for_as_long_as_the_command_runs(self):
        self.hold("a", "--lease", "2s")
        self.assertTrue(self.is_held("a", "-w", "4s"))

    def test_each_step_is_told(self):
        code, _, err = self.call("run", "--verbose", "a", "--", "true")
        self.assertEqual(code, 0)
        self.assertIn("a: acquired without a fence\n", err)

    def test_what_there_is_none_of_is_usage(self):
        for options in (["-s"], ["-j", "2"], ["--fairness", "fifo"], ["--reenter"]):
            with self.subTest(options):
                self.assert_refused(["run", *options, "a", "--", "true"], 64, "memcached", "redis:")

    def test_a_list_is_refused_and_says_what_to_do(self):
        self.assert_refused(["list"], 64, "cannot list", "holdfast show NAME")
        self.assert_refused(["list", "jobs/", "--json"], 64, "cannot list")

    def test_wrong_urls_are_bad_configuration(self):
        for parameters, parts in self.SITE.WRONG_URLS:
            with self.subTest(parameters):
                url = self.server.url(parameters)
                self.assert_refused(["run", "-S", url, "a", "--", "true"], 78, *parts)

    def test_inside_another(self):
        inner = [PROGRAM, "run", "-n", "a", "--", "echo", "inner"]
        self.assertEqual(self.call("run", "a", "--", *inner)[:2], (75, ""))
        self.assertEqual(self.call("run", "b", "--", *inner)[:2], (0, "inner\n"))


class ShownOnMemcached(Shown, OnASite):
    SITE = Memcached

    def test_a_holder(self):
        process = self.hold("jobs/7", "--owner", "nightly", "--lease", "20s")
        holder = self.only_holder("jobs/7")
        self.assertEqual((holder["owner"], holder["pid"]), ("nightly", process.pid))
        self.assertEqual((holder["fence"], holder["foreign"]), (0, False))
        self.assertTrue(18_000 < holder["lease_left_ms"] <= 21_000, holder)
        page = self.call("show", "jobs/7")[1]
        self.assertTrue(page.startswith("jobs/7: held\n"), page)
        self.assertIn("nightly", page)
        self.assertEqual(self.call("show", "jobs"), (0, "jobs: free\n", ""))

    def test_breaking(self):
        holder = self.hold("deploy", "--owner", "first", "--lease", "3s")
        self.assert_refused(["break", "deploy", "--fence", "7"], 1, "no hold has fence 7",
                            "it is held, without a fence (--fence 0 ends that)")
        code, out, err = self.call("break", "deploy", "--fence", "0")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\Adeploy: ended the hold of first; .*third of its lease\n\Z")
        self.assert_refused(["break", "deploy", "--fence", "0"], 1, "it is free\n")
        _, err = holder.communicate(timeout=20)
        self.assertEqual(holder.returncode, 76)
        self.assertIn("deploy: hold lost", err)


class BesideMemcachedAdd(Shown, OnASite):
    SITE = MemcachedPlain

    def add(self, name, seconds=3600):
        self.assertEqual(self.server.ask(f"add {name} 0 {seconds} 1\r\n1"), "STORED")

    def test_a_key_of_theirs_keeps_us_out_until_it_is_deleted(self):
        self.add("orders")
        self.assertEqual(self.call("run", "-n", "orders", "--", "true")[0], 75)
        waiter = self.start("run", "--verbose", "orders", "--", "echo", "next")
        RunAnywhere.await_waiting(waiter)
        self.assertEqual(self.server.ask("delete orders"), "DELETED")
        self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")

    def test_ours_keeps_them_out(self):
        holder = self.hold("orders")
        self.assertEqual(self.server.ask("add orders 0 60 1\r\n1"), "NOT_STORED")
        self.end(holder)
        self.add("orders")

    def test_a_holder_of_theirs_is_shown_and_ended(self):
        self.add("jobs", 0)
        holder = self.only_holder("jobs")
        self.assertEqual((holder["foreign"], holder["host"], holder["pid"]), (True, "", 0))
        self.assertLess(holder["lease_left_ms"], 0, "it never ends")
        self.assertIn("endless", self.call("show", "jobs")[1])
        code, out, _ = self.call("break", "jobs", "--fence", "0")
        self.assertEqual(code, 0)
        self.assertIn("another library", out)
        self.assertEqual(self.call("show", "jobs")[1], "jobs: free\n")


    def test_a_holder_of_theirs_with_an_empty_value_is_ended_too(self):
        self.assertEqual(self.server.ask("add jobs 0 0 0\r\n"), "STORED")
        self.assertTrue(self.only_holder("jobs")["foreign"])
        self.assertEqual(self.call("break", "jobs", "--fence", "0")[0], 0)
        self.assertEqual(self.call("show", "jobs")[1], "jobs: free\n")


class MemcachedPasswords(OnASite):
    SITE = Memcached

    @classmethod
    def setUpClass(cls):
        from memcached_server import MemcachedServer
        cls.server = MemcachedServer(f"app:{PASSWORD}")
        cls.addClassCleanup(cls.server.close)

    def test_is_needed_and_never_seen(self):
        at = self.server.address
        for who, code in ((f"app:{PASSWORD}@", 0), (f"app:{PASSWORD}-wrong@", 78), ("", 78)):
            with self.subTest(code=code):
                words = ["run", "--verbose", "-S", f"memcached://{who}{at}", "a", "--", "env"]
                got, out, err = self.call(*words)
                self.assertEqual(got, code, err)
                self.assertNotIn(PASSWORD, out + err)

    def test_is_said_by_no_command(self):
        at = self.server.address
        assert_never_said(self, PASSWORD, [
            f"memcached://app:{PASSWORD}@{at}", f"memcached://app:{PASSWORD}-wrong@{at}",
            f"memcached://app:{PASSWORD}@127.0.0.1:1?request_timeout=100ms"])

    def test_from_a_file(self):
        file = self.folder / "password"
        file.write_text(PASSWORD + "\n")
        store = f"memcached://app@{self.server.address}?password_file={file}"
        self.assertEqual(self.call("run", "-S", store, "a", "--", "true")[0], 0)


class MemcachedStandingStill(OnASite):
    SITE = Memcached

    def test_a_release_that_nobody_answers_is_not_called_one(self):
        self.use("?request_timeout=2s")
        self.make_gate()
        wrapper = self.hold("a", "--verbose", script="read line < go; exit 5")
        self.addCleanup(self.server.go_on)
        self.server.stand_still()
        self.open_gate()
        _, err = wrapper.communicate(timeout=30)
        self.assertEqual(wrapper.returncode, 5)
        self.assertRegex(err, r"s\] the store did not answer to the release; the lease ends it\n\Z")

    def test_a_signal_between_acquisition_and_start_waits_for_it_for_a_moment_only(self):
        """The wrapper stands at the line that tells of the one: the pipe has no room for it."""
        self.use("?request_timeout=25s")
        name = "a" * (PAGE - 30)
        wrapper = self.start("run", "--verbose", name, "--", "true", pipesize=PAGE)
        until(lambda: ": held\n" in self.call("show", name)[1])
        self.addCleanup(self.server.go_on)
        self.server.stand_still()
        wrapper.terminate()
        began = time.monotonic()
        wrapper.communicate(timeout=40)
        self.assertEqual(wrapper.returncode, -signal.SIGTERM)
        self.assertLess(time.monotonic() - began, 10)

    def test_a_command_is_ended_before_its_lease_is_over(self):
        wrapper = self.hold("a", "--lease", "4s")
        self.addCleanup(self.server.go_on)
        stopped = time.monotonic()
        self.server.stand_still()
        self.assertEqual(wrapper.wait(20), 76)
        self.assertLess(time.monotonic() - stopped, 4.5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
