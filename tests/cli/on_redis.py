"""The program on a real redis-server."""

from program import Driven
from redis_server import RedisServer


class OnRedis(Driven):
    """One server for the tests of a class; each finds it empty."""

    PARAMETERS = ""
    PASSWORD = None

    @classmethod
    def setUpClass(cls):
        cls.server = RedisServer(cls.PASSWORD)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.server.client.flushall()
        self.store = self.server.url(self.PARAMETERS)
        self.environment["HOLDFAST_STORE"] = self.store
