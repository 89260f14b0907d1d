#!/usr/bin/env python3
"""Takes locks as Redisson does: its RLock and ReadWriteLock protocol, written down from what it
stores and sends, for tests of `layout=redisson`: see told.py. Redisson itself needs Java."""

import os
import select
import sys
import threading
import uuid

import redis

from told import MILLISECONDS, OnAServer, arguments_of, await_line, obey, visit_of

LEASE_MS = 30_000
LATCH_MS = 10_000
RENEW_EVERY = LEASE_MS / 1000 / 3


def tagged(name):
    """Redisson takes any name with a brace for one that has a hash tag."""
    return name if b"{" in name else b"{" + name + b"}"


class Lock:
    """RLock: a hash of owner and count."""

    CHANNEL = b"redisson_lock__channel:"
    RELEASED = 0

    # Each gets KEYS: name, prefix of the read leases, channel, latch; ARGV: owner, lease, message
    # after a release, life of the latch.
    TRY = """
        local owner, lease = ARGV[1], ARGV[2]
        if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], owner) == 1 then
            redis.call('HINCRBY', KEYS[1], owner, 1)
            redis.call('PEXPIRE', KEYS[1], lease)
            return false
        end
        return redis.call('PTTL', KEYS[1])
    """
    RENEW = """
        if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
        return redis.call('PEXPIRE', KEYS[1], ARGV[2])
    """
    # The latch makes a repeated unlock harmless.
    UNLOCK = """
        local owner, lease, message, latch_life = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
        local done = redis.call('GET', KEYS[4])
        if done then return tonumber(done) end
        if redis.call('HEXISTS', KEYS[1], owner) == 0 then return false end
        local last = redis.call('HINCRBY', KEYS[1], owner, -1) == 0
        if last then
            redis.call('DEL', KEYS[1])
            redis.call('PUBLISH', KEYS[3], message)
        else
            redis.call('PEXPIRE', KEYS[1], lease)
        end
        redis.call('SET', KEYS[4], last and 1 or 0, 'PX', latch_life)
        return last and 1 or 0
    """

    def __init__(self, server, name, client_id=None, lease_ms=LEASE_MS):
        self.server = server
        self.name = name
        self.lease_ms = lease_ms
        self.client_id = client_id or str(uuid.uuid4())
        self.channel = self.CHANNEL + tagged(name)
        self._try = server.register_script(self.TRY)
        self._renew = server.register_script(self.RENEW)
        self._unlock = server.register_script(self.UNLOCK)

    def owner(self):
        return f"{self.client_id}:{threading.get_native_id()}"

    def _run(self, script, latch=b""):
        return script(
            keys=[self.name, tagged(self.name), self.channel, latch],
            args=[self.owner(), self.lease_ms, self.RELEASED, LATCH_MS],
        )

    def try_lock(self):
        """None when it is held now, else how many milliseconds the lock's lease has left."""
        return self._run(self._try)

    def acquire(self):
        if self.try_lock() is None:
            return
        with self.server.pubsub() as subscription:
            subscription.subscribe(self.channel)
            subscription.get_message(timeout=self.lease_ms / 1000)  # the confirmation
            # Only from here on is no release missed, so it is tried again before it waits.
            while (left := self.try_lock()) is not None:
                subscription.get_message(timeout=left / 1000 if left >= 0 else None)

    def renew(self):
        return bool(self._run(self._renew))

    def release(self):
        latch = b"redisson_unlock_latch:" + tagged(self.name) + b":" + uuid.uuid4().hex.encode()
        released = self._run(self._unlock, latch)
        self.server.delete(latch)
        if released is None:
            raise RuntimeError(f"{self.name!r} was not locked by {self.owner()}")

    def __enter__(self):
        self.acquire()
        return self

    def __exit__(self, *_):
        self.release()


class ReadLock(Lock):
    """The read side of a ReadWriteLock. Each read's lease is a key of its own: the hash has one
    expiry for all of them."""

    CHANNEL = b"redisson_rwlock:"
    RELEASED = 0

    TRY = """
        local owner, lease = ARGV[1], ARGV[2]
        local mode = redis.call('HGET', KEYS[1], 'mode')
        local writes = redis.call('HEXISTS', KEYS[1], owner .. ':write') == 1
        if mode == false then
            redis.call('HSET', KEYS[1], 'mode', 'read')
        elseif mode ~= 'read' and not writes then
            return redis.call('PTTL', KEYS[1])
        end
        local count = redis.call('HINCRBY', KEYS[1], owner, 1)
        redis.call('SET', KEYS[2] .. ':' .. owner .. ':rwlock_timeout:' .. count, 1, 'PX', lease)
        redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), lease))
        return false
    """
    RENEW = """
        local owner, lease = ARGV[1], ARGV[2]
        local count = redis.call('HGET', KEYS[1], owner)
        if not count then return 0 end
        redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), lease))
        for i = 1, count do
            redis.call('PEXPIRE', KEYS[2] .. ':' .. owner .. ':rwlock_timeout:' .. i, lease)
        end
        return 1
    """
    # The hash lives on for as long as the longest read that is left; dead readers have none.
    UNLOCK = """
        local owner, message, latch_life = ARGV[1], ARGV[3], ARGV[4]
        local done = redis.call('GET', KEYS[4])
        if done then return tonumber(done) end
        if redis.call('HEXISTS', KEYS[1], owner) == 0 then return false end

        local count = redis.call('HINCRBY', KEYS[1], owner, -1)
        if count == 0 then redis.call('HDEL', KEYS[1], owner) end
        redis.call('DEL', KEYS[2] .. ':' .. owner .. ':rwlock_timeout:' .. count + 1)

        local longest = 0
        for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
            for i = 1, tonumber(redis.call('HGET', KEYS[1], field)) or 0 do
                local key = KEYS[2] .. ':' .. field .. ':rwlock_timeout:' .. i
                longest = math.max(longest, redis.call('PTTL', key))
            end
        end
        if longest > 0 then
            redis.call('PEXPIRE', KEYS[1], longest)
        elseif redis.call('HGET', KEYS[1], 'mode') ~= 'write' then
            redis.call('DEL', KEYS[1])
            redis.call('PUBLISH', KEYS[3], message)
        end
        redis.call('SET', KEYS[4], 1, 'PX', latch_life)
        return 1
    """


class WriteLock(Lock):
    """The write side of a ReadWriteLock."""

    CHANNEL = b"redisson_rwlock:"
    RELEASED = 1

    TRY = """
        local writer, lease = ARGV[1] .. ':write', ARGV[2]
        local mode = redis.call('HGET', KEYS[1], 'mode')
        local mine = mode == 'write' and redis.call('HEXISTS', KEYS[1], writer) == 1
        if mode and not mine then return redis.call('PTTL', KEYS[1]) end
        if not mode then redis.call('HSET', KEYS[1], 'mode', 'write') end
        redis.call('HINCRBY', KEYS[1], writer, 1)
        redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), lease))
        return false
    """
    RENEW = """
        if redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':write') == 0 then return 0 end
        return redis.call('PEXPIRE', KEYS[1], ARGV[2])
    """
    # What its owner still reads stays, as a read lock.
    UNLOCK = """
        local writer, lease, message, latch_life = ARGV[1] .. ':write', ARGV[2], ARGV[3], ARGV[4]
        local done = redis.call('GET', KEYS[4])
        if done then return tonumber(done) end
        if redis.call('HEXISTS', KEYS[1], writer) == 0 then return false end
        local last = redis.call('HINCRBY', KEYS[1], writer, -1) == 0
        if last then
            redis.call('HDEL', KEYS[1], writer)
            if redis.call('HLEN', KEYS[1]) == 1 then
                redis.call('DEL', KEYS[1])
            else
                redis.call('HSET', KEYS[1], 'mode', 'read')
            end
            redis.call('PUBLISH', KEYS[3], message)
        else
            redis.call('PEXPIRE', KEYS[1], lease)
        end
        redis.call('SET', KEYS[4], last and 1 or 0, 'PX', latch_life)
        return last and 1 or 0
    """


KINDS = {"lock": Lock, "read": ReadLock, "write": WriteLock}


def renew_until_told(lock):
    while not select.select([sys.stdin], [], [], RENEW_EVERY)[0]:
        if not lock.renew():
            sys.exit("redisson_client: the lock was lost")
    await_line()


def main():
    arguments = arguments_of(
        __doc__,
        url={"required": True, "help": "redis://127.0.0.1:PORT"},
        kind={"choices": KINDS, "default": "lock"},
        lease=MILLISECONDS,  # then it is never renewed
    )
    server = redis.Redis.from_url(arguments.url)
    server.ping()
    lock = KINDS[arguments.kind](
        server, os.fsencode(arguments.name), lease_ms=arguments.lease or LEASE_MS)
    until_told = await_line if arguments.lease else lambda: renew_until_told(lock)
    obey(arguments, lock, visit_of(OnAServer(server), arguments), until_told)


if __name__ == "__main__":
    main()
