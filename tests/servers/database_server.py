"""Real PostgreSQL and MariaDB servers for tests in Python; postgres_server.hpp and
mariadb_server.hpp are their like for those in C++."""

import os
import pathlib
import shutil
import subprocess

from own_process import Server


class DatabaseServer(Server):
    """`app` is a user with the password `secret` who may do nothing yet."""

    def __init__(self):
        super().__init__()
        self.run(self.ADD_USER)

    def _answers(self):
        return self._client("SELECT 1").returncode == 0

    def run(self, statements):
        """What they answer: a line for each row. As somebody who may do everything."""
        done = self._client(statements)
        if done.returncode != 0:
            raise RuntimeError(f"refused: {statements}: {done.stderr}")
        return done.stdout.strip()

    def clear(self):
        self.run(self.EMPTY)

    def let_in(self, password):
        """`app` may do everything from now on, with this password."""
        self.run(self.LET_IN.format(password))

    def url(self, parameters="", user=None, password=""):
        who = (user or self.ROOT) + (f":{password}" if password else "")
        return f"{self.SCHEME}://{who}@{self.address}/{self.DATABASE}{parameters}"


class PostgresServer(DatabaseServer):
    SCHEME, ROOT, DATABASE = "postgres", "postgres", "postgres"
    LINES = "holdfast_lines"
    ADD_USER = "CREATE USER app PASSWORD 'secret'; REVOKE ALL ON SCHEMA public FROM PUBLIC"
    LET_IN = "ALTER USER app SUPERUSER PASSWORD '{}'"
    GRANT = """GRANT USAGE ON SCHEMA public TO app;
               GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_lines, holdfast_contenders TO app"""
    EMPTY = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"

    def _program(self, name):
        folder = subprocess.run(["pg_config", "--bindir"], stdout=subprocess.PIPE, text=True,
                                check=True).stdout.strip()
        return str(pathlib.Path(folder) / name)

    @staticmethod
    def _unprivileged():
        """It refuses to run as root."""
        if os.getuid() != 0:
            return []
        return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]

    def _make_ready(self):
        if os.getuid() == 0:
            shutil.chown(self._folder, "nobody", "nogroup")
        subprocess.run(
            [*self._unprivileged(), self._program("initdb"), "-D", self._folder / "data", "-A",
             "trust", "-U", "postgres", "-N", "--locale=C", "-E", "UTF8"],
            stdout=subprocess.DEVNULL, check=True)
        (self._folder / "data" / "pg_hba.conf").write_text(
            "local all all trust\nhost all postgres all trust\nhost all all all scram-sha-256\n")

    def _command(self):
        return [*self._unprivileged(), self._program("postgres"), "-D", str(self._folder / "data"),
                "-p", str(self.port), "-k", str(self._folder), "-c", "listen_addresses=127.0.0.1",
                "-c", "fsync=off"]

    def _client(self, statements):
        return subprocess.run(
            [self._program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
             self._folder, "-p", str(self.port), "-U", "postgres"],
            input="SET client_min_messages = error;\n" + statements, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def make_schema(self, statements):
        self.run(statements)
        self.run(self.GRANT)


class MariadbServer(DatabaseServer):
    SCHEME, ROOT, DATABASE = "mysql", "root", "locks"
    LINES = "locks.holdfast_lines"
    ADD_USER = "CREATE DATABASE locks; CREATE USER app@'127.0.0.1' IDENTIFIED BY 'secret'"
    LET_IN = "GRANT ALL ON *.* TO app@'127.0.0.1' IDENTIFIED BY '{}'"
    GRANT = """GRANT SELECT, INSERT, UPDATE, DELETE ON locks.holdfast_lines TO app@'127.0.0.1';
               GRANT SELECT, INSERT, UPDATE, DELETE ON locks.holdfast_contenders
                   TO app@'127.0.0.1';
               GRANT EXECUTE ON locks.* TO app@'127.0.0.1'"""
    EMPTY = "DROP DATABASE locks; CREATE DATABASE locks"

    def _make_ready(self):
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={self._folder}/data",
             "--auth-root-authentication-method=normal", "--skip-test-db",
             "--innodb-log-file-size=4M", self._temporary(), *self._user()],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    @staticmethod
    def _user():
        return ["--user=root"] if os.getuid() == 0 else []

    def _temporary(self):
        """Of its own: a server that starts removes the temporary tables that it finds."""
        return f"--tmpdir={self._folder}"

    def _command(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self._folder}/data",
                f"--port={self.port}", "--bind-address=127.0.0.1",
                f"--socket={self._folder}/socket", "--innodb-log-file-size=4M",
                "--innodb-flush-log-at-trx-commit=2", self._temporary(), *self._user()]

    def _client(self, statements):
        return subprocess.run(
            ["mariadb", "--no-defaults", "-N", "-B", "-u", "root",
             f"--socket={self._folder}/socket"],
            input=statements, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def make_schema(self, statements):
        self.run(f"USE locks;\n{statements}")
        self.run(self.GRANT)
