"""Who holds and who waits: `holdfast list`."""

import subprocess
import sys
import unittest

from program import PROGRAM, OnALocalStore, until


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

    def test_a_full_device_is_told(self):
        self.hold("a")
        for words in (["list"], ["list", "--json"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run(
                    [PROGRAM, *words], env=self.environment,
                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=20,
                )
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"\Aholdfast: [^\n]*No space left[^\n]*\n\Z")

    def test_a_name_cannot_steer_the_terminal(self):
        self.hold("a\x1b[2J\n")
        _, out, _ = self.call("list")
        self.assertIn("a\\x1b[2J\\x0a", out)
        self.assertEqual([r["name"] for r in self.listed()], ["a\x1b[2J\n"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
