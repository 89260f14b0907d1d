"""What becomes of the command, and of all that it has started, when one of the processes of
`holdfast run` is killed or stands still, when the hold is lost, and when time is up."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from program import (
    PAGE, PROGRAM, OnALocalStore, children, is_there, stat_of, state_of, until,
)

# Ignores TERM, and so does what it has started: a child, a grandchild whose parent is gone, and one
# in a session of its own. Each writes its pid.
STUBBORN = """
trap '' TERM
sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 1; done' &
(sh -c 'trap "" TERM; echo $$ > orphan; while :; do sleep 1; done' &)
setsid sh -c 'trap "" TERM; echo $$ > apart; while :; do sleep 1; done' &
echo $$ > command
while :; do sleep 1; done
"""
FAMILY = ("command", "child", "orphan", "apart")
# Says who of the family lives, and the fence.
LOOK = 'for f in %s; do kill -0 $(cat $f) 2>/dev/null && echo "$f lives"; done; echo "in $HOLDFAST_FENCE"'
LOOK %= " ".join(FAMILY)


class Stepped:
    """A process that goes from one system call to the next, until it is left where it is."""

    SYSCALL, ATTACH, DETACH = 24, 16, 17  # sys/ptrace.h
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace

    def __init__(self, pid):
        self.pid = pid
        try:
            self.ask(self.ATTACH)
        except PermissionError as error:
            raise unittest.SkipTest("one may not be traced here") from error
        os.waitpid(pid, 0)

    def ask(self, request):
        nothing = ctypes.c_void_p()
        if self.ptrace(ctypes.c_long(request), self.pid, nothing, nothing) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def stop_when(self, is_so):
        """Behind the call that has made it so."""
        while not is_so():
            self.ask(self.SYSCALL)
            os.waitpid(self.pid, 0)
        os.kill(self.pid, signal.SIGSTOP)
        self.ask(self.DETACH)


FOR_EVER = "while :; do sleep 0.01; done"


def ours(err):
    """Without what the shells say of their children."""
    return "".join(line for line in err.splitlines(True) if line.startswith("holdfast: "))


class WithAFamily(OnALocalStore):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_family)

    def end_family(self):
        for pid in self.family():
            if is_there(pid):
                os.kill(pid, signal.SIGKILL)

    def family(self):
        pids = []
        for name in FAMILY:
            try:
                pids.append(int((self.folder / name).read_text()))
            except (FileNotFoundError, ValueError):
                pass
        return pids

    def start_stubborn(self, *options):
        """A holder of `a` with its family, all alive."""
        wrapper = self.start("run", *options, "a", "--", "sh", "-c", STUBBORN)
        until(lambda: len(self.family()) == len(FAMILY))
        self.assertTrue(all(map(is_there, self.family())))
        return wrapper

    def start_rival(self, script=LOOK):
        return self.wait("a", "sh", "-c", script)

    def fence(self):
        (resource,) = self.listed("a")
        return resource["holders"][0]["fence"]

    def assert_alone(self, rival, fence):
        """The rival was in when none of the family lived, with a larger fence."""
        out, err = rival.communicate(timeout=30)
        self.assertEqual(rival.returncode, 0, err)
        words = out.split()
        self.assertEqual(words[:-1], ["in"], out)
        self.assertGreater(int(words[-1]), fence)

    def assert_none_lives(self, *more):
        self.assertFalse(any(map(is_there, [*more, *self.family()])))

    def warden_of(self, wrapper):
        (warden,) = children(wrapper.pid)
        return warden


class Killed(WithAFamily):
    def test_the_wrapper(self):
        wrapper = self.start_stubborn()
        rival = self.start_rival()
        fence = self.fence()
        wrapper.kill()
        self.assert_alone(rival, fence)
        self.assertEqual(wrapper.wait(20), -signal.SIGKILL)
        self.assertIn("holdfast: a: holdfast was killed; ended the command\n",
                      wrapper.communicate(timeout=20)[1])

    def test_the_next_one_is_in_at_once(self):
        """Not when the lease of 30 s ends. How soon that is, `./dev bench run` tells."""
        latencies = []
        for _ in range(9):
            wrapper = self.start_stubborn()
            rival = self.start_rival("date +%s%N")
            killed = time.time_ns()
            wrapper.kill()
            out, _ = rival.communicate(timeout=30)
            latencies.append((int(out) - killed) / 1e6)
            wrapper.wait(20)
            self.assert_none_lives()
            for name in FAMILY:
                (self.folder / name).unlink()
        self.assertLess(sorted(latencies)[len(latencies) // 2], 5000, latencies)

    def test_the_warden(self):
        wrapper = self.start_stubborn()
        rival = self.start_rival()
        fence = self.fence()
        os.kill(self.warden_of(wrapper), signal.SIGKILL)
        self.assert_alone(rival, fence)
        _, err = wrapper.communicate(timeout=20)
        self.assertEqual(wrapper.returncode, 76)
        self.assertRegex(ours(err), r"\Aholdfast: a: hold with fence \d+ lost .*killed.*ended the command\n\Z")

    def test_all_of_the_job(self):
        """As a shell or a CI runner does: the warden is in a group of its own."""
        wrapper = self.start_stubborn_in_a_group()
        rival = self.start_rival()
        fence = self.fence()
        os.killpg(wrapper.pid, signal.SIGKILL)
        self.assert_alone(rival, fence)

    def start_stubborn_in_a_group(self):
        words = [PROGRAM, "run", "a", "--", "sh", "-c", STUBBORN]
        wrapper = subprocess.Popen(words, cwd=self.folder, env=self.environment,
                                   process_group=0, stderr=subprocess.DEVNULL)
        self.addCleanup(wrapper.wait, 20)
        until(lambda: len(self.family()) == len(FAMILY))
        return wrapper

    def test_a_gentle_command_may_clean_up(self):
        wrapper = self.hold("a", "-k", "10s", before="trap 'echo cleaned > cleaned; exit' TERM",
                            script=FOR_EVER)
        wrapper.kill()
        self.assertFalse(self.is_held("a", "-w", "20s"))
        self.assertTrue((self.folder / "cleaned").exists())

    def test_the_warden_of_one_that_waits(self):
        """Then the command is not started at all."""
        holder = self.hold("a")
        waiter = self.wait("a", "touch", "ran")
        os.kill(self.warden_of(waiter), signal.SIGKILL)
        self.assert_not_started(holder, waiter, "its warden was killed")

    def test_the_process_that_was_to_become_the_command(self):
        holder = self.hold("a")
        waiter = self.wait("a", "touch", "ran")
        warden = self.warden_of(waiter)
        until(lambda: children(warden))
        (command,) = children(warden)
        os.kill(command, signal.SIGKILL)
        until(lambda: not is_there(warden))
        self.assert_not_started(holder, waiter, "the process that was to become it was killed")

    def assert_not_started(self, holder, waiter, why):
        until(lambda: not any(map(is_there, children(waiter.pid))))
        self.end(holder)
        _, err = waiter.communicate(timeout=20)
        self.assertEqual((waiter.returncode, err),
                         (70, f"holdfast: a: did not start the command: {why}\n"))
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual(self.listed(), [])

    def test_both_at_one_moment_take_the_command_with_them(self):
        """By the kernel: what the command has started is out of anybody's hands then."""
        wrapper = self.start_stubborn()
        warden = self.warden_of(wrapper)
        command = int((self.folder / "command").read_text())
        for pid in (warden, wrapper.pid):
            os.kill(pid, signal.SIGSTOP)
            until(lambda: state_of(pid) == "T")
        wrapper.kill()
        os.kill(warden, signal.SIGKILL)
        until(lambda: not is_there(command))

    def test_the_wrapper_whose_lines_nobody_reads(self):
        """What the warden says of it has no room, and keeps nobody waiting."""
        wrapper = self.hold("a", script="exec head -c 1000000 /dev/zero >&2")
        rival = self.start_rival("echo in")
        wrapper.kill()
        self.assertEqual(rival.communicate(timeout=20)[0], "in\n")

    def test_a_waiter_leaves_nothing(self):
        self.hold("a")
        waiter = self.wait("a", "touch", "ran")
        warden = self.warden_of(waiter)
        waiter.kill()
        until(lambda: self.waiters("a") == 0 and not is_there(warden))
        self.assertFalse((self.folder / "ran").exists())


class StandingStill(WithAFamily):
    def test_the_wrapper(self):
        wrapper = self.start_stubborn("--lease", "2s")
        rival = self.start_rival()
        fence = self.fence()
        wrapper.send_signal(signal.SIGSTOP)
        self.addCleanup(wrapper.send_signal, signal.SIGCONT)
        self.assert_alone(rival, fence)
        wrapper.send_signal(signal.SIGCONT)
        _, err = wrapper.communicate(timeout=20)
        self.assertEqual(wrapper.returncode, 76)
        self.assertRegex(ours(err), r"\Aholdfast: a: hold with fence \d+ lost .*ended the command\n\Z")

    def test_the_warden_when_it_is_needed(self):
        wrapper = self.start_stubborn("--max-time", "1s", "-k", "100ms")
        warden = self.warden_of(wrapper)
        os.kill(warden, signal.SIGSTOP)
        _, err = wrapper.communicate(timeout=30)
        self.assertEqual(wrapper.returncode, 124, err)
        self.assert_none_lives(warden)

    def test_the_warden_of_a_command_that_ends(self):
        self.make_gate()
        wrapper = self.hold("a", "--lease", "2s", script="read line < go; exit 5")
        os.kill(self.warden_of(wrapper), signal.SIGSTOP)
        self.open_gate()
        self.assertEqual(wrapper.wait(20), 5)
        self.assertEqual(self.listed(), [])

    def test_the_warden_that_has_seen_the_command_end_and_has_not_told(self):
        self.assert_needed_for_no_code()

    def test_the_same_where_a_loss_is_ignored(self):
        self.assert_needed_for_no_code("--on-lost", "ignore")

    def assert_needed_for_no_code(self, *options):
        self.make_gate()
        wrapper = self.hold("a", "--lease", "2s", *options, script="read line < go; exit 5")
        (command,) = children(self.warden_of(wrapper))
        warden = Stepped(self.warden_of(wrapper))
        self.open_gate()
        warden.stop_when(lambda: not stat_of(command))
        self.assertEqual(wrapper.wait(20), 5)
        self.assertEqual(self.listed(), [])

    def test_the_warden_keeps_no_signal_from_the_command(self):
        wrapper = self.hold("a", "--lease", "2s")
        os.kill(self.warden_of(wrapper), signal.SIGSTOP)
        wrapper.terminate()
        self.assertEqual(wrapper.wait(20), 128 + signal.SIGTERM)

    def test_the_warden_of_one_that_waits_in_vain(self):
        self.hold("a")
        waiter = self.wait("a", options=["-w", "1s"])
        os.kill(self.warden_of(waiter), signal.SIGSTOP)
        self.assertEqual(waiter.wait(20), 75)

    def test_the_process_that_was_to_become_the_command_in_vain(self):
        self.hold("a")
        waiter = self.wait("a", options=["-w", "1s"])
        warden = self.warden_of(waiter)
        until(lambda: children(warden))
        (command,) = children(warden)
        os.kill(command, signal.SIGSTOP)
        self.assertEqual(waiter.wait(20), 75)
        self.assertFalse(is_there(command))

    def test_all_until_the_next_one_is_in_the_command_is_not_started(self):
        """The word was given in time, and heard too late."""
        for options in ([], ["--on-lost", "ignore"]):
            with self.subTest(options):
                self.assert_not_started_late(options)

    def assert_not_started_late(self, options):
        holder = self.hold("a")
        waiter = self.wait("a", "touch", "ran", options=["--verbose", "--lease", "1s", *options])
        warden = self.warden_of(waiter)
        until(lambda: children(warden))
        (command,) = children(warden)
        os.kill(command, signal.SIGSTOP)
        until(lambda: state_of(command) == "T")
        self.end(holder)
        for line in waiter.stderr:
            if "started" in line:
                break
        for pid in (warden, waiter.pid):
            os.kill(pid, signal.SIGSTOP)
            self.addCleanup(self.go_on, pid)
        self.assertEqual(self.wait("a", "true", place=0).wait(20), 0)
        os.kill(command, signal.SIGCONT)
        until(lambda: not is_there(command))
        self.assertFalse((self.folder / "ran").exists())
        self.go_on(warden)
        self.go_on(waiter.pid)
        _, err = waiter.communicate(timeout=20)
        self.assertEqual(waiter.returncode, 75, err)
        self.assertIn("lost before the command was started", err)
        self.assertNotIn("goes on", err)

    @staticmethod
    def go_on(pid):
        if state_of(pid) == "T":
            os.kill(pid, signal.SIGCONT)

    def test_right_after_it_was_continued(self):
        """The long lease of a stopped job is not taken for one that stands still."""
        wrapper = self.start("run", "--lease", "3s", "a", "--", "sh", "-c", STUBBORN,
                             process_group=0)
        until(lambda: len(self.family()) == len(FAMILY))
        fence = self.fence()
        wrapper.send_signal(signal.SIGTSTP)
        until(lambda: state_of(wrapper.pid) == "T")
        wrapper.send_signal(signal.SIGCONT)
        until(lambda: self.listed("a")[0]["holders"][0]["lease_left_ms"] <= 3000)
        wrapper.send_signal(signal.SIGSTOP)
        self.addCleanup(wrapper.send_signal, signal.SIGCONT)
        self.assert_alone(self.start_rival(), fence)
        wrapper.send_signal(signal.SIGCONT)
        self.assertEqual(wrapper.wait(20), 76)

    def test_for_less_than_its_lease_does_no_harm(self):
        self.make_gate()
        wrapper = self.hold("a", "--lease", "30s", script="read line < go; echo on")
        wrapper.send_signal(signal.SIGSTOP)
        until(lambda: state_of(wrapper.pid) == "T")
        wrapper.send_signal(signal.SIGCONT)
        self.open_gate()
        out, err = wrapper.communicate(timeout=20)
        self.assertEqual((wrapper.returncode, out, err), (0, "on\n", ""))

    def test_stopped_like_a_job_it_keeps_the_lock(self):
        """As flock(1) does: the lease is lengthened before it stops."""
        # In a group whose parent is in another one: nobody could continue an orphaned one.
        wrapper = self.hold("a", "--lease", "1s", process_group=0)
        wrapper.send_signal(signal.SIGTSTP)
        until(lambda: state_of(wrapper.pid) == "T")
        (resource,) = self.listed("a")
        self.assertGreater(resource["holders"][0]["lease_left_ms"], 3_600_000)
        self.assertTrue(self.is_held("a", "-w", "2s"))
        wrapper.send_signal(signal.SIGCONT)
        until(lambda: self.listed("a")[0]["holders"][0]["lease_left_ms"] <= 1000)
        wrapper.terminate()
        self.assertEqual(wrapper.wait(20), 128 + signal.SIGTERM)


class Lost(WithAFamily):
    def break_hold(self):
        fence = self.fence()
        code, _, err = self.call("break", "a", "--fence", str(fence))
        self.assertEqual(code, 0, err)
        return fence

    def assert_lost(self, wrapper):
        _, err = wrapper.communicate(timeout=30)
        self.assertEqual(wrapper.returncode, 76, err)
        self.assertRegex(ours(err), r"\Aholdfast: a: hold with fence \d+ lost .*; ended the command\n\Z")

    def test_a_broken_hold_ends_everything(self):
        wrapper = self.start_stubborn("--lease", "1s")
        self.break_hold()
        self.assert_lost(wrapper)
        self.assert_none_lives()

    def test_kill_spares_the_term(self):
        trap = "trap 'echo asked > asked; exit' TERM"
        for option, asked in (("term", True), ("kill", False)):
            with self.subTest(option):
                wrapper = self.hold("a", "--lease", "1s", "--on-lost", option, "-k", "500ms",
                                    before=trap, script=FOR_EVER)
                self.break_hold()
                self.assert_lost(wrapper)
                self.assertEqual((self.folder / "asked").exists(), asked)
                (self.folder / "asked").unlink(missing_ok=True)

    def test_ignored_the_command_goes_on(self):
        self.make_gate()
        wrapper = self.hold("a", "--lease", "1s", "--on-lost", "ignore",
                            script="read line < go; echo done > done")
        self.break_hold()
        self.assertRegex(wrapper.stderr.readline(), r"a: hold with fence \d+ lost .*goes on")
        self.assertFalse(self.is_held("a", "-w", "20s"))
        self.open_gate()
        self.assertEqual(wrapper.communicate(timeout=20)[1], "", "it was told once")
        self.assertEqual(wrapper.returncode, 76)
        self.assertTrue((self.folder / "done").exists())

    def test_ignored_it_outlives_a_killed_wrapper(self):
        self.make_gate()
        wrapper = self.hold("a", "--on-lost", "ignore",
                            script="read line < go; echo done > done")
        wrapper.kill()
        self.assertFalse(self.is_held("a", "-w", "20s"))
        self.open_gate()
        until(lambda: (self.folder / "done").exists())

    def test_ignored_the_rest_holds_without_a_warden(self):
        for options, signals, code in ((["--max-time", "1s", "-k", "10ms"], [], 124),
                                       ([], [signal.SIGTERM], 128 + signal.SIGTERM)):
            with self.subTest(options):
                wrapper = self.hold("a", "--on-lost", "ignore", *options)
                os.kill(self.warden_of(wrapper), signal.SIGKILL)
                for number in signals:
                    wrapper.send_signal(number)
                self.assertEqual(wrapper.wait(20), code)

    def test_it_is_76_although_nobody_reads_our_lines(self):
        wrapper = self.hold("a", "--lease", "1s")
        wrapper.stderr.close()
        self.break_hold()
        self.assertEqual(wrapper.wait(20), 76)


class TimeIsUp(WithAFamily):
    def test_124_and_none_is_left(self):
        wrapper = self.start_stubborn("--max-time", "1s", "-k", "100ms")
        _, err = wrapper.communicate(timeout=30)
        self.assertEqual(wrapper.returncode, 124)
        self.assertEqual(ours(err), "holdfast: a: the command took longer than 1.0 s; ended it\n")
        self.assert_none_lives()
        self.assertEqual(self.listed(), [])

    def test_a_command_in_time_is_left_alone(self):
        self.assertEqual(self.call("run", "--max-time", "60s", "a", "--", "true"), (0, "", ""))

    def test_it_counts_from_the_commands_start(self):
        holder = self.hold("a")
        waiter = self.wait("a", "echo", "in", options=["--max-time", "500ms"])
        time.sleep(0.6)
        self.end(holder)
        self.assertEqual(waiter.communicate(timeout=20)[0], "in\n")
        self.assertEqual(waiter.returncode, 0)

    def test_term_comes_first(self):
        script = "trap 'exit 3' TERM; echo in; while :; do sleep 0.01; done"
        self.assertEqual(self.call("run", "--max-time", "100ms", "a", "--", "sh", "-c", script)[:2],
                         (124, "in\n"))


class BesideADaemon(WithAFamily):
    """Of the script that has become `holdfast run`: it is not the command's."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_daemon)

    def end_daemon(self):
        for pid in self.daemon():
            if is_there(pid):
                os.kill(pid, signal.SIGKILL)

    def daemon(self):
        """With what it has started itself."""
        paths = [self.folder / name for name in ("daemon", "below")]
        return [int(path.read_text()) for path in paths if path.exists()]

    def start_beside(self, *words):
        script = """sh -c 'sleep 600 & echo $! > below; wait' >&- 2>&- &
            echo $! > daemon; until [ -s below ]; do sleep 0.01; done; exec "$@" """
        process = subprocess.Popen(["sh", "-c", script, "sh", PROGRAM, "run", *words],
                                   cwd=self.folder, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process

    def kill_warden(self, wrapper):
        (warden,) = set(children(wrapper.pid)) - set(self.daemon())
        os.kill(warden, signal.SIGKILL)

    def end_starter(self, wrapper):
        """What the daemon has started is the wrapper's to adopt."""
        starter, daemon = self.daemon()
        os.kill(starter, signal.SIGKILL)
        until(lambda: daemon in children(wrapper.pid) and not stat_of(starter))
        (self.folder / "daemon").unlink()

    def test_it_is_spared_when_the_warden_is_killed(self):
        self.assert_spared(lambda wrapper: None)

    def test_what_it_left_behind_is_spared_too(self):
        self.assert_spared(self.end_starter)

    def assert_spared(self, befalls):
        wrapper = self.start_beside("a", "--", "sh", "-c", STUBBORN)
        until(lambda: len(self.family()) == len(FAMILY))
        befalls(wrapper)
        self.kill_warden(wrapper)
        _, err = wrapper.communicate(timeout=20)
        self.assertEqual(wrapper.returncode, 76, err)
        self.assert_none_lives()
        self.assertTrue(all(map(is_there, self.daemon())), err)

    def test_it_is_not_waited_for_when_the_warden_is_killed(self):
        script = """echo $$ > command; (while ! [ -e go ]; do sleep 0.01; done) >&- 2>&- &
            echo $! > apart; exit 5"""
        wrapper = self.start_beside("--leftovers", "wait", "a", "--", "sh", "-c", script)
        until(lambda: len(self.family()) == 2 and not is_there(self.family()[0]))
        self.kill_warden(wrapper)
        self.assertTrue(self.is_held("a", "-w", "500ms"))
        (self.folder / "go").touch()
        self.assertEqual(wrapper.wait(20), 5)
        self.assertTrue(all(map(is_there, self.daemon())))


class LeftBehind(WithAFamily):
    def test_a_daemon_of_a_command_that_ended_is_left_alone(self):
        self.make_gate()
        script = "setsid sh -c 'echo $$ > apart; read line < go; echo done > done' >&- 2>&- &"
        self.assertEqual(self.call("run", "a", "--", "sh", "-c", script)[0], 0)
        self.assertEqual(self.listed(), [])
        self.open_gate()
        until(lambda: (self.folder / "done").exists())

    def test_orphans_of_a_running_command_are_reaped(self):
        self.make_gate()
        orphans = 'for i in $(seq 50); do (sh -c "exit 0" & ) ; done'
        wrapper = self.hold("a", before=orphans, script="read line < go")
        warden = self.warden_of(wrapper)
        until(lambda: len(children(warden)) == 1)
        self.open_gate()
        self.assertEqual(wrapper.wait(20), 0)

    def start_leaving(self, *options, trap="", script="exit 5"):
        """A command that ends by itself, or by a signal, and leaves one behind that has a session
        of its own and ends, deaf to TERM, when the file `go` is there."""
        behind = ("setsid sh -c 'trap \"\" TERM INT HUP; echo $$ > apart; "
                  "while ! [ -e go ]; do sleep 0.01; done' >&- 2>&- &")
        before = f"{behind} {trap} until [ -s apart ]; do sleep 0.01; done; echo $$ > command"
        return self.hold("a", *options, before=before, script=script)

    def behind(self):
        return int((self.folder / "apart").read_text())

    def start_waited_for(self, *options):
        """One that has ended, and whose leftovers are waited for."""
        wrapper = self.start_leaving("--leftovers", "wait", *options)
        until(lambda: not is_there(int((self.folder / "command").read_text())))
        return wrapper

    def test_what_is_left_of_a_command_that_was_asked_to_end_is_ended_too(self):
        for name, code in (("TERM", 3), ("INT", 3), ("HUP", 3)):
            with self.subTest(name):
                wrapper = self.start_leaving("-k", "200ms", trap=f"trap 'exit 3' {name};",
                                             script=FOR_EVER)
                rival = self.start_rival()
                wrapper.send_signal(getattr(signal, "SIG" + name))
                self.assertRegex(rival.communicate(timeout=20)[0], r"\Ain \d+\n\Z")
                self.assertFalse(is_there(self.behind()))
                self.assertEqual(wrapper.wait(20), code)
                (self.folder / "apart").unlink()

    def test_another_signal_ends_nothing_that_is_left(self):
        wrapper = self.start_leaving(trap="trap 'exit 3' USR1;", script=FOR_EVER)
        wrapper.send_signal(signal.SIGUSR1)
        self.assertEqual(wrapper.wait(20), 3)
        self.assertTrue(is_there(self.behind()))

    def test_waited_for_the_lock_is_kept(self):
        wrapper = self.start_waited_for("--lease", "1s")
        self.assertTrue(self.is_held("a", "-w", "1500ms"))
        (self.folder / "go").touch()
        self.assertEqual(wrapper.wait(20), 5)
        self.assertEqual(self.listed(), [])

    def test_waited_for_it_is_ended_by_a_signal(self):
        wrapper = self.start_waited_for("-k", "100ms")
        wrapper.terminate()
        self.assertEqual(wrapper.wait(20), 5)
        self.assertFalse(is_there(self.behind()))

    def test_waited_for_it_is_ended_when_the_hold_is_lost(self):
        wrapper = self.start_waited_for("--lease", "1s")
        self.assertEqual(self.call("break", "a", "--fence", str(self.fence()))[0], 0)
        _, err = wrapper.communicate(timeout=20)
        self.assertEqual(wrapper.returncode, 76)
        self.assertRegex(err, r"lost .*; ended what it had left behind\n\Z")
        self.assertFalse(is_there(self.behind()))

    def test_waited_for_it_is_ended_when_time_is_up(self):
        wrapper = self.start_leaving("--leftovers", "wait", "--max-time", "500ms", "-k", "10ms")
        self.assertEqual(wrapper.wait(20), 124)
        self.assertFalse(is_there(self.behind()))

    def test_waited_for_it_is_ended_when_the_wrapper_is_killed(self):
        wrapper = self.start_waited_for()
        wrapper.kill()
        self.assertFalse(self.is_held("a", "-w", "20s"))
        self.assertFalse(is_there(self.behind()))

    def test_waited_for_without_a_warden(self):
        wrapper = self.start_waited_for()
        warden = self.warden_of(wrapper)
        os.kill(warden, signal.SIGKILL)
        until(lambda: not is_there(warden))
        self.assertTrue(self.is_held("a"))
        (self.folder / "go").touch()
        self.assertEqual(wrapper.wait(20), 5)

    def test_ended_before_the_next_one_is_in(self):
        wrapper = self.start_leaving("--leftovers", "end", "-k", "100ms", "--verbose")
        _, err = wrapper.communicate(timeout=20)
        self.assertEqual(wrapper.returncode, 5)
        self.assertRegex(err, r"ended with code 5\n.*ending what it left behind\n.*released\n")
        self.assertFalse(is_there(self.behind()))


@unittest.skipUnless(os.geteuid() == 0, "who is not root cannot change its user")
class AnotherUser(WithAFamily):
    """A command that has changed its user, as sudo does, is out of reach."""

    NOBODY = 65534

    def setUp(self):
        super().setUp()
        changer = shutil.which("setpriv")
        if changer is None or os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest("there is no way to change a user here")
        shutil.copy(changer, self.folder / "change")
        (self.folder / "change").chmod(0o4755)
        shutil.copy(PROGRAM, self.folder / "holdfast")
        os.chown(self.folder, self.NOBODY, self.NOBODY)
        os.chown(self.folder / "store", self.NOBODY, self.NOBODY)

    def start_out_of_reach(self, *options):
        self.make_gate()
        os.chown(self.folder / "go", self.NOBODY, self.NOBODY)
        script = "echo $$ > command; echo in; read line < go"
        words = ["run", *options, "a", "--", "./change", "--reuid=0", "--regid=0", "--clear-groups",
                 "sh", "-c", script]
        process = self.start(*words, **self.as_nobody())
        self.assertEqual(process.stdout.readline(), "in\n", "it has not started")
        return process

    def as_nobody(self):
        return {"executable": self.folder / "holdfast", "user": self.NOBODY, "group": self.NOBODY,
                "extra_groups": []}

    def call(self, *words, **options):
        """Root does not trust a folder of somebody else's."""
        return super().call(*words, **self.as_nobody(), **options)

    def test_is_not_said_to_be_ended_when_time_is_up(self):
        wrapper = self.start_out_of_reach("--max-time", "300ms", "-k", "10ms")
        self.assertEqual(wrapper.stderr.readline(),
                         "holdfast: a: the command took longer than 300 ms; "
                         "the command cannot be ended, for it has another user by now\n")
        self.open_gate()
        self.assertEqual(wrapper.communicate(timeout=20)[1], "", "it is said once")
        self.assertEqual(wrapper.returncode, 124)

    def test_is_not_said_to_be_ended_when_the_hold_is_lost(self):
        wrapper = self.start_out_of_reach("--lease", "1s")
        self.assertEqual(self.call("break", "a", "--fence", str(self.fence()))[0], 0)
        self.assertRegex(wrapper.stderr.readline(), r"lost .*; the command cannot be ended, for it has")
        self.open_gate()
        self.assertEqual(wrapper.wait(20), 76)


class TooLate(WithAFamily):
    """Lost between its admission and the command's start: it stands still at a line that tells of
    the one, and for which the pipe has no room."""

    def start_late(self, *options):
        name = "a" * (PAGE - 30)
        wrapper = self.start("run", "--verbose", "--lease", "1s", *options, name, "--", "echo", "ran",
                             pipesize=PAGE)
        until(lambda: any(resource["holders"] for resource in self.listed()))
        wrapper.send_signal(signal.SIGSTOP)
        until(lambda: self.listed() == [])
        wrapper.send_signal(signal.SIGCONT)
        return wrapper

    def test_it_is_taken_again(self):
        for patience in ([], ["-w", "60s"]):
            wrapper = self.start_late(*patience)
            out, err = wrapper.communicate(timeout=30)
            self.assertEqual((wrapper.returncode, out), (0, "ran\n"))
            self.assertIn(": lost before the command was started\n", err)

    def test_or_was_not_acquired(self):
        wrapper = self.start_late("-n")
        self.assertEqual(wrapper.communicate(timeout=30)[0], "")
        self.assertEqual(wrapper.returncode, 75)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
