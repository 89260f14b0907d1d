"""A real browser that a test looks at a page with: headless Chromium, driven by its own protocol
over a pipe, so that nothing listens and nothing is sent anywhere."""

import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import tempfile
import time

PROGRAM = shutil.which("chromium")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)
PATIENCE = 60


def pipe():
    """Its two ends, neither of which the browser expects something else at."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved


class Browser:
    def __init__(self):
        self._profile = tempfile.mkdtemp()
        read_by_it, self._out = pipe()
        self._in, written_by_it = pipe()
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        # Its crash reporter would be a process that outlives it.
        words = [PROGRAM, *OPTIONS, f"--user-data-dir={self._profile}", "about:blank"]
        self._pid = os.posix_spawn(PROGRAM, words, os.environ, setpgroup=0, file_actions=[
            (os.POSIX_SPAWN_DUP2, nowhere, 0), (os.POSIX_SPAWN_DUP2, nowhere, 1),
            (os.POSIX_SPAWN_DUP2, nowhere, 2),
            (os.POSIX_SPAWN_DUP2, read_by_it, 3), (os.POSIX_SPAWN_DUP2, written_by_it, 4)])
        for end in (read_by_it, written_by_it, nowhere):
            os.close(end)
        self._read, self._count, self._events = b"", 0, []

    def close(self):
        # All of its processes, by the group that it was started in.
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        for end in (self._in, self._out):
            os.close(end)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _hear(self, deadline):
        """The next message."""
        while b"\0" not in self._read:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._in, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self._read += more
        message, _, self._read = self._read.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self._out, text):]
        deadline = time.monotonic() + PATIENCE
        while (answer := self._hear(deadline)).get("id") != self._count:
            self._events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def events(self, *methods):
        """Those that have come until now."""
        return [event for event in self._events if event.get("method") in methods]

    def await_event(self, method):
        deadline = time.monotonic() + PATIENCE
        while not self.events(method):
            self._events.append(self._hear(deadline))

    def open(self, path, scheme="light", size=(1400, 1000)):
        self._events.clear()
        return Page(self, pathlib.Path(path), scheme, size)


class Page:
    """A file, as the browser shows it once its scripts have run."""

    def __init__(self, browser, path, scheme, size):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1],
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=path.resolve().as_uri())
        browser.await_event("Page.loadEventFired")
        self.settle()

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def value(self, expression):
        """Of what the page's own script would find."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def settle(self):
        """Until what was asked for is drawn."""
        self.value("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
                   ".then(() => true)")

    def complaints(self):
        """What a console shows in red."""
        events = self._browser.events(
            "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [event["params"] for event in events
                if event["params"].get("type", "error") in ("error", "assert", "warning")]

    def requested(self):
        events = self._browser.events("Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in events]

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)}).innerText")

    def is_shown(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)}).offsetHeight > 0")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def click(self, selector):
        self.value(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def screenshot(self):
        """PNG."""
        return self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
