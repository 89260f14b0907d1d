"""completions/holdfast.bash, in a real bash."""

import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import time
import unittest

from in_a_shell import InAShell

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "completions" / "holdfast.bash"
ANSWER = r"""
source "$1"; COMP_LINE=$2 COMP_POINT=${#2}; shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_holdfast "$1" && printf '%s\n' "${COMPREPLY[@]}"
"""


def split_as_bash_does(line):
    """At blanks, and around : and = and @, which stay words of their own."""
    words = [part for word in line.split() for part in re.findall(r"[:=@]+|[^:=@]+", word)]
    return words if not line.endswith(" ") else [*words, ""]


class Completion(InAShell):
    def answers(self, line, before=""):
        done = subprocess.run(
            ["bash", "--norc", "-c", before + ANSWER, "bash", SCRIPT, line,
             *split_as_bash_does(line)],
            env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=20,
        )
        self.assertEqual(done.stderr, "")
        return [word for word in done.stdout.splitlines() if word]

    def test_commands(self):
        self.assertEqual(self.answers("holdfast "),
                         ["run", "list", "show", "break", "schema", "sweep", "help"])
        self.assertEqual(self.answers("holdfast l"), ["list"])
        self.assertEqual(self.answers("holdfast --v"), ["--version"])
        self.assertEqual(self.answers("holdfast dance "), [])

    def test_options_of_each_command(self):
        self.assertEqual(self.answers("holdfast run --no"), ["--nonblock"])
        self.assertEqual(self.answers("holdfast run -s a --ree"), ["--reenter"])
        self.assertEqual(self.answers("holdfast list --"), ["--json", "--store", "--help"])
        self.assertEqual(self.answers("holdfast break --f"), ["--fence"])
        self.assertEqual(self.answers("holdfast sweep -"), ["-S", "--store", "-h", "--help"])

    def test_values(self):
        self.assertEqual(self.answers("holdfast run --fairness "), ["fifo", "barging"])
        self.assertEqual(self.answers("holdfast run --on-lost k"), ["kill"])
        self.assertEqual(self.answers("holdfast run -w "), [])
        self.assertEqual(self.answers("holdfast run --fairness=b"), ["barging"])
        self.assertEqual(self.answers("holdfast run -nS l"), ["local:", "local:///"])
        self.assertEqual(self.answers("holdfast schema p"), ["postgres://"])

    def test_folders_of_a_local_store(self):
        typed = f"{self.folder}/st"
        self.assertEqual(self.answers(f"holdfast list -S local://{typed}"), [f"//{typed}ore/"])

    def test_names_that_are_held(self):
        self.hold("deploy")
        self.hold("jobs:7")
        self.hold("jobs:8")
        self.hold("my job")
        self.hold("steers\x1b[2J")
        names = ["deploy", "jobs:7", "jobs:8", r"my\ job"]
        for line in ("run ", "run -n ", "run --lease 5 ", "list ", "show ", "break "):
            self.assertEqual(self.answers(f"holdfast {line}"), names, line)
        self.assertEqual(self.answers("holdfast run dep"), ["deploy"])
        self.assertEqual(self.answers("holdfast run jobs:"), ["7", "8"])
        self.assertEqual(self.answers("holdfast run 'my"), ["my job"])
        self.assertEqual(self.answers("holdfast show deploy "), [])

    def test_names_of_the_store_on_the_line(self):
        other = f"local://{self.folder}/other"
        self.hold("deploy")
        self.hold("elsewhere", "-S", other)
        for option in (f"-S {other}", f"-nS {other}", f"--store {other}", f"--store={other}",
                       f"-S{other}", f"-S '{other}'"):
            self.assertEqual(self.answers(f"holdfast run {option} "), ["elsewhere"], option)
        self.assertEqual(self.answers("holdfast run -S $STORE "), [])
        self.assertEqual(self.answers("holdfast run -S carrier-pigeon://x "), [])

    def test_a_store_that_does_not_answer_is_not_waited_for(self):
        (self.folder / "bin" / "holdfast").unlink()
        self.stand_in("bin/holdfast", "exec sleep 60")
        started = time.monotonic()
        self.assertEqual(self.answers("holdfast run "), [])
        self.assertLess(time.monotonic() - started, 15)

    def test_the_separator_follows_a_name(self):
        self.assertNotIn("--", self.answers("holdfast run -"))
        self.assertIn("--", self.answers("holdfast run a -"))
        self.assertEqual(self.answers("holdfast run a "), ["--"])
        self.assertEqual(self.answers("holdfast run -c x a "), [])

    def test_the_command_behind_the_separator(self):
        (self.folder / "deployment").touch()
        self.assertIn("printenv", self.answers("holdfast run a -- printen"))
        self.assertEqual(self.answers("holdfast run a -- cat deploym"), ["deployment"])
        self.assertEqual(self.answers("holdfast run a -- -"), [])

    def test_the_command_is_left_to_bash_completion_where_it_is_loaded(self):
        for name in ("_command_offset", "_comp_command_offset"):
            loaded = f"{name}() {{ COMPREPLY=(from $1); }}\n"
            line = "holdfast run -S local:///x a -- git st"
            self.assertEqual(self.answers(line, loaded), ["from", "8"])


class Keyboard(InAShell):
    """What readline makes of it: the words come from there, and the answers go there."""

    def typed(self, *keys):
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], self.environment)
        self.addCleanup(os.waitpid, process, 0)
        self.addCleanup(os.close, terminal)
        for line in (f"source {SCRIPT}", *keys, "exit"):
            os.write(terminal, line.encode() + b"\n")
        return self.all_from(terminal)

    @staticmethod
    def all_from(terminal):
        text = b""
        while select.select([terminal], [], [], 30)[0]:
            try:
                text += os.read(terminal, 4096)
            except OSError:
                break
        return text.decode()

    def test_tab(self):
        self.environment.update(INPUTRC="/dev/null", TERM="dumb", HISTFILE="/dev/null")
        self.hold("stores:main")
        self.stand_in("only-here", "echo $HOLDFAST_NAME")
        store = self.environment.pop("HOLDFAST_STORE")
        self.typed(
            "holdfast --ver\t > version",
            f"holdfast li\t -S {store} st\t > one",
            f"holdfast run --store={store} --fair\tb\tmine -- ./onl\t > two",
        )
        self.assertRegex((self.folder / "version").read_text(), r"^holdfast \d")
        self.assertIn("stores:main", (self.folder / "one").read_text())
        self.assertEqual((self.folder / "two").read_text(), "mine\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
