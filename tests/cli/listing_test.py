"""Who holds and who waits, and ending a hold: `holdfast list`, `show` and `break`."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import unicodedata
import unittest

from program import PROGRAM, OnALocalStore, until

# Of every kind that would steer a terminal, break a line or turn the direction of writing.
STEERING = "\x1b[2J\n\x7f\x9b\u2028\u2029\u202e\u2066\u200f"
ESCAPED = "\\x1b[2J\\x0a\\x7f\\xc2\\x9b" + "".join(
    f"\\x{byte:02x}" for byte in "\u2028\u2029\u202e\u2066\u200f".encode()
)


def columns(text):
    """As a terminal counts them."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


class Listing(OnALocalStore):
    def test_an_empty_store(self):
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.call("list"), (0, "", ""))

    def test_holders_and_waiters(self):
        self.hold("jobs/1", "--owner", "first")
        self.start("run", "--owner", "second", "jobs/1", "--", "true")
        until(lambda: self.waiters("jobs/1") == 1)
        self.hold("other")
        (job,) = self.listed("jobs/")
        self.assertEqual(job["name"], "jobs/1")
        (holder,), (waiter,) = job["holders"], job["waiters"]
        self.assertEqual(set(holder), {"owner", "fence", "lease_left_ms", "weight", "capacity"})
        self.assertEqual((holder["owner"], waiter["owner"]), ("first", "second"))
        self.assertGreater(holder["fence"], 0)
        self.assertLessEqual(holder["lease_left_ms"], 30000)
        self.assertEqual([r["name"] for r in self.listed()], ["jobs/1", "other"])

    def test_the_fence_keeps_all_its_digits(self):
        script = "echo $HOLDFAST_FENCE; exec sleep 60"
        fence = self.start("run", "a", "--", "sh", "-c", script).stdout.readline().strip()
        self.assertGreater(int(fence), 0)
        self.assertIn(f'"fence": {fence},', self.call("list", "--json")[1])

    def test_a_name_cannot_steer_the_terminal(self):
        self.hold("a" + STEERING, "--owner", "b" + STEERING)
        _, out, _ = self.call("list")
        self.assertIn("a" + ESCAPED, out)
        self.assertIn("b" + ESCAPED, out)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertEqual([r["name"] for r in self.listed()], ["a" + STEERING])
        self.assertTrue(self.call("list", "--json")[1].isascii())

    def test_bytes_that_are_no_utf_8_are_shown_and_no_others(self):
        self.hold("caf\u00e9 \udcff\udcc3 \\")
        self.assertIn("caf\u00e9 \\xff\\xc3 \\\\  held", self.call("list")[1])

    def test_columns_are_aligned_by_what_is_seen(self):
        names = ("a", "cafe\u0301", "\u4e2d\u6587", "\U0001f512", "ordinary")
        for name in names:
            self.hold(name)
        head, *rows = self.call("list")[1].splitlines()
        self.assertEqual(head.index("STATE"), len("ordinary") + 2, "and not wider than needed")
        self.assertEqual([row.split("  ")[0].strip() for row in rows], sorted(names))
        for row in rows:
            self.assertEqual(columns(row[: row.index("held")]), head.index("STATE"), row)

    def test_numbers_end_in_one_column(self):
        self.hold("a")
        self.start("run", "a", "--", "true")
        until(lambda: self.waiters("a") == 1)
        head, *rows = self.call("list")[1].splitlines()
        end = head.index("FENCE") + len("FENCE")
        self.assertEqual([row[:end][-1].isdigit() for row in rows], [True, False])
        self.assertEqual([row[end] for row in rows], [" ", " "])

    def test_shares_in_words(self):
        self.hold("a")
        self.hold("b", "-s")
        self.hold("c", "-j", "3")
        rows = self.call("list")[1].splitlines()[1:]
        self.assertEqual([row.split("  ")[-1].strip() for row in rows], ["all", "shared", "1 of 3"])

    def test_a_prefix_may_start_with_a_dash(self):
        self.assertEqual(self.call("list", "--", "-a"), (0, "", ""))
        self.assert_refused(["list", "--", "-a", "b"], 64, "b")


class Showing(OnALocalStore):
    def shown(self, name):
        code, out, err = self.call("show", name, "--json")
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def test_who_is_there_and_where_from(self):
        holder = self.hold("deploy", "--owner", "first")
        waiter = self.start("run", "--owner", "second", "deploy", "--", "true")
        until(lambda: self.waiters("deploy") == 1)
        self.hold("deployment")
        (found,) = self.shown("deploy")
        self.assertEqual(found["name"], "deploy")
        (held,), (waits,) = found["holders"], found["waiters"]
        listed = {"owner", "fence", "lease_left_ms", "weight", "capacity"}
        self.assertEqual(set(held), listed | {"host", "pid", "age_ms", "foreign"})
        self.assertIs(held["foreign"], False)
        self.assertEqual((held["owner"], held["pid"]), ("first", holder.pid))
        self.assertEqual((waits["owner"], waits["pid"]), ("second", waiter.pid))
        self.assertEqual({held["host"], waits["host"]}, {socket.gethostname()})
        self.assertGreaterEqual(held["age_ms"], waits["age_ms"])
        until(lambda: self.shown("deploy")[0]["holders"][0]["age_ms"] > held["age_ms"])

    def test_a_page_for_people(self):
        holder = self.hold("deploy", "--owner", "first")
        for place, owner in enumerate(("second", "third"), 1):
            self.start("run", "--owner", owner, "deploy", "--", "true")
            until(lambda: self.waiters("deploy") == place)
        summary, empty, head, *rows = self.call("show", "deploy")[1].splitlines()
        self.assertEqual((summary, empty), ("deploy: held, 2 waiting", ""))
        self.assertEqual(
            head.split(), "STATE FENCE FOR LEASE LEFT SHARE OWNER HOST PID".split()
        )
        owners = [row[head.index("OWNER") :].split()[0] for row in rows]
        self.assertEqual(owners, ["first", "second", "third"])
        self.assertEqual([row.split()[0] for row in rows], ["held", "waiting", "waiting"])
        self.assertTrue(rows[0].endswith(f" {holder.pid}"), rows[0])

    def test_several_holders_are_counted(self):
        self.hold("pool", "-j", "3")
        self.hold("pool", "-j", "3")
        self.assertEqual(self.call("show", "pool")[1].splitlines()[0], "pool: held by 2")

    def test_a_free_resource(self):
        self.hold("deployment")
        self.assertEqual(self.call("show", "deploy"), (0, "deploy: free\n", ""))
        self.assertEqual(self.shown("deploy"), [])

    def test_a_name_cannot_steer_the_terminal(self):
        self.hold("a" + STEERING, "--owner", "b" + STEERING)
        _, out, _ = self.call("show", "a" + STEERING)
        self.assertIn("a" + ESCAPED + ": held\n", out)
        self.assertIn("b" + ESCAPED, out)

    def test_a_name_may_start_with_a_dash(self):
        self.assertEqual(self.call("show", "--", "-n"), (0, "-n: free\n", ""))

    def test_usage(self):
        self.assert_refused(["show"], 64, "NAME")
        self.assert_refused(["show", ""], 64, "name is empty")
        self.assert_refused(["show", "a", "b"], 64, "b")

    def test_help_teaches_by_example(self):
        self.assertIn("holdfast show deploy --json", self.call("show", "--help")[1])


class Breaking(OnALocalStore):
    def fence_of(self, name, place=0):
        (found,) = [r for r in self.listed(name) if r["name"] == name]
        return found["holders"][place]["fence"]

    def test_the_next_gets_its_turn_at_once(self):
        self.hold("deploy", "--owner", "first", "--lease", "1h")
        waiter = self.start("run", "deploy", "--", "sh", "-c", "echo $HOLDFAST_FENCE")
        until(lambda: self.waiters("deploy") == 1)
        fence = self.fence_of("deploy")
        code, out, err = self.call("break", "deploy", "--fence", str(fence))
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(
            out, rf"\Adeploy: ended the hold of first with fence {fence}; .*third of its lease\n\Z"
        )
        self.assertGreater(int(waiter.communicate(timeout=20)[0]), fence)

    def test_the_holder_learns_of_it(self):
        holder = self.hold("deploy", "--lease", "1s")
        fence = self.fence_of("deploy")
        self.assertEqual(self.call("break", "deploy", "--fence", str(fence))[0], 0)
        _, err = holder.communicate(timeout=20)
        self.assertEqual(holder.returncode, 76)
        self.assertIn(f"deploy: hold with fence {fence} lost", err)

    def test_one_of_several(self):
        self.hold("pool", "-j", "2")
        self.hold("pool", "-j", "2")
        first, second = self.fence_of("pool", 0), self.fence_of("pool", 1)
        self.assertEqual(self.call("break", "pool", "--fence", str(second))[0], 0)
        (pool,) = self.listed()
        self.assertEqual([holder["fence"] for holder in pool["holders"]], [first])

    def test_no_such_hold_says_what_is_there_instead(self):
        self.hold("deploy")
        fence = self.fence_of("deploy")
        words = ["break", "deploy", "--fence", "12"]
        self.assert_refused(words, 1, "deploy: no hold has fence 12", f"held with fence {fence}\n")
        self.assert_refused(["break", "dep", "--fence", str(fence)], 1, "dep: no hold", "is free\n")
        self.assertEqual(self.fence_of("deploy"), fence)

    def test_nought_ends_nobody_who_has_a_fence(self):
        self.hold("deploy")
        fence = self.fence_of("deploy")
        words = ["break", "deploy", "--fence", "0"]
        self.assert_refused(words, 1, "another library; it is held", f"with fence {fence}\n")
        self.assertEqual(self.fence_of("deploy"), fence)

    def test_an_owner_cannot_steer_the_terminal(self):
        self.hold("a", "--owner", "b" + STEERING)
        _, out, _ = self.call("break", "a", "--fence", str(self.fence_of("a")))
        self.assertIn("b" + ESCAPED, out)

    def test_usage(self):
        self.assert_refused(["break", "a"], 64, "--fence")
        self.assert_refused(["break", "--fence", "1"], 64, "NAME")
        self.assert_refused(["break", "", "--fence", "1"], 64, "name is empty")
        for nonsense in ("-1", "x", "1x", "1.5", "99999999999999999999", " 1"):
            with self.subTest(nonsense):
                self.assert_refused(["break", "a", "--fence", nonsense], 64, "--fence")

    def test_help_teaches_by_example_and_names_the_exit_code(self):
        out = self.call("break", "--help")[1]
        self.assertIn("holdfast show deploy", out)
        self.assertIn("1 there is no such hold", out)


class Output(OnALocalStore):
    COMMANDS = (["list"], ["list", "--json"], ["show", "a"], ["show", "a", "--json"], ["--help"])

    def setUp(self):
        super().setUp()
        self.hold("a")
        self.environment["TERM"] = "xterm-256color"
        self.environment.pop("NO_COLOR", None)

    def on_a_terminal(self, *words, **variables):
        leader, follower = pty.openpty()
        self.addCleanup(os.close, leader)
        done = subprocess.run(
            [PROGRAM, *words], env={**self.environment, **variables},
            stdout=follower, stderr=subprocess.PIPE, timeout=20,
        )
        os.close(follower)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return os.read(leader, 65536).decode()

    def test_is_coloured_on_a_terminal(self):
        for words in (["list"], ["show", "a"]):
            out = self.on_a_terminal(*words)
            self.assertIn("\x1b[1mSTATE\x1b[0m", out)
            self.assertIn("\x1b[32mheld\x1b[0m", out)
        self.assertIn("\x1b[32mheld\x1b[0m", self.on_a_terminal("list", NO_COLOR=""))

    def test_has_no_colour_where_none_is_wanted(self):
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            for words in self.COMMANDS:
                self.assertNotIn("\x1b", self.on_a_terminal(*words, **variables))
        for words in self.COMMANDS:
            self.assertNotIn("\x1b", self.call(*words)[1])
        self.assertNotIn("\x1b", self.on_a_terminal("list", "--json"))

    def test_is_aligned_with_colour_as_without(self):
        coloured = self.on_a_terminal("list")
        for code in ("\x1b[0m", "\x1b[1m", "\x1b[32m"):
            coloured = coloured.replace(code, "")
        head, row = coloured.splitlines()
        self.assertEqual(head.index("OWNER"), row.index(socket.gethostname()))

    def test_that_a_full_device_refuses_is_told(self):
        for words in self.COMMANDS:
            with self.subTest(words), open("/dev/full", "w") as full:
                done = subprocess.run(
                    [PROGRAM, *words], env=self.environment,
                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=20,
                )
                self.assertEqual(done.returncode, 74)
                self.assertRegex(done.stderr, r"\Aholdfast: [^\n]*No space left[^\n]*\n\Z")

    def test_that_nobody_reads_ends_it_silently(self):
        for prepared in ("", "trap '' PIPE;"):
            for words in self.COMMANDS:
                with self.subTest(words):
                    reader, writer = os.pipe()
                    os.close(reader)
                    done = subprocess.run(
                        ["sh", "-c", f'{prepared} exec "$0" "$@"', PROGRAM, *words],
                        env=self.environment, stdout=writer, stderr=subprocess.PIPE, timeout=20,
                    )
                    os.close(writer)
                    self.assertEqual((done.returncode, done.stderr), (74, b""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
