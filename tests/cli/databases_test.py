"""The program on real databases: what is the same on PostgreSQL and on MariaDB."""

import os
import signal
import sys
import unittest

from at_a_terminal import Terminal
from database_server import MariadbServer, PostgresServer
from program import PROGRAM, Driven, children, until


class OnADatabase:
    """One server for the tests of a class; each finds it empty."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.SERVER()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.server.run(self.server.EMPTY)
        self.environment["HOLDFAST_STORE"] = self.server.url()

    def only_holder(self):
        ((holder,),) = (found["holders"] for found in self.listed())
        return holder

    def test_run_list_and_break(self):
        holder = self.hold("deploy", "--owner", "first", "--lease", "1s")
        self.assertEqual(self.call("run", "-n", "deploy", "--", "true")[0], 75)
        found = self.only_holder()
        self.assertEqual(found["owner"], "first")
        waiter = self.start("run", "deploy", "--", "sh", "-c", "echo $HOLDFAST_FENCE")
        until(lambda: self.waiters("deploy") == 1)
        self.assertEqual(self.call("break", "deploy", "--fence", str(found["fence"]))[0], 0)
        self.assertGreater(int(waiter.communicate(timeout=20)[0]), found["fence"])
        self.assertIn("lost", holder.communicate(timeout=20)[1])
        self.assertEqual(holder.returncode, 76)

    def test_a_command_finds_the_store_without_its_password(self):
        self.server.make_schema(self.call("schema")[1])
        url = self.server.url("app", "secret")
        code, out, err = self.call("run", "-S", url, "a", "--", "sh", "-c", "echo $HOLDFAST_STORE")
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("secret", out)
        self.assertIn("app", out)

    def test_a_user_who_may_create_nothing_needs_the_schema(self):
        url = self.server.url("app", "secret")
        self.assert_refused(["run", "-S", url, "a", "--", "true"], 78, self.server.SCHEME)
        code, statements, err = self.call("schema", url)
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("secret", statements)
        self.server.make_schema(statements)
        self.server.make_schema(statements)
        self.assertEqual(self.call("run", "-S", url, "a", "--", "true"), (0, "", ""))

    def test_a_schema_needs_no_server(self):
        statements = self.call("schema", f"{self.server.SCHEME}://me@127.0.0.1:1/x")[1]
        self.assertIn("CREATE TABLE IF NOT EXISTS holdfast_lines", statements)
        self.assertEqual(statements, self.call("schema", "--store", self.server.url())[1])

    def test_sweeping_removes_what_is_over_and_nothing_else(self):
        self.assertEqual(self.call("sweep"), (0, "removed: contenders 0, resources 0\n", ""))
        self.hold("living", "--lease", "1h")
        dead = self.hold("dead", "--lease", "300ms")
        dead.send_signal(signal.SIGKILL)
        until(lambda: [found["name"] for found in self.listed()] == ["living"])
        url = self.server.url()
        self.assertEqual(self.call("sweep", url), (0, "removed: contenders 1, resources 0\n", ""))
        self.assertEqual(self.call("sweep", "-S", url)[1], "removed: contenders 0, resources 0\n")
        self.server.run(f"UPDATE {self.TABLE} SET last_fence = 1")
        self.assertEqual(self.call("sweep")[1], "removed: contenders 0, resources 1\n")
        self.assertEqual([found["name"] for found in self.listed()], ["living"])

    def test_what_is_wrong_is_told_and_no_password_with_it(self):
        scheme, port = self.server.SCHEME, self.server.port
        self.assert_refused(["list", "-S", f"{scheme}://127.0.0.1:{port}/x"], 78, "no user")
        self.assert_refused(["list", "-S", f"{scheme}://me@127.0.0.1:{port}"], 78, "no database")
        self.assert_refused(["list", "-S", self.server.url() + "?speed=1"], 78, "'speed'")
        wrong = self.server.url("app", "s3cret-but-wrong")
        self.assert_refused(["list", "-S", wrong], 78, "check user, password")
        self.assertNotIn("s3cret", self.call("list", "-S", wrong)[2])
        nobody = f"{scheme}://me@127.0.0.1:1/x?connect_timeout=300ms&request_timeout=300ms"
        self.assert_refused(["list", "-S", nobody], 69, "127.0.0.1:1")


class OnPostgres(OnADatabase, Driven):
    SERVER, TABLE = PostgresServer, "holdfast_lines"

    def test_a_schema_says_where_it_is_made(self):
        statements = self.call("schema", self.server.url() + "?schema=team")[1]
        self.assertTrue(statements.startswith('SET search_path = "team";\n'), statements[:80])

    def test_a_long_sweep_shows_at_a_terminal_how_far_it_is(self):
        self.call("list")
        self.server.run("""
            INSERT INTO holdfast_lines (id, name, last_fence)
            SELECT sha256(convert_to(i::text, 'UTF8')), i::text, 1
            FROM generate_series(1, 100000) i""")
        terminal = Terminal([os.path.abspath(PROGRAM), "sweep"], self.folder, self.environment)
        self.addCleanup(os.close, terminal.master)
        terminal.read(r"sweeping: [0-9]+ %, removed: contenders 0, resources [0-9]+")
        terminal.read(r"\r\x1b\[Kremoved: contenders 0, resources 100000\r\n")
        os.waitpid(terminal.leader, 0)

    def test_nothing_that_may_block_is_asked_of_kerberos(self):
        """Whoever reads its settings here stands still for ever."""
        os.mkfifo(self.folder / "krb5.conf")
        self.environment["KRB5_CONFIG"] = str(self.folder / "krb5.conf")
        self.assertEqual(self.call("run", "a", "--", "true"), (0, "", ""))


class PostgresStandingStill(Driven):
    TRIES = 30

    def setUp(self):
        super().setUp()
        self.server = PostgresServer()
        self.addCleanup(self.server.close)
        self.environment["HOLDFAST_STORE"] = (
            self.server.url() + "?request_timeout=300ms&connect_timeout=300ms")

    def test_during_a_release_it_costs_nobody_a_crash(self):
        """The command itself stops all of the server's processes, and ends."""
        stop = f"kill -STOP $(cat /proc/{self.server.pid}/task/*/children) {self.server.pid}"
        for attempt in range(self.TRIES):
            code, _, err = self.call("run", f"job/{attempt}", "--", "sh", "-c", stop)
            self.assertNotEqual(code, -signal.SIGABRT, (attempt, err))
            self.assertGreaterEqual(code, 0, (attempt, err))
            self.go_on()

    def go_on(self):
        for pid in [*children(self.server.pid), self.server.pid]:
            os.kill(pid, signal.SIGCONT)


class OnMariadb(OnADatabase, Driven):
    SERVER, TABLE = MariadbServer, "locks.holdfast_lines"


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
