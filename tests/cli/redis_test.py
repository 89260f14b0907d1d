"""The program on Redis: what is Redis' own."""

import signal
import socket
import sys
import threading
import time
import unittest
import uuid

from program import Shown, until
from sites import PASSWORD, OnASite, Redis, RedisPlain, Redisson

SECRET = "a-value-that-gives-the-lock-back"


class CheckingRedis(OnASite):
    SITE = Redis

    def test_what_is_wrong_is_told_with_what_to_set(self):
        code, out, err = self.call("check")
        self.assertEqual((code, err), (1, ""))
        self.assertEqual(out.splitlines()[0], f"{self.store}: 1 warning")
        self.assertRegex(out, r"(?m)^warning: .*\(redis\.forgets\)\n  so: .*\n  do: appendonly yes")
        self.assertRegex(out, r"(?m)^clock +.* this machine's$")
        self.addCleanup(self.server.client.config_set, "appendonly", "no")
        self.addCleanup(self.server.client.config_set, "appendfsync", "everysec")
        self.server.client.config_set("appendfsync", "always")
        self.server.client.config_set("appendonly", "yes")
        self.assertEqual(self.call("check", "--json")[0], 0)

    def test_what_cannot_be_asked(self):
        url = f"redis://me:{PASSWORD}@{self.server.address}"
        self.assertNotIn(PASSWORD, self.assert_refused(["check", url], 78, "password"))
        self.assert_refused(["check", "redis://127.0.0.1:1?request_timeout=300ms"], 69, "127.0.0.1:1")


class ReachingRedis(OnASite):
    SITE = Redis

    def test_by_the_unix_socket(self):
        self.hold("a")
        self.assertTrue(self.is_held("a", "-n", "-S", f"redis+unix://{self.server.socket}"))

    def test_no_such_socket(self):
        store = f"redis+unix://{self.folder}/nowhere"
        self.assert_refused(["run", "-S", store, "a", "--", "true"], 69, "nowhere")

    def test_a_password_with_characters_that_are_encoded(self):
        self.server.client.execute_command(
            "ACL", "SETUSER", "me", "on", ">p@s/s:?#", "~*", "&*", "+@all")
        store = f"redis://me:p%40s%2Fs%3A%3F%23@{self.server.address}"
        code, out, err = self.call("run", "-S", store, "--verbose", "a", "--", "env")
        self.assertEqual(code, 0, err)
        for text in ("p@s/s", "p%40s"):
            self.assertNotIn(text, out + err)

    def test_a_signal_while_it_connects_ends_it_at_once(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        silent.settimeout(20)
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}?connect_timeout=60s&request_timeout=60s"
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                wrapper = self.start("run", "-S", url, "a", "--", "touch", "ran")
                connection, _ = silent.accept()
                with connection:
                    self.assertNotEqual(connection.recv(1), b"", "it asks something")
                    wrapper.send_signal(number)
                    self.assertEqual(wrapper.wait(20), -number)
        self.assertFalse((self.folder / "ran").exists())

    def test_a_signal_in_the_first_try_ends_it_at_once(self):
        # Whoever is gone cannot send scripts to a server that has never seen them.
        self.assertEqual(self.call("run", "warm", "--", "true")[0], 0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number), StoppingRelay(self.server, b"FCALL") as relay:
                wrapper = self.start("run", "-S", relay.url("?request_timeout=60s"), "a", "--", "true")
                self.assertTrue(relay.stopped.wait(20))
                began = time.monotonic()
                wrapper.send_signal(number)
                self.assertEqual(wrapper.wait(30), -number)
                self.assertLess(time.monotonic() - began, 10, "of the minute that a request has")
                self.server.go_on()
                until(lambda: self.listed() == [])


class StoppingRelay:
    """Before the server, which it stops as soon as a client sends `word`."""

    def __init__(self, server, word):
        self.stopped = threading.Event()
        self._server = server
        self._word = word
        self._door = socket.create_server(("127.0.0.1", 0))

    def __enter__(self):
        threading.Thread(target=self._admit, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._door.close()
        self._server.go_on()

    def url(self, parameters):
        return f"redis://127.0.0.1:{self._door.getsockname()[1]}{parameters}"

    def _admit(self):
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server.port))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source, target):
        try:
            while data := source.recv(65536):
                if self._word in data:
                    self._server.stand_still()
                    self.stopped.set()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        finally:
            source.close()


class LayoutsOfOthers(OnASite):
    SITE = Redis

    def on_each(self, layouts=("plain", "redisson")):
        for layout in layouts:
            with self.subTest(layout):
                self.use(f"?layout={layout}")
                yield layout
                self.server.clear()

    def test_the_name_is_the_key(self):
        for layout in self.on_each():
            name = f"{layout}:a {{b}}\u00e9"
            holder = self.hold(name)
            kinds = {"plain": b"string", "redisson": b"hash"}
            self.assertEqual(self.server.client.type(name), kinds[layout])
            self.assertTrue(self.is_held(name))
            self.end(holder)

    def test_a_waiter_gets_its_turn_at_once(self):
        for _ in self.on_each():
            holder = self.hold("a", "--lease", "1h")
            waiter = self.start("run", "a", "--", "echo", "next")
            until(lambda: self.server.client.info("stats")["tracking_total_keys"] > 0)
            self.end(holder)
            self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")

    def test_readers_together(self):
        self.use("?layout=redisson")
        self.hold("a", "-s")
        self.assertFalse(self.is_held("a", "-n", "-s"))
        self.assertTrue(self.is_held("a"))

    def test_what_a_layout_cannot_do_is_refused(self):
        refused = {
            "plain": ((["-s"], "readers"), (["-j", "3"], "permits"), (["--reenter"], "re-entry"),
                      (["--fairness", "fifo"], "fifo")),
            "redisson": ((["-j", "3"], "permits"), (["--fairness", "fifo"], "fifo")),
        }
        for layout in self.on_each():
            for words, part in refused[layout]:
                self.assert_refused(["run", *words, "a", "--", "true"], 64, "a: ", part)

    def test_names_of_our_own_keys_are_refused(self):
        for _ in self.on_each():
            for words in (["holdfast_x"], ["a", "holdfast_fence:{a}"]):
                self.assert_refused(["run", *words, "--", "true"], 64, "holdfast_", "another")
                self.assert_refused(["show", words[-1]], 64, "holdfast_", "another")
                self.assertEqual(self.server.client.keys(), [])
        self.use("")
        self.assertEqual(self.call("run", "holdfast_x", "--", "true")[0], 0)

    def test_something_else_under_the_name(self):
        for _ in self.on_each():
            self.server.client.rpush("a", "1")
            self.assert_refused(["run", "a", "--", "true"], 78, "a: ", "something else")

    def test_a_prefix_is_required(self):
        for _ in self.on_each():
            self.assert_refused(["list"], 64, "give a PREFIX")
            self.assert_refused(["list", "--json"], 64, "give a PREFIX")
            self.environment["HOLDFAST_STORE"] = self.store + "&prefix=jobs/"
            holder = self.hold("7")
            self.assertEqual([found["name"] for found in self.listed()], ["7"])
            self.end(holder)

    def test_what_else_is_there_is_not_listed(self):
        for _ in self.on_each():
            holder = self.hold("a")
            self.server.client.hset("a/hash", "x", "1")
            self.server.client.rpush("a/list", "1")
            self.assertEqual([found["name"] for found in self.listed("a")], ["a"])
            self.assertEqual(self.listed("holdfast_"), [])
            self.end(holder)


class ListedPlain(Shown, OnASite):
    SITE = RedisPlain

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

    def test_what_is_refused_before_theirs_is_broken(self):
        self.server.client.set("deploy", SECRET, px=3_600_000)
        self.assert_refused(["break", "deploy", "--fence", "7"], 1, "another library", "--fence 0")
        self.assertEqual(self.call("break", "deploy", "--fence", "0")[0], 0)
        self.assert_refused(["break", "deploy", "--fence", "0"], 1, "it is free")

    def test_an_empty_value_can_be_broken_too(self):
        self.server.client.set("deploy", "")
        self.assertEqual(self.call("break", "deploy", "--fence", "0")[0], 0)
        self.assertFalse(self.server.client.exists("deploy"))


class ListedRedisson(Shown, OnASite):
    SITE = Redisson

    def read_as_they_do(self, name, owner=Redisson.OWNER):
        self.server.client.hset(name, mapping={"mode": "read", owner: 1})
        self.server.client.pexpire(name, 60_000)
        self.server.client.set(f"{{{name}}}:{owner}:rwlock_timeout:1", 1, px=60_000)

    def test_a_holder_of_theirs(self):
        Redisson.hold_by_redisson(self, "jobs/1")
        holder = self.only_holder("jobs/1")
        self.assertEqual((holder["owner"], holder["fence"]), (Redisson.OWNER, 0))
        self.assertIsNone(holder["age_ms"])

    def test_readers_of_both_kinds(self):
        self.read_as_they_do("catalogue")
        process = self.hold("catalogue", "-s")
        (found,) = self.shown("catalogue")
        self.assertEqual({h["foreign"]: h["pid"] for h in found["holders"]},
                         {True: 0, False: process.pid})
        self.assertEqual({h["weight"] for h in found["holders"]}, {1})
        self.assertEqual(self.call("show", "catalogue")[1].splitlines()[0], "catalogue: held by 2")

    def test_breaking_theirs_whatever_its_count(self):
        Redisson.hold_by_redisson(self, "deploy")
        self.server.client.hset("deploy", Redisson.OWNER, 3)
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
