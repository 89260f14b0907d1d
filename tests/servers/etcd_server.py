"""A real etcd for tests in Python; etcd_server.hpp is its like for those in C++."""

import os
import pathlib
import subprocess
import urllib.error
import urllib.request

from own_process import Server

MEMORY = pathlib.Path("/dev/shm")


class EtcdServer(Server):
    """Its leases are from 1 s. The folder is in memory where the machine allows: each write waits
    for the disk."""

    SCHEME = "etcd"
    FOLDERS = MEMORY if os.access(MEMORY, os.W_OK) else None
    PORTS = 2
    _user = ()

    def _command(self):
        client, peer = (f"http://127.0.0.1:{port.number}" for port in self._ports)
        return ["etcd", "--data-dir", self._folder / "data", "--name", "alone",
                "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", f"alone={peer}",
                "--heartbeat-interval", "60", "--election-timeout", "600",
                "--logger", "zap", "--log-level", "warn"]

    def _answers(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/health", timeout=0.5) as answer:
                return b'"true"' in answer.read()
        except (OSError, urllib.error.URLError):
            return False

    def ctl(self, *words):
        """What etcdctl prints."""
        return subprocess.run(
            ["etcdctl", "--endpoints", self.address, *self._user, *words],
            env={**os.environ, "ETCDCTL_API": "3"}, check=True, stdout=subprocess.PIPE, text=True,
        ).stdout

    def demand_passwords(self, of_root):
        """From now on, of everybody; there is nobody but root."""
        self.ctl("user", "add", f"root:{of_root}")
        self.ctl("user", "grant-role", "root", "root")
        self.ctl("auth", "enable")
        self._user = ("--user", f"root:{of_root}")

    def keys(self, prefix=""):
        return self.ctl("get", "--keys-only", "--prefix", prefix).split()

    rest = keys

    def clear(self):
        """Removes all keys."""
        self.ctl("del", "--prefix", "")
