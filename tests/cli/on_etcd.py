"""The program on a real etcd."""

import signal
import subprocess

from etcd_server import EtcdServer
from own_process import end_with_the_test
from program import Driven


class OnEtcd(Driven):
    """One server for the tests of a class; each finds it empty."""

    PARAMETERS = ""

    @classmethod
    def setUpClass(cls):
        cls.server = EtcdServer()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.server.clear()
        self.use(self.PARAMETERS)

    def use(self, parameters):
        self.store = self.server.url(parameters)
        self.environment["HOLDFAST_STORE"] = self.store

    def hold_by_etcdctl(self, name):
        """A process that holds it until it is ended."""
        process = subprocess.Popen(
            ["etcdctl", "--endpoints", self.server.address, "lock", name],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            preexec_fn=end_with_the_test,
        )
        self.addCleanup(self.end_etcdctl, process)
        self.assertTrue(process.stdout.readline().startswith(name + "/"))
        return process

    @staticmethod
    def end_etcdctl(process):
        """It gives back what it holds."""
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
        process.stdout.close()
