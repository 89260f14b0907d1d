"""Locks on a server that guard files."""

import os
import pathlib
import tempfile

from interop import Shared


class GuardingFiles(Shared):
    """Others know the server, which each test finds empty: shared_on_zookeeper.py."""

    ROUNDS = 20 if os.environ.get("HOLDFAST_SANITIZED") else 200

    def setUp(self):
        self.server.clear()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "counter").write_text("0")
        (self.folder / "journal").write_text("")

    def guarded(self):
        return ("--connect", self.server.address, "--folder", self.folder)

    def count(self):
        return int((self.folder / "counter").read_text())

    def journal(self):
        return (self.folder / "journal").read_text()
