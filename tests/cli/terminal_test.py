"""`holdfast run` at a terminal, beside flock(1): typing, the keys that send signals, jobs, pipes,
hanging up; and without a terminal, as cron has it."""

import fcntl
import os
import re
import resource
import shlex
import signal
import socket
import sys
import time
import unittest

from at_a_terminal import (
    END_OF_INPUT, FLOCK, HOLDFAST, INTERRUPT, QUIT, STOP, AtATerminal, works_in,
)
from program import (
    LONG_NAMED_SHELL, PAGE, has_told_of_its_start, state_of, until, warden_has_ended,
)

COUNTS_INTERRUPTS = """#!/usr/bin/env python3
import os, select, signal, sys
arrivals, arrived = os.pipe()
os.set_blocking(arrived, False)
signal.set_wakeup_fd(arrived)
signal.signal(signal.SIGINT, lambda *_: None)
print("ready", flush=True)
count = 0
while 0 not in select.select([0, arrivals], [], [])[0]:
    count += len(os.read(arrivals, 100))
    print("interrupt", count, flush=True)
input()
print("in all", count)
sys.exit(9)
"""


class Foreground(AtATerminal):
    def test_the_command_reads_what_is_typed(self):
        def act(shell, lock):
            return shell.do(f"{lock} reads", "hello\nend\n")

        shown, code = self.same_with_flock(act)
        self.assertEqual(code, 7)
        self.assertIn("got hello\ngot end\n", shown.replace("hello\nend\n", ""))

    def test_a_question_of_python(self):
        def act(shell, lock):
            shell.type(f"""{lock} python3 -c 'print("an" + "swer", input("Who" + "? "))'""")
            shell.read(r"Who\? ")
            shell.press("me\n")
            return shell.prompt()

        self.assertEqual(self.same_with_flock(act), ["me\nanswer me\n", 0])

    def test_a_hidden_answer(self):
        self.stand_in("bin/asks", "stty -echo; echo ready; read x; stty echo; echo got $x")

        def act(shell, lock):
            before = shell.settings()
            answer = shell.do(f"{lock} asks", "secret\n")
            self.assertEqual(shell.settings(), before)
            return answer

        self.assertEqual(self.same_with_flock(act), ["got secret\n", 0])

    def test_the_end_of_input(self):
        def act(shell, lock):
            return shell.do(f"{lock} reads", END_OF_INPUT)

        self.assertEqual(self.same_with_flock(act), ["", 0])

    def test_a_shell_in_the_lock(self):
        def act(shell, lock):
            shell.type(f"PS1='inner> ' {lock} bash --norc --noprofile --noediting -i")
            shell.read("inner> ")
            shell.begin("sleeps")
            shell.press(INTERRUPT)
            shell.read("inner> ")
            shell.type("exit 3")
            _, code = shell.prompt()
            return code, *shell.do("echo us''able")

        self.assertEqual(self.same_with_flock(act), [3, "usable\n", 0])

    def test_what_the_command_sets_stays_set(self):
        def act(shell, lock):
            before = shell.settings()
            shell.do(f"{lock} stty -echo")
            changed = shell.settings()
            self.assertNotEqual(changed, before)
            shell.press("stty echo\n")
            shell.prompt()
            self.assertEqual(shell.settings(), before)
            return [changed]

        self.same_with_flock(act)

    def test_the_terminal_is_left_as_it_was(self):
        shell = self.shell()
        before = shell.settings()
        for keys, code in (("end\n", 7), (INTERRUPT, 130), (QUIT, 131)):
            self.assertEqual(shell.do(f"{HOLDFAST} reads", keys)[1], code)
            self.assertEqual(shell.settings(), before)
        self.assertEqual(shell.do("echo us''able"), ("usable\n", 0))


class Pipes(AtATerminal):
    def test_on_either_side(self):
        for line in ("LOCK seq 1000 | tail -n 1", "LOCK seq 1000 | head -n 1",
                     "seq 1000 | LOCK tail -n 1", "LOCK seq 1000 | OTHER tail -n 1"):
            with self.subTest(line):
                def act(shell, lock, line=line):
                    other = lock.replace(" a ", " b ").replace(" lock", " other")
                    line = line.replace("LOCK", lock).replace("OTHER", other)
                    shown, code = shell.do(line)
                    return shown, code, *shell.do("echo us''able")

                self.assertEqual(self.same_with_flock(act)[1:], [0, "usable\n", 0])

    def test_the_code_of_a_broken_pipe(self):
        def act(shell, lock):
            shell.do(f"{lock} yes | head -n 1")
            return shell.do('echo "${PIPESTATUS[@]}"')

        self.assertEqual(self.same_with_flock(act), ["141 0\n", 0])

    def test_a_pager_has_the_keyboard(self):
        def act(shell, lock):
            before = shell.settings()
            shell.type(f"{lock} seq 1000 | more")
            shell.read("--More--")
            shell.press(" ")
            shell.read("--More--")
            shell.press("q")
            shell.prompt()
            self.assertEqual(shell.settings(), before)
            return shell.do("echo us''able")

        self.assertEqual(self.same_with_flock(act), ["usable\n", 0])

    def test_ctrl_c_ends_both_sides(self):
        def act(shell, lock):
            return shell.do(f"{lock} sleeps | cat", INTERRUPT)

        self.assertEqual(self.same_with_flock(act)[1], 130)


class Interrupted(AtATerminal):
    def test_ctrl_c(self):
        def act(shell, lock):
            seen = shell.do(f"{lock} sleeps", INTERRUPT)
            self.nothing_is_left(shell)
            return seen

        self.assertEqual(self.same_with_flock(act), ["^C\n", 130])

    def test_ctrl_c_ends_a_loop(self):
        self.stand_in("bin/counts", "echo round >> ../rounds; exec sleeps")
        for lock in ("", FLOCK, HOLDFAST):
            with self.subTest(lock):
                (self.folder / "rounds").unlink(missing_ok=True)
                shell = self.shell()
                self.assertEqual(shell.do(f"for i in 1 2 3; do {lock} counts; done", INTERRUPT)[1], 130)
                self.assertEqual(self.lines_of("rounds"), ["round"])

    def test_a_command_that_goes_on_is_waited_for_and_interrupted_once(self):
        self.stand_in("bin/counts", COUNTS_INTERRUPTS)
        shell = self.shell()
        shell.begin(f"{HOLDFAST} counts; echo then $?")
        for i in range(1, 6):
            shell.press(INTERRUPT)
            shell.read(f"interrupt {i}\r\n")
            self.assertEqual(self.holders(), 1)
        shell.press("\n")
        self.assertEqual(shell.prompt(), ("\nin all 5\nthen 9\n", 0))
        self.nothing_is_left(shell)

    def test_before_the_command_has_begun(self):
        """Whenever it comes, it ends all. Without bash, which may miss one before it waits."""
        for i in range(60):
            terminal = self.terminal("sh", "-c", f"echo ready; exec {HOLDFAST} sleep 60")
            terminal.read("ready\r\n")
            time.sleep(i * 0.0003)
            terminal.press(INTERRUPT)
            code = os.waitstatus_to_exitcode(terminal.wait_for_leader())
            shown = terminal.read_all()
            self.assertEqual(code, -signal.SIGINT, f"after {i * 0.3} ms: {shown}")
            terminal.close()
        self.nothing_is_left()

    def test_ctrl_backslash(self):
        def act(shell, lock):
            shell.do("ulimit -c 0")
            seen = shell.do(f"{lock} sleeps", QUIT)
            self.nothing_is_left(shell)
            return seen

        self.assertEqual(self.same_with_flock(act)[1], 131)

    def test_only_the_command_leaves_a_core(self):
        shell = self.shell()
        shell.do("ulimit -c $(ulimit -Hc)")
        shown, code = shell.do(f"{HOLDFAST} sleeps", QUIT)
        self.assertEqual(code, 131)
        self.assertNotIn("dumped", shown)

    def test_when_the_command_has_died_by_it_before_we_have_looked(self):
        for key, number in ((INTERRUPT, signal.SIGINT), (QUIT, signal.SIGQUIT)):
            with self.subTest(number.name):
                terminal = self.end_behind_our_back("exec sleep 60", key)
                self.assert_died_by(number, terminal)

    def test_when_the_command_has_handled_it_before_we_have_looked(self):
        terminal = self.end_behind_our_back("read x", INTERRUPT, before="trap 'exit 9' INT")
        self.assertEqual(os.waitstatus_to_exitcode(terminal.wait_for_leader()), 9)

    def test_while_the_lock_is_given_back(self):
        for key, number in ((INTERRUPT, signal.SIGINT), (QUIT, signal.SIGQUIT)):
            with self.subTest(number.name):
                terminal, lines = self.start_and_hold_up("exit 5")
                until(lambda: warden_has_ended(terminal.leader))
                self.assertIn("] connected to ", lines.readline())
                self.assertIn("] a: acquired ", lines.readline())
                until(lambda: has_told_of_its_start(terminal.leader, lines))
                terminal.press(key)
                terminal.read(re.escape("^" + chr(ord(key) + 64)))
                self.assertIn("] released\n", lines.read())
                self.assert_died_by(number, terminal)

    def end_behind_our_back(self, script, key, before=":"):
        """By a key, while the wrapper stands still."""
        terminal, lines = self.start_and_hold_up(f"{before}; echo ready; {script}")
        terminal.read("ready\r\n")
        terminal.press(key)
        until(lambda: warden_has_ended(terminal.leader))
        self.assertIn("] released\n", lines.read())
        return terminal

    def start_and_hold_up(self, script):
        """A wrapper that stands at its line of the start; and the pipe with what it tells."""
        lines = self.pipe_of_a_page("lines")
        command = shlex.join([LONG_NAMED_SHELL, "-c", script])
        self.allow_cores()
        line = f"exec holdfast run --verbose a -- {command} 2> ../lines"
        return self.terminal("sh", "-c", line), lines

    def allow_cores(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, (soft, hard))

    def assert_died_by(self, number, terminal):
        status = terminal.wait_for_leader()
        self.assertEqual(os.waitstatus_to_exitcode(status), -number)
        self.assertFalse(os.WCOREDUMP(status), "the wrapper has left a core")

    def pipe_of_a_page(self, name):
        """Its reading end."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        # Does not wait for the other end, which shall find it as it has to be.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PAGE)
        os.set_blocking(descriptor, True)
        lines = open(descriptor)
        self.addCleanup(lines.close)
        return lines


class Stopped(AtATerminal):
    def stop(self, shell):
        """What the shell shows then. Only it reads what is typed from then on."""
        shell.press(STOP)
        seen = shell.prompt()
        until(lambda: all(state_of(one) == "T" for one in works_in(self.desk, "reads")))
        return seen

    def test_ctrl_z_and_fg(self):
        def act(shell, lock):
            shell.begin(f"{lock} reads")
            seen = [*self.stop(shell), *shell.do("jobs")]
            if lock == HOLDFAST:
                self.assertEqual(self.holders(), 1)
                self.assertEqual(self.call("run", "-n", "a", "--", "true")[0], 75)
            shell.type("fg")
            shell.press("more\nend\n")
            shell.read("got more\r\n")
            shell.read("got end\r\n")
            seen.append(shell.prompt()[1])
            self.nothing_is_left(shell)
            return seen

        seen = self.same_with_flock(act)
        self.assertEqual([seen[1], seen[-1]], [148, 7])
        self.assertEqual(seen[2], "[1]+ Stopped LOCK reads\n")

    def test_again_and_again(self):
        shell = self.shell()
        shell.begin(f"{HOLDFAST} reads")
        for i in range(10):
            self.assertEqual(self.stop(shell)[1], 148)
            shell.type("fg")
            shell.press(f"{i}\n")
            shell.read(f"got {i}\r\n")
        shell.press(INTERRUPT)
        self.assertEqual(shell.prompt()[1], 130)
        self.nothing_is_left(shell)

    def test_bg(self):
        os.mkfifo(self.folder / "go")
        self.stand_in("bin/works", "echo ready; read x < ../go; echo done; exit 4")

        def act(shell, lock):
            shell.do(f"{lock} works", STOP)
            seen = [*shell.do("bg"), *shell.do("jobs")]
            shell.type("wait -f %1")
            (self.folder / "go").write_text("\n")
            shell.read("done\r\n")
            return [*seen, shell.prompt()[1]]

        seen = self.same_with_flock(act)
        self.assertEqual(seen[2], "[1]+ Running LOCK works &\n")
        self.assertEqual(seen[-1], 4)

    def test_a_trial_whose_clients_would_go_on_alone_is_not(self):
        shell = self.shell()
        shell.type("holdfast verify --time 3s")
        until(lambda: self.listed())
        shell.press(STOP)
        shown, code = shell.prompt()
        self.assertEqual(code, 0, shown)
        self.assertIn("every promise was kept", shown)

    def test_ended_while_stopped(self):
        def act(shell, lock):
            shell.begin(f"{lock} reads")
            self.stop(shell)
            shell.type("kill %1; kill -CONT %1; wait -f %1")
            return [shell.prompt()[1]]

        self.assertEqual(self.same_with_flock(act), [143])

    def test_where_nobody_could_continue_it_ctrl_z_does_nothing(self):
        """As in `ssh -t host holdfast ...`, and in a container."""
        for lock in (FLOCK, HOLDFAST):
            with self.subTest(lock):
                terminal = self.terminal(*lock.split(), "reads")
                terminal.read("ready\r\n")
                terminal.press(STOP + "end\n")
                terminal.read("got end\r\n")
                self.assertEqual(os.waitstatus_to_exitcode(terminal.wait_for_leader()), 7)


class InLine(AtATerminal):
    def setUp(self):
        super().setUp()
        self.holder = self.hold("a")

    def waiting_shell(self, command="reads"):
        shell = self.shell()
        shell.type(f"{HOLDFAST} {command}")
        self.in_line(1)
        return shell

    def test_ctrl_c(self):
        shell = self.waiting_shell()
        shell.press(INTERRUPT)
        self.assertEqual(shell.prompt()[1], 130)
        self.assertEqual(self.waiters("a"), 0)
        until(lambda: works_in(self.desk) == {shell.leader})

    def test_ctrl_c_ends_a_loop(self):
        shell = self.shell()
        shell.type(f"for i in 1 2; do {HOLDFAST} true; done")
        self.in_line(1)
        shell.press(INTERRUPT)
        self.assertEqual(shell.prompt()[1], 130)
        self.assertEqual(self.waiters("a"), 0)

    def test_stopped_it_is_out_of_line(self):
        shell = self.waiting_shell()
        shell.press(STOP)
        shown, code = shell.prompt()
        self.assertEqual(code, 148)
        self.assertRegex(shown, r"\[1\]\+ +Stopped")
        self.assertEqual(self.waiters("a"), 0)
        shell.type("fg")
        self.in_line(1)
        self.end(self.holder)
        shell.read("ready\r\n")
        shell.press("end\n")
        self.assertEqual(shell.prompt()[1], 7)
        self.nothing_is_left(shell)

    def test_continued_in_the_background(self):
        shell = self.waiting_shell("true")
        shell.press(STOP)
        shell.prompt()
        shell.do("bg")
        self.in_line(1)
        self.end(self.holder)
        self.assertEqual(shell.do("wait -f %1")[1], 0)
        self.nothing_is_left(shell)


class Background(AtATerminal):
    def test_one_that_works(self):
        def act(shell, lock):
            shell.do(f"{lock} sh -c 'exit 6' &")
            return shell.do("wait -f %1")[1:]

        self.assertEqual(self.same_with_flock(act), [6])

    def test_one_that_reads_is_stopped_until_it_is_in_the_foreground(self):
        def act(shell, lock):
            shell.do(f"{lock} reads &")
            shown = self.job_when(shell, "Stopped")
            shell.type("fg")
            shell.press("end\n")
            shell.read("got end\r\n")
            return shown, shell.prompt()[1]

        self.assertEqual(self.same_with_flock(act), ["[1]+ Stopped (tty input) LOCK reads\n", 7])

    def test_one_that_sets_the_terminal_is_stopped(self):
        def act(shell, lock):
            shell.do(f"{lock} stty -echo &")
            return [self.job_when(shell, "Stopped")]

        self.assertEqual(
            self.same_with_flock(act), ["[1]+ Stopped (tty output) LOCK stty -echo\n"]
        )

    def test_ctrl_c_is_not_for_it(self):
        shell = self.shell()
        shell.do(f"{HOLDFAST} sleep 60 &")
        until(lambda: self.holders() == 1)
        shell.press(INTERRUPT)
        shell.prompt()
        self.assertRegex(shell.do("jobs")[0], "Running")
        self.assertEqual(self.holders(), 1)
        self.assertEqual(shell.do("kill %1; wait -f %1")[1], 143)


class HangUp(AtATerminal):
    def setUp(self):
        super().setUp()
        self.stand_in(
            "bin/hears",
            "trap 'echo heard >> ../heard; exit' HUP; echo ready; while :; do sleep 0.05; done",
        )

    def busy_shell(self, command):
        shell = self.shell()
        shell.begin(f"{HOLDFAST} {command}")
        return shell

    def test_while_a_command_runs(self):
        self.busy_shell("sleeps").hang_up()
        self.nothing_is_left()

    def test_the_command_hears_of_it(self):
        self.busy_shell("hears").hang_up()
        self.nothing_is_left()
        self.assertIn("heard", self.lines_of("heard"))

    def test_while_it_is_stopped(self):
        shell = self.busy_shell("sleeps")
        shell.press(STOP)
        shell.prompt()
        shell.hang_up()
        self.nothing_is_left()

    def test_in_the_background(self):
        shell = self.shell()
        shell.do(f"{HOLDFAST} sleep 60 &")
        until(lambda: self.holders() == 1)
        shell.hang_up()
        self.nothing_is_left()

    def test_while_it_waits(self):
        holder = self.hold("a")
        shell = self.shell()
        shell.type(f"{HOLDFAST} true")
        self.in_line(1)
        shell.hang_up()
        self.in_line(0)
        self.end(holder)
        self.nothing_is_left()

    def test_a_killed_shell(self):
        for keys in ("", STOP):
            with self.subTest(keys):
                shell = self.busy_shell("sleeps")
                if keys:
                    shell.press(keys)
                    shell.prompt()
                os.kill(shell.leader, signal.SIGKILL)
                self.nothing_is_left()

    def test_nohup_survives_it(self):
        os.mkfifo(self.folder / "go")
        self.stand_in("bin/works", "echo ready; read x < ../go; echo done >> ../done")
        shell = self.shell()
        shell.type(f"nohup {HOLDFAST} works")
        until(lambda: "ready" in self.text_of("desk/nohup.out"))
        shell.hang_up()
        shell.wait_for_leader()
        self.assertEqual(self.holders(), 1)
        for process in works_in(self.desk):
            os.kill(process, signal.SIGHUP)
        self.assertEqual(self.holders(), 1)
        (self.folder / "go").write_text("\n")
        self.nothing_is_left()
        self.assertEqual(self.lines_of("done"), ["done"])


class WithoutATerminal(AtATerminal):
    def without_terminal(self, script, lock):
        words = ["sh", "-c", script, "sh", *lock.split()]
        return self.run_to_end(words, cwd=self.desk, start_new_session=True)

    def test_cron_ignores_interrupts(self):
        script = "trap '' INT QUIT; \"$@\" grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"
        seen = [self.without_terminal(script, lock) for lock in (FLOCK, HOLDFAST)]
        self.assertEqual(seen[0], seen[1])
        code, out, err = seen[0]
        self.assertEqual((code, err), (0, ""))
        ignored = int(re.search(r"SigIgn:\s*(\w+)", out)[1], 16)
        self.assertEqual(ignored, 1 << (signal.SIGINT - 1) | 1 << (signal.SIGQUIT - 1))

    def test_an_ignored_interrupt_ends_neither(self):
        inner = "kill -INT $0 $$; kill -QUIT $0 $$; echo on"
        script = f"trap '' INT QUIT; exec \"$@\" sh -c '{inner}' $$"
        self.assertEqual(self.without_terminal(script, HOLDFAST), (0, "on\n", ""))

    def test_standard_input_is_the_commands(self):
        for script, shown in (
            ('"$@" readlink /proc/self/fd/0', "/dev/null\n"),
            ("\"$@\" sh -c '[ -e /proc/self/fd/0 ] || echo closed' <&-", "closed\n"),
            ('echo text | "$@" cat', "text\n"),
        ):
            self.assertEqual(self.without_terminal(script, HOLDFAST), (0, shown, ""))

    def test_nothing_is_said_while_it_waits(self):
        holder = self.hold("a")
        waiter = self.begin(f"exec {HOLDFAST} echo in")
        self.in_line(1)
        shell = self.shell()
        shell.type(f"{HOLDFAST} true")
        shell.read("waiting for a")
        self.end(holder)
        self.assertEqual(self.finish(waiter), (0, "in\n", ""))


class ProgressLine(AtATerminal):
    EMPTIED = r"\r\x1b\[K"

    def setUp(self):
        super().setUp()
        self.holder = self.hold("a")
        self.held_by = re.escape(f"held by {socket.gethostname()}:{self.holder.pid}")

    def waiting_shell(self, words=f"{HOLDFAST} reads", columns=200):
        shell = self.shell()
        shell.set_width(columns)
        shell.type(words)
        return shell

    def line(self, shell):
        """One that is whole, for the next one has begun."""
        return shell.read(f"{self.EMPTIED}([^\r]*)(?=\r)")[1][1]

    def test_who_holds_it_and_for_how_long(self):
        shell = self.waiting_shell()
        for _ in range(2):
            self.assertRegex(self.line(shell), rf"\Awaiting for a, {self.held_by} for \d+ s\Z")

    def test_it_is_gone_when_the_lock_is_had(self):
        shell = self.waiting_shell()
        before = shell.settings()
        shell.read("waiting for a, held by [^\r]* s")
        self.end(self.holder)
        shown, _ = shell.read("ready\r\n")
        self.assertRegex(shown, self.EMPTIED + r"\Z")
        shell.press("end\n")
        self.assertEqual(shell.prompt()[1], 7)
        self.assertEqual(shell.settings(), before)

    def test_it_is_gone_after_ctrl_c(self):
        shell = self.waiting_shell()
        shell.read("waiting for a, held by [^\r]* s")
        shell.press(INTERRUPT)
        shown, code = shell.prompt()
        self.assertEqual(code, 130)
        self.assertRegex(shown, self.EMPTIED + r"\n?\Z")

    def test_how_many_are_ahead(self):
        first = self.waiting_shell()
        self.in_line(1)
        second = self.waiting_shell()
        self.assertTrue(self.line(second).endswith(", 1 ahead of you"))
        self.assertNotIn("ahead", self.line(first))

    def test_it_stays_on_one_line(self):
        for columns in (20, 2, 1):
            with self.subTest(columns):
                shell = self.waiting_shell(columns=columns)
                line = self.line(shell)
                self.assertEqual(line, "waiting for a, held by"[: columns - 1])
                shell.press(INTERRUPT)
                shell.prompt()

    def test_names_do_not_steer_the_terminal(self):
        self.hold("b\x1b[2J\n")
        shell = self.waiting_shell(r"holdfast run $'b\e[2J\n' -- true")
        self.assertTrue(self.line(shell).startswith(r"waiting for b\x1b[2J\x0a, held by "))

    def test_not_where_nobody_looks(self):
        piped = self.waiting_shell(f"{HOLDFAST} true 2>&1 | cat")
        self.in_line(1)
        behind = self.shell()
        behind.do(f"{HOLDFAST} true &")
        self.in_line(2)
        self.line(self.waiting_shell())
        for shell in (piped, behind):
            shell.press(INTERRUPT)
            self.assertNotIn("waiting", shell.prompt()[0])

    def test_from_the_background_to_the_foreground(self):
        shell = self.shell()
        shell.do(f"{HOLDFAST} true &")
        self.in_line(1)
        shell.type("fg")
        self.assertRegex(self.line(shell), r"\Awaiting for a, held by ")
        self.end(self.holder)
        self.assertEqual(shell.prompt()[1], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
