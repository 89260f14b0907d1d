"""Locks on a real ZooKeeper server, that guard files."""

import os
import sys

from guarding_files import GuardingFiles
from interop import CLIENTS, OURS
from zookeeper_server import ZookeeperServer, java


class SharedOnZookeeper(GuardingFiles):
    """Each test finds it empty."""

    SERVER = ZookeeperServer

    def ours(self, *words, parameters=""):
        # Without a prefix the name is the path.
        url = self.server.url("?prefix=" + parameters)
        return self.start(OURS, "--url", url, *self.guarded(), *words)

    def curator(self, *words):
        jars = os.environ["HOLDFAST_TEST_CURATOR_JARS"]
        return self.start(*java("-cp", jars, "CuratorClient"), *self.guarded(), *words)

    def kazoo(self, *words):
        program = CLIENTS / "kazoo/kazoo_client.py"
        return self.start(sys.executable, program, *self.guarded(), *words)

    def in_line(self):
        """How many stand in line for "lock", holders and waiters."""
        return len(self.server.client.get_children("/lock"))
