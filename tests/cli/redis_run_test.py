"""`holdfast run` on Redis."""

import os
import signal
import socket
import sys
import threading
import time
import unittest

from on_a_server import RunOnAServer
from on_redis import OnRedis
from own_process import LoopbackPort
from program import PROGRAM, Driven, until

PASSWORD = "Xy7-secret"


class RunOnRedis(RunOnAServer, OnRedis):
    def test_a_killed_wrapper_is_followed_after_its_lease(self):
        holder = self.hold("a", "--lease", "1s")
        killed = time.monotonic()
        holder.kill()
        self.assertEqual(self.call("run", "-w", "20s", "a", "--", "echo", "next")[1], "next\n")
        self.assertGreater(time.monotonic() - killed, 0.4, "its lease is not cut short")

    def test_the_lease_is_renewed_for_as_long_as_the_command_runs(self):
        self.hold("a", "--lease", "2s")
        self.assertEqual(self.call("run", "-w", "3s", "a", "--", "true")[0], 75)

    def test_inside_another(self):
        inner = [PROGRAM, "run", "-n", "a", "--", "echo", "inner"]
        self.assertEqual(self.call("run", "a", "--", *inner)[:2], (75, ""))
        self.assertEqual(self.call("run", "b", "--", *inner)[:2], (0, "inner\n"))
        inner.insert(2, "--reenter")
        self.assertEqual(self.call("run", "a", "--", *inner)[:2], (0, "inner\n"))

    def test_by_the_unix_socket(self):
        self.hold("a")
        words = ["run", "-n", "-S", f"redis+unix://{self.server.socket}", "a", "--", "true"]
        self.assertEqual(self.call(*words)[0], 75)


    def test_a_release_that_nobody_answers_is_not_called_one(self):
        self.environment["HOLDFAST_STORE"] = self.server.url("?request_timeout=500ms")
        os.mkfifo(self.folder / "go")
        script = "echo in; read line < go; exit 5"
        wrapper = self.start("run", "--verbose", "a", "--", "sh", "-c", script)
        self.assertEqual(wrapper.stdout.readline(), "in\n")
        self.addCleanup(self.server.go_on)
        self.server.stand_still()
        (self.folder / "go").write_text("go\n")
        _, err = wrapper.communicate(timeout=30)
        self.assertEqual(wrapper.returncode, 5)
        self.assertNotIn("] released\n", err)
        self.assertRegex(err, r"s\] the store did not answer to the release; the lease ends it\n\Z")

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
        self.have_the_scripts_there()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number), StoppingRelay(self.server, b"EVALSHA") as relay:
                wrapper = self.start("run", "-S", relay.url("?request_timeout=60s"), "a", "--", "true")
                self.assertTrue(relay.stopped.wait(20))
                self.assert_ended_by(number, wrapper)
                self.server.go_on()
                until(lambda: self.listed() == [])

    def test_a_signal_in_line_ends_it_at_once_while_the_server_stands_still(self):
        self.have_the_scripts_there()
        self.hold("a")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                url = self.server.url("?request_timeout=60s")
                wrapper = self.start("run", "-S", url, "a", "--", "true")
                until(lambda: self.waiters("a") == 1)
                self.addCleanup(self.server.go_on)
                self.server.stand_still()
                self.assert_ended_by(number, wrapper)
                self.server.go_on()
                until(lambda: self.waiters("a") == 0)

    def have_the_scripts_there(self):
        """Whoever is gone cannot send them to a server that has never seen them."""
        self.assertEqual(self.call("run", "warm", "--", "true")[0], 0)

    def assert_ended_by(self, number, wrapper):
        began = time.monotonic()
        wrapper.send_signal(number)
        self.assertEqual(wrapper.wait(30), -number)
        self.assertLess(time.monotonic() - began, 10, "of the minute that a request has")


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


class RunOnLayoutsOfOthers(OnRedis):
    def on(self, layout):
        self.environment["HOLDFAST_STORE"] = self.server.url(f"?layout={layout}")

    def test_the_name_is_the_key(self):
        for layout, kind in (("plain", b"string"), ("redisson", b"hash")):
            with self.subTest(layout):
                self.on(layout)
                name = f"{layout}:a {{b}}\u00e9"
                self.hold(name)
                self.assertEqual(self.server.client.type(name), kind)
                self.assertEqual(self.call("run", "-n", name, "--", "true")[0], 75)

    def test_their_lock_keeps_us_out(self):
        self.server.client.set("a", "theirs", px=60_000)
        self.on("plain")
        self.assertEqual(self.call("run", "-n", "a", "--", "true")[0], 75)
        self.server.client.hset("b", "8743c9c0-0795-4907-87fd-6c719a6b4586:57", 1)
        self.server.client.pexpire("b", 60_000)
        self.on("redisson")
        self.assertEqual(self.call("run", "-n", "b", "--", "true")[0], 75)

    def test_a_waiter_gets_its_turn_at_once(self):
        for layout in ("plain", "redisson"):
            with self.subTest(layout):
                self.on(layout)
                holder = self.hold("a", "--lease", "1h")
                waiter = self.start("run", "a", "--", "echo", "next")
                until(lambda: self.server.client.info("stats")["tracking_total_keys"] > 0)
                self.end(holder)
                self.assertEqual(waiter.communicate(timeout=20)[0], "next\n")

    def test_several_names_are_taken_all_or_none(self):
        for layout in ("plain", "redisson"):
            with self.subTest(layout):
                self.on(layout)
                holder = self.hold("b")
                self.assertEqual(self.call("run", "-n", "a", "b", "--", "true")[0], 75)
                self.assertFalse(self.server.client.exists("a"))
                self.end(holder)
                self.assertEqual(self.call("run", "-n", "a", "b", "--", "true")[0], 0)

    def test_readers_together(self):
        self.on("redisson")
        self.hold("a", "-s")
        self.assertEqual(self.call("run", "-n", "-s", "a", "--", "true")[0], 0)
        self.assertEqual(self.call("run", "-n", "a", "--", "true")[0], 75)

    def test_what_a_layout_cannot_do_is_refused(self):
        for layout, words, part in (
            ("plain", ["-s"], "readers"),
            ("plain", ["-j", "3"], "permits"),
            ("plain", ["--fairness", "fifo"], "fifo"),
            ("plain", ["--reenter"], "re-entry"),
            ("redisson", ["-j", "3"], "permits"),
            ("redisson", ["--fairness", "fifo"], "fifo"),
        ):
            with self.subTest((layout, words)):
                self.on(layout)
                self.assert_refused(["run", *words, "a", "--", "true"], 64, "a: ", part)

    def test_names_of_our_own_keys_are_refused(self):
        for layout in ("plain", "redisson"):
            for words in (["holdfast_x"], ["a", "holdfast_fence:{a}"]):
                with self.subTest((layout, words)):
                    self.on(layout)
                    self.assert_refused(["run", *words, "--", "true"], 64, "holdfast_", "another")
                    self.assert_refused(["show", words[-1]], 64, "holdfast_", "another")
                    self.assertEqual(self.server.client.keys(), [])
        self.environment["HOLDFAST_STORE"] = self.store
        self.assertEqual(self.call("run", "holdfast_x", "--", "true")[0], 0)

    def test_something_else_under_the_name(self):
        self.server.client.rpush("a", "1")
        for layout in ("plain", "redisson"):
            self.on(layout)
            self.assert_refused(["run", "a", "--", "true"], 78, "a: ", "something else")


class Unreachable(Driven):
    def test_nothing_listens(self):
        port = LoopbackPort()
        self.addCleanup(port.close)
        store = f"redis://127.0.0.1:{port.number}?connect_timeout=1s"
        for words in (["run", "-n", "a", "--", "true"], ["list", "a"], ["show", "a"]):
            with self.subTest(words):
                where = f"redis 127.0.0.1:{port.number}"
                self.assert_refused([words[0], "-S", store, *words[1:]], 69, where)

    def test_no_such_socket(self):
        store = f"redis+unix://{self.folder}/nowhere"
        self.assert_refused(["run", "-S", store, "a", "--", "true"], 69, "nowhere")


class WrongUrls(OnRedis):
    def test_are_bad_configuration(self):
        for parameters, parts in (
            ("?layout=hashed", ("'hashed'", "holdfast, plain or redisson")),
            ("?layoat=plain", ("'layoat'", "layout", "password_file")),
            ("/one", ("database",)),
            ("?password_file=/nowhere/at/all", ("/nowhere/at/all", "cannot be read")),
            ("?connect_timeout=soon", ("connect_timeout",)),
        ):
            with self.subTest(parameters):
                url = self.server.url(parameters)
                self.assert_refused(["run", "-S", url, "a", "--", "true"], 78, *parts)


class Passwords(OnRedis):
    PASSWORD = PASSWORD

    def with_password(self, password, user="", parameters=""):
        return f"redis://{user}:{password}@127.0.0.1:{self.server.port}{parameters}"

    def all_output(self, *words):
        code, out, err = self.call(*words)
        return code, out + err

    def test_is_never_seen(self):
        for password, expected in ((PASSWORD, 0), (PASSWORD + "-wrong", 78)):
            store = self.with_password(password)
            for words in (
                ["run", "--verbose", "-S", store, "a", "--", "env"],
                ["list", "-S", store],
                ["show", "-S", store, "a"],
            ):
                with self.subTest(words):
                    code, output = self.all_output(*words)
                    self.assertEqual(code, expected, output)
                    self.assertNotIn(PASSWORD, output)

    def test_is_not_in_the_commands_environment(self):
        self.environment["HOLDFAST_STORE"] = self.with_password(PASSWORD)
        code, out, err = self.call("run", "a", "--", "sh", "-c", 'echo "$HOLDFAST_STORE"')
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, f"redis://127.0.0.1:{self.server.port}\n")

    def test_a_wrong_one(self):
        for url in (self.with_password("wrong"), self.with_password("wrong", user="nobody")):
            self.assert_refused(["run", "-S", url, "a", "--", "true"], 78, "user and password")

    def test_none(self):
        self.assert_refused(["run", "-S", self.store, "a", "--", "true"], 78, "wants a password")

    def test_from_a_file(self):
        file = self.folder / "password"
        file.write_text(PASSWORD + "\n")
        store = self.server.url(f"?password_file={file}")
        # Inside another one it works as well: the store that the command finds names the file.
        inner = [PROGRAM, "run", "b", "--", "echo", "inner"]
        code, out, err = self.call("run", "--verbose", "-S", store, "a", "--", *inner)
        self.assertEqual((code, out), (0, "inner\n"), err)
        self.assertNotIn(PASSWORD, err)
        file.write_text("wrong\n")
        self.assert_refused(["run", "-S", store, "a", "--", "true"], 78, "user and password")
        both = self.with_password(PASSWORD, parameters=f"?password_file={file}")
        self.assert_refused(["run", "-S", both, "a", "--", "true"], 78, "leave one of them out")

    def test_inside_another_one_tells_how_it_gets_it(self):
        # The command does not find the password: a file is for that.
        inner = [PROGRAM, "run", "b", "--", "true"]
        code, out, err = self.call("run", "-S", self.with_password(PASSWORD), "a", "--", *inner)
        self.assertEqual((code, out), (78, ""))
        self.assertIn("password_file", err)

    def test_with_characters_that_are_encoded(self):
        self.server.client.execute_command("ACL", "SETUSER", "me", "on", ">p@s/s:?#", "~*", "&*", "+@all")
        store = self.with_password("p%40s%2Fs%3A%3F%23", user="me")
        code, out, err = self.call("run", "-S", store, "--verbose", "a", "--", "env")
        self.assertEqual(code, 0, err)
        for text in ("p@s/s", "p%40s"):
            self.assertNotIn(text, out + err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
