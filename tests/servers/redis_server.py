"""A real redis-server for tests in Python; redis_server.hpp is its like for those in C++."""

import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import redis

from own_process import LoopbackPort, end_with_the_test


class RedisServer:
    """On loopback in a folder of its own, answering when the constructor returns."""

    def __init__(self, password=None):
        self._port = LoopbackPort()
        self.port = self._port.number
        self._folder = pathlib.Path(tempfile.mkdtemp())
        self.socket = self._folder / "socket"
        words = [
            "redis-server", "--bind", "127.0.0.1", "--port", str(self.port),
            "--unixsocket", str(self.socket), "--dir", str(self._folder),
            "--logfile", str(self._folder / "log"), "--save", "", "--appendonly", "no",
        ]
        if password:
            words += ["--requirepass", password]
        self._process = subprocess.Popen(words, preexec_fn=end_with_the_test)
        self.client = redis.Redis("127.0.0.1", self.port, password=password)
        self._await_answer()

    def _await_answer(self):
        deadline = time.monotonic() + 20
        while True:
            try:
                self.client.ping()
                return
            except redis.ConnectionError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    log = (self._folder / "log").read_text()
                    self.close()
                    raise RuntimeError(f"redis-server does not answer: {log}") from error
                time.sleep(0.01)

    def stand_still(self):
        """Until go_on(): it takes what is sent to it, and answers nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)

    def close(self):
        self._process.kill()
        self._process.wait()
        self._port.close()
        shutil.rmtree(self._folder)

    def url(self, parameters=""):
        return f"redis://127.0.0.1:{self.port}{parameters}"
