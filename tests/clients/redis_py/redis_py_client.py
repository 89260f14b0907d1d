#!/usr/bin/env python3
"""Takes locks by redis-py's `Lock`, for tests of `layout=plain`: see told.py."""

import redis
from redis.lock import Lock

from told import MILLISECONDS, Lost, OnAServer, arguments_of, obey, visit_of


class ToldLock(Lock):
    def release(self):
        try:
            super().release()
        except redis.exceptions.LockError as error:
            raise Lost(error) from error


def main():
    arguments = arguments_of(
        __doc__,
        url={"required": True, "help": "redis://127.0.0.1:PORT"},
        lease={**MILLISECONDS, "default": 30_000},  # never renewed
        look_every={**MILLISECONDS, "default": 100},
    )
    server = redis.Redis.from_url(arguments.url)
    server.ping()
    lock = server.lock(arguments.name, timeout=arguments.lease / 1000,
                       sleep=arguments.look_every / 1000, lock_class=ToldLock)
    obey(arguments, lock, visit_of(OnAServer(server), arguments))


if __name__ == "__main__":
    main()
