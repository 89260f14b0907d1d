"""For tests that run what people type: the program is on the PATH, and the commands that it runs
are stand-ins."""

import os
import pathlib
import signal
import subprocess

from program import PROGRAM, OnALocalStore, until


def is_gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


class InAShell(OnALocalStore):
    def setUp(self):
        super().setUp()
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "holdfast").symlink_to(pathlib.Path(PROGRAM).resolve())
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"

    def stand_in(self, name, script):
        """An executable ./name."""
        file = self.folder / name
        file.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def text_of(self, name):
        """What stands in a file; nothing, if it is not there yet."""
        file = self.folder / name
        return file.read_text() if file.exists() else ""

    def lines_of(self, name):
        return self.text_of(name).splitlines()

    def begin(self, text, **variables):
        """Hands the text to a shell, with the variables beside the usual ones."""
        process = subprocess.Popen(
            ["sh", "-c", text],
            cwd=self.folder,
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(self.end_all, process)
        return process

    @staticmethod
    def end_all(process):
        """Also what a killed shell has left running."""
        if not is_gone(process.pid):
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)
        until(lambda: is_gone(process.pid))

    @staticmethod
    def finish(process):
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def do(self, text):
        return self.finish(self.begin(text))
