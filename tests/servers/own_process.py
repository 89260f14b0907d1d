"""What servers for tests in Python share."""

import ctypes
import signal
import socket

PR_SET_PDEATHSIG = 1


def end_with_the_test():
    """For `preexec_fn`."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class LoopbackPort:
    """A free port of 127.0.0.1 that is nobody else's until close(), listened to or not."""

    def __init__(self):
        self._bound = socket.socket()  # never listens
        self._bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._bound.bind(("127.0.0.1", 0))
        self.number = self._bound.getsockname()[1]

    def close(self):
        self._bound.close()
