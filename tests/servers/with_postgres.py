"""Runs a program with the URL of a real PostgreSQL server that is there for it alone, and ends as
it does."""

import subprocess
import sys

from database_server import PostgresServer

server = PostgresServer()
try:
    sys.exit(subprocess.run([*sys.argv[1:], server.url()], timeout=50).returncode)
finally:
    server.close()
