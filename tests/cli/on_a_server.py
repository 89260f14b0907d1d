"""What holds for the program on every store with a server. Each has a class for it, which knows the
server: on_redis.py."""

import json
import signal
import socket

from program import until


class RunOnAServer:
    def test_the_commands_code_and_what_it_finds(self):
        code, out, err = self.call("run", "jobs/7", "--owner", "me", "--", "env", "-0")
        self.assertEqual((code, err), (0, ""))
        seen = dict(entry.split("=", 1) for entry in out.split("\0") if entry)
        self.assertEqual((seen["HOLDFAST_NAME"], seen["HOLDFAST_OWNER"]), ("jobs/7", "me"))
        self.assertEqual(seen["HOLDFAST_STORE"], self.store)
        self.assertGreater(int(seen["HOLDFAST_FENCE"]), 0)
        self.assertEqual(self.call("run", "a", "--", "sh", "-c", "exit 42")[0], 42)
        self.assertEqual(self.listed(), [])

    def test_two_exclude_each_other(self):
        holder = self.hold("a")
        self.assertEqual(self.call("run", "-n", "a", "--", "true"), (75, "", ""))
        self.assertEqual(self.call("run", "-w", "50ms", "a", "--", "true"), (75, "", ""))
        waiter = self.start("run", "a", "--", "echo", "next")
        until(lambda: self.waiters("a") == 1)
        self.end(holder)
        self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")

    def test_fences_rise(self):
        show = ["run", "a", "--", "sh", "-c", "echo $HOLDFAST_FENCE"]
        fences = [int(self.call(*show)[1]) for _ in range(3)]
        self.assertEqual(fences, sorted(set(fences)))

    def test_several_names_are_taken_all_or_none(self):
        self.hold("b")
        self.assertEqual(self.call("run", "-n", "a", "b", "--", "true")[0], 75)
        self.assertEqual([found["name"] for found in self.listed()], ["b"])
        code, out, _ = self.call("run", "-n", "c", "a", "--", "sh", "-c", 'echo "$HOLDFAST_NAME"')
        self.assertEqual((code, out), (0, "a\nc\n"))

    def test_slots(self):
        self.hold("a", "-j", "2")
        last = self.hold("a", "-j", "2")
        self.assertEqual(self.call("run", "-n", "-j", "2", "a", "--", "true")[0], 75)
        self.end(last)
        self.assertEqual(self.call("run", "-n", "-j", "2", "a", "--", "true")[0], 0)
        self.assert_refused(["run", "-j", "3", "a", "--", "true"], 78, "a: ", "2 permits")

    def test_shared(self):
        self.hold("a", "-s")
        self.assertEqual(self.call("run", "-n", "-s", "a", "--", "true")[0], 0)
        self.assertEqual(self.call("run", "-n", "a", "--", "true")[0], 75)

    def test_a_signal_while_it_waits(self):
        self.hold("a")
        waiter = self.start("run", "a", "--", "true")
        until(lambda: self.waiters("a") == 1)
        waiter.terminate()
        self.assertEqual(waiter.wait(20), -signal.SIGTERM)
        self.assertEqual(self.waiters("a"), 0)

    def test_each_step_is_told(self):
        code, _, err = self.call("run", "--verbose", "a", "--", "true")
        self.assertEqual(code, 0)
        self.assertIn(f"connected to {self.store}\n", err)


class Administering:
    """What the tests of `list`, `show` and `break` share."""

    LEAST_FENCE = 1

    def shown(self, name):
        code, out, err = self.call("show", name, "--json")
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def only_holder(self, name):
        (found,) = self.shown(name)
        self.assertEqual((found["name"], found["waiters"]), (name, []))
        (holder,) = found["holders"]
        return holder

    def check_ours(self):
        process = self.hold("jobs/7", "--owner", "nightly", "--lease", "20s")
        holder = self.only_holder("jobs/7")
        self.assertEqual((holder["owner"], holder["pid"]), ("nightly", process.pid))
        self.assertEqual((holder["host"], holder["foreign"]), (socket.gethostname(), False))
        self.assertGreaterEqual(holder["fence"], self.LEAST_FENCE)
        self.assertTrue(0 < holder["lease_left_ms"] <= 20_000, holder)
        page = self.call("show", "jobs/7")[1]
        self.assertTrue(page.startswith("jobs/7: held\n"), page)
        for word in ("nightly", str(holder["fence"]), socket.gethostname(), str(process.pid)):
            self.assertIn(word, page)
        (row,) = self.call("list", "jobs/")[1].splitlines()[1:]
        self.assertRegex(row, rf"^jobs/7 +held +nightly +{holder['fence']} ")
        return holder

    def check_waiters_in_order(self):
        self.hold("deploy", "--owner", "first")
        for place, owner in enumerate(("second", "third"), 1):
            self.start("run", "--owner", owner, "deploy", "--", "true")
            until(lambda: self.waiters("deploy") == place)
        (found,) = self.shown("deploy")
        self.assertEqual([w["owner"] for w in found["waiters"]], ["second", "third"])
        self.assertEqual({w["fence"] for w in found["waiters"]}, {0})

    def check_breaking_ours(self):
        self.hold("deploy", "--owner", "first")
        fence = self.only_holder("deploy")["fence"]
        self.assert_refused(["break", "deploy", "--fence", str(fence - 1)], 1, f"fence {fence}\n")
        self.assert_refused(["break", "deploy", "--fence", "0"], 1, "it is held")
        waiter = self.start("run", "deploy", "--", "sh", "-c", "echo $HOLDFAST_FENCE")
        code, out, err = self.call("break", "deploy", "--fence", str(fence))
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"deploy: ended the hold of first with fence {fence};", out)
        self.assertGreater(int(waiter.communicate(timeout=20)[0]), fence)

    def check_that_the_holder_learns_of_it(self):
        holder = self.hold("deploy", "--lease", "3s")
        fence = self.only_holder("deploy")["fence"]
        self.assertEqual(self.call("break", "deploy", "--fence", str(fence))[0], 0)
        _, err = holder.communicate(timeout=20)
        self.assertEqual(holder.returncode, 76)
        self.assertIn(f"deploy: hold with fence {fence} lost", err)

    def check_what_is_free(self):
        self.assertEqual(self.call("show", "deploy"), (0, "deploy: free\n", ""))
        self.assertEqual(self.shown("deploy"), [])
        self.assert_refused(["break", "deploy", "--fence", "7"], 1, "it is free\n")
        self.assert_refused(["break", "deploy", "--fence", "0"], 1, "it is free\n")

    def check_breaking_theirs(self, hold_by_them):
        hold_by_them("deploy")
        hold_by_them("deployment")
        waiter = self.start("run", "deploy", "--", "echo", "in")
        code, out, err = self.call("break", "deploy", "--fence", "0")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\Adeploy: ended what another library held; [^\n]*\n\Z")
        self.assertEqual(waiter.communicate(timeout=20)[0], "in\n")
        self.assertIs(self.only_holder("deployment")["foreign"], True)
