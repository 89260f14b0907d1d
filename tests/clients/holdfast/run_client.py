"""Counts under a lock that `holdfast run` takes, once a round, for tests that share it with the
clients of others: see told.py."""

import contextlib
import os
import subprocess

from told import arguments_of, obey


def main():
    arguments = arguments_of(
        __doc__,
        url={"required": True},
        option={"action": "append", "default": [], "help": "of holdfast run, such as -x"},
        work={"required": True, "help": "for the shell, in two steps"},
    )
    words = [os.environ["HOLDFAST_PROGRAM"], "run", "-S", arguments.url, *arguments.option,
             arguments.name, "--", "sh", "-c", arguments.work]
    # The program takes the lock, and gives it back.
    obey(arguments, contextlib.nullcontext(), lambda: subprocess.run(words, check=True))


if __name__ == "__main__":
    main()
