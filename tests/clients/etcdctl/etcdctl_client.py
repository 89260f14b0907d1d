#!/usr/bin/env python3
"""Takes locks by `etcdctl lock`, a process for each hold, for tests that share them with it: see
told.py."""

import os
import signal
import subprocess

from told import MILLISECONDS, InAFolder, arguments_of, obey, visit_of


class EtcdctlLock:
    def __init__(self, arguments):
        ttl = str(arguments.session // 1000)
        self._words = ["etcdctl", "--endpoints", arguments.connect, "lock", "--ttl", ttl, "--",
                       arguments.name]

    def acquire(self):
        # 3.4 is the first that does not need to be told.
        environment = {**os.environ, "ETCDCTL_API": "3"}
        self._holder = subprocess.Popen(self._words, env=environment, stdout=subprocess.PIPE)
        if not self._holder.stdout.readline():  # its key: it holds
            raise RuntimeError("etcdctl failed")

    def release(self):
        self._holder.send_signal(signal.SIGINT)
        self._holder.communicate()

    def __enter__(self):
        self.acquire()

    def __exit__(self, *_):
        self.release()


def main():
    arguments = arguments_of(
        __doc__,
        connect={"required": True, "help": "127.0.0.1:PORT"},
        folder={"required": True, "help": "of the files `counter` and `journal`"},
        session={**MILLISECONDS, "default": 10_000},  # in whole seconds
    )
    obey(arguments, EtcdctlLock(arguments), visit_of(InAFolder(arguments.folder), arguments))


if __name__ == "__main__":
    main()
