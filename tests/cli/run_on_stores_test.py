"""`holdfast run` on every store that processes share."""

import re
import signal
import socket
import sys
import time
import unittest

from own_process import LoopbackPort
from program import PROGRAM, until
from sites import (OF_OTHERS, PASSWORD, SERVERS, STORES, RedisPlain, Redisson,
                   assert_never_said, on_each)


class RunAnywhere:
    """In the layouts of others, too."""

    def test_the_commands_code_and_what_it_finds(self):
        code, out, err = self.call("run", "jobs/7", "--owner", "me", "--", "env", "-0")
        self.assertEqual((code, err), (0, ""))
        seen = dict(entry.split("=", 1) for entry in out.split("\0") if entry)
        self.assertEqual((seen["HOLDFAST_NAME"], seen["HOLDFAST_OWNER"]), ("jobs/7", "me"))
        self.assertEqual(seen["HOLDFAST_STORE"], self.store)
        self.assertGreaterEqual(int(seen["HOLDFAST_FENCE"]), self.SITE.LEAST_FENCE)
        self.assertEqual(self.call("run", "a", "--", "sh", "-c", "exit 42")[0], 42)
        self.assertEqual(self.call("show", "jobs/7")[1], "jobs/7: free\n")

    def test_two_exclude_each_other(self):
        holder = self.hold("a")
        self.assertTrue(self.is_held("a"))
        self.assertTrue(self.is_held("a", "-w", "50ms"))
        waiter = self.start("run", "--verbose", "a", "--", "echo", "next")
        self.await_waiting(waiter)
        self.end(holder)
        self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")

    @staticmethod
    def await_waiting(wrapper):
        """One that tells each step."""
        while line := wrapper.stderr.readline():
            if "waiting" in line:
                return

    def test_a_trial_finds_that_promises_are_kept(self):
        words = ("verify", "--time", "1s", "--clients", "2", "--lease", "1s", "--kills")
        code, out, err = self.call(*words)
        self.assertEqual((code, err), (0, ""), out)
        self.assertTrue(out.startswith(f"{self.store}: every promise was kept\n"), out)

    def test_fences_rise(self):
        show = ["run", "a", "--", "sh", "-c", "echo $HOLDFAST_FENCE"]
        fences = [int(self.call(*show)[1]) for _ in range(3)]
        self.assertEqual(fences, sorted(set(fences)))

    def test_several_names_are_taken_all_or_none(self):
        holder = self.hold("b")
        self.assertEqual(self.call("run", "-n", "a", "b", "--", "true")[0], 75)
        self.assertEqual(self.call("show", "a")[1], "a: free\n")
        self.end(holder)
        script = 'echo "$HOLDFAST_NAME"; echo "$HOLDFAST_FENCE" | wc -w'
        code, out, _ = self.call("run", "-n", "b", "a", "b", "--", "sh", "-c", script)
        self.assertEqual((code, out), (0, "a\nb\n2\n"))

    def test_inside_another(self):
        inner = [PROGRAM, "run", "-n", "a", "--", "echo", "inner"]
        self.assertEqual(self.call("run", "a", "--", *inner)[:2], (75, ""))
        self.assertEqual(self.call("run", "b", "--", *inner)[:2], (0, "inner\n"))
        inner.insert(2, "--reenter")
        if self.SITE.REENTERS:
            self.assertEqual(self.call("run", "a", "--", *inner)[:2], (0, "inner\n"))
        else:
            self.assert_refused(["run", "--reenter", "a", "--", "true"], 64, "re-entry")

    def test_a_killed_wrapper_is_followed_after_its_lease(self):
        self.use_brief_leases()
        lease = ["--lease", "30s" if self.SITE.NOTICES_DEATH else self.SITE.BRIEF]
        holder = self.hold("a", *lease)
        killed = time.monotonic()
        holder.kill()
        again = ["run", "-w", "20s", *lease, "a", "--", "echo", "next"]
        self.assertEqual(self.call(*again)[1], "next\n")
        if not self.SITE.NOTICES_DEATH:
            self.assertGreater(time.monotonic() - killed, 0.4, "its lease is not cut short")

    def test_the_lease_is_renewed_for_as_long_as_the_command_runs(self):
        self.use_brief_leases()
        lease = ["--lease", "2s"]
        self.hold("a", *lease)
        self.assertTrue(self.is_held("a", "-w", "4s", *lease))

    def use_brief_leases(self):
        self.use(self.SITE.PARAMETERS + self.SITE.FOR_BRIEF_LEASES)


class Run(RunAnywhere):
    """Where there is a line."""

    def test_slots(self):
        two = ("-n", "-j", "2")
        self.hold("a", *two)
        last = self.hold("a", *two)
        self.assertTrue(self.is_held("a", *two))
        self.end(last)
        self.assertFalse(self.is_held("a", *two))
        self.assert_refused(["run", "-j", "3", "a", "--", "true"], 78, "a: ", "2 permits")

    def test_shared(self):
        self.hold("a", "-s")
        self.assertFalse(self.is_held("a", "-n", "-s"))
        self.assertTrue(self.is_held("a"))

    def test_a_signal_while_it_waits(self):
        self.hold("a")
        waiter = self.wait("a")
        waiter.terminate()
        self.assertEqual(waiter.wait(20), -signal.SIGTERM)
        self.assertEqual(self.waiters("a"), 0)

    def test_each_step_is_told(self):
        code, _, err = self.call("run", "--verbose", "a", "--", "true")
        self.assertEqual(code, 0)
        self.assertIn(f"connected to {self.store}\n", err)

    def test_wrong_urls_are_bad_configuration(self):
        for parameters, parts in self.SITE.WRONG_URLS:
            with self.subTest(parameters):
                url = self.server.url(parameters)
                self.assert_refused(["run", "-S", url, "a", "--", "true"], 78, *parts)


class RunByAServer:
    def test_a_signal_in_line_ends_it_at_once_while_the_server_stands_still(self):
        self.use(self.SITE.PARAMETERS + self.SITE.FOR_BRIEF_LEASES)
        self.hold("a")
        wrapper = self.wait("a", options=["--lease", self.SITE.BRIEF])
        self.addCleanup(self.server.go_on)
        self.server.stand_still()
        began = time.monotonic()
        wrapper.terminate()
        self.assertEqual(wrapper.wait(30), -signal.SIGTERM)
        self.assertLess(time.monotonic() - began, 10)
        self.server.go_on()
        until(lambda: self.waiters("a") == 0)

    def test_a_release_that_nobody_answers_is_not_called_one(self):
        self.call("run", "warm", "--", "true")  # to make tables and procedures takes longer
        self.use("?request_timeout=2s")
        self.make_gate()
        wrapper = self.hold("a", "--verbose", script="read line < go; exit 5")
        self.addCleanup(self.server.go_on)
        self.server.stand_still()
        self.open_gate()
        _, err = wrapper.communicate(timeout=30)
        self.assertEqual(wrapper.returncode, 5)
        self.assertNotIn("] released\n", err)
        self.assertRegex(err, r"s\] the store did not answer to the release; the lease ends it\n\Z")

    def test_nothing_listens(self):
        port = LoopbackPort()
        self.addCleanup(port.close)
        store = self.store.replace(self.server.address, f"127.0.0.1:{port.number}")
        store += "?connect_timeout=1s&request_timeout=2s"
        for words in (["run", "-n", "a", "--", "true"], ["list", "a"], ["show", "a"]):
            with self.subTest(words):
                where = f"{self.SITE.SCHEME} 127.0.0.1:{port.number}"
                self.assert_refused([words[0], "-S", store, *words[1:]], 69, where)

    def test_a_password_file_that_is_not_there_is_bad_configuration(self):
        url = self.server.url("?password_file=/nowhere/at/all")
        words = ["run", "-S", url, "a", "--", "true"]
        self.assert_refused(words, 78, "/nowhere/at/all", "cannot be read")


class BesideTheirs:
    """Locks that others hold."""

    def each_kind(self):
        for kind in self.SITE.THEIRS:
            with self.subTest(kind):
                yield lambda name: getattr(self.SITE, f"hold_by_{kind}")(self, name)

    def test_a_lock_of_theirs_keeps_us_out_until_it_is_given_back(self):
        for hold in self.each_kind():
            release = hold("orders")
            before = self.server.rest()
            self.assertEqual(self.call("run", "-n", "orders", "--", "true")[0], 75)
            self.assertEqual(self.server.rest(), before, "a try that fails leaves nothing")
            waiter = self.start("run", "--verbose", "orders", "--", "echo", "next")
            RunAnywhere.await_waiting(waiter)
            release()
            self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")


class Passwords:
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.SITE.demand_password(cls.server)

    def setUp(self):
        super().setUp()
        # Whoever asked before there was one may still be known.
        self.use(self.SITE.PARAMETERS)

    def with_password(self, password=PASSWORD, parameters=""):
        who = self.SITE.USER + (f":{password}" if password else "")
        where = re.sub(r"://(.*@)?", "", self.server.url()[len(self.SITE.SCHEME):])
        return f"{self.SITE.SCHEME}://{who + '@' if who else ''}{where}{parameters}"

    def test_is_never_seen(self):
        for password, expected in ((PASSWORD, 0), (PASSWORD + "-wrong", 78)):
            if password != PASSWORD and not self.SITE.WRONG_PASSWORD:
                continue
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

    def test_is_said_by_no_command(self):
        nobody = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", self.with_password())
        urls = [self.with_password(), self.with_password(PASSWORD + "-wrong"),
                nobody + "?request_timeout=100ms"]
        assert_never_said(self, PASSWORD, urls)

    def test_is_not_in_the_commands_environment(self):
        self.environment["HOLDFAST_STORE"] = self.with_password()
        code, out, err = self.call("run", "a", "--", "sh", "-c", 'echo "$HOLDFAST_STORE"')
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, self.with_password("") + "\n")

    def test_a_wrong_one_and_none(self):
        for password, part in (("wrong", self.SITE.WRONG_PASSWORD), ("", self.SITE.NO_PASSWORD)):
            if not part:
                continue
            with self.subTest(password):
                url = self.with_password(password)
                self.assert_refused(["run", "-S", url, "a", "--", "true"], 78, part)

    def test_from_a_file(self):
        file = self.folder / "password"
        file.write_text(PASSWORD + "\n")
        store = self.with_password("", f"?password_file={file}")
        # Inside another one it works as well: the store that the command finds names the file.
        inner = [PROGRAM, "run", "b", "--", "echo", "inner"]
        code, out, err = self.call("run", "--verbose", "-S", store, "a", "--", *inner)
        self.assertEqual((code, out), (0, "inner\n"), err)
        self.assertNotIn(PASSWORD, err)
        both = self.with_password(PASSWORD, f"?password_file={file}")
        self.assert_refused(["run", "-S", both, "a", "--", "true"], 78, "leave one of them out")
        if self.SITE.WRONG_PASSWORD:
            file.write_text("wrong\n")
            words = ["run", "-S", store, "a", "--", "true"]
            self.assert_refused(words, 78, self.SITE.WRONG_PASSWORD)

    def test_inside_another_one_tells_how_it_gets_it(self):
        if not self.SITE.NO_PASSWORD:
            self.skipTest("it would be another user")
        # The command does not find the password: a file is for that.
        inner = [PROGRAM, "run", "b", "--", "true"]
        code, out, err = self.call("run", "-S", self.with_password(), "a", "--", *inner)
        self.assertEqual((code, out), (78, ""))
        self.assertIn("password", err)


on_each(STORES, Run, globals())
on_each(SERVERS, RunByAServer, globals())
on_each((RedisPlain, Redisson), RunAnywhere, globals())
on_each(OF_OTHERS, BesideTheirs, globals())
on_each(SERVERS, Passwords, globals())

if __name__ == "__main__":
    unittest.main(argv=sys.argv)
