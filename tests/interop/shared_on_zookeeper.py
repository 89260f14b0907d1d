"""Locks on a real ZooKeeper server, that guard files."""

import os
import pathlib
import sys
import tempfile

from interop import CLIENTS, OURS, Shared
from zookeeper_server import ZookeeperServer, java


class SharedOnZookeeper(Shared):
    """One server for the tests of a class; each finds it empty."""

    ROUNDS = 20 if os.environ.get("HOLDFAST_SANITIZED") else 200

    @classmethod
    def setUpClass(cls):
        cls.server = ZookeeperServer()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.server.clear()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "counter").write_text("0")
        (self.folder / "journal").write_text("")

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

    def guarded(self):
        return ("--connect", self.server.address, "--folder", self.folder)

    def count(self):
        return int((self.folder / "counter").read_text())

    def journal(self):
        return (self.folder / "journal").read_text()

    def in_line(self):
        """How many stand in line for "lock", holders and waiters."""
        return len(self.server.client.get_children("/lock"))
