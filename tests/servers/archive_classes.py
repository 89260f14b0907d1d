"""Makes an archive of the classes that a ZooKeeper server needs, so that those of the tests start
in half the time: archive_classes.py JAVA CLASS_PATH ARCHIVE"""

import pathlib
import socket
import subprocess
import sys
import tempfile
import time

from own_process import LoopbackPort, end_with_the_test


def configuration(folder, client, quorum, election):
    """Of an ensemble with one member, which has what both need that stand alone and that do not."""
    (folder / "myid").write_text("1")
    return (
        f"tickTime=500\ninitLimit=10\nsyncLimit=10\nstandaloneEnabled=false\ndataDir={folder}\n"
        f"clientPort={client}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
        f"4lw.commands.whitelist=*\nserver.1=127.0.0.1:{quorum}:{election}\n"
    )


def serves(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 0.25) as asking:
            asking.sendall(b"srvr")
            return "\nMode: " in asking.makefile().read()
    except OSError:
        return False


def main(java, class_path, archive):
    ports = [LoopbackPort() for _ in range(3)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        settings = folder / "zoo.cfg"
        settings.write_text(configuration(folder, *(port.number for port in ports)))
        # Archives are of use only to those with the same garbage collector.
        process = subprocess.Popen(
            [java, "-Xmx256m", "-XX:+UseSerialGC", f"-XX:ArchiveClassesAtExit={archive}",
             "-Xlog:disable", f"-Dorg.slf4j.simpleLogger.logFile={folder / 'log'}",
             "-cp", class_path, "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(settings)],
            preexec_fn=end_with_the_test,
        )
        deadline = time.monotonic() + 120
        while not serves(ports[0].number) and process.poll() is None:
            if time.monotonic() > deadline:
                sys.exit("archive_classes: the server does not serve")
            time.sleep(0.05)
        process.terminate()
        process.wait(120)
    if not pathlib.Path(archive).exists():
        sys.exit("archive_classes: no archive was made")


main(*sys.argv[1:])
