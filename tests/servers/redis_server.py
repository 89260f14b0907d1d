"""A real redis-server for tests in Python; redis_server.hpp is its like for those in C++."""

import redis

from own_process import Server


class RedisServer(Server):
    SCHEME = "redis"

    def __init__(self, password=None):
        self._password = password
        super().__init__()

    def _make_ready(self):
        self.socket = self._folder / "socket"
        self.client = redis.Redis("127.0.0.1", self.port, password=self._password)

    def _command(self):
        words = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port),
                 "--unixsocket", str(self.socket), "--dir", str(self._folder),
                 "--save", "", "--appendonly", "no"]
        return words + (["--requirepass", self._password] if self._password else [])

    def _answers(self):
        try:
            return self.client.ping()
        except redis.ConnectionError:
            return False

    def clear(self):
        self.client.flushall()

    def rest(self):
        """What is left in it that has a name."""
        return self.client.keys()
