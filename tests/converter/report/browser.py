"""A headless Chromium, spoken to through a pipe in its own protocol (chromedevtools.github.io/devtools-protocol): no package is
needed."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE_S = 90  # On a machine that does much else.


def find_browser():
    """Of SKIFF_BROWSER, or the first that is installed; None where there is none."""
    return os.environ.get("SKIFF_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="skiff_browser_")
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()
        arguments = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                     "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + self.profile, "about:blank"]
        # The protocol's pipes are the browser's files 3 and 4.
        shell = 'exec "$@" 3<&%d 4>&%d' % (to_browser, from_browser)
        self.process = subprocess.Popen(["bash", "-c", shell, "bash"] + arguments, pass_fds=(to_browser, from_browser),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.count = 0
        self.session = None
        self.problems = []  # Exceptions and errors on the page's console.
        self.requests = []  # Addresses that the page asked for.
        target = next(t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.send("Browser.close")
            self.process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise RuntimeError("the browser ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]
            self.note(answer)

    def note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.problems.append(parameters["entry"]["text"])
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def evaluate(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def open(self, path, width, height, dark=False, phone=False):
        """Returns the milliseconds from the navigation's beginning until the report is drawn."""
        self.problems.clear()
        self.requests.clear()
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url="file://" + os.path.abspath(path))
        end = time.monotonic() + PATIENCE_S
        while not self.evaluate("document.documentElement?.dataset.ready === 'yes'"):
            if time.monotonic() > end or self.problems:
                raise RuntimeError("the report does not draw itself: %s" % self.problems)
            time.sleep(0.05)
        # The next frame is on the screen when the one after it begins.
        return self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done("
                             "Math.max(window.drawnAt || 0, performance.getEntriesByName('drawn')[0].startTime)))))")

    def click(self, selector):
        """With a mouse, in the element's middle, which must be what lies there."""
        where = self.evaluate("""(() => {
          const element = document.querySelector(%s);
          if (!element) return null;
          element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
          const r = element.getBoundingClientRect();
          const x = r.left + r.width / 2, y = r.top + r.height / 2, top = document.elementFromPoint(x, y);
          return {x, y, hit: element.contains(top) || Boolean(top && top.contains(element))};
        })()""" % json.dumps(selector))
        if not where or not where["hit"]:
            raise RuntimeError("%s cannot be clicked: %s" % (selector, where))
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=where["x"], y=where["y"], button="left", clickCount=1)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Enter": 13, "Escape": 27}[key])

    def screenshot(self, path, whole=False):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]))

    def print(self, path):
        """As a PDF on A4 paper."""
        result = self.send("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(result["data"]))
