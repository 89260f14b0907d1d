"""Who holds and who waits, and ending a hold: `holdfast list`, `show` and `break`."""

import errno
import os
import pty
import socket
import sys
import unicodedata
import unittest

from program import PROGRAM, OnALocalStore

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
        self.wait("a")
        head, *rows = self.call("list")[1].splitlines()
        end = head.index("FENCE") + len("FENCE")
        self.assertEqual([row[:end][-1].isdigit() for row in rows], [True, False])
        self.assertEqual([row[end] for row in rows], [" ", " "])

    def test_a_prefix_may_start_with_a_dash(self):
        self.assertEqual(self.call("list", "--", "-a"), (0, "", ""))
        self.assert_refused(["list", "--", "-a", "b"], 64, "b")


class Showing(OnALocalStore):
    def test_a_page_for_people(self):
        holder = self.hold("deploy", "--owner", "first")
        for place, owner in enumerate(("second", "third"), 1):
            self.wait("deploy", options=["--owner", owner], place=place)
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

    def test_a_name_cannot_steer_the_terminal(self):
        self.hold("a" + STEERING, "--owner", "b" + STEERING)
        _, out, _ = self.call("show", "a" + STEERING)
        self.assertIn("a" + ESCAPED + ": held\n", out)
        self.assertIn("b" + ESCAPED, out)

    def test_a_name_may_start_with_a_dash(self):
        self.assertEqual(self.call("show", "--", "-n"), (0, "-n: free\n", ""))

    def test_usage(self):
        self.assert_each_refused(
            64, (["show"], "NAME"), (["show", ""], "name is empty"), (["show", "a", "b"], "b"))

    def test_help_teaches_by_example(self):
        self.assertIn("holdfast show deploy --json", self.call("show", "--help")[1])


class Breaking(OnALocalStore):
    def fence_of(self, name, place=0):
        (found,) = [r for r in self.listed(name) if r["name"] == name]
        return found["holders"][place]["fence"]

    def test_one_of_several(self):
        self.hold("pool", "-j", "2")
        self.hold("pool", "-j", "2")
        first, second = self.fence_of("pool", 0), self.fence_of("pool", 1)
        self.assertEqual(self.call("break", "pool", "--fence", str(second))[0], 0)
        (pool,) = self.listed()
        self.assertEqual([holder["fence"] for holder in pool["holders"]], [first])

    def test_an_owner_cannot_steer_the_terminal(self):
        self.hold("a", "--owner", "b" + STEERING)
        _, out, _ = self.call("break", "a", "--fence", str(self.fence_of("a")))
        self.assertIn("b" + ESCAPED, out)

    def test_usage(self):
        nonsense = ("-1", "x", "1x", "1.5", "99999999999999999999", " 1")
        self.assert_each_refused(
            64,
            (["break", "a"], "--fence"),
            (["break", "--fence", "1"], "NAME"),
            (["break", "", "--fence", "1"], "name is empty"),
            *((["break", "a", "--fence", number], "--fence") for number in nonsense),
        )

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
        code, _, err = self.run_to_end(
            [PROGRAM, *words], env=self.environment | variables, stdout=follower)
        os.close(follower)
        self.assertEqual((code, err), (0, ""))
        return self.all_of(leader).decode()

    def all_of(self, leader):
        """What was written: a terminal hands it on in pieces, and ends with an error."""
        pieces = []
        try:
            while piece := os.read(leader, 65536):
                pieces.append(piece)
        except OSError as error:
            self.assertEqual(error.errno, errno.EIO)
        return b"".join(pieces)

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
                code, _, err = self.run_to_end([PROGRAM, *words], stdout=full)
                self.assertEqual(code, 74)
                self.assertRegex(err, r"\Aholdfast: [^\n]*No space left[^\n]*\n\Z")

    def test_that_nobody_reads_ends_it_silently(self):
        for prepared in ("", "trap '' PIPE;"):
            for words in self.COMMANDS:
                with self.subTest(words):
                    reader, writer = os.pipe()
                    os.close(reader)
                    shell = ["sh", "-c", f'{prepared} exec "$0" "$@"', PROGRAM]
                    code, _, err = self.run_to_end([*shell, *words], stdout=writer)
                    os.close(writer)
                    self.assertEqual((code, err), (74, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
