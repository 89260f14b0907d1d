"""One lock with Redisson's RLock and ReadWriteLock: `layout=redisson`."""

import sys
import time
import unittest

from interop import READ, WRITE, as_kind
from own_process import until
from shared_on_redis import SharedOnRedis
from suites import BesideWriters, Deaths


class RedissonShared(SharedOnRedis):
    LAYOUT = "redisson"
    READ_WRITE = "redisson_rwlock:{lock}"

    def await_one_that_subscribed(self, channel=READ_WRITE):
        until(lambda: self.server.client.pubsub_numsub(channel)[0][1] > 0)
        time.sleep(0.05)  # and has tried once more


class RedissonCounting(RedissonShared):
    def test_four_of_ours_and_four_of_rlock_count_exactly(self):
        self.assert_exact_count((self.ours, 4), (self.redisson, 4))

    def test_readers_and_writers_of_both_kinds_keep_apart(self):
        self.assert_exact_count((self.ours, 2, *WRITE), (self.ours, 2, *READ),
                                (self.redisson, 2, *WRITE), (self.redisson, 2, *READ))

    def tearDown(self):
        left = set(self.server.client.keys()) - {b"counter", b"journal"}
        self.assertEqual(left, {b"holdfast_fence:{lock}"})


class RedissonReaders(RedissonShared):
    def each_two(self):
        for one, other in ((self.ours, self.redisson), (self.redisson, self.ours)):
            with self.subTest(one=one.__name__):
                yield one, other

    def test_ours_and_theirs_read_together_and_keep_a_writer_out(self):
        for late, early in self.each_two():
            readers = [self.hold(start, *READ) for start in (early, late)]
            writer = self.wait(late, *WRITE)
            for reader in readers:
                time.sleep(0.3)  # it would be in by now
                self.assertTrue(writer.is_silent())
                self.release(reader)
            writer.hear("held")
            self.release(writer)

    def test_a_dead_reader_does_not_keep_the_others_writer_out_for_long(self):
        for dead, heir in self.each_two():
            self.hold(dead, "--lease", 1000, *READ).kill()
            self.release(self.hold(heir, *WRITE))


class RedissonWaking(RedissonShared):
    CHANNEL = "redisson_lock__channel:"

    def test_we_are_woken_by_their_unlock(self):
        self.assert_woken(self.redisson, self.ours, self.await_one_that_listens)

    def test_they_are_woken_by_our_release(self):
        listening = lambda: self.await_one_that_subscribed(self.CHANNEL + "{lock}")
        self.assert_woken(self.ours, self.redisson, listening)

    def test_they_are_woken_where_the_name_has_a_hash_tag_already(self):
        name = "orders:{42}"
        listening = lambda: self.await_one_that_subscribed(self.CHANNEL + name)
        self.assert_woken(self.ours, self.redisson, listening, name)

    def assert_ours_is_woken(self, ours, theirs):
        self.assert_woken(as_kind(self.redisson, theirs), as_kind(self.ours, ours),
                          self.await_one_that_listens)

    def assert_theirs_is_woken(self, theirs, ours):
        self.assert_woken(as_kind(self.ours, ours), as_kind(self.redisson, theirs),
                          self.await_one_that_subscribed)

    def test_a_writer_of_ours_is_woken_by_their_reader(self):
        self.assert_ours_is_woken(WRITE, READ)

    def test_a_reader_of_ours_is_woken_by_their_writer(self):
        self.assert_ours_is_woken(READ, WRITE)

    def test_a_writer_of_theirs_is_woken_by_our_reader(self):
        self.assert_theirs_is_woken(WRITE, READ)

    def test_a_reader_of_theirs_is_woken_by_our_writer(self):
        self.assert_theirs_is_woken(READ, WRITE)


class RedissonExpiry(Deaths, RedissonShared):
    def pairs(self):
        return [(self.ours, self.redisson),
                (as_kind(self.ours, WRITE), as_kind(self.redisson, WRITE))]

    def test_ours_is_not_stolen_while_it_is_renewed(self):
        self.assert_not_stolen(
            *((name, (self.ours, *self.RENEWED, *kind), (self.redisson, *rival))
              for name, kind, rival in (
                  ("lock", (), ()), ("written", WRITE, WRITE), ("read", READ, WRITE))))


class BesideRedissonWriters(BesideWriters, RedissonShared):
    URL_PARAMETERS = "?layout=redisson"
    COUNT = ("n=$(redis-cli -p {0.server.port} get counter);"
             "redis-cli -p {0.server.port} set counter $((n + 1)) > /dev/null")

    @property
    def theirs(self):
        return self.redisson

    def await_waiting(self):
        self.await_one_that_subscribed()


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
