"""What the tests of the program share: they drive it as its users do, in a folder of each test's
own."""

import fcntl
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import termios
import unittest

from own_process import until  # also for those who drive the program

PROGRAM = os.environ.get("HOLDFAST_PROGRAM", "build/holdfast")

# A shell whose name fills a pipe of one page. Under --verbose the line that tells of its start does
# not fit behind those before it, nor another one behind it, so that the wrapper stands there until
# they are read.
PAGE = 4096
LONG_NAMED_SHELL = "/" + "./" * 2000 + "bin/sh"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def stat_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""


def state_of(pid):
    """R for running, S for sleeping, T for stopped; see proc(5)."""
    return stat_of(pid).rpartition(") ")[2][:1]


def is_there(pid):
    return state_of(pid) not in ("", "Z", "X")


def warden_has_ended(wrapper):
    """And its last report has come. A wrapper reaps it only when it is about to end itself."""
    return [is_there(child) for child in children(wrapper)] == [False]


def unread_in(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def has_told_of_its_start(wrapper, lines):
    """That of a long-named shell; and stands at the line behind it."""
    return unread_in(lines) >= len(LONG_NAMED_SHELL) and state_of(wrapper) == "S"


class Driven(unittest.TestCase):
    """On the store that `environment` names."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("HOLDFAST_")}

    def start(self, *words, **options):
        options.setdefault("env", self.environment)
        process = subprocess.Popen(
            [PROGRAM, *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.terminate()
            process.wait(20)
        process.stdout.close()
        process.stderr.close()

    def call(self, *words, **options):
        process = self.start(*words, **options)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def run_to_end(self, words, **options):
        """Of any program: its code, and what it said."""
        done = subprocess.run(words, **{
            "cwd": self.folder, "env": self.environment, "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 60,
        } | options)
        return done.returncode, done.stdout, done.stderr

    def hold(self, name, *options, script="exec sleep 60", before=":", **more):
        """A process that holds `name` until it is ended, or its script is; what comes before has
        been done already."""
        whole = f"{before}; echo in; {script}"
        process = self.start("run", *options, name, "--", "sh", "-c", whole, **more)
        self.assertEqual(process.stdout.readline(), "in\n")
        return process

    def wait(self, name, *words, options=(), place=1):
        """A process that waits for `name`, behind others, to run the words."""
        process = self.start("run", *options, name, "--", *(words or ["true"]))
        until(lambda: self.waiters(name) == place)
        return process

    def is_held(self, name, *options):
        """Whether somebody else cannot have it at once, or within the time of the options."""
        options = options or ["-n"]
        code, out, err = self.call("run", *options, name, "--", "true")
        self.assertIn((code, out, err), [(0, "", ""), (75, "", "")])
        return code == 75

    def make_gate(self):
        """`read line < go` stands still until open_gate()."""
        os.mkfifo(self.folder / "go")

    def open_gate(self):
        (self.folder / "go").write_text("go\n")

    def listed(self, *words):
        code, out, err = self.call("list", "--json", *words)
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def waiters(self, name):
        return sum(len(r["waiters"]) for r in self.listed() if r["name"] == name)

    def assert_refused(self, words, code, *parts):
        """With one line on standard error that has all the parts. That line."""
        returned, out, err = self.call(*words)
        self.assertEqual((returned, out), (code, ""), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertTrue(err.startswith("holdfast: "), err)
        for part in parts:
            self.assertIn(part, err)
        return err

    def assert_each_refused(self, code, *rows):
        """Of rows of words, and of the parts that the answer has."""
        for words, *parts in rows:
            with self.subTest(words):
                self.assert_refused(words, code, *parts)


class Shown:
    """What `list` and `show` tell."""

    def shown(self, name):
        code, out, err = self.call("show", name, "--json")
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def only_holder(self, name):
        (found,) = self.shown(name)
        self.assertEqual((found["name"], found["waiters"]), (name, []))
        (holder,) = found["holders"]
        return holder

    def names(self, *words):
        return [found["name"] for found in self.listed(*words)]


class OnALocalStore(Driven):
    """On the embedded store, in the test's own folder."""

    def setUp(self):
        super().setUp()
        (self.folder / "store").mkdir()
        self.environment["HOLDFAST_STORE"] = f"local://{self.folder}/store"
