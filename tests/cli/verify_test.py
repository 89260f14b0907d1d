"""`holdfast verify`: what it says of a store that keeps its promises, and of one that does not; and
the page that it writes, in a real browser."""

import base64
import fcntl
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

from browser import Browser
from program import (
    PAGE, PROGRAM, OnALocalStore, children, is_there, state_of, unread_in, until,
)
from sites import PASSWORD, Memcached, OnASite, Redis

SHORT = ("verify", "--time", "1s", "--clients", "3")
# Several of its leases pass in a trial.
UNDER_ATTACK = ("verify", "--time", "4s", "--lease", "600ms", "--pauses", "--kills", "--seed", "7")


class Trials:
    """What is asked of a trial, wherever it was."""

    def try_out(self, *words, code=0):
        returned, out, err = self.call(*words, "--json")
        self.assertEqual((returned, err), (code, ""), out)
        told = json.loads(out)
        self.assertEqual(told["kept"], code == 0)
        self.assertEqual(bool(told["broken"]), code != 0)
        return told


class Verifying(Trials, OnALocalStore):
    def setUp(self):
        super().setUp()
        (self.folder / "temporary").mkdir()
        self.environment["TMPDIR"] = str(self.folder / "temporary")

    def assert_nothing_is_left(self):
        self.assertEqual(self.listed(), [])
        self.assertEqual(list((self.folder / "temporary").iterdir()), [])

    def test_a_store_that_keeps_its_promises(self):
        code, out, err = self.call(*SHORT)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines()[0],
                         f"local://{self.folder}/store: every promise was kept")
        self.assertRegex(out, r"(?m)^clients +3 for 1\.\d s, leases of 2\.0 s, --seed \d+; pauses 0")
        self.assertRegex(out, r"(?m)^holds +\d+ of \d+ asked, \d+ found it held$")
        self.assertRegex(out, r"(?m)^wait +p50 [\d.]+ (us|ms|s), p99 [\d.]+ (us|ms|s), of \d+$")
        self.assertRegex(out, r"(?m)^lost +0, of those 0 standing still$")
        self.assert_nothing_is_left()

    def test_the_same_for_programs(self):
        told = self.try_out(*SHORT, "--seed", "7")
        self.assertEqual((told["seed"], told["clients"], told["lease_ms"]), (7, 3, 2000))
        self.assertEqual((told["pauses"], told["kills"], told["not_judged"]), (0, 0, []))
        figures = told["figures"]
        self.assertGreater(figures["holds"], 20)
        self.assertGreaterEqual(figures["asked"], figures["holds"] + figures["found_held"])
        for times in (figures["wait"], figures["hand_off"]):
            self.assertLessEqual(times["p50_us"], times["p99_us"])

    def test_clients_that_stand_still_and_die(self):
        told = self.try_out(*UNDER_ATTACK)
        self.assertGreater(told["pauses"], 0)
        self.assertGreater(told["kills"], 0)
        self.assertEqual(told["clients"], 5 + told["kills"])
        self.assertIn("killed", told["not_judged"][-1]["what"])
        self.assert_nothing_is_left()

    def test_its_locks_are_its_own(self):
        holder = self.hold("holdfast-verify/orders/0")
        self.try_out(*SHORT)
        self.assertIsNone(holder.poll())
        self.assertEqual([found["name"] for found in self.listed()], ["holdfast-verify/orders/0"])

    def test_the_store_of_the_variable_is_not_that_of_the_option(self):
        other = self.environment["HOLDFAST_STORE"]
        self.environment["HOLDFAST_STORE"] = "redis://127.0.0.1:1"
        self.try_out(*SHORT, "-S", other)

    def start_trial(self, *words):
        process = self.start("verify", "--time", "1m", *words)
        until(lambda: len(children(process.pid)) == 5)
        clients = children(process.pid)
        until(lambda: self.listed())
        return process, clients

    def test_a_signal_ends_it_and_all_that_it_started(self):
        process, clients = self.start_trial("--pauses")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out, err), (-signal.SIGINT, "", ""))
        self.assertEqual([pid for pid in clients if is_there(pid)], [])
        self.assert_nothing_is_left()

    def test_its_clients_do_not_outlive_it(self):
        process, clients = self.start_trial("--pauses")
        process.kill()
        process.wait()
        until(lambda: not [pid for pid in clients if is_there(pid)])
        self.assertEqual(list((self.folder / "temporary").iterdir()), [])

    def test_a_client_that_dies_by_another_hand_is_told(self):
        process = self.start("verify", "--time", "2s", "--json")
        until(lambda: len(children(process.pid)) == 5)
        os.kill(children(process.pid)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (1, ""))
        sentences = [(one["promise"], one["what"]) for one in json.loads(out)["broken"]]
        self.assertIn(("works", "client 1 ended by signal 9"), sentences)

    def test_what_cannot_be_tried(self):
        self.assert_each_refused(78, (["verify", "memory:"], "exclude nobody"),
                                 (["verify", "nowhere://h"], "unknown scheme"))
        self.assert_each_refused(
            64, (["verify", "--clients", "1"], "--clients"), (["verify", "--time", "11m"], "10 min"),
            (["verify", "--time", "soon"], "no duration"), (["verify", "--lease", "5ms"], "--lease"),
            (["verify", ""], "the URL is empty"), (["verify", "--contend"], "itself"), (["verify", "--seed", "x"], "--seed"))

    def test_a_page_that_cannot_be_written_is_told_before_the_trial(self):
        began = time.monotonic()
        self.assert_refused(["verify", "--time", "1m", "--html", "no/such/folder"], 74,
                            "no/such/folder", "No such file")
        self.assertLess(time.monotonic() - began, 30)

    def test_no_folder_for_what_clients_write_down(self):
        for folder in ("/proc", str(self.folder / "nowhere")):
            with self.subTest(folder):
                self.environment["TMPDIR"] = folder
                self.assert_refused(SHORT, 78, "TMPDIR", folder)

    def test_a_full_disk_is_no_fault_of_the_store(self):
        self.try_out(*SHORT)  # what the store needs is there

        def few():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
        code, out, err = self.call("verify", "--time", "30s", "--clients", "2", preexec_fn=few)
        self.assertEqual((code, out), (74, ""))
        self.assertEqual(set(err.splitlines()), {"holdfast: a journal: File too large"})
        self.assert_nothing_is_left()

    def test_nor_is_one_that_is_full_before_a_client_is_connected(self):
        orders = b"1 7 holdfast-verify/0/ 3 1 1 1 1 2000 2000 12 100 1000 nowhere://h\0"
        full = os.open("/dev/full", os.O_WRONLY)
        self.addCleanup(os.close, full)
        words = ["sh", "-c", f'exec "$0" verify --contend 3>&{full}', PROGRAM]
        done = subprocess.run(words, input=orders, env=self.environment, timeout=60,
                              pass_fds=[full], stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr),
                         (74, b"holdfast: a journal: No space left on device\n"))

    def test_with_nobody_left_it_is_over(self):
        trial, clients = self.start_trial("--json")
        for pid in clients:
            os.kill(pid, signal.SIGKILL)
        out, err = trial.communicate(timeout=40)
        self.assertEqual((trial.returncode, err), (1, ""))
        ended = [one for one in json.loads(out)["broken"] if "ended by signal 9" in one["what"]]
        self.assertEqual(len(ended), len(clients))

    def start_with_a_pipe_for_its_page(self):
        (self.folder / "page").unlink(missing_ok=True)
        os.mkfifo(self.folder / "page")
        return self.start("verify", "--time", "1s", "--clients", "2", "--html", "page")

    def assert_ended_by(self, number, trial):
        trial.send_signal(number)
        self.assertEqual(trial.wait(20), -number)

    def test_a_page_that_nobody_opens_keeps_no_signal_waiting(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                trial = self.start_with_a_pipe_for_its_page()
                until(lambda: state_of(trial.pid) == "S")
                self.assert_ended_by(number, trial)

    def test_nor_does_one_that_nobody_reads(self):
        trial = self.start_with_a_pipe_for_its_page()
        page = os.open(self.folder / "page", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, page)
        fcntl.fcntl(page, fcntl.F_SETPIPE_SZ, PAGE)
        until(lambda: unread_in(page) == PAGE)
        self.assert_ended_by(signal.SIGTERM, trial)

    def test_a_page_takes_the_place_of_an_older_one(self):
        page = self.folder / "page.html"
        page.write_text("x" * 3_000_000)
        self.try_out(*SHORT, "--html", str(page))
        self.assertTrue(page.read_text().startswith("<!doctype html>"))
        self.assertTrue(page.read_text().endswith("</html>\n"))


class VerifyingRedis(Trials, OnASite):
    SITE = Redis

    def test_clients_that_stand_still_and_die(self):
        told = self.try_out(*UNDER_ATTACK)
        self.assertGreater(told["figures"]["holds"], 20)
        self.assertEqual(self.listed(), [])
        # What remembers fences; and nothing that has a name of ours.
        self.assertEqual([key for key in self.server.rest() if not key.endswith(b"#fence")], [])

    def forget_until(self, ended):
        while not ended.wait(0.1):
            self.server.client.flushall()

    def test_one_that_forgets_is_found_out(self):
        ended = threading.Event()
        forgetting = threading.Thread(target=self.forget_until, args=[ended])
        forgetting.start()
        try:
            told = self.try_out("verify", "--time", "4s", "--html", "page.html", code=1)
        finally:
            ended.set()
            forgetting.join()
        met = [one for one in told["broken"] if one["promise"] == "exclusion"]
        self.assertTrue(met)
        for one in met:
            # As the page of the store says of it: "fenced".
            self.assertEqual((one["told_apart"], one["told_in_time"]), (True, True), one)
        self.assertEqual({one["promise"] for one in told["broken"]}, {"exclusion"})

    def test_one_that_forgets_is_explained(self):
        ended = threading.Event()
        forgetting = threading.Thread(target=self.forget_until, args=[ended])
        forgetting.start()
        code, out, _ = self.call("verify", "--time", "4s")
        ended.set()
        forgetting.join()
        self.assertEqual(code, 1, out)
        self.assertIn(": promises were broken\n", out)
        self.assertRegex(out, r"(?m)^broken: exclusion at [\d.]+ (ms|s): (orders/\d|table|pool): \S+ "
                              r"\(fence \d+\) was in beside ")
        self.assertIn("\n  so: whoever came in has the larger fence", out)

    def test_one_that_does_not_answer(self):
        self.assert_refused(["verify", "redis://127.0.0.1:1?request_timeout=200ms"], 69, ":1")
        self.addCleanup(self.server.go_on)
        trial = self.start("verify", "--time", "2s", "--lease", "500ms",
                           "-S", self.store + "?request_timeout=300ms")
        until(lambda: len(children(trial.pid)) == 5)
        self.server.stand_still()
        out, err = trial.communicate(timeout=90)
        self.assertEqual((trial.returncode, out), (69, ""), err)

    @staticmethod
    def shown_of(pid, what):
        return pathlib.Path(f"/proc/{pid}/{what}").read_text()

    def test_no_process_shows_a_password(self):
        Redis.demand_password(self.server)
        self.addCleanup(self.server.client.config_set, "requirepass", "")
        self.environment["HOLDFAST_STORE"] = f"redis://:{PASSWORD}@{self.server.address}"
        trial = self.start(*SHORT, "--html", "page.html")
        until(lambda: [self.shown_of(pid, "cmdline") for pid in children(trial.pid)] ==
              ["holdfast\0verify\0--contend\0"] * 3)
        for pid in children(trial.pid):
            self.assertNotIn(PASSWORD, self.shown_of(pid, "environ"))
        out, err = trial.communicate(timeout=60)
        self.assertEqual((trial.returncode, err), (0, ""))
        self.assertNotIn(PASSWORD, out + (self.folder / "page.html").read_text())


class VerifyingMemcached(Trials, OnASite):
    SITE = Memcached

    def test_what_it_does_not_have_is_neither_tried_nor_judged(self):
        told = self.try_out(*SHORT)
        reasons = {one["what"]: one["why"] for one in told["not_judged"]}
        for what in ("fences were not judged", "permits were not tried",
                     "readers and writers were not tried"):
            self.assertIn("memcached keeps one item for a lock", reasons[what])


HOLDS_OF_THE_PAGE = "visits.filter((visit) => visit.held)"


class InABrowser(OnALocalStore):
    """One trial, with a name that would be markup."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        (self.folder / "<!--<script><b>").mkdir()
        self.environment["HOLDFAST_STORE"] = f"local://{self.folder}/<!--<script><b>"
        self.page = self.folder / "page.html"

    def written(self, *words):
        code, out, err = self.call(*(words or UNDER_ATTACK), "--json", "--html", str(self.page))
        self.assertEqual((code, err), (0, ""), out)
        return json.loads(out)

    def assert_content(self, page):
        self.assertEqual(page.complaints(), [])
        self.assertEqual(page.requested(), [self.page.resolve().as_uri()])

    def seen(self, page):
        """What part of the time is shown, in microseconds, and how many holds are drawn."""
        shown = page.value("({...canvas.dataset})")
        return tuple(int(shown[name]) for name in ("from", "to", "drawn"))

    def test_it_says_and_draws_what_was_told(self):
        told = self.written()
        page = self.browser.open(self.page)
        self.assert_content(page)
        self.assertEqual(page.text("#verdict"), "\u2714 Every promise was kept")
        self.assertIn(told["store"], page.text("#about"))
        self.assertIn("<!--<script><b>", page.text("#about"))
        begin, end, drawn = self.seen(page)
        self.assertEqual((begin, drawn), (0, told["figures"]["holds"]))
        self.assertGreaterEqual(end, 4_000_000)
        self.assertEqual(page.value("report.interferences.length"), told["pauses"] + told["kills"])
        self.assertFalse(page.is_shown("#findings"))
        self.assertTrue(page.is_shown("#exempt"))
        pixels = ("(() => { const drawn = pen.getImageData(0, 0, canvas.width, canvas.height).data;"
                  " const found = new Set();"
                  " for (let i = 0; i < drawn.length; i += 4) found.add(drawn.slice(i, i + 3).join());"
                  " return [...found]; })()")
        found = page.value(pixels)
        for colour in page.value("clients.slice(0, 5).map((client) => colour(client))"):
            self.assertIn(",".join(str(byte) for byte in bytes.fromhex(colour[1:])), found)

    def test_the_mouse_zooms_moves_and_shows_a_fence(self):
        self.written(*SHORT)
        page = self.browser.open(self.page)
        visit = page.value(
            f"(() => {{ const visit = {HOLDS_OF_THE_PAGE}.find("
            "(one) => one.weight === one.capacity && one.admitted > report.length / 3"
            " && one.trusted - one.admitted > 3000);"
            " visit.row = rows.findIndex((row) => row.lock && row.visits.includes(visit));"
            " return visit; })()")
        place = ("(() => { const { left, top } = canvas.getBoundingClientRect();"
                 f" const row = rows[{visit['row']}];"
                 f" return [left + x({visit['admitted']}) + 5, top + row.top + row.height / 2]; }})()")
        for _ in range(6):
            across, down = page.value(place)
            page.mouse("mouseWheel", across, down, deltaX=0, deltaY=-200)
        begin, end, _ = self.seen(page)
        self.assertLess(end - begin, 100_000)
        pixel = (end - begin) / 1000
        self.assertLessEqual(begin, visit["admitted"] + 2 * pixel)
        self.assertGreaterEqual(end, visit["admitted"] - 2 * pixel)
        page.mouse("mouseMoved", *page.value(place))
        self.assertTrue(page.is_shown("#tip"))
        self.assertIn(f"fence {visit['fence']}\n", page.text("#tip"))
        across, down = page.value(place)
        page.mouse("mousePressed", across, down, button="left", clickCount=1)
        page.mouse("mouseMoved", across - 200, down, button="left", buttons=1)
        page.mouse("mouseReleased", across - 200, down, button="left", clickCount=1)
        self.assertGreater(self.seen(page)[0], begin)
        self.assert_content(page)

    def test_the_keyboard_does_the_same(self):
        self.written(*SHORT)
        page = self.browser.open(self.page)
        page.value("canvas.focus()")
        whole = self.seen(page)
        for _ in range(6):
            page.press("+")
        begin, end, drawn = self.seen(page)
        self.assertLess(end - begin, (whole[1] - whole[0]) / 10)
        self.assertLess(drawn, whole[2])
        page.press("ArrowRight")
        self.assertGreater(self.seen(page)[0], begin)
        page.press("ArrowLeft")
        self.assertAlmostEqual(self.seen(page)[0], begin, delta=2)
        page.press("0")
        self.assertEqual(self.seen(page), whole)
        page.press("ArrowDown")
        self.assertRegex(page.text("#selected"), r"^orders/0: \d+ holds$")
        page.press(".")
        first = page.text("#selected")
        self.assertRegex(first, r"^orders/0, client \d · fence \d+ · waited .* · held .* · released$")
        page.press(".")
        self.assertNotEqual(page.text("#selected"), first)
        page.press("Escape")
        self.assertEqual(page.text("#selected"), "")
        self.assert_content(page)

    def contrast(self, page, selector):
        """Of the text of an element with the page behind it, as WCAG counts it."""
        colours = page.value(f"[getComputedStyle(document.querySelector('{selector}')).color,"
                             " getComputedStyle(document.body).backgroundColor]")

        def luminance(colour):
            parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
            red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                                for part in parts)
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue
        light, dark = sorted(map(luminance, colours), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    def test_it_can_be_read_in_light_and_dark(self):
        self.written(*SHORT)
        behind = []
        for scheme in ("light", "dark"):
            page = self.browser.open(self.page, scheme)
            self.assert_content(page)
            for selector in ("body", "#verdict", "#about", "#figures dt", "#keys"):
                with self.subTest(scheme=scheme, selector=selector):
                    self.assertGreaterEqual(self.contrast(page, selector), 4.5)
            behind.append(page.value("[...pen.getImageData(3, 3, 1, 1).data].slice(0, 3)"))
        self.assertGreater(sum(behind[0]), 600)
        self.assertLess(sum(behind[1]), 150)

    def test_a_narrow_window_needs_no_scrolling_aside(self):
        self.written(*SHORT)
        page = self.browser.open(self.page, size=(420, 900))
        self.assertLessEqual(page.value("document.documentElement.scrollWidth"), 420)


class BrokenInABrowser(OnASite):
    SITE = Redis

    def test_what_was_broken_is_shown_and_found(self):
        browser = Browser()
        self.addCleanup(browser.close)
        ended = threading.Event()

        def forget():
            while not ended.wait(0.1):
                self.server.client.flushall()
        forgetting = threading.Thread(target=forget)
        forgetting.start()
        code, out, _ = self.call("verify", "--time", "4s", "--html", "page.html", "--json")
        ended.set()
        forgetting.join()
        self.assertEqual(code, 1, out)
        told = json.loads(out)["broken"]
        page = browser.open(self.folder / "page.html")
        self.assertEqual(page.complaints(), [])
        self.assertIn("broken", page.text("#verdict"))
        self.assertTrue(page.is_shown("#findings"))
        self.assertEqual(page.value("document.querySelectorAll('#findings button').length"),
                         min(len(told), 200))
        page.click("#findings button")
        begin, end = (page.value(f"Number(canvas.dataset.{name})") for name in ("from", "to"))
        self.assertLessEqual(begin, told[0]["at_us"])
        self.assertGreaterEqual(end, told[0]["at_us"])
        self.assertIn("BROKEN", page.text("#selected"))
        if picture := os.environ.get("HOLDFAST_PICTURE"):
            pathlib.Path(picture).write_bytes(base64.b64decode(page.screenshot()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
