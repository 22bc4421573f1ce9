"""A headless Chromium, controlled over its DevTools pipe: opens pages, evaluates scripts, takes screenshots.
Without Chromium the tests that need it are skipped."""
import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time

import lib
from lib import Failure, Skip


def find():
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        path = shutil.which(name)
        if path:
            return path
    raise Skip("no Chromium here")


class Browser:
    """With Browser(t) as b: b.open(url), b.run("1 + 1"). Errors of the page are collected in b.problems."""

    def __init__(self, t):
        self.problems, self.requests, self.number, self.session = [], [], 0, None
        ours_r, its_w = os.pipe()
        its_r, ours_w = os.pipe()
        self.read_fd, self.write_fd, self.buf = ours_r, ours_w, b""
        home = t.tmp / "browser"
        home.mkdir(exist_ok=True)

        def pipes():
            os.dup2(its_r, 103)
            os.dup2(its_w, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)
        self.proc = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--mute-audio",
             f"--user-data-dir={home}", "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pipes,
            pass_fds=(3, 4), env=t.environ({"HOME": str(home)}), start_new_session=True)
        os.close(its_r)
        os.close(its_w)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.proc.pid, 9)
        self.proc.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)

    def message(self, seconds):
        end = time.monotonic() + seconds * lib.PATIENCE
        while b"\0" not in self.buf:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                raise Failure(f"nothing from the browser within {seconds * lib.PATIENCE:g} s")
            data = os.read(self.read_fd, 1 << 20)
            if not data:
                raise Failure("the browser has gone")
            self.buf += data
        text, self.buf = self.buf.split(b"\0", 1)
        m = json.loads(text)
        self.look(m)
        return m

    def look(self, m):
        method, p = m.get("method"), m.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(p["exceptionDetails"].get("exception", {}).get("description", str(p)))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(f"console.{p['type']}: {p['args']}")
        elif method == "Log.entryAdded":
            self.problems.append(f"{p['entry']['level']}: {p['entry']['text']}")
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"dialog: {p['message']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])

    def ask(self, method, seconds=40, **params):
        self.number += 1
        m = {"id": self.number, "method": method, "params": params}
        if self.session:
            m["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(m).encode() + b"\0")
        while True:
            answer = self.message(seconds)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, url, seconds=40):
        self.ask("Page.navigate", url=url)
        end = time.monotonic() + seconds * lib.PATIENCE
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            if time.monotonic() > end:
                raise Failure(f"{url} was not loaded")

    def run(self, script):
        r = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise Failure(f"{script}: {r['exceptionDetails']}")
        return r["result"].get("value")

    def screen(self, width, height, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self):
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
