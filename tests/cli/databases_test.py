"""The program on databases: what is the same on PostgreSQL and on MariaDB, and each one's own."""

import os
import signal
import sys
import unittest

from at_a_terminal import Terminal
from program import PROGRAM, until
from sites import Mysql, OnASite, Postgres, on_each


class Database:
    def test_a_user_who_may_create_nothing_needs_the_schema(self):
        url = self.server.url(user="app", password="secret")
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
        self.server.run(f"UPDATE {self.server.LINES} SET last_fence = 1")
        self.assertEqual(self.call("sweep")[1], "removed: contenders 0, resources 1\n")
        self.assertEqual([found["name"] for found in self.listed()], ["living"])

    def test_a_url_without_a_user_or_a_database_is_refused(self):
        scheme, address = self.server.SCHEME, self.server.address
        self.assert_refused(["list", "-S", f"{scheme}://{address}/x"], 78, "no user")
        self.assert_refused(["list", "-S", f"{scheme}://me@{address}"], 78, "no database")


class OwnOfPostgres(OnASite):
    SITE = Postgres

    def test_a_schema_says_where_it_is_made(self):
        statements = self.call("schema", self.server.url("?schema=team"))[1]
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


class PostgresStandingStill(OnASite):
    SITE = Postgres
    TRIES = 30

    def test_during_a_release_it_costs_nobody_a_crash(self):
        """The command itself stops all of the server's processes, and ends."""
        self.use("?request_timeout=300ms&connect_timeout=300ms")
        stop = f"kill -STOP $(cat /proc/{self.server.pid}/task/*/children) {self.server.pid}"
        for attempt in range(self.TRIES):
            code, _, err = self.call("run", f"job/{attempt}", "--", "sh", "-c", stop)
            self.assertNotEqual(code, -signal.SIGABRT, (attempt, err))
            self.assertGreaterEqual(code, 0, (attempt, err))
            self.server.go_on()


on_each((Postgres, Mysql), Database, globals())

if __name__ == "__main__":
    unittest.main(argv=sys.argv)
