"""docs/run.md: the very text of every recipe is run, and does what the page says."""

import os
import pathlib
import re
import signal
import sys
import unittest

from in_a_shell import InAShell
from program import until

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "run.md").read_text()
FENCED = re.compile(r"(?:<!-- tried: (\w+) -->\n)?^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RECIPES = dict(FENCED.findall(PAGE))
FLOCK_ROW = re.compile(r"^\| `(flock .*?)` \| `(holdfast .*?)` \|$", re.MULTILINE)

# Goes on when the file `go` is there.
GATED = """echo "+${0##*/}" >> log
until [ -e go ]; do sleep 0.01; done
echo "-${0##*/}" >> log"""


class RecipesPage(unittest.TestCase):
    def test_every_block_is_tried(self):
        names = [name for name, _ in FENCED.findall(PAGE)]
        self.assertEqual(len(names), len(set(names)))
        tried = {test.removeprefix("test_") for test in dir(Recipes) if test.startswith("test_")}
        self.assertEqual(set(names), tried)

    def test_there_is_no_block_but_the_fenced_ones(self):
        self.assertNotRegex(FENCED.sub("", PAGE), r"(?m)^(    |\t|```|~~~)")


class FromFlock(InAShell):
    def setUp(self):
        super().setUp()
        self.rows = FLOCK_ROW.findall(PAGE)
        self.assertGreater(len(self.rows), 5)

    def test_both_sides_do_the_same(self):
        self.stand_in("job", "echo job; exit 7")
        for flock, holdfast in self.rows:
            with self.subTest(holdfast):
                self.assertEqual(self.do(holdfast), self.do(flock))

    def test_both_sides_are_kept_out(self):
        self.stand_in("job", "echo job")
        self.stand_in("held", "echo in; exec sleep 60")
        for holder in ("flock job.lock ./held", "holdfast run job -- ./held"):
            self.assertEqual(self.begin(holder).stdout.readline(), "in\n")
        for flock, holdfast in self.rows:
            if " -n " not in holdfast:
                continue
            with self.subTest(holdfast):
                code, out, err = self.do(flock)
                code = 75 if code == 1 else code
                self.assertEqual(self.do(holdfast), (code, out, err))


class Recipes(InAShell):
    def recipe(self, name):
        return RECIPES[name]

    def let_go(self):
        (self.folder / "go").touch()

    def test_cron(self):
        self.stand_in("mirror", GATED)
        minutes, command = re.fullmatch(r"((?:\S+\s+){5})(.*)\n", self.recipe("cron")).groups()
        self.assertEqual(minutes.split(), ["*/5", "*", "*", "*", "*"])
        first = self.begin(command)
        until(lambda: self.lines_of("log") == ["+mirror"])
        self.assertEqual(self.do(command), (75, "", ""))
        self.let_go()
        self.assertEqual(self.finish(first), (0, "", ""))
        self.assertEqual(self.lines_of("log"), ["+mirror", "-mirror"])

    def test_deploy(self):
        self.stand_in("deploy", "echo deployed; exit 5")
        holder = self.hold("deploy", "--owner", "ann")
        code, out, err = self.do(self.recipe("deploy"))
        self.assertEqual((code, out), (200, ""))
        self.assertRegex(err, r"(?s)\Asomebody else deploys:\n.*\bann\b")
        self.end(holder)
        self.assertEqual(self.do(self.recipe("deploy")), (5, "deployed\n", ""))

    def test_slots(self):
        self.stand_in("get", """mkdir -p running && touch "running/$1"
            ls running | wc -l >> seen
            until [ -e go ]; do sleep 0.01; done
            rm "running/$1" && echo "$1" >> got""")
        urls = [f"url{number}" for number in range(9)]
        (self.folder / "urls").write_text("".join(f"{url}\n" for url in urls))
        script = self.begin(self.recipe("slots"))
        until(lambda: self.waiters("downloads") == 6 and len(self.lines_of("seen")) == 3)
        self.let_go()
        self.assertEqual(self.finish(script), (0, "", ""))
        self.assertEqual(sorted(self.lines_of("got")), urls)
        self.assertEqual(max(map(int, self.lines_of("seen"))), 3)

    def test_leader(self):
        self.stand_in("serve", """for pid in $(cut -d " " -f 2 leaders); do
                grep -q "^State:.[^ZX]" "/proc/$pid/status" && echo "$pid" >> beside_another
            done
            echo "$WHO $$ $PPID $HOLDFAST_FENCE" >> leaders
            exec sleep 60""")
        (self.folder / "leaders").touch()

        def leader(number):
            until(lambda: len(self.lines_of("leaders")) >= number)
            who, serve, holder, fence = self.lines_of("leaders")[number - 1].split()
            return who, int(serve), int(holder), int(fence)

        loop = self.begin(self.recipe("leader"), WHO="first")
        _, _, holder, old_fence = leader(1)
        self.begin(self.recipe("leader"), WHO="second")
        until(lambda: self.waiters("leader") == 1)
        loop.kill()
        os.kill(holder, signal.SIGKILL)
        who, serve, _, fence = leader(2)
        self.assertEqual(who, "second")
        self.assertGreater(fence, old_fence)
        os.kill(serve, signal.SIGTERM)
        self.assertEqual(leader(3)[0], "second", "its own loop has started it again")
        self.assertEqual(self.text_of("beside_another"), "")

    def test_accept(self):
        self.stand_in("accept", self.recipe("accept"))
        self.assertEqual(self.do("./accept 5 a && ./accept 5 b && ./accept 7 c")[0], 0)
        code, _, err = self.do("./accept 6 late")
        self.assertEqual((code, err), (1, "refused: fence 6 is older than 7\n"))
        self.assertEqual(self.lines_of("accounts"), ["a", "b", "c"])

    def test_fence(self):
        self.stand_in("accept", self.recipe("accept"))
        # Outlives its lock, and so writes too late.
        self.stand_in("slow", """{
                until [ -e go ]; do sleep 0.01; done
                ./accept "$HOLDFAST_FENCE" late; echo "$?" > answer
            } > /dev/null 2>&1 &""")
        self.assertEqual(self.do("holdfast run accounts -- ./slow"), (0, "", ""))
        self.addCleanup(until, lambda: self.text_of("answer") != "")
        self.addCleanup(self.let_go)
        self.assertEqual(self.do(self.recipe("fence")), (0, "", ""))
        self.let_go()
        until(lambda: self.text_of("answer") != "")
        self.assertEqual(self.text_of("answer"), "1\n")
        self.assertEqual(self.lines_of("accounts"), ["paid"])

    def test_itself(self):
        self.stand_in("nightly", self.recipe("itself"))
        self.stand_in("backup", f'echo "$1" >> days\n{GATED}')
        first = self.begin("./nightly monday")
        until(lambda: self.lines_of("days") == ["monday"])
        self.assertEqual(self.do("./nightly tuesday"), (75, "", ""))
        self.let_go()
        self.assertEqual(self.finish(first), (0, "", ""))
        self.assertEqual(self.do("./nightly 'wednes day'"), (0, "", ""))
        self.assertEqual(self.lines_of("days"), ["monday", "wednes day"])

    def test_read_write(self):
        self.stand_in("read", GATED)
        self.stand_in("rebuild", GATED)
        read, rebuild = self.recipe("read_write").splitlines()
        users = [self.begin(read), self.begin(read)]
        until(lambda: self.lines_of("log") == ["+read", "+read"])
        users.append(self.begin(rebuild))
        until(lambda: self.waiters("catalogue") == 1)
        users.append(self.begin(read))
        until(lambda: self.waiters("catalogue") == 2)
        self.let_go()
        self.assertEqual([self.finish(user) for user in users], [(0, "", "")] * 4)
        together = ["+read", "+read", "-read", "-read"]
        alone = ["+rebuild", "-rebuild", "+read", "-read"]
        self.assertEqual(self.lines_of("log"), together + alone)

    def test_several(self):
        self.stand_in("transfer", """echo $HOLDFAST_NAME $(echo "$HOLDFAST_FENCE" | wc -l) >> log
            n=$(cat counter); echo $((n + 1)) > counter""")
        (self.folder / "counter").write_text("0\n")
        one = self.recipe("several").strip()
        other = re.sub(r"(accounts/7) (accounts/9)", r"\2 \1", one)
        self.assertNotEqual(one, other)
        loops = [
            self.begin(f"for i in $(seq 20); do {command} || exit; done")
            for command in (one, other)
        ]
        self.assertEqual([self.finish(loop) for loop in loops], [(0, "", "")] * 2)
        self.assertEqual(self.text_of("counter"), "40\n")
        self.assertEqual(set(self.lines_of("log")), {"accounts/7 accounts/9 2"})

    def test_reenter(self):
        self.stand_in("upload", 'echo "upload $HOLDFAST_FENCE" >> log')
        self.stand_in("restart", 'echo "restart $HOLDFAST_FENCE" >> log')
        self.assertEqual(self.do(self.recipe("reenter")), (0, "", ""))
        (upload, outer), (restart, inner) = [line.split() for line in self.lines_of("log")]
        self.assertEqual((upload, restart), ("upload", "restart"))
        self.assertEqual(outer, inner)

    def test_max_time(self):
        self.stand_in("report", "echo begun; exec sleep 60")
        code, out, err = self.do(self.recipe("max_time"))
        self.assertEqual((code, out), (124, "begun\n"))
        self.assertRegex(err, r"\Aholdfast: [^\n]+\n\Z")

    def test_lost(self):
        self.stand_in("repair", "echo repaired")
        self.stand_in("index", "exit 0")
        self.assertEqual(self.do(self.recipe("lost")), (0, "done\n", ""))
        self.stand_in("index", "exit 9")
        self.assertEqual(self.do(self.recipe("lost")), (0, "failed\n", ""))
        self.stand_in("index", "echo $HOLDFAST_FENCE > fence; exec sleep 60")
        script = self.begin(self.recipe("lost"))
        until(lambda: self.text_of("fence").endswith("\n"))
        fence = self.text_of("fence").strip()
        self.assertEqual(self.call("break", "index", "--fence", fence)[0], 0)
        code, out, err = self.finish(script)
        self.assertEqual((code, out), (0, "lost on the way: starting over\nrepaired\n"))
        self.assertRegex(err, rf"\Aholdfast: index: [^\n]*{fence}[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
