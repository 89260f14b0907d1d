"""A real memcached for tests in Python; memcached_server.hpp is its like for those in C++."""

import os
import socket

from own_process import Server


class MemcachedServer(Server):
    SCHEME = "memcached"

    def __init__(self, user=None):
        self._user = user
        super().__init__()

    def _make_ready(self):
        if self._user:
            (self._folder / "users").write_text(self._user + "\n")

    def _command(self):
        words = ["memcached", "-l", "127.0.0.1", "-p", str(self.port), "-U", "0"]
        # It refuses to run as root unless it is told to.
        words += ["-u", "root"] if os.getuid() == 0 else []
        return words + (["-Y", str(self._folder / "users")] if self._user else [])

    def _answers(self):
        try:
            return bool(self.ask("version"))
        except OSError:
            return False

    def ask(self, command):
        """The first line of the answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            lines = connection.makefile("rwb")
            lines.write(command.encode() + b"\r\n")
            lines.flush()
            return lines.readline().decode().strip()

    def clear(self):
        if not self._user:
            self.ask("flush_all")
