"""Locks on a real memcached, that guard files."""

import sys

from guarding_files import GuardingFiles
from interop import CLIENTS, OURS
from memcached_server import MemcachedServer


class SharedOnMemcached(GuardingFiles):
    """Each test finds it empty."""

    SERVER = MemcachedServer

    def ours(self, *words):
        url = self.server.url("?layout=plain")
        return self.start(OURS, "--url", url, *self.guarded(), *words)

    def added(self, *words):
        program = CLIENTS / "memcached_add/memcached_add_client.py"
        return self.start(sys.executable, program, *self.guarded(), *words)
