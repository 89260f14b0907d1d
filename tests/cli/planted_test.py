"""What the program says and does where somebody has written what no client of ours writes: in the
files of the embedded store, and under the keys, nodes and rows of the others."""

import json
import os
import random
import shutil
import struct
import sys
import unittest

from program import PROGRAM, Driven, OnALocalStore
from sites import (Etcd, Memcached, Mysql, OnASite, Postgres, Redis, Redisson, RedisPlain,
                   Zookeeper, on_each)

# As the help names them: done, no such hold, usage, unreachable, busy, bad configuration.
CODES = {0, 1, 64, 69, 75, 78}
STEERING = "\x1b[2J"
OWNER = "9" * 32


class Planted(Driven):
    """What is asked of a store where something is planted under the lock `orders`."""

    def assert_shown_or_refused(self, *words):
        """In lines that steer no terminal. What came of it, and what was printed."""
        code, out, err = self.call(*words)
        self.assertIn(code, CODES, err)
        self.assertLessEqual(len(err.splitlines()), 1, err)
        self.assertRegex(out + err, r"\A[^\x00-\x09\x0b-\x1f\x7f]*\Z")
        if code in (69, 78):
            self.assertRegex(err, r"\Aholdfast: .*[;,(] ?")
        if "--json" in words and code == 0:
            json.loads(out)
        return code, out

    def assert_harmless(self):
        """Whoever lists it, looks at it, breaks it or takes it. No two are in."""
        prefix = [] if self.is_memcached() else ["list", "or"]
        for words in (prefix, prefix and [*prefix, "--json"], ["show", "orders"],
                      ["show", "orders", "--json"], ["break", "orders", "--fence", "7"]):
            if words:
                self.assert_shown_or_refused(*words)
        twice = [PROGRAM, "run", "-n", "orders", "--", "echo", "two"]
        _, out = self.assert_shown_or_refused("run", "-n", "orders", "--", *twice)
        self.assertEqual(out, "")

    def is_memcached(self):
        return self.environment["HOLDFAST_STORE"].startswith("memcached")


class PlantedInFiles(Planted, OnALocalStore):
    """Cut off, or with other bytes in them: nobody dies by that. (A page amid the table that is
    made up so as to mislead may end whoever reads it: see SECURITY.md.)"""

    def changed(self, file, change):
        store = self.folder / "store"
        shutil.rmtree(store)
        store.mkdir()
        self.call("run", "orders", "--", "true")
        with self.subTest(file=file, change=change[0]):
            change[1](store / file)
            self.assert_harmless()

    @staticmethod
    def cut_to(size):
        return f"cut to {size}", lambda path: os.truncate(path, size)

    @staticmethod
    def with_bytes(at, content):
        def write(path):
            with open(path, "r+b") as file:
                file.seek(at)
                file.write(content)
        return f"{len(content)} bytes {content[:8]!r} at {at}", write

    @staticmethod
    def made_another(kind, make):
        def replace(path):
            path.unlink()
            make(path)
        return kind, replace

    def test_are_refused_or_made_good(self):
        garbage = random.Random(1).randbytes(8192)
        for file in ("control", "lines.mdb"):
            for size in (0, 1, 4095, 8192):
                self.changed(file, self.cut_to(size))
            for content in (garbage[:4096], b"\xff" * 4096, bytes(4096)):
                self.changed(file, self.with_bytes(0, content))
            for kind, make in (("a folder", os.mkdir), ("a pipe", os.mkfifo),
                               ("a device", lambda path: os.symlink("/dev/zero", path))):
                self.changed(file, self.made_another(kind, make))
        self.changed("lines.mdb", self.with_bytes(0, garbage))

    def test_numbers_at_the_edge_are_refused_or_made_good(self):
        # The words of the control page: format, boot, time namespace, sizes, fence, turns.
        for at in range(0, 112, 16):
            for number in (2**64 - 1, 2**53):
                self.changed("control", self.with_bytes(at, struct.pack("<QQ", number, number)))


class PlantedUnderKeys(Planted):
    """Under the lock's own name, by somebody who may write there."""

    def test_are_shown_escaped_or_refused_and_let_no_two_in(self):
        for plant in PLANTS[self.SITE]:
            self.server.clear()
            with self.subTest(plant.__name__):
                plant(self.server, self)
                self.assert_harmless()


def own_line(server, test):
    test.call("run", "orders", "--", "true")
    fence = next(key for key in server.client.keys() if key.endswith(b"#fence"))
    server.client.set(fence[:-6] + b"holdfast/orders", "q" + STEERING + "\x00" * 200)


def own_fence(server, test):
    test.call("run", "orders", "--", "true")
    fence = next(key for key in server.client.keys() if key.endswith(b"#fence"))
    server.client.set(fence, STEERING + "\x00\n" + "x" * 100_000)


def plain_value(server, _):
    server.client.set("orders", STEERING + "\x00\n" + "x" * 100_000)


def plain_record(server, _):
    server.client.set("orders", "v")
    server.client.set("holdfast_holds:{orders}",
                      "0" * 32 + f"v 99999999999999999999 0 1 9999999999 3 {STEERING}\n\x00")


def redisson_owner(server, _):
    server.client.hset("orders", STEERING + "\n\x00:1", "1")


def redisson_reads(server, _):
    server.client.hset("orders", mapping={"mode": "read", "8743c9c0:57": str(2**53)})


def note(owner):
    return f"holdfast\nowner={owner}\\n\nhost={owner}\npid=-1\nshare=9/0\nlease_ms={2**63 - 1}\n"


def etcd_note(server, _):
    lease = server.ctl("lease", "grant", "600").split()[1].lstrip("0")
    server.ctl("put", "--lease", lease, "--", f"holdfast/orders/{lease}-1", note(STEERING))


def etcd_value(server, _):
    lease = server.ctl("lease", "grant", "600").split()[1].lstrip("0")
    server.ctl("put", "--lease", lease, "--", f"holdfast/orders/{lease}", STEERING * 20_000)


def zookeeper_note(server, _):
    server.client.create("/holdfast/orders/x-lock-", note(STEERING).encode() + b"\xff\x00",
                         makepath=True, sequence=True)


def zookeeper_name(server, _):
    server.client.create("/holdfast/orders/\u202ex-lock-", STEERING.encode(), makepath=True,
                         sequence=True)


def memcached_item(server, _):
    value = f"holdfast {OWNER} -1 %1b%5b2J%0a%00 %1b%5b2J{STEERING}"
    server.ask(f"set holdfast/orders 0 0 {len(value)}\r\n{value}")


def row(server, test):
    test.call("run", "orders", "--", "true")
    contenders = server.LINES.replace("lines", "contenders")
    server.run(f"INSERT INTO {contenders} (line, nonce, phase, weight, fence, lease_end, owner,"
               f" host, since) SELECT id, '{OWNER}', 'admitted', -1, -1, {2**63 - 1},"
               f" '%1B%5B2J{STEERING}', '{STEERING}%', 5 FROM {server.LINES};"
               f" UPDATE {server.LINES} SET capacity = 1000000000" +
               (", crowd = 5" if server.SCHEME == "mysql" else ""))


def a_moment_before_all(server, test):
    row(server, test)
    server.run(f"UPDATE {server.LINES.replace('lines', 'contenders')} SET since = {-2**63}")


PLANTS = {
    Redis: (own_line, own_fence),
    RedisPlain: (plain_value, plain_record),
    Redisson: (redisson_owner, redisson_reads),
    Etcd: (etcd_note, etcd_value),
    Zookeeper: (zookeeper_note, zookeeper_name),
    Memcached: (memcached_item,),
    Postgres: (row, a_moment_before_all),
    Mysql: (row, a_moment_before_all),
}


on_each(PLANTS, PlantedUnderKeys, globals())

if __name__ == "__main__":
    unittest.main(argv=sys.argv)
