"""A client that writes bytes as they are and keeps every line that it gets."""
import json
import subprocess
import threading
import time

from odd_answers import Pause


class Silence(Exception):
    """What a test waits for has not come."""


class RawClient:
    def __init__(self, command, stderr, seconds):
        self.seconds = seconds      # limit for what a test does not judge: starting, answering, ending
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        self.lines, self.messages, self.ended = [], [], False
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}})
        self.write([b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'])

    def read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                message = None      # strict_json.check() says what is wrong with it
            with self.changed:
                self.lines.append(line.rstrip(b"\n"))
                self.messages.append(message)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def write(self, parts):
        for part in parts:
            if isinstance(part, Pause):
                time.sleep(part.seconds)
            else:
                self.process.stdin.write(part)
                self.process.stdin.flush()

    def find(self, id, start):
        """The first answer with this id among the messages from `start` on."""
        for message in self.messages[start:]:
            if isinstance(message, dict) and "method" not in message and message.get("id", "") == id and \
                    type(message.get("id", "")) is type(id):
                return message
        return None

    def wait(self, id, start, seconds):
        """Like find(), but waits for it; None when it does not come."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or self.find(id, start), seconds)
            return self.find(id, start)

    def ask(self, method, params):
        start = len(self.messages)
        id = f"own-{start}"
        self.write([json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"])
        answer = self.wait(id, start, self.seconds)
        if answer is None or "result" not in answer:
            raise Silence(f"{method}: {answer}")
        return answer["result"]

    def pid(self):
        return self.ask("tools/call", {"name": "pid", "arguments": {}})["content"][0]["text"]

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(self.seconds)
        finally:
            self.process.kill()
