#!/usr/bin/env python3
"""Takes locks as programs do that have memcached and no library for locks: `add` a key, work,
`delete` it. For tests of `layout=plain`: see told.py."""

import socket
import time

from told import MILLISECONDS, InAFolder, Lost, arguments_of, obey, visit_of


class AddedKey:
    def __init__(self, port, name, lease, pause):
        self._lines = socket.create_connection(("127.0.0.1", port)).makefile("rwb")
        self._name = name
        self._lease = lease
        self._pause = pause

    def _ask(self, command):
        self._lines.write(command.encode() + b"\r\n")
        self._lines.flush()
        return self._lines.readline().strip()

    def acquire(self):
        while self._ask(f"add {self._name} 0 {self._lease} 1\r\n1") != b"STORED":
            time.sleep(self._pause)

    def release(self):
        answer = self._ask(f"delete {self._name}")
        if answer != b"DELETED":
            raise Lost(answer)

    def __enter__(self):
        self.acquire()

    def __exit__(self, *_):
        self.release()


def main():
    arguments = arguments_of(
        __doc__,
        connect={"required": True, "help": "127.0.0.1:PORT"},
        folder={"required": True, "help": "where what is guarded is"},
        lease={**MILLISECONDS, "default": 30_000},  # never renewed
        look_every={**MILLISECONDS, "default": 10},
    )
    lock = AddedKey(int(arguments.connect.rpartition(":")[2]), arguments.name,
                    -(-arguments.lease // 1000), arguments.look_every / 1000)
    obey(arguments, lock, visit_of(InAFolder(arguments.folder), arguments))


if __name__ == "__main__":
    main()
