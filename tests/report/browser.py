"""A page in headless Chromium, controlled through a pipe: no library, port or network needed."""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def command():
    """Path of Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """An open page. `errors` collects messages of its console and scripts."""

    def __init__(self, path, limit=60):
        self.limit, self.errors, self.number, self.rest = limit, [], 0, b""
        self.folder = tempfile.mkdtemp(prefix="tdsl-browser-")
        to_read, self.to = os.pipe()
        self.out, to_write = os.pipe()
        # The browser reads from descriptor 3 and writes to 4. Its children may outlive it, so they get their own
        # session.
        arguments = ["sh", "-c", 'read3=$1; write4=$2; shift 2; eval "exec \\"\\$@\\" 3<&$read3 4>&$write4"', "sh", str(to_read), str(to_write), command(),
                     "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
                     "--disable-background-networking", "--proxy-server=127.0.0.1:1", "--window-size=1400,1000", "--remote-debugging-pipe",
                     f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(arguments, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, TimeoutError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        os.close(self.to)
        os.close(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.limit
        while True:
            answer = self.message(end)
            self.note(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise OSError(f"{method}: {answer['error']}")
                return answer["result"]

    def message(self, end):
        while b"\0" not in self.rest:
            if not select.select([self.out], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.out, 1 << 16)
            if not more:
                raise OSError("the browser has ended")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def note(self, message):
        what = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        if message.get("method") == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value")) for a in what["args"]))
        if message.get("method") == "Log.entryAdded" and what["entry"]["level"] == "error":
            self.errors.append(what["entry"]["text"])

    def evaluate(self, expression):
        """The value of a JavaScript expression, awaited."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise OSError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def wait_for(self, expression):
        """Waits until it is true, also while the page is loading."""
        end = time.monotonic() + self.limit
        while time.monotonic() < end:
            if self.evaluate(expression):
                return
            time.sleep(0.05)
        raise TimeoutError(f"never true: {expression}")
