"""One lock with Redisson's RLock and ReadWriteLock: `layout=redisson`."""

import sys
import time
import unittest

from interop import until
from shared_on_redis import SharedOnRedis

WRITE = ("--kind", "write")
READ = ("--kind", "read")


class RedissonShared(SharedOnRedis):
    LAYOUT = "redisson"

    def await_one_that_subscribed(self, channel):
        until(lambda: self.server.client.pubsub_numsub(channel)[0][1] > 0)
        time.sleep(0.05)  # and has tried once more

    def as_kind(self, start, kind):
        return lambda *words: start(*words, *kind)


class RedissonCounting(RedissonShared):
    def test_four_of_ours_and_four_of_rlock_count_exactly(self):
        self.count_together(
            [(self.ours, ("--mark", "h"))] * 4 + [(self.redisson, ("--mark", "r"))] * 4
        )
        self.assertEqual(self.count(), 8 * self.ROUNDS)
        self.tell_how_mixed()

    def test_readers_and_writers_of_both_kinds_keep_apart(self):
        self.count_together(
            [(self.ours, ("--mark", "h", *WRITE))] * 2
            + [(self.ours, READ)] * 2
            + [(self.redisson, ("--mark", "r", *WRITE))] * 2
            + [(self.redisson, READ)] * 2
        )
        self.assertEqual(self.count(), 4 * self.ROUNDS)
        self.tell_how_mixed()

    def tearDown(self):
        left = set(self.server.client.keys()) - {b"counter", b"journal"}
        self.assertEqual(left, {b"holdfast_fence:{lock}"})


class RedissonReaders(RedissonShared):
    def test_ours_and_theirs_read_together_and_keep_a_writer_out(self):
        for late, early in ((self.ours, self.redisson), (self.redisson, self.ours)):
            with self.subTest(late=late.__name__):
                readers = [self.hold(start, "--name", "lock", *READ) for start in (early, late)]
                writer = late("--name", "lock", "--wait-one", *WRITE)
                writer.hear("waiting")
                for reader in readers:
                    time.sleep(0.3)
                    self.assertTrue(writer.is_silent())
                    self.release(reader)
                writer.hear("held")
                self.release(writer)

    def test_a_dead_reader_does_not_keep_the_others_writer_out_for_long(self):
        for dead, heir in ((self.ours, self.redisson), (self.redisson, self.ours)):
            with self.subTest(dead=dead.__name__):
                self.hold(dead, "--name", "lock", "--lease", 1000, *READ).kill()
                self.release(self.hold(heir, "--name", "lock", *WRITE))


class RedissonWaking(RedissonShared):
    LOCK = "redisson_lock__channel:{lock}"
    READ_WRITE = "redisson_rwlock:{lock}"

    def assert_woken(self, holder, waiter, is_waiting, name="lock"):
        latencies = [self.pass_on(holder, waiter, is_waiting, name) for _ in range(3)]
        self.assert_soon(latencies, 0.3)  # a re-check comes after 1 s, the lease after 30 s

    def test_we_are_woken_by_their_unlock(self):
        self.assert_woken(self.redisson, self.ours, self.await_one_that_listens)

    def test_they_are_woken_by_our_release(self):
        self.assert_woken(
            self.ours, self.redisson, lambda: self.await_one_that_subscribed(self.LOCK)
        )

    def test_they_are_woken_where_the_name_has_a_hash_tag_already(self):
        name = "orders:{42}"
        listening = lambda: self.await_one_that_subscribed("redisson_lock__channel:" + name)
        self.assert_woken(self.ours, self.redisson, listening, name)

    def test_a_writer_of_ours_is_woken_by_their_reader(self):
        self.assert_woken(
            self.as_kind(self.redisson, READ),
            self.as_kind(self.ours, WRITE),
            self.await_one_that_listens,
        )

    def test_a_reader_of_ours_is_woken_by_their_writer(self):
        self.assert_woken(
            self.as_kind(self.redisson, WRITE),
            self.as_kind(self.ours, READ),
            self.await_one_that_listens,
        )

    def test_a_writer_of_theirs_is_woken_by_our_reader(self):
        self.assert_woken(
            self.as_kind(self.ours, READ),
            self.as_kind(self.redisson, WRITE),
            lambda: self.await_one_that_subscribed(self.READ_WRITE),
        )

    def test_a_reader_of_theirs_is_woken_by_our_writer(self):
        self.assert_woken(
            self.as_kind(self.ours, WRITE),
            self.as_kind(self.redisson, READ),
            lambda: self.await_one_that_subscribed(self.READ_WRITE),
        )


class RedissonExpiry(RedissonShared):
    SHORT = ("--lease", 1500)

    def test_their_lock_that_nobody_renews_is_taken_over(self):
        for kind in ((), WRITE):
            with self.subTest(kind):
                dead = self.hold(self.redisson, "--name", "lock", *self.SHORT, *kind)
                taken = time.monotonic()
                dead.kill()
                ours = self.hold(self.ours, "--name", "lock", *kind)
                self.assertGreater(time.monotonic() - taken, 0.5)
                self.release(ours)

    def test_ours_is_not_stolen_while_it_is_renewed(self):
        self.assert_not_stolen(
            (
                lambda name=name, kind=kind: self.hold(
                    self.ours, "--name", name, *self.RENEWED, *kind
                ),
                lambda name=name, rival=rival: self.redisson("--name", name, "--wait-one", *rival),
            )
            for name, kind, rival in (
                ("lock", (), ()),
                ("written", WRITE, WRITE),
                ("read", READ, WRITE),
            )
        )

    def test_ours_that_died_is_taken_over(self):
        for kind in ((), WRITE):
            with self.subTest(kind):
                self.hold(self.ours, "--name", "lock", *self.SHORT, *kind).kill()
                self.release(self.hold(self.redisson, "--name", "lock", *kind))


class BesideRedissonWriters(RedissonShared):
    """`holdfast run -x` is a writer of its ReadWriteLock; without it, an RLock."""

    COUNT = "n=$(redis-cli -p {0} get counter); redis-cli -p {0} set counter $((n + 1)) > /dev/null"

    def write_once(self):
        process = self.redisson("--name", "lock", "--wait-one", *WRITE)
        process.hear("waiting")
        self.await_one_that_subscribed(RedissonWaking.READ_WRITE)
        return process

    def test_the_programs_and_its_own_keep_apart(self):
        self.assert_kept_apart(
            self.server.url("?layout=redisson"),
            lambda: self.hold(self.redisson, "--name", "lock", *WRITE),
            self.write_once,
        )

    def test_they_count_exactly(self):
        url = self.server.url("?layout=redisson")
        ours = lambda *words: self.programs_in_a_row(
            url, self.COUNT.format(self.server.port), *words
        )
        self.count_together(
            [(ours, ("--rounds", 20))] * 2 + [(self.redisson, (*WRITE, "--rounds", 200))] * 2
        )
        self.assertEqual(self.count(), 2 * 20 + 2 * 200)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
