"""A real ZooKeeper node for tests in Python; zookeeper_server.hpp is its like for those in C++."""

import os
import socket

from kazoo.client import KazooClient

from own_process import Server

QUICK_START = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


def java(*words):
    """The words that run Java for a short time."""
    return [os.environ["HOLDFAST_TEST_JAVA"], *QUICK_START, *words]


class ZookeeperServer(Server):
    """Its tick is 500 ms, so that sessions can be as short as 1 s. Containers that have become empty
    are soon removed."""

    SCHEME = "zookeeper"
    client = None

    def __init__(self):
        super().__init__()
        self.client = KazooClient(self.address, timeout=40)
        self.client.start()

    def _make_ready(self):
        (self._folder / "zoo.cfg").write_text(
            f"tickTime=500\ndataDir={self._folder / 'data'}\n"
            f"clientPort={self.port}\nclientPortAddress=127.0.0.1\n"
            "maxSessionTimeout=40000\nadmin.enableServer=false\n4lw.commands.whitelist=*\n"
            "maxClientCnxns=0\nforceSync=no\npreAllocSize=1024\n"
        )

    def _command(self):
        return java(
            f"-XX:SharedArchiveFile={os.environ['HOLDFAST_TEST_ZOOKEEPER_CLASSES']}",
            "-Dznode.container.checkIntervalMs=100",
            "-Dznode.container.maxPerMinute=1000000",
            "-cp", os.environ["HOLDFAST_TEST_ZOOKEEPER_JARS"],
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            str(self._folder / "zoo.cfg"),
        )

    def _answers(self):
        return "\nMode: " in self.ask("srvr")

    def ask(self, word):
        """What it answers to one of its four-letter words; nothing while it starts."""
        try:
            # Whoever comes before it is ready may never be answered.
            with socket.create_connection(("127.0.0.1", self.port), 0.25) as asking:
                asking.sendall(word.encode())
                return asking.makefile().read()
        except OSError:
            return ""

    def rest(self):
        """What is left in it that has a name."""
        return [name for name in self.client.get_children("/") if name != "zookeeper"]

    def clear(self):
        """Removes all nodes."""
        for name in self.rest():
            self.client.delete("/" + name, recursive=True)

    def close(self):
        if self.client:
            self.client.stop()
            self.client.close()
        super().close()
