"""For tests that sit at a terminal: an interactive bash on a pseudo-terminal, and fingers."""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import termios
import time

from in_a_shell import InAShell
from program import stat_of, until

PATIENCE = 30

# Keys.
INTERRUPT = "\x03"
QUIT = "\x1c"
STOP = "\x1a"
END_OF_INPUT = "\x04"

# The two that shall behave alike.
FLOCK = "flock lock"
HOLDFAST = "holdfast run a --"


class Terminal:
    """A pseudo-terminal with a program that leads its session."""

    def __init__(self, words, folder, environment):
        self.leader, self.master = pty.fork()
        if self.leader == 0:
            # Python ignores it, and whoever is started inherits that.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        self.unread = ""
        self.status = None

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, pattern):
        """All up to the first match, and the match."""
        deadline = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, self.unread)):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise TimeoutError(f"no {pattern!r} in {self.unread!r}")
            try:
                self.unread += os.read(self.master, 65536).decode()
            except OSError as error:
                raise EOFError(f"no {pattern!r} in {self.unread!r}, and no more") from error
        before, self.unread = self.unread[: match.start()], self.unread[match.end() :]
        return before, match

    def read_all(self):
        """What is left of the output when the session is over."""
        try:
            self.read(r"\Z.")
        except EOFError:
            return self.unread

    def set_width(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def settings(self):
        return termios.tcgetattr(self.master)

    def hang_up(self):
        if self.master is not None:
            os.close(self.master)
        self.master = None

    def wait_for_leader(self):
        """How it ended, as waitpid() has it."""
        until(self._leader_has_ended, PATIENCE)
        return self.status

    def _leader_has_ended(self):
        pid, self.status = os.waitpid(self.leader, os.WNOHANG)
        if pid != 0:
            self.leader = None
        return pid != 0

    def close(self):
        self.hang_up()
        if self.leader is None:
            return
        try:
            self.wait_for_leader()
        except TimeoutError:
            os.kill(self.leader, signal.SIGKILL)
            os.waitpid(self.leader, 0)


class Shell(Terminal):
    """An interactive bash. Its prompt shows the last code."""

    PROMPT = r"\[(\d+)\]> "

    def __init__(self, folder, environment):
        # Without readline, so that the terminal's settings are nobody's but the programs'.
        words = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
        super().__init__(words, folder, environment | {"PS1": r"[$?]> "})
        self.set_width(200)
        self.prompt()

    def prompt(self):
        """What was shown before it, and the code."""
        shown, match = self.read(self.PROMPT)
        return shown.replace("\r\n", "\n"), int(match[1])

    def type(self, line):
        self.press(line + "\n")
        self.read(re.escape(line) + "\r\n")

    def begin(self, line):
        """Types a line of a program that says when it is ready."""
        self.type(line)
        self.read("ready\r\n")

    def do(self, line, keys=""):
        """Types a line, and when its program is ready, the keys; what is shown then, and the
        code."""
        if keys:
            self.begin(line)
            self.press(keys)
        else:
            self.type(line)
        return self.prompt()


def works_in(folder, name=""):
    """The processes that have it as their working folder, and the name."""
    found = (int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit())
    return {one for one in found if folder_of(one) == str(folder) and name in name_of(one)}


def folder_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None


def name_of(pid):
    return stat_of(pid).partition("(")[2].rpartition(")")[0]


class AtATerminal(InAShell):
    """Whatever the shells start works in the folder `desk`, which tells it from the rest."""

    def setUp(self):
        super().setUp()
        self.desk = self.folder.resolve() / "desk"
        self.desk.mkdir()
        self.addCleanup(self.kill_leftovers)
        self.environment |= {"TERM": "dumb", "HISTFILE": "", "LC_ALL": "C"}
        self.stand_in("bin/sleeps", "echo ready; exec sleep 60")
        self.stand_in(
            "bin/reads",
            'echo ready; while read -r word; do echo "got $word"; [ "$word" = end ] && exit 7; done',
        )

    def kill_leftovers(self):
        for pid in works_in(self.desk):
            try:
                process = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            # Asked after the opening: from here on the number cannot become another's.
            if folder_of(pid) == str(self.desk):
                signal.pidfd_send_signal(process, signal.SIGKILL)
            os.close(process)

    def terminal(self, *words):
        terminal = Terminal(words, self.desk, self.environment)
        self.addCleanup(terminal.close)
        return terminal

    def shell(self):
        shell = Shell(self.desk, self.environment)
        self.addCleanup(shell.close)
        return shell

    def holders(self, name="a"):
        return sum(len(r["holders"]) for r in self.listed() if r["name"] == name)

    def in_line(self, number):
        until(lambda: self.waiters("a") == number)

    def nothing_is_left(self, *but):
        until(lambda: works_in(self.desk) <= {one.leader for one in but})
        self.assertEqual(self.listed(), [])

    @staticmethod
    def job_when(shell, state):
        """What the shell says of its job then, and why, without the number of the process."""
        said = []

        def is_so():
            # Beside what it tells by itself, which is less.
            said[:] = re.findall(rf"(\[1\].) +\d+ ({state}.*\n)", shell.do("jobs -l")[0])
            return said

        until(is_so)
        return " ".join(said[0])

    def same_with_flock(self, act):
        """Does it under both; what it returned must not differ but for the line itself."""
        seen = [self.with_lock(lock, act) for lock in (FLOCK, HOLDFAST)]
        self.assertEqual(seen[0], seen[1])
        return seen[0]

    def with_lock(self, lock, act):
        shell = self.shell()
        seen = act(shell, lock)
        shell.hang_up()
        shell.wait_for_leader()
        self.nothing_is_left()
        return [
            re.sub(" +", " ", one.replace(lock, "LOCK")) if isinstance(one, str) else one
            for one in seen
        ]
