"""A real etcd for tests in Python; etcd_server.hpp is its like for those in C++."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from own_process import LoopbackPort, end_with_the_test

MEMORY = pathlib.Path("/dev/shm")


class EtcdServer:
    """On loopback in a folder of its own, serving when the constructor returns. Its leases are from
    1 s. The folder is in memory where the machine allows: each write waits for the disk."""

    def __init__(self):
        self._user = ()
        self._ports = (LoopbackPort(), LoopbackPort())
        client, peer = (f"127.0.0.1:{port.number}" for port in self._ports)
        self.port = self._ports[0].number
        self.address = client
        self._folder = pathlib.Path(
            tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
        )
        self._process = subprocess.Popen(
            [
                "etcd", "--data-dir", self._folder / "data", "--name", "alone",
                "--listen-client-urls", f"http://{client}", "--advertise-client-urls", f"http://{client}",
                "--listen-peer-urls", f"http://{peer}", "--initial-advertise-peer-urls", f"http://{peer}",
                "--initial-cluster", f"alone=http://{peer}",
                "--heartbeat-interval", "60", "--election-timeout", "600",
                "--logger", "zap", "--log-level", "warn", "--log-outputs", self._folder / "log",
            ],
            preexec_fn=end_with_the_test,
        )
        self._await_serving()

    def _await_serving(self):
        deadline = time.monotonic() + 30
        while not self._serves():
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self._folder / "log").read_text()
                self.close()
                raise RuntimeError(f"etcd does not serve: {log[-4000:]}")
            time.sleep(0.01)

    def _serves(self):
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

    def url(self, parameters=""):
        return f"etcd://{self.address}{parameters}"

    def clear(self):
        """Removes all keys."""
        self.ctl("del", "--prefix", "")

    def close(self):
        self._process.kill()
        self._process.wait()
        for port in self._ports:
            port.close()
        shutil.rmtree(self._folder)
