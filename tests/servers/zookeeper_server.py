"""A real ZooKeeper node for tests in Python; zookeeper_server.hpp is its like for those in C++."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from kazoo.client import KazooClient

from own_process import LoopbackPort, end_with_the_test

QUICK_START = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


def java(*words):
    """The words that run Java for a short time."""
    return [os.environ["HOLDFAST_TEST_JAVA"], *QUICK_START, *words]


class ZookeeperServer:
    """On loopback in a folder of its own, serving when the constructor returns. Its tick is 500 ms, so
    that sessions can be as short as 1 s. Containers that have become empty are soon removed."""

    def __init__(self):
        self._port = LoopbackPort()
        self.port = self._port.number
        self.address = f"127.0.0.1:{self.port}"
        self._folder = pathlib.Path(tempfile.mkdtemp())
        self._write_configuration()
        self._process = subprocess.Popen(
            java(
                f"-XX:SharedArchiveFile={os.environ['HOLDFAST_TEST_ZOOKEEPER_CLASSES']}",
                f"-Dorg.slf4j.simpleLogger.logFile={self._folder / 'log'}",
                "-Dznode.container.checkIntervalMs=100",
                "-Dznode.container.maxPerMinute=1000000",
                "-cp", os.environ["HOLDFAST_TEST_ZOOKEEPER_JARS"],
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                str(self._folder / "zoo.cfg"),
            ),
            preexec_fn=end_with_the_test,
        )
        self._await_serving()
        self.client = KazooClient(self.address, timeout=40)
        self.client.start()

    def _write_configuration(self):
        (self._folder / "zoo.cfg").write_text(
            f"tickTime=500\ndataDir={self._folder / 'data'}\n"
            f"clientPort={self.port}\nclientPortAddress=127.0.0.1\n"
            "maxSessionTimeout=40000\nadmin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n"
            "forceSync=no\npreAllocSize=1024\n"
        )

    def _await_serving(self):
        deadline = time.monotonic() + 30
        while "\nMode: " not in self.ask("srvr"):
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self._folder / "log").read_text()
                self._end()
                raise RuntimeError(f"ZooKeeper does not serve: {log[-4000:]}")
            time.sleep(0.01)

    def ask(self, word):
        """What it answers to one of its four-letter words; nothing while it starts."""
        try:
            # Whoever comes before it is ready may never be answered.
            with socket.create_connection(("127.0.0.1", self.port), 0.25) as asking:
                asking.sendall(word.encode())
                return asking.makefile().read()
        except OSError:
            return ""

    def url(self, parameters=""):
        return f"zookeeper://{self.address}{parameters}"

    def clear(self):
        """Removes all nodes."""
        for name in self.client.get_children("/"):
            if name != "zookeeper":
                self.client.delete("/" + name, recursive=True)

    def close(self):
        self.client.stop()
        self.client.close()
        self._end()

    def _end(self):
        self._process.kill()
        self._process.wait()
        self._port.close()
        shutil.rmtree(self._folder)
