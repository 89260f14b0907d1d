"""completions/holdfast.bash, in a real bash."""

import pathlib
import re
import sys
import time
import unittest

from at_a_terminal import Terminal
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
        _, out, err = self.run_to_end(["bash", "--norc", "-c", before + ANSWER, "bash", SCRIPT, line,
                                       *split_as_bash_does(line)])
        self.assertEqual(err, "")
        return [word for word in out.splitlines() if word]

    def assert_answers(self, rows):
        """Of what is typed behind `holdfast `, and the answers to it."""
        for typed, answers in rows.items():
            with self.subTest(typed):
                self.assertEqual(self.answers("holdfast " + typed), answers.split())

    def test_commands(self):
        self.assert_answers({
            "": "run list show break schema init sweep stores check verify help",
            "l": "list",
            "--v": "--version",
            "dance ": "",
        })

    def test_options_of_each_command(self):
        self.assert_answers({
            "run --no": "--nonblock",
            "run -s a --ree": "--reenter",
            "list --": "--json --store --help",
            "break --f": "--fence",
            "sweep -": "-S --store -h --help",
            "init -": "-S --store -h --help",
            "stores --": "--json --help",
            "stores ": "",
            "check --j": "--json",
        })

    def test_values(self):
        self.assert_answers({
            "run --fairness ": "fifo barging",
            "run --on-lost k": "kill",
            "run -w ": "",
            "run --fairness=b": "barging",
            "run -nS l": "local: local:///",
            "schema p": "postgres://",
        })

    def test_folders_of_a_local_store(self):
        typed = f"{self.folder}/st"
        self.assertEqual(self.answers(f"holdfast list -S local://{typed}"), [f"//{typed}ore/"])

    def test_names_that_are_held(self):
        for name in ("deploy", "jobs:7", "jobs:8", "my job", "steers\x1b[2J"):
            self.hold(name)
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
        words = ["bash", "--norc", "--noprofile", "-i"]
        terminal = Terminal(words, self.folder, self.environment)
        self.addCleanup(terminal.close)
        for line in (f"source {SCRIPT}", *keys, "exit"):
            terminal.press(line + "\n")
        terminal.read_all()

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
