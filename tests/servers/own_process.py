"""What servers for tests in Python share."""

import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PR_SET_PDEATHSIG = 1


def end_with_the_test():
    """For `preexec_fn`."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come to pass")
        time.sleep(0.005)


class LoopbackPort:
    """A free port of 127.0.0.1 that is nobody else's until close(), listened to or not."""

    def __init__(self):
        self._bound = socket.socket()  # never listens
        self._bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._bound.bind(("127.0.0.1", 0))
        self.number = self._bound.getsockname()[1]

    def close(self):
        self._bound.close()


def state_of(task):
    """T when it is stopped: see proc(5). Empty when it is gone."""
    with contextlib.suppress(OSError):
        return (task / "stat").read_text().rpartition(") ")[2][:1]
    return ""


class Server:
    """A real one on loopback in a folder of its own, answering when the constructor returns. Each
    kind says how its folder is made ready, what runs it, and whether it answers."""

    FOLDERS = None  # where its own is made
    PORTS = 1

    def __init__(self):
        self._ports = [LoopbackPort() for _ in range(self.PORTS)]
        self.port = self._ports[0].number
        self.address = f"127.0.0.1:{self.port}"
        self._folder = pathlib.Path(tempfile.mkdtemp(dir=self.FOLDERS))
        self._make_ready()
        with open(self._folder / "log", "w") as log:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=end_with_the_test)
        self._await_answer()

    def _make_ready(self):
        pass

    def _await_answer(self):
        deadline = time.monotonic() + 30
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self._folder / "log").read_text()
                self.close()
                raise RuntimeError(f"{self._command()[0]} does not answer: {log[-4000:]}")
            time.sleep(0.01)

    def url(self, parameters=""):
        return f"{self.SCHEME}://{self.address}{parameters}"

    @property
    def pid(self):
        return self._process.pid

    def stand_still(self):
        """Until go_on(): it takes what is sent to it, and answers nothing."""
        pids = self._send_to_all(signal.SIGSTOP)
        # Threads stop one after the other.
        while any(state_of(thread) not in "TZ" for pid in pids
                  for thread in pathlib.Path(f"/proc/{pid}/task").glob("*")):
            time.sleep(0.001)

    def go_on(self):
        self._send_to_all(signal.SIGCONT)

    def _send_to_all(self, number):
        children = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        pids = [self.pid, *map(int, children)]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return pids

    def close(self):
        self._process.kill()
        self._process.wait()
        for port in self._ports:
            port.close()
        shutil.rmtree(self._folder, ignore_errors=True)
