"""Where the program's locks may be: a description of each store that processes share, for tests that
are the same on all of them."""

import os
import signal
import subprocess
import tempfile

from own_process import end_with_the_test
from program import Driven

PASSWORD = "Xy7-secret"
SECONDS_OF_OTHERS = 3600


class Site:
    """What differs between stores. Servers are imported when they are started, for not each Python
    has what each of them needs."""

    PARAMETERS = ""  # of all URLs
    FOR_BRIEF_LEASES = ""  # more of them
    BRIEF = "1s"  # a lease that ends while a test waits for it
    REENTERS = True
    NOTICES_DEATH = False  # of whoever holds or waits
    LEAST_FENCE = 1_600_000_000_000_000
    TELLS_AGE = True
    USER = ""
    WRONG_PASSWORD = NO_PASSWORD = "user and password"
    NAMES = ["a", "a/b", "a/b/0", "b{c}*", "caf\u00e9 \U0001f512"]  # in order
    # What follows the address of a wrong URL, and what is said to that.
    WRONG_URLS = ()
    THEIRS = ()  # kinds of clients of others

    @staticmethod
    def demand_password(server):
        """Of USER, from now on."""


class Folder:
    """The embedded store's, as if it were a server of its own."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.close = self._folder.cleanup

    def url(self, parameters=""):
        return f"local://{self._folder.name}{parameters}"

    def clear(self):
        """Who has left it has left nothing."""


class Local(Site):
    NOTICES_DEATH = True
    LEAST_FENCE = 1
    WRONG_URLS = (("?color=red", ("color", "mode")), ("/nowhere/x", ("nowhere",)))
    start = Folder


class Redis(Site):
    SCHEME = "redis"
    NO_PASSWORD = "wants a password"
    WRONG_URLS = (
        ("?layout=hashed", ("'hashed'", "holdfast, plain or redisson")),
        ("?layoat=plain", ("'layoat'", "layout", "password_file")),
        ("/one", ("database",)),
        ("?connect_timeout=soon", ("connect_timeout",)),
    )

    @staticmethod
    def start():
        from redis_server import RedisServer
        return RedisServer()

    @staticmethod
    def demand_password(server):
        server.client.config_set("requirepass", PASSWORD)


class RedisPlain(Redis):
    PARAMETERS = "?layout=plain"
    REENTERS = False
    THEIRS = ("redis_py",)

    @staticmethod
    def hold_by_redis_py(test, name):
        test.server.client.set(name, "theirs", ex=SECONDS_OF_OTHERS)
        return lambda: test.server.client.delete(name)


class Redisson(Redis):
    PARAMETERS = "?layout=redisson"
    THEIRS = ("redisson",)
    OWNER = "8743c9c0-0795-4907-87fd-6c719a6b4586:57"

    @classmethod
    def hold_by_redisson(cls, test, name):
        test.server.client.hset(name, cls.OWNER, 1)
        test.server.client.expire(name, SECONDS_OF_OTHERS)
        return lambda: test.server.client.delete(name)


class Etcd(Site):
    SCHEME = "etcd"
    BRIEF = "2s"
    REENTERS = False
    LEAST_FENCE = 1
    TELLS_AGE = False
    USER = "root"
    NO_PASSWORD = "give both"
    WRONG_URLS = (
        ("?layout=plain", ("'layout'", "password_file")),
        ("/a", ("path", "prefix")),
        ("?request_timeout=soon", ("request_timeout",)),
    )

    @staticmethod
    def start():
        from etcd_server import EtcdServer
        return EtcdServer()

    @staticmethod
    def demand_password(server):
        server.demand_passwords(PASSWORD)


class EtcdOfOthers(Etcd):
    PARAMETERS = "?prefix="
    THEIRS = ("etcdctl",)

    @staticmethod
    def hold_by_etcdctl(test, name):
        words = ["etcdctl", "--endpoints", test.server.address, "lock", name]
        process = test.start_theirs(words)
        test.assertTrue(process.stdout.readline().startswith(name + "/"))
        return lambda: process.send_signal(signal.SIGINT)


class Zookeeper(Site):
    SCHEME = "zookeeper"
    FOR_BRIEF_LEASES = "?tick=500ms"
    REENTERS = False
    LEAST_FENCE = 1
    TELLS_AGE = False
    USER = "me"
    # Whoever has another one is another user, who is let in where nobody else has anything.
    WRONG_PASSWORD = NO_PASSWORD = None
    NAMES = ["a", "a/b", "a/b/lock-7", "b{c}*", "caf\u00e9 \U0001f512", "zookeeper"]
    WRONG_URLS = (
        ("?layout=plain", ("'layout'", "tick", "password_file")),
        ("//a", ("path",)),
        ("?auth=nobody", ("user:password",)),
        ("?session=20s", ("'session'", "unknown parameter")),
        ("?prefix=/", ("slash", "the path /orders")),
    )

    @staticmethod
    def start():
        from zookeeper_server import ZookeeperServer
        return ZookeeperServer()

    @staticmethod
    def demand_password(server):
        # So that the test may look into, and remove, what belongs to that user.
        server.client.add_auth("digest", f"me:{PASSWORD}")


class ZookeeperOfOthers(Zookeeper):
    PARAMETERS = "?prefix="
    THEIRS = ("kazoo", "curator")

    @staticmethod
    def hold_by_kazoo(test, name):
        lock = test.server.client.Lock("/" + name, "a kazoo")
        lock.acquire()
        test.addCleanup(lock.release)
        return lock.release

    @staticmethod
    def hold_by_curator(test, name, *words):
        from zookeeper_server import java
        process = test.start_theirs(
            java("-cp", os.environ["HOLDFAST_TEST_CURATOR_JARS"], "CuratorClient",
                 "--connect", test.server.address, "--name", name, "--wait-one", *words))
        test.assertEqual(process.stdout.readline(), "waiting\n")
        test.assertTrue(process.stdout.readline().startswith("held "))
        return lambda: process.communicate("\n", timeout=20)


class Memcached(Site):
    """Without a line, a fence and a list: its tests are its own."""

    SCHEME = "memcached"
    WRONG_URLS = (
        ("?layout=hashed", ("'hashed'", "holdfast or plain")),
        ("?speed=1", ("'speed'", "layout", "password_file")),
        ("/1", ("databases",)),
        ("?connect_timeout=soon", ("connect_timeout",)),
    )

    @staticmethod
    def start():
        from memcached_server import MemcachedServer
        return MemcachedServer()


class MemcachedPlain(Memcached):
    PARAMETERS = "?layout=plain"


class Database(Site):
    USER = "app"
    WRONG_PASSWORD = NO_PASSWORD = "check user, password"
    WRONG_URLS = (
        ("?speed=1", ("'speed'", "password_file")),
        ("?layout=plain", ("'plain'", "holdfast or shedlock")),
        ("?connect_timeout=soon", ("connect_timeout",)),
    )

    @staticmethod
    def demand_password(server):
        server.let_in(PASSWORD)


class Postgres(Database):
    SCHEME = "postgres"

    @staticmethod
    def start():
        from database_server import PostgresServer
        return PostgresServer()


class Mysql(Database):
    SCHEME = "mysql"

    @staticmethod
    def start():
        from database_server import MariadbServer
        return MariadbServer()


SERVERS = (Redis, Etcd, Zookeeper, Postgres, Mysql)
STORES = (Local, *SERVERS)
OF_OTHERS = (RedisPlain, Redisson, EtcdOfOthers, ZookeeperOfOthers)


class OnASite(Driven):
    """One server for the tests of a class; each finds it empty."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.SITE.start()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.server.clear)
        self.use(self.SITE.PARAMETERS)

    def use(self, parameters):
        self.store = self.server.url(parameters)
        self.environment["HOLDFAST_STORE"] = self.store

    def start_theirs(self, words):
        """A client of others, that gives back what it holds when the test ends."""
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, preexec_fn=end_with_the_test)
        self.addCleanup(self.end_theirs, process)
        return process

    @staticmethod
    def end_theirs(process):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(20)
        process.stdin.close()
        process.stdout.close()


def assert_never_said(test, secret, urls):
    """By no command, of whatever store: as it is let in, is refused, and finds nobody there."""
    for url in urls:
        for words in (
            ["run", "--verbose", "-S", url, "a", "b", "--", "env"],
            ["list", "-S", url, "a", "--json"],
            ["show", "-S", url, "a"],
            ["show", "-S", url, "a", "--json"],
            ["break", "-S", url, "a", "--fence", "7"],
            ["sweep", "-S", url],
            ["check", url],
            ["check", url, "--json"],
            ["schema", url],
            ["init", url],
            ["run", "-S", url, "a", "true"],
        ):
            with test.subTest(words):
                _, out, err = test.call(*words)
                test.assertNotIn(secret, out + err)


def on_each(sites, tests, names):
    """A class of these tests for each site: RunOnRedis. For a module's globals()."""
    for site in sites:
        name = f"{tests.__name__}On{site.__name__}"
        names[name] = type(name, (tests, OnASite), {"SITE": site, "__module__": tests.__module__})
