"""Locks on a real redis-server, which also has the counter that they guard."""

import sys
import time

from interop import CLIENTS, OURS, Shared
from own_process import until
from redis_server import RedisServer


class SharedOnRedis(Shared):
    """Each test finds it empty."""

    SERVER = RedisServer
    LAYOUT = ""
    # To be outlived by a hold: not too short for a machine that is busy with other tests.
    RENEWED = ("--lease", 3000)

    def setUp(self):
        self.server.client.flushall()

    def ours(self, *words):
        url = self.server.url(f"?layout={self.LAYOUT}")
        return self.start(OURS, "--url", url, "--port", self.server.port, *words)

    def redis_py(self, *words):
        program = CLIENTS / "redis_py/redis_py_client.py"
        return self.start(sys.executable, program, "--url", self.server.url(), *words)

    def node(self, *words):
        program = CLIENTS / "node/redlock_client.js"
        return self.start("node", program, "--url", self.server.url(), *words)

    def redisson(self, *words):
        program = CLIENTS / "redisson/redisson_client.py"
        return self.start(sys.executable, program, "--url", self.server.url(), *words)

    def count(self):
        return int(self.server.client.get("counter"))

    def journal(self):
        return self.server.client.get("journal").decode()

    def await_one_that_listens(self):
        """Until a waiter of ours is told by the server when the lock's key changes."""
        until(lambda: self.server.client.info("stats")["tracking_total_keys"] > 0)
        time.sleep(0.05)  # and has nothing left to look at
