#!/usr/bin/env python3
"""Takes locks by kazoo's `Lock`, `ReadLock` and `WriteLock`, for tests that share them with it: see
told.py."""

from kazoo.client import KazooClient

from told import MILLISECONDS, InAFolder, arguments_of, obey, visit_of

# Whom each has to wait for, besides others of kazoo's: what Curator and we call our nodes.
PATTERNS = {
    "lock": ["-lock-"],
    "read": ["-__WRIT__"],
    "write": ["-__READ__", "-__WRIT__"],
}


def lock_on(client, kind, name):
    make = {"lock": client.Lock, "read": client.ReadLock, "write": client.WriteLock}[kind]
    return make("/" + name, "kazoo", extra_lock_patterns=PATTERNS[kind])


def main():
    arguments = arguments_of(
        __doc__,
        connect={"required": True, "help": "127.0.0.1:PORT"},
        kind={"choices": PATTERNS, "default": "lock"},
        folder={"required": True, "help": "of the files `counter` and `journal`"},
        session={**MILLISECONDS, "default": 10_000},
    )
    client = KazooClient(arguments.connect, timeout=arguments.session / 1000)
    client.start()
    lock = lock_on(client, arguments.kind, arguments.name)
    obey(arguments, lock, visit_of(InAFolder(arguments.folder), arguments))
    client.stop()


if __name__ == "__main__":
    main()
