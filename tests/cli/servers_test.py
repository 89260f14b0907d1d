"""The program on a store with a server, for which it becomes another one where the library is a
shared one. What a store does with its server is tested elsewhere."""

import pathlib
import re
import shutil
import sys
import unittest

from program import PROGRAM, OnALocalStore

# Nobody listens at port 1.
URL = "redis://me:secret@127.0.0.1:1"
UNREACHABLE = URL + "?request_timeout=200ms"
COMMANDS = (
    ["run", "a", "--", "true"],
    ["list"],
    ["show", "a"],
    ["break", "a", "--fence", "7"],
    ["sweep"],
    ["verify", "--time", "1s"],
)


def with_store(words, url=URL):
    return [words[0], "-S", url, *words[1:]]


class OnAServer(OnALocalStore):
    def test_one_that_cannot_be_reached(self):
        for words in COMMANDS:
            with self.subTest(words):
                err = self.assert_refused(with_store(words, UNREACHABLE), 69, "127.0.0.1")
                self.assertNotIn("secret", err)

    def test_by_the_variable(self):
        self.environment["HOLDFAST_STORE"] = UNREACHABLE
        self.assert_each_refused(69, *((words, "127.0.0.1") for words in COMMANDS))

    def test_an_unknown_scheme_lists_those_of_servers(self):
        self.assert_refused(["list", "-S", "pigeon://me:secret@x"], 78, "'pigeon'", "local", "redis")

    def test_a_password_with_blanks_and_quotes_is_not_said_either(self):
        for secret in ("se cret", "se'cret", 'se"c\'ret word', "se@cret", "s://cret", "se\ncret"):
            url = f"redis://me:{secret}@127.0.0.1:1"
            for words in (["run", "-S", url, "a", "b"], ["run", "--color", url, "a", "b"],
                          ["list", "-S", url, "a", "b"], ["lits", url], ["check", url, url],
                          ["run", f"--stoer={url}", "a", "--", "b"], ["show", url, "a"]):
                with self.subTest(words):
                    code, out, err = self.call(*words)
                    self.assertEqual(code, 64, err)
                    for part in (secret, repr(secret)[1:-1], "cret"):
                        self.assertNotIn(part, out + err)

    def test_usage_is_told_first(self):
        self.assert_refused(["run", "-S", URL, "a", "b"], 64, "-S redis://...@127.0.0.1:1 a -- b?")
        self.assert_refused(["break", "-S", URL, "a"], 64, "--fence")


class HandedOver(OnALocalStore):
    """A copy of the program, to be found or not found beside it what the test puts there."""

    def setUp(self):
        super().setUp()
        self.copy = self.folder / "installed" / "bin" / "holdfast"
        self.copy.parent.mkdir(parents=True)
        shutil.copy(PROGRAM, self.copy)

    def call_copy(self, *words, name="holdfast"):
        return self.run_to_end([name, *words], executable=self.copy)

    def missing(self):
        """The file that it says is missing."""
        _, _, err = self.call_copy(*with_store(["list"]))
        return pathlib.Path(re.search(r"\((/.*/holdfast): No such file", err)[1])

    def put(self, content):
        other = self.missing()
        other.parent.mkdir(parents=True)
        other.write_text(content)
        other.chmod(0o755)

    def loaded(self, *words):
        """The libraries that the program of the build loads, itself or as what it becomes."""
        self.environment["LD_DEBUG"] = "files"
        return "".join(re.findall(r"calling init: (.*\n)", self.call(*words)[2]))

    def test_a_missing_one_is_told_in_one_line(self):
        for words in COMMANDS:
            with self.subTest(words):
                code, out, err = self.call_copy(*with_store(words))
                self.assertEqual((code, out), (78, ""))
                self.assertRegex(err, r"\Aholdfast: [^\n]*No such file[^\n]*; install[^\n]*\n\Z")
                self.assertNotIn("secret", err)
        self.assertTrue(self.missing().is_relative_to(self.folder.resolve() / "installed"))

    def test_one_that_cannot_be_started_is_told_in_one_line(self):
        self.put("no program")
        code, out, err = self.call_copy(*with_store(["list"]))
        self.assertEqual((code, out), (78, ""))
        self.assertRegex(err, r"\Aholdfast: [^\n]*Exec format error[^\n]*\n\Z")

    def test_it_gets_the_same_words_and_environment(self):
        self.put('#!/bin/sh\nprintf "%s\\n" "$HOLDFAST_STORE" "$@"\nexit 9\n')
        self.environment["HOLDFAST_STORE"] = "local:///elsewhere"
        for words in COMMANDS:
            for url in (URL, "REDISS://x", "pigeon:a"):
                with self.subTest([url, *words]):
                    given = with_store(words, url)
                    seen = "\n".join(["local:///elsewhere", *given]) + "\n"
                    self.assertEqual(self.call_copy(*given), (9, seen, ""))

    def test_the_variable_is_enough(self):
        self.put('#!/bin/sh\nprintf "%s\\n" "$HOLDFAST_STORE" "$@"\nexit 9\n')
        self.environment["HOLDFAST_STORE"] = URL
        for words in COMMANDS:
            with self.subTest(words):
                self.assertEqual(self.call_copy(*words), (9, "\n".join([URL, *words]) + "\n", ""))

    def test_it_keeps_the_name_that_it_was_called_by(self):
        other = self.missing()
        other.parent.mkdir(parents=True)
        shutil.copy(shutil.which("sleep"), other)
        _, _, err = self.call_copy(*with_store(["list"]), name="lock")
        self.assertTrue(err.startswith("lock: "), err)

    def test_the_stores_of_this_machine_need_none(self):
        self.put("#!/bin/sh\nexit 9\n")
        self.assertEqual(self.call_copy("run", "a", "--", "true"), (0, "", ""))
        url = self.environment["HOLDFAST_STORE"].replace("local", "LOCAL")
        self.assertEqual(self.call_copy("run", "-S", url, "a", "--", "true"), (0, "", ""))
        self.assertEqual(self.call_copy("list", "-S", "memory:")[0], 78)
        self.assertEqual(self.call_copy("list", "-S", "nonsense")[0], 78)

    def test_only_what_is_needed_is_loaded(self):
        self.assertNotIn("libholdfast", self.loaded("list"))
        of_server = self.loaded(*with_store(["list"]))
        self.assertIn("/libholdfast.so", of_server)
        self.assertIn("/holdfast/redis.so", of_server)
        self.assertNotIn("redis.so", self.loaded("list", "-S", "pigeon:"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
