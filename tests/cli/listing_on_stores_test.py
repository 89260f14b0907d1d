"""`holdfast list`, `show` and `break` on every store that processes share."""

import socket
import sys
import unittest

from program import Shown, until
from sites import OF_OTHERS, STORES, RedisPlain, Redisson, on_each


LISTED = {"owner", "fence", "lease_left_ms", "weight", "capacity"}
SHOWN = LISTED | {"host", "pid", "age_ms", "foreign"}


class ListingAnywhere(Shown):
    """In the layouts of others, too."""

    def test_a_holder(self):
        process = self.hold("jobs/7", "--owner", "nightly", "--lease", "20s")
        holder = self.only_holder("jobs/7")
        self.assertEqual(set(holder), SHOWN)
        self.assertEqual(set(self.listed("jobs/")[0]["holders"][0]), LISTED)
        self.assertEqual((holder["owner"], holder["pid"]), ("nightly", process.pid))
        self.assertEqual((holder["host"], holder["foreign"]), (socket.gethostname(), False))
        self.assertGreaterEqual(holder["fence"], self.SITE.LEAST_FENCE)
        self.assertTrue(0 < holder["lease_left_ms"] <= 20_000, holder)
        if self.SITE.TELLS_AGE:
            self.assertTrue(0 <= holder["age_ms"] < 10_000, holder)
            until(lambda: self.only_holder("jobs/7")["age_ms"] > holder["age_ms"])
        page = self.call("show", "jobs/7")[1]
        self.assertTrue(page.startswith("jobs/7: held\n"), page)
        for word in ("nightly", str(holder["fence"]), socket.gethostname(), str(process.pid)):
            self.assertIn(word, page)
        (row,) = self.call("list", "jobs/")[1].splitlines()[1:]
        self.assertRegex(row, rf"^jobs/7 +held +nightly +{holder['fence']} ")

    def test_breaking(self):
        self.hold("deploy", "--owner", "first")
        fence = self.only_holder("deploy")["fence"]
        for name, wrong, parts in (
            ("deploy", fence - 1, (f"deploy: no hold has fence {fence - 1}", f"fence {fence}\n")),
            ("deploy", 0, ("another library; it is held", f"with fence {fence}\n")),
            ("dep", fence, ("dep: no hold", "is free\n")),
        ):
            with self.subTest(name=name, fence=wrong):
                self.assert_refused(["break", name, "--fence", str(wrong)], 1, *parts)
        self.assertEqual(self.only_holder("deploy")["fence"], fence)
        waiter = self.start("run", "deploy", "--", "sh", "-c", "echo $HOLDFAST_FENCE")
        code, out, err = self.call("break", "deploy", "--fence", str(fence))
        self.assertEqual((code, err), (0, ""))
        ended = f"deploy: ended the hold of first with fence {fence}"
        self.assertRegex(out, rf"\A{ended}; .*third of its lease\n\Z")
        self.assertGreater(int(waiter.communicate(timeout=20)[0]), fence)

    def test_the_holder_learns_that_it_was_broken(self):
        holder = self.hold("deploy", "--lease", "3s")
        fence = self.only_holder("deploy")["fence"]
        self.assertEqual(self.call("break", "deploy", "--fence", str(fence))[0], 0)
        _, err = holder.communicate(timeout=20)
        self.assertEqual(holder.returncode, 76)
        self.assertIn(f"deploy: hold with fence {fence} lost", err)

    def test_what_is_free(self):
        self.hold("deployment")
        self.assertEqual(self.call("show", "deploy"), (0, "deploy: free\n", ""))
        self.assertEqual(self.shown("deploy"), [])
        self.assert_refused(["break", "deploy", "--fence", "7"], 1, "it is free\n")
        self.assert_refused(["break", "deploy", "--fence", "0"], 1, "it is free\n")


class Listing(ListingAnywhere):
    """Where there is a line."""

    def test_all_of_them(self):
        for name in self.SITE.NAMES:
            self.hold(name)
        self.assertEqual(self.names(), self.SITE.NAMES)
        self.assertEqual(self.names("a/b"), self.SITE.NAMES[1:3])
        self.assertEqual(self.names("b{"), ["b{c}*"])

    def test_waiters_in_order(self):
        self.hold("deploy", "--owner", "first")
        waiters = [self.wait("deploy", options=["--owner", owner], place=place)
                   for place, owner in enumerate(("second", "third"), 1)]
        self.hold("deployment")
        (found,) = self.shown("deploy")
        self.assertEqual([w["owner"] for w in found["waiters"]], ["second", "third"])
        self.assertEqual([w["pid"] for w in found["waiters"]], [w.pid for w in waiters])
        self.assertEqual({w["fence"] for w in found["waiters"]}, {0})
        self.assertEqual({w["host"] for w in found["waiters"]}, {socket.gethostname()})
        if self.SITE.TELLS_AGE:
            ages = [one["age_ms"] for one in found["holders"] + found["waiters"]]
            self.assertEqual(ages, sorted(ages, reverse=True))
        (listed,) = [r for r in self.listed("depl") if r["name"] == "deploy"]
        self.assertEqual([w["owner"] for w in listed["waiters"]], ["second", "third"])

    def test_shares(self):
        self.hold("a", "-s")
        self.hold("b", "-j", "3")
        self.hold("c")
        rows = self.call("list")[1].splitlines()[1:]
        self.assertEqual([row.split("  ")[-1].strip() for row in rows], ["shared", "1 of 3", "all"])


class ListingTheirs(Shown):
    """What others hold."""

    def hold_theirs(self, kind, name):
        getattr(self.SITE, f"hold_by_{kind}")(self, name)

    def test_a_holder_of_theirs(self):
        for kind in self.SITE.THEIRS:
            with self.subTest(kind):
                self.hold_theirs(kind, f"jobs/{kind}")
                holder = self.only_holder(f"jobs/{kind}")
                self.assertIs(holder["foreign"], True)
                self.assertEqual((holder["host"], holder["pid"]), ("", 0))
                self.assertEqual(holder["weight"], holder["capacity"])
        self.assertEqual(self.names("jobs/"), sorted(f"jobs/{kind}" for kind in self.SITE.THEIRS))

    def test_breaking_theirs_lets_the_next_in(self):
        kind = self.SITE.THEIRS[0]
        self.hold_theirs(kind, "deploy")
        self.hold_theirs(kind, "deployment")
        waiter = self.start("run", "deploy", "--", "echo", "in")
        code, out, err = self.call("break", "deploy", "--fence", "0")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\Adeploy: ended what another library held; [^\n]*\n\Z")
        self.assertEqual(waiter.communicate(timeout=20)[0], "in\n")
        self.assertIs(self.only_holder("deployment")["foreign"], True)


on_each(STORES, Listing, globals())
on_each((RedisPlain, Redisson), ListingAnywhere, globals())
on_each(OF_OTHERS, ListingTheirs, globals())

if __name__ == "__main__":
    unittest.main(argv=sys.argv)
