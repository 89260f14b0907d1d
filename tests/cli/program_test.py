"""The program as a whole, and `holdfast run`."""

import os
import signal
import subprocess
import sys
import time
import unittest

from program import (
    LONG_NAMED_SHELL, PAGE, PROGRAM, OnALocalStore, has_told_of_its_start, until,
    warden_has_ended,
)

PASSED_ON = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2")
COUNT = "n=$(cat counter); echo $((n + 1)) > counter"


class Usage(OnALocalStore):
    def test_version(self):
        code, out, _ = self.call("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^holdfast \d+\.\d+\.\d+\n$")

    def test_help_teaches_by_example(self):
        for words in (["--help"], ["run", "--help"]):
            code, out, _ = self.call(*words)
            self.assertEqual(code, 0)
            self.assertIn("holdfast run -n nightly -- ./nightly", out)

    def test_a_forgotten_separator_gets_a_hint(self):
        for words, meant in (
            (["deploy", "make", "all"], "deploy -- make all"),
            (["deploy", "sh", "-c", "x"], "deploy -- sh -c x"),
            (["deploy", "sh", "-c", "a 'b'"], """deploy -- sh -c 'a '"'"'b'"'"''"""),
            (["-n", "deploy", "make", "-j4"], "-n deploy -- make -j4"),
            (["backup", "rsync", "--verbose"], "backup -- rsync --verbose"),
            (["backup", "rsync", "--help"], "backup -- rsync --help"),
            (["-xw", "5", "a", "-E3", "--lease=9s", "b", "-n"], "-xw 5 a -E3 --lease=9s -- b -n"),
            (["-S", "redis://me:secret@host", "a", "b"], "-S redis://...@host a -- b"),
            (["-S", "redis://me:se cret'@host", "a", "b"], "-S redis://...@host a -- b"),
            (["-S", "zookeeper://h?auth=me:secret", "a", "b"],
             "-S 'zookeeper://h?auth=...' a -- b"),
            (["-S", "zookeeper://h?auth=me:s@c ret&tick=2s", "a", "b"],
             "-S 'zookeeper://h?auth=...&tick=2s' a -- b"),
        ):
            with self.subTest(words):
                hint = f"did you mean: holdfast run {meant}?\n"
                self.assert_refused(["run", *words], 64, hint)

    def test_a_forgotten_separator_beside_a_wrong_option(self):
        self.assert_refused(["run", "--dance", "a", "make"], 64, "--dance", "put -- before")

    def test_a_refusal_quotes_no_password(self):
        for url in ("redis://me:secret@h", "redis://me:a secret@h", "redis://me:'secret@h",
                    "zookeeper://h?auth=me:secret", "zookeeper://h?tick=2s&auth=me:a secret"):
            for words in (["list", "a", url], ["list", "--" + url], ["run", "--lease", url, "a"],
                          [url], ["show", "a", "-S", url, "b"]):
                with self.subTest(words):
                    _, out, err = self.call(*words)
                    self.assertNotIn("secret", out + err)

    def test_a_hint_reads_back(self):
        word = "a\\b\n\x1b'c"
        _, _, err = self.call("run", "a", "printf", "%s", word)
        shown = err.split("holdfast run a -- ", 1)[1].rstrip("?\n")
        done = subprocess.run(["bash", "-c", shown], stdout=subprocess.PIPE, text=True, timeout=20)
        self.assertEqual(done.stdout, word)

    def test_no_command(self):
        self.assert_each_refused(
            64,
            (["run", "deploy"], "holdfast run deploy -- COMMAND"),
            (["run", "deploy", "-n"], "holdfast run deploy -n -- COMMAND"),
            (["run", "deploy", "--"], "no command"),
            (["run", "deploy", "--", ""], "the command", "empty"),
        )

    def test_an_unknown_command_is_named(self):
        for words in (["runn"], ["shwo", "a"], ["runn", "a", "--", "true"]):
            self.assert_refused(words, 64, f"'{words[0]}'", "there are: run, list, show, break")

    def test_a_wrong_duration_names_its_option(self):
        self.assert_refused(["run", "-w", "-1", "a", "--", "true"], 64, "--wait", "negative")
        self.assert_refused(["run", "--lease", "-1s", "a", "--", "true"], 64, "--lease", "negative")
        self.assert_refused(["run", "-w", "-x", "a", "--", "true"], 64, "--wait", "no duration")

    def test_an_empty_store_is_refused_but_an_empty_variable_is_unset(self):
        self.assert_refused(["run", "-S", "", "a", "--", "true"], 64, "--store", "empty")
        self.assert_refused(["run", "--store=", "a", "b", "--", "true"], 64, "--store", "empty")
        self.assert_refused(["list", "-S", ""], 64, "--store", "empty")
        # The default folder is the user's own, so only as far as the parser goes.
        self.environment["HOLDFAST_STORE"] = ""
        self.assert_refused(["run", "a", "true"], 64, "did you mean: holdfast run a -- true?")

    def test_what_is_quoted_stays_on_one_line(self):
        for words in (
            ["run", "a", "--", "./no\nwhere\x1b[2J"],
            ["list", "a", "b\nc\x1b[2J"],
            ["dance\n\x1b[2J"],
            ["run", "a\n\x1b[2J", "b"],
            ["run", "-w", "1\n\x1b[2J\x9b", "a", "--", "true"],
        ):
            with self.subTest(words):
                _, _, err = self.call(*words)
                self.assertRegex(err, r"\Aholdfast: [^\x00-\x1f\x7f-\x9f]+\n\Z")
                self.assertIn("\\x0a", err)
                self.assertIn("\\x1b[2J", err)

    def test_the_help_says_what_is_out_of_reach(self):
        self.assertRegex(self.call("run", "--help")[1], r"(?s)Out of reach.*sudo.*use the fence")

    def test_an_error_points_to_the_help_of_its_command(self):
        for words, page in (
            (["run", "--dance", "a", "--", "true"], "run --help"),
            (["run", "-w", "soon", "a", "--", "true"], "run --help"),
            (["run", "a", "--"], "run --help"),
            (["run", "a", "-c", "true", "--", "true"], "run --help"),
            (["show", "--dance"], "show --help"),
            (["break", "a"], "break --help"),
            (["--dance"], "holdfast --help"),
            (["dance"], "holdfast --help"),
        ):
            with self.subTest(words):
                self.assert_refused(words, 64, page + "\n")

    def test_a_mistyped_word_gets_a_suggestion(self):
        for words, meant in (
            (["run", "--nonblok", "a", "--", "true"], "--nonblock"),
            (["run", "--conflict", "3", "a", "--", "true"], "--conflict-exit-code"),
            (["run", "--leese=3s", "a", "--", "true"], "--lease"),
            (["run", "-n", "--sahred", "a", "--", "true"], "--shared"),
            (["list", "--jsn"], "--json"),
            (["--verson"], "--version"),
            (["shwo", "a"], "show"),
        ):
            with self.subTest(words):
                self.assert_refused(words, 64, f"did you mean {meant}?")
        for words in (["run", "--dance", "a", "--", "true"], ["dance"]):
            self.assertNotIn("did you mean", self.call(*words)[2])
        self.assert_refused(["run", "-nq", "a", "--", "true"], 64, "there is no option -q")

    def test_help_is_a_command_too(self):
        self.assertEqual(self.call("help"), self.call("--help"))
        for command in ("run", "list", "show", "break", "schema", "init", "sweep"):
            self.assertEqual(self.call("help", command), self.call(command, "--help"))
        self.assert_refused(["help", "dance"], 64, "'dance'", "there are: run, list")

    def test_a_name_that_starts_with_a_dash(self):
        script = 'printf "%s" "$HOLDFAST_NAME"'
        for words, names in ((["--", "-odd"], "-odd"), (["-n", "--", "--odd", "b"], "--odd\nb"),
                             (["--", "-odd", "b"], "-odd\nb")):
            with self.subTest(words):
                self.assertEqual(self.call("run", *words, "--", "sh", "-c", script)[1], names)
        self.assert_refused(["run", "b", "--", "-odd", "--", "true"], 64, "-odd")
        # A word that starts with no dash is a command, whatever it takes.
        self.assert_refused(["run", "--", "echo", "--", "a"], 64, "NAME")
        self.assertEqual(self.call("run", "a", "--", "echo", "--", "-b")[1], "-- -b\n")
        self.assert_refused(["run", "-odd", "--", "true"], 64, "dash stands behind a --")

    def test_a_short_time_is_not_said_to_be_none(self):
        self.assert_refused(["run", "--lease", "0", "a", "--", "true"], 64, "a lease of 0 s")
        self.assert_refused(["run", "--lease", "0.1ms", "a", "--", "true"], 64, "a lease of 1 ms")
        words = ["run", "--max-time", "0.1ms", "-k", "0", "a", "--", "sleep", "60"]
        self.assert_refused(words, 124, "longer than 0.1 ms")

    def test_flocks_other_spellings(self):
        self.hold("a")
        self.assertTrue(self.is_held("a", "--nb"))
        self.assertTrue(self.is_held("a", "--timeout", "0.05"))

    def test_what_run_refuses_the_others_refuse_too(self):
        long = "a" * 4097
        for words in (["run", long, "--", "true"], ["show", long], ["break", long, "--fence", "1"]):
            self.assert_refused(words, 64, "the name has 4097 bytes")

    def test_no_name(self):
        self.assert_refused(["run", "--", "true"], 64, "NAME")
        self.assert_refused(["run", "", "--", "true"], 64, "name")

    def test_nonsense(self):
        for words in (
            [],
            ["dance"],
            ["run", "--dance", "a", "--", "true"],
            ["run", "-w", "-1", "a", "--", "true"],
            ["run", "-w", "soon", "a", "--", "true"],
            ["run", "-n", "-w", "1", "a", "--", "true"],
            ["run", "-j", "0", "a", "--", "true"],
            ["run", "-s", "-x", "a", "--", "true"],
            ["run", "-s", "a", "b", "--", "true"],
            ["run", "-x", "a", "b", "--", "true"],
            ["run", "--leftovers", "eat", "a", "--", "true"],
            ["run", "-E", "256", "a", "--", "true"],
            ["run", "--fairness", "luck", "a", "--", "true"],
            ["run", "--lease", "0", "a", "--", "true"],
            ["run", "--lease", "365h", "a", "--", "true"],
            ["run", "--lease", "10s", "-k", "6s", "a", "--", "true"],
            ["run", "-k", "soon", "a", "--", "true"],
            ["run", "--max-time", "0", "a", "--", "true"],
            ["run", "--on-lost", "cry", "a", "--", "true"],
            ["run", "a", "-c", "true", "--", "true"],
            ["run", "a", "-c", "true", "false"],
        ):
            with self.subTest(words):
                self.assert_refused(words, 64)


class ExitCodes(OnALocalStore):
    def test_the_commands_own(self):
        for code in (0, 1, 42, 76, 255):
            self.assertEqual(self.call("run", "a", "--", "sh", "-c", f"exit {code}")[0], code)

    def test_the_commands_signal(self):
        self.assertEqual(self.call("run", "a", "--", "sh", "-c", "kill -KILL $$")[0], 128 + 9)

    def test_not_acquired_is_silent_unless_verbose(self):
        self.hold("a")
        self.assertTrue(self.is_held("a"))
        self.assertEqual(self.call("run", "-n", "-E", "3", "a", "--", "true"), (3, "", ""))
        code, _, err = self.call("run", "-n", "--verbose", "a", "--", "true")
        self.assertEqual(code, 75)
        self.assertRegex(err, r"\nholdfast: \[0\.\d+ s\] a: not acquired\n\Z")

    def test_command_not_found_and_not_executable(self):
        self.assert_refused(["run", "a", "--", "./nowhere"], 127, "./nowhere", "No such file")
        (self.folder / "text").write_text("no program")
        self.assert_refused(["run", "a", "--", "./text"], 126, "./text")

    def test_a_script_without_an_interpreter_runs_in_the_shell(self):
        script = self.folder / "script"
        script.write_text('echo "$0 $1"; exit 7\n')
        script.chmod(0o755)
        self.assertEqual(self.call("run", "a", "--", "./script", "x"), (7, "./script x\n", ""))
        self.environment["PATH"] = f"/nowhere:{self.folder}:" + os.environ["PATH"]
        self.assertEqual(self.call("run", "a", "--", "script", "x"), (7, f"{script} x\n", ""))

    @unittest.skipIf(
        os.environ.get("HOLDFAST_SANITIZED") == "thread",
        "the thread sanitizer writes a file before the program starts, which the limit forbids",
    )
    def test_a_store_that_cannot_be_made(self):
        limited = 'ulimit -f 0; exec "$0" run -S "$1" a -- true'
        code, out, err = self.run_to_end(
            ["sh", "-c", limited, PROGRAM, self.environment["HOLDFAST_STORE"]], cwd=None)
        self.assertEqual((code, out), (69, ""), err)
        self.assertRegex(err, r"\Aholdfast: [^\n]+\n\Z")

    def test_bad_configuration(self):
        self.assert_refused(["list", "-S", "carrier-pigeon://x"], 78, "carrier-pigeon", "local")

    def test_a_store_that_would_exclude_nobody(self):
        for url in ("memory:", "memory:shared"):
            self.assert_refused(["run", "-S", url, "a", "--", "true"], 78, "exclude nobody")
            self.environment["HOLDFAST_STORE"] = url
            self.assert_refused(["list"], 78, "memory: is inside one process")

    def test_another_capacity(self):
        self.hold("a", "-j", "3")
        self.assert_refused(["run", "-j", "4", "a", "--", "true"], 78, "a")

    def test_a_lost_hold_ends_the_command(self):
        holder = self.hold("a", "--lease", "1s")
        os.kill(holder.pid, signal.SIGSTOP)
        code, out, _ = self.call("run", "-w", "20s", "a", "--", "echo", "rival")
        self.assertEqual((code, out), (0, "rival\n"))
        os.kill(holder.pid, signal.SIGCONT)
        _, err = holder.communicate(timeout=20)
        self.assertEqual(holder.returncode, 76)
        self.assertRegex(err, r"^holdfast: a: hold with fence \d+ lost .*\n$")


class Exclusion(OnALocalStore):
    def test_eight_processes_count_to_1600(self):
        (self.folder / "counter").write_text("0")
        loop = f'for i in $(seq 200); do "{PROGRAM}" run count -- sh -c "{COUNT}" || exit; done'
        loop = loop.replace("$(cat", r"\$(cat").replace("$((n", r"\$((n")
        workers = [
            subprocess.Popen(["sh", "-c", loop], cwd=self.folder, env=self.environment)
            for _ in range(8)
        ]
        self.assertEqual([worker.wait(200) for worker in workers], [0] * 8)
        self.assertEqual((self.folder / "counter").read_text(), "1600\n")

    def test_a_killed_holder_is_followed_at_once(self):
        holder = self.hold("a")
        waiter = self.wait("a", "echo", "next")
        killed = time.monotonic()
        holder.kill()
        out, _ = waiter.communicate(timeout=20)
        self.assertEqual(out, "next\n")
        self.assertLess(time.monotonic() - killed, 5, "not by the lease of 30 s")


class Verbose(OnALocalStore):
    def test_each_step_with_its_time(self):
        code, _, err = self.call("run", "--verbose", "a", "--", "sh", "-c", "exit 3")
        self.assertEqual(code, 3)
        steps = [r"connected to local://\S+", r"a: acquired with fence \d+",
                 r"started sh as process \d+", "the command ended with code 3", "released"]
        lines = "".join(rf"holdfast: \[\d+\.\d{{3}} s\] {step}\n" for step in steps)
        self.assertRegex(err, rf"\A{lines}\Z")

    def test_the_wait(self):
        holder = self.hold("a")
        waiter = self.wait("a", options=["--verbose"])
        self.end(holder)
        _, err = waiter.communicate(timeout=20)
        self.assertRegex(err, r"s\] waiting for a\n.*s\] a: acquired with fence")


class ByTheShell(OnALocalStore):
    def test_as_with_flock(self):
        self.environment["SHELL"] = "/bin/sh"
        self.assertEqual(self.call("run", "a", "-c", "echo $0 one && exit 4"), (4, "/bin/sh one\n", ""))
        self.assertEqual(self.call("run", "-n", "-c", "echo two", "a"), (0, "two\n", ""))

    def test_the_users_own_shell(self):
        self.environment["SHELL"] = "/bin/bash"
        self.assertEqual(self.call("run", "a", "-c", "echo ${BASH_VERSION:+bash}")[1], "bash\n")

    def test_no_descriptor_is_passed_on(self):
        script = "ls -l /proc/self/fd | grep -c -e socket -e control -e lines.mdb -e anon_inode"
        self.assertEqual(self.call("run", "-o", "a", "-c", script)[1], "0\n")


class Environment(OnALocalStore):
    def test_an_owner_of_its_own(self):
        _, out, _ = self.call("run", "a", "--", "sh", "-c", "echo $HOLDFAST_OWNER")
        self.assertRegex(out, r"^.+:\d+:.+$")

    def test_closed_descriptors_do_not_become_the_stores(self):
        for closed in ("2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            script = f'exec "$0" run --verbose a -- true {closed}'
            code, _, _ = self.run_to_end(["sh", "-c", script, PROGRAM], cwd=None)
            self.assertEqual(code, 0)
            self.assertEqual(self.listed(), [])

    def test_standard_input_reaches_the_command(self):
        reader, writer = os.pipe()
        os.write(writer, b"hello")
        os.close(writer)
        with os.fdopen(reader) as text:
            done = self.run_to_end([PROGRAM, "run", "a", "--", "cat"], stdin=text)
        self.assertEqual(done, (0, "hello", ""))


class Signals(OnALocalStore):
    def test_the_command_gets_them(self):
        for name in PASSED_ON:
            with self.subTest(name):
                # Before it says that it is in.
                trap = f'trap "echo got; exit 5" {name}'
                holder = self.hold("a", script="while :; do sleep 0.05; done", before=trap)
                holder.send_signal(getattr(signal, "SIG" + name))
                out, _ = holder.communicate(timeout=20)
                self.assertEqual((out, holder.returncode), ("got\n", 5))

    def start_and_let_it_end(self):
        """The command has ended, and the wrapper has not seen it yet."""
        words = ("run", "--verbose", "a", "--", LONG_NAMED_SHELL, "-c", "exit 5")
        wrapper = self.start(*words, pipesize=PAGE)
        until(lambda: warden_has_ended(wrapper.pid))
        return wrapper

    def assert_harmless(self, name, wrapper):
        wrapper.send_signal(getattr(signal, "SIG" + name))
        _, err = wrapper.communicate(timeout=20)
        self.assertEqual(wrapper.returncode, 5, err)
        self.assertIn("] released\n", err)

    def test_one_that_comes_when_the_command_has_ended_does_not_change_its_code(self):
        for name in PASSED_ON:
            with self.subTest(name):
                self.assert_harmless(name, self.start_and_let_it_end())

    def test_nor_does_one_that_comes_while_the_lock_is_given_back(self):
        for name in PASSED_ON:
            with self.subTest(name):
                wrapper = self.start_and_let_it_end()
                self.assertIn("] connected to ", wrapper.stderr.readline())
                self.assertIn("] a: acquired ", wrapper.stderr.readline())
                until(lambda: has_told_of_its_start(wrapper.pid, wrapper.stderr))
                self.assert_harmless(name, wrapper)

    def test_an_inherited_ignore_stays(self):
        script = "trap '' HUP; exec \"$0\" run a -- sh -c 'kill -HUP $PPID; kill -HUP $$; echo on'"
        done = self.run_to_end(["sh", "-c", script, PROGRAM], cwd=None)
        self.assertEqual(done[:2], (0, "on\n"))

    def test_the_command_starts_with_nothing_blocked(self):
        _, out, _ = self.call("run", "a", "--", "grep", "^SigBlk", "/proc/self/status")
        self.assertEqual(int(out.split()[1], 16), 0)

    def test_the_command_is_still_ended_at_the_file_size_limit(self):
        script = "ulimit -f 0; exec head -c 1 /dev/zero > big"
        self.assertEqual(self.call("run", "a", "--", "sh", "-c", script)[0], 128 + signal.SIGXFSZ)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
