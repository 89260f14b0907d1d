"""`holdfast list`, `show` and `break` on Redis, in its three layouts."""

import sys
import unittest
import uuid

from on_a_server import Administering
from on_redis import OnRedis

SECRET = "a-value-that-gives-the-lock-back"
THEIR_OWNER = "8743c9c0-0795-4907-87fd-6c719a6b4586:57"


class Administered(Administering, OnRedis):
    """What holds in every layout."""

    LEAST_FENCE = 1_600_000_000_000_000

    def check_ours(self):
        holder = super().check_ours()
        self.assertTrue(0 <= holder["age_ms"] < 10_000, holder)

    def check_that_a_prefix_is_required(self):
        self.assert_refused(["list"], 64, "give a PREFIX")
        self.assert_refused(["list", "--json"], 64, "give a PREFIX")
        self.environment["HOLDFAST_STORE"] = self.store + "&prefix=jobs/"
        self.hold("7")
        self.assertEqual([found["name"] for found in self.listed()], ["7"])


class OnOurLayout(Administered):
    def test_ours(self):
        self.check_ours()

    def test_all_of_them(self):
        self.hold("a")
        self.hold("b{c}*")
        self.assertEqual([found["name"] for found in self.listed()], ["a", "b{c}*"])
        self.assertEqual([found["name"] for found in self.listed("b{")], ["b{c}*"])

    def test_waiters_in_order(self):
        self.check_waiters_in_order()

    def test_shares(self):
        self.hold("a", "-s")
        self.hold("b", "-j", "3")
        rows = self.call("list")[1].splitlines()[1:]
        self.assertEqual([row.split("  ")[-1].strip() for row in rows], ["shared", "1 of 3"])

    def test_breaking(self):
        self.check_breaking_ours()
        self.check_that_the_holder_learns_of_it()

    def test_what_is_free(self):
        self.check_what_is_free()


class OnThePlainLayout(Administered):
    PARAMETERS = "?layout=plain"

    def test_ours(self):
        self.check_ours()

    def test_a_prefix_is_required(self):
        self.check_that_a_prefix_is_required()

    def test_a_prefix_is_no_pattern(self):
        self.server.client.set("jobs/1", SECRET, px=60_000)
        for prefix in ("*", "j*", "job?", "[j]obs"):
            self.assertEqual(self.listed(prefix), [])

    def test_a_holder_of_theirs(self):
        self.server.client.set("jobs/1", SECRET, px=60_000)
        holder = self.only_holder("jobs/1")
        self.assertTrue(50_000 < holder.pop("lease_left_ms") <= 60_000)
        self.assertEqual(
            holder,
            {"owner": "", "fence": 0, "weight": 1_000_000_000, "capacity": 1_000_000_000,
             "host": "", "pid": 0, "age_ms": None, "foreign": True},
        )
        self.assertRegex(self.call("list", "jobs/")[1], r"\njobs/1 +held +- +- +(60|59)\.\d s  all\n\Z")

    def test_one_without_an_end(self):
        self.server.client.set("jobs/1", SECRET)
        self.assertEqual(self.only_holder("jobs/1")["lease_left_ms"], -1)
        self.assertRegex(self.call("list", "jobs/")[1], r"\njobs/1 +held +- +- +endless  all\n\Z")

    def test_no_values_are_shown(self):
        self.server.client.set("jobs/1", SECRET, px=60_000)
        self.hold("jobs/2")
        value = self.server.client.get("jobs/2").decode()
        for words in (["list", "jobs/"], ["show", "jobs/1"], ["show", "jobs/2"]):
            for json_flag in ([], ["--json"]):
                out = self.call(*words, *json_flag)[1]
                self.assertNotIn(SECRET, out)
                self.assertNotIn(value, out)

    def test_what_else_is_there_is_not_listed(self):
        self.hold("a")
        self.server.client.hset("a/hash", "x", "1")
        self.server.client.rpush("a/list", "1")
        self.assertEqual([found["name"] for found in self.listed("a")], ["a"])
        self.assertEqual(self.listed("holdfast_"), [])

    def test_breaking_ours(self):
        self.check_breaking_ours()
        self.check_that_the_holder_learns_of_it()

    def test_breaking_theirs(self):
        self.server.client.set("deploy", SECRET, px=3_600_000)
        self.assert_refused(["break", "deploy", "--fence", "7"], 1, "another library", "--fence 0")
        self.check_breaking_theirs(lambda name: self.server.client.set(name, SECRET, px=3_600_000))
        self.assertEqual(self.server.client.get("deployment"), SECRET.encode())
        self.assert_refused(["break", "deploy", "--fence", "0"], 1, "nobody holds it")

    def test_an_empty_value_can_be_broken_too(self):
        self.server.client.set("deploy", "")
        self.assertEqual(self.call("break", "deploy", "--fence", "0")[0], 0)
        self.assertFalse(self.server.client.exists("deploy"))

    def test_what_is_free(self):
        self.check_what_is_free()


class OnTheRedissonLayout(Administered):
    PARAMETERS = "?layout=redisson"

    def lock_as_they_do(self, name, count=1):
        self.server.client.hset(name, THEIR_OWNER, count)
        self.server.client.pexpire(name, 60_000)

    def read_as_they_do(self, name, owner=THEIR_OWNER):
        self.server.client.hset(name, mapping={"mode": "read", owner: 1})
        self.server.client.pexpire(name, 60_000)
        self.server.client.set(f"{{{name}}}:{owner}:rwlock_timeout:1", 1, px=60_000)

    def test_ours(self):
        self.check_ours()

    def test_a_prefix_is_required(self):
        self.check_that_a_prefix_is_required()

    def test_a_holder_of_theirs(self):
        self.lock_as_they_do("jobs/1")
        holder = self.only_holder("jobs/1")
        self.assertTrue(50_000 < holder["lease_left_ms"] <= 60_000)
        self.assertEqual((holder["owner"], holder["fence"]), (THEIR_OWNER, 0))
        self.assertEqual((holder["host"], holder["pid"], holder["age_ms"]), ("", 0, None))
        self.assertIs(holder["foreign"], True)

    def test_readers_of_both_kinds(self):
        self.read_as_they_do("catalogue")
        process = self.hold("catalogue", "-s")
        (found,) = self.shown("catalogue")
        self.assertEqual({h["foreign"]: h["pid"] for h in found["holders"]},
                         {True: 0, False: process.pid})
        self.assertEqual({h["weight"] for h in found["holders"]}, {1})
        self.assertEqual(self.call("show", "catalogue")[1].splitlines()[0], "catalogue: held by 2")

    def test_other_hashes_are_not_listed(self):
        self.hold("a")
        self.server.client.hset("a/user", "name", "1")
        self.server.client.set("a/text", "1")
        self.assertEqual([found["name"] for found in self.listed("a")], ["a"])

    def test_breaking_ours(self):
        self.check_breaking_ours()
        self.check_that_the_holder_learns_of_it()

    def test_breaking_theirs_whatever_its_count(self):
        self.lock_as_they_do("deploy", count=3)
        listener = self.server.client.pubsub(ignore_subscribe_messages=True)
        self.addCleanup(listener.close)
        listener.subscribe("redisson_lock__channel:{deploy}")
        listener.get_message(timeout=5)
        waiter = self.start("run", "deploy", "--", "echo", "in")
        self.assertEqual(self.call("break", "deploy", "--fence", "0")[0], 0)
        self.assertEqual(waiter.communicate(timeout=20)[0], "in\n")
        self.assertEqual(listener.get_message(timeout=5)["data"], b"0")

    def test_breaking_their_reader_leaves_ours(self):
        self.read_as_they_do("catalogue")
        self.read_as_they_do("catalogue", owner=f"{uuid.uuid4()}:1")
        process = self.hold("catalogue", "-s")
        self.assertEqual(self.call("break", "catalogue", "--fence", "0")[0], 0)
        self.assertEqual(self.only_holder("catalogue")["pid"], process.pid)
        fence = self.only_holder("catalogue")["fence"]
        self.assertEqual(self.call("break", "catalogue", "--fence", str(fence))[0], 0)
        self.assertFalse(self.server.client.exists("catalogue"))

    def test_breaking_our_reader_leaves_theirs(self):
        self.read_as_they_do("catalogue")
        self.hold("catalogue", "-s")
        (found,) = self.shown("catalogue")
        (fence,) = [h["fence"] for h in found["holders"] if not h["foreign"]]
        self.assertEqual(self.call("break", "catalogue", "--fence", str(fence))[0], 0)
        self.assertIs(self.only_holder("catalogue")["foreign"], True)

    def test_what_is_free(self):
        self.check_what_is_free()


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
