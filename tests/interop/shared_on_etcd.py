"""Locks on a real etcd, that guard files."""

import os
import sys

from etcd_server import EtcdServer
from guarding_files import GuardingFiles
from interop import CLIENTS, OURS


class SharedOnEtcd(GuardingFiles):
    """Each test finds it empty."""

    SERVER = EtcdServer

    def ours(self, *words):
        # Without a prefix the name is theirs.
        url = self.server.url("?prefix=")
        return self.start(OURS, "--url", url, *self.guarded(), *words)

    def go(self, *words):
        return self.start(os.environ["HOLDFAST_TEST_ETCD_GO"], *self.guarded(), *words)

    def etcdctl(self, *words):
        program = CLIENTS / "etcdctl/etcdctl_client.py"
        return self.start(sys.executable, program, *self.guarded(), *words)

    def in_line(self):
        """How many stand in line for "lock", holders and waiters."""
        return len(self.server.keys("lock/"))
