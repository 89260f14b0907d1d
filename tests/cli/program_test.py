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
        ):
            with self.subTest(words):
                hint = f"did you mean: holdfast run {meant}?\n"
                self.assert_refused(["run", *words], 64, hint)

    def test_a_forgotten_separator_beside_a_wrong_option(self):
        self.assert_refused(["run", "--dance", "a", "make"], 64, "--dance", "put -- before")

    def test_a_hint_reads_back(self):
        word = "a\\b\n\x1b'c"
        _, _, err = self.call("run", "a", "printf", "%s", word)
        shown = err.split("holdfast run a -- ", 1)[1].rstrip("?\n")
        done = subprocess.run(["bash", "-c", shown], stdout=subprocess.PIPE, text=True, timeout=20)
        self.assertEqual(done.stdout, word)

    def test_no_command(self):
        self.assert_refused(["run", "deploy"], 64, "holdfast run deploy -- COMMAND")
        self.assert_refused(["run", "deploy", "-n"], 64, "holdfast run deploy -n -- COMMAND")
        self.assert_refused(["run", "deploy", "--"], 64, "no command")
        self.assert_refused(["run", "deploy", "--", ""], 64, "the command", "empty")

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
        for command in ("run", "list", "show", "break", "schema", "sweep"):
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
        self.assertEqual(self.call("run", "--nb", "a", "--", "true")[0], 75)
        self.assertEqual(self.call("run", "--timeout", "0.05", "a", "--", "true")[0], 75)

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
        self.assertEqual(self.call("run", "-n", "a", "--", "true"), (75, "", ""))
        self.assertEqual(self.call("run", "-w", "50ms", "a", "--", "true"), (75, "", ""))
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
        done = subprocess.run(
            ["sh", "-c", limited, PROGRAM, self.environment["HOLDFAST_STORE"]],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=20,
        )
        self.assertEqual((done.returncode, done.stdout), (69, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aholdfast: [^\n]+\n\Z")

    def test_bad_configuration(self):
        self.assert_refused(["list", "-S", "carrier-pigeon://x"], 78, "carrier-pigeon", "local")
        self.assert_refused(["list", "-S", "local:?color=red"], 78, "color", "mode")
        self.assert_refused(["list", "-S", f"local://{self.folder}/text/x"], 78)

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
        time.sleep(1.5)
        code, out, _ = self.call("run", "-w", "10s", "a", "--", "echo", "rival")
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

    def test_shared_holds_exclude_only_an_exclusive_one(self):
        self.hold("a", "-s")
        self.assertEqual(self.call("run", "-n", "-s", "a", "--", "true")[0], 0)
        self.assertEqual(self.call("run", "-n", "a", "--", "true")[0], 75)

    def test_slots(self):
        self.hold("a", "-j", "2")
        last = self.hold("a", "-j", "2")
        self.assertEqual(self.call("run", "-n", "-j", "2", "a", "--", "true")[0], 75)
        self.end(last)
        self.assertEqual(self.call("run", "-n", "-j", "2", "a", "--", "true")[0], 0)

    def test_several_names_are_taken_all_or_none(self):
        self.hold("b")
        self.assertEqual(self.call("run", "-n", "a", "b", "--", "true")[0], 75)
        self.assertEqual(self.call("run", "-n", "a", "c", "--", "true")[0], 0)

    def test_a_killed_holder_is_followed_at_once(self):
        holder = self.hold("a")
        waiter = self.start("run", "a", "--", "echo", "next")
        until(lambda: self.waiters("a") == 1)
        killed = time.monotonic()
        holder.kill()
        out, _ = waiter.communicate(timeout=20)
        self.assertEqual(out, "next\n")
        self.assertLess(time.monotonic() - killed, 5, "not by the lease of 30 s")

    def test_re_entering_joins_only_when_asked_to(self):
        inner = [PROGRAM, "run", "-n", "a", "--", "true"]
        self.assertEqual(self.call("run", "a", "--", *inner)[0], 75)
        inner.insert(2, "--reenter")
        self.assertEqual(self.call("run", "a", "--", *inner)[0], 0)


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
        waiter = self.start("run", "--verbose", "a", "--", "true")
        until(lambda: self.waiters("a") == 1)
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
    def seen(self, *words):
        code, out, err = self.call("run", *words, "--", "env", "-0")
        self.assertEqual(code, 0, err)
        return dict(entry.split("=", 1) for entry in out.split("\0") if entry)

    def test_what_the_command_finds(self):
        seen = self.seen("jobs/7", "--owner", "me")
        self.assertEqual(seen["HOLDFAST_NAME"], "jobs/7")
        self.assertEqual(seen["HOLDFAST_OWNER"], "me")
        self.assertEqual(seen["HOLDFAST_STORE"], self.environment["HOLDFAST_STORE"])
        self.assertGreater(int(seen["HOLDFAST_FENCE"]), 0)

    def test_an_owner_of_its_own(self):
        self.assertRegex(self.seen("a")["HOLDFAST_OWNER"], r"^.+:\d+:.+$")

    def test_fences_rise(self):
        fences = [int(self.seen("a")["HOLDFAST_FENCE"]) for _ in range(3)]
        self.assertEqual(fences, sorted(set(fences)))

    def test_one_line_for_each_of_several_names(self):
        seen = self.seen("b", "a", "b")
        self.assertEqual(seen["HOLDFAST_NAME"], "a\nb")
        self.assertEqual(len(seen["HOLDFAST_FENCE"].split()), 2)

    def test_closed_descriptors_do_not_become_the_stores(self):
        for closed in ("2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            script = f'exec "$0" run --verbose a -- true {closed}'
            done = subprocess.run(["sh", "-c", script, PROGRAM], env=self.environment, timeout=20)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(self.listed(), [])

    def test_standard_input_reaches_the_command(self):
        out = subprocess.run(
            [PROGRAM, "run", "a", "--", "cat"],
            env=self.environment, input="hello", stdout=subprocess.PIPE, text=True, timeout=20,
        )
        self.assertEqual(out.stdout, "hello")


class Signals(OnALocalStore):
    def test_the_command_gets_them(self):
        for name in PASSED_ON:
            with self.subTest(name):
                script = f'trap "echo got; exit 5" {name}; echo in; while :; do sleep 0.05; done'
                holder = self.start("run", "a", "--", "sh", "-c", script)
                self.assertEqual(holder.stdout.readline(), "in\n")
                holder.send_signal(getattr(signal, "SIG" + name))
                out, _ = holder.communicate(timeout=20)
                self.assertEqual((out, holder.returncode), ("got\n", 5))

    def start_and_let_it_end(self):
        """The command has ended, and the wrapper has not seen it yet."""
        words = ("run", "--verbose", "a", "--", LONG_NAMED_SHELL, "-c", "exit 5")
        wrapper = self.start(*words, pipesize=PAGE)
        until(lambda: warden_has_ended(wrapper.pid))
        return wrapper

    def test_one_that_comes_when_the_command_has_ended_does_not_change_its_code(self):
        for name in PASSED_ON:
            with self.subTest(name):
                wrapper = self.start_and_let_it_end()
                wrapper.send_signal(getattr(signal, "SIG" + name))
                _, err = wrapper.communicate(timeout=20)
                self.assertEqual(wrapper.returncode, 5, err)
                self.assertIn("] released\n", err)

    def test_nor_does_one_that_comes_while_the_lock_is_given_back(self):
        for name in PASSED_ON:
            with self.subTest(name):
                wrapper = self.start_and_let_it_end()
                self.assertIn("] connected to ", wrapper.stderr.readline())
                self.assertIn("] a: acquired ", wrapper.stderr.readline())
                until(lambda: has_told_of_its_start(wrapper.pid, wrapper.stderr))
                wrapper.send_signal(getattr(signal, "SIG" + name))
                _, err = wrapper.communicate(timeout=20)
                self.assertEqual(wrapper.returncode, 5, err)
                self.assertIn("] released\n", err)

    def test_a_waiter_leaves_the_line_and_dies_by_it(self):
        self.hold("a")
        waiter = self.start("run", "a", "--", "true")
        until(lambda: self.waiters("a") == 1)
        waiter.terminate()
        self.assertEqual(waiter.wait(20), -signal.SIGTERM)
        self.assertEqual(self.waiters("a"), 0)

    def test_an_inherited_ignore_stays(self):
        script = "trap '' HUP; exec \"$0\" run a -- sh -c 'kill -HUP $PPID; kill -HUP $$; echo on'"
        done = subprocess.run(
            ["sh", "-c", script, PROGRAM],
            env=self.environment, stdout=subprocess.PIPE, text=True, timeout=20,
        )
        self.assertEqual((done.returncode, done.stdout), (0, "on\n"))

    def test_the_command_starts_with_nothing_blocked(self):
        _, out, _ = self.call("run", "a", "--", "grep", "^SigBlk", "/proc/self/status")
        self.assertEqual(int(out.split()[1], 16), 0)

    def test_the_command_is_still_ended_at_the_file_size_limit(self):
        script = "ulimit -f 0; exec head -c 1 /dev/zero > big"
        self.assertEqual(self.call("run", "a", "--", "sh", "-c", script)[0], 128 + signal.SIGXFSZ)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
