"""The program on a real ZooKeeper server."""

import os
import subprocess

from own_process import end_with_the_test
from program import Driven
from zookeeper_server import ZookeeperServer, java


class OnZookeeper(Driven):
    """One server for the tests of a class; each finds it empty."""

    PARAMETERS = ""

    @classmethod
    def setUpClass(cls):
        cls.server = ZookeeperServer()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.server.clear)
        self.use(self.PARAMETERS)

    def use(self, parameters):
        self.store = self.server.url(parameters)
        self.environment["HOLDFAST_STORE"] = self.store

    def hold_by_kazoo(self, name):
        lock = self.server.client.Lock("/" + name, "a kazoo")
        lock.acquire()
        self.addCleanup(lock.release)
        return lock

    def hold_by_curator(self, name, *words):
        """A process that holds it until it is ended."""
        process = subprocess.Popen(
            java("-cp", os.environ["HOLDFAST_TEST_CURATOR_JARS"], "CuratorClient",
                 "--connect", self.server.address, "--name", name, "--wait-one", *words),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            preexec_fn=end_with_the_test,
        )
        self.addCleanup(self.end_curator, process)
        self.assertEqual(process.stdout.readline(), "waiting\n")
        self.assertTrue(process.stdout.readline().startswith("held "))
        return process

    @staticmethod
    def end_curator(process):
        """It gives back what it holds."""
        if process.poll() is None:
            process.communicate("\n", timeout=20)
