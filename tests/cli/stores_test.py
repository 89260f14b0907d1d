"""What the program says of stores: `stores` is what README.md and docs/choosing.md print, `check`
judges one."""

import json
import pathlib
import re
import unittest

from program import PROGRAM, Driven, OnALocalStore

ROOT = pathlib.Path(__file__).resolve().parents[2]


def rows_below(heading, text):
    """Of the first table below a heading, each row as {column's name: cell}."""
    below = text.partition(f"\n{heading}\n")[2]
    table = re.search(r"^\|.*\|\n(?:\|.*\|\n)+", below, re.MULTILINE).group()
    names, _, *rows = ([cell.strip() for cell in row.strip("| ").split("|")]
                       for row in table.splitlines())
    return [dict(zip(names, row)) for row in rows]


class Stores(Driven):
    def printed(self):
        """{store: {column's name: cell}}, as the program prints it for people."""
        code, out, err = self.call("stores")
        self.assertEqual((code, err), (0, ""))
        names, *rows = (re.split(r" {2,}", line) for line in out.splitlines())
        return {row[0]: dict(zip([name.lower() for name in names], row)) for row in rows}

    def in_json(self):
        code, out, err = self.call("stores", "--json")
        self.assertEqual((code, err), (0, ""))
        return {store["name"]: store for store in json.loads(out)}

    def assert_says_the_same(self, page, heading, every):
        """Each cell of the page whose column the program prints too. A row is of the store that its
        first cell has in code; where not every one is there, those with a layout are left out."""
        printed, told = self.printed(), set()
        for row in rows_below(heading, (ROOT / page).read_text()):
            store = re.search(r"`([^`]*)`", next(iter(row.values()))).group(1).removesuffix(":")
            told.add(store)
            shared = set(row) & set(printed[store]) - {"store"}
            self.assertGreaterEqual(len(shared), 4, "nothing is compared")
            for column in shared:
                with self.subTest(page=page, store=store, column=column):
                    self.assertEqual(row[column], printed[store][column])
        self.assertEqual(told, {store for store in printed if every or "?" not in store})

    def test_the_readme_says_the_same(self):
        self.assert_says_the_same("README.md", "## Stores", every=False)

    def test_the_page_on_choosing_says_the_same(self):
        self.assert_says_the_same("docs/choosing.md", "## What each promises", every=True)

    def test_each_is_there_for_programs_too(self):
        stores = self.in_json()
        self.assertEqual(set(stores), set(self.printed()))
        self.assertIs(stores["local"]["in_this_build"], True)
        self.assertEqual(stores["memcached"]["fences"], False)
        self.assertEqual(stores["memcached"]["waiters"], "look")
        self.assertIsNone(stores["zookeeper"]["longest_lease_ms"])
        self.assertEqual(stores["redis"]["schemes"], ["redis", "rediss", "redis+unix"])
        for name, store in stores.items():
            with self.subTest(name):
                self.assertEqual(len(store), len(stores["local"]))
                self.assertEqual(store["survives_restart"] == "no_server",
                                 store["round_trips"] == 0)

    def test_it_asks_no_store(self):
        self.environment["HOLDFAST_STORE"] = "nowhere:"
        self.assertEqual(self.call("stores")[0], 0)


def besides_the_place(findings):
    """Those that are not of the place where tests run."""
    return [finding for finding in findings if finding["name"] != "local.container"]


class Checking(OnALocalStore):
    def test_a_store_that_is_well(self):
        code, out, err = self.call("check")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines()[0], f"local://{self.folder}/store: safe")
        for what in ("round trip", "free lock", "hand-off"):
            self.assertRegex(out, rf"(?m)^{what} +p50 [\d.]+ (us|ms), p99 [\d.]+ (us|ms), of \d+$")
        self.assertEqual(self.listed(), [])

    def test_the_same_for_programs(self):
        code, out, err = self.call("check", "--json")
        self.assertEqual((code, err), (0, ""))
        told = json.loads(out)
        self.assertEqual((told["safe"], told["clock_ahead_us"]), (True, None))
        self.assertEqual(besides_the_place(told["findings"]), [])
        for what in ("round_trip", "pair", "hand_off"):
            self.assertGreater(told[what]["p50_us"], 0)
            self.assertGreaterEqual(told[what]["p99_us"], told[what]["p50_us"])

    def test_advice_is_no_warning(self):
        url = self.environment["HOLDFAST_STORE"] + "?mode=0660"
        code, out, _ = self.call("check", url)
        self.assertEqual(code, 0)
        self.assertIn("\nadvice: ", out)
        self.assertIn("(local.shared)\n  so: ", out)
        finding, = besides_the_place(json.loads(self.call("check", "--json", url)[1])["findings"])
        self.assertEqual((finding["severity"], finding["name"]), ("advice", "local.shared"))

    def test_a_containers_own_file_system(self):
        script = ("mkdir below above work top && mount -t overlay none top "
                  "-o lowerdir=below,upperdir=above,workdir=work || exit 99; "
                  'exec "$0" check "local://$PWD/top/store"')
        code, out, _ = self.run_to_end(["unshare", "-m", "sh", "-c", script, PROGRAM])
        if code in (1, 99):
            self.skipTest("no file system can be laid over another one here")
        self.assertEqual(code, 0)
        self.assertIn("(local.container)\n", out)

    def test_what_cannot_be_checked(self):
        self.assert_each_refused(78, (["check", "memory:"], "exclude nobody"),
                                 (["check", "nowhere://h"], "unknown scheme"),
                                 (["check", "-S", "local:///no/such/folder"], "does not exist"))
        self.assert_each_refused(64, (["check", ""], "the URL is empty"))


if __name__ == "__main__":
    unittest.main()
