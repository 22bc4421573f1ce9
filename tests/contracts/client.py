"""Shared by the clients of the contracts: the server as a process, requests with deadlines.
Usage: `python3 N-name.py SERVER...`. CONTRACT_SLOW multiplies the deadlines, for busy machines and valgrind."""
import json
import os
import queue
import subprocess
import sys
import threading


SLOW = float(os.environ.get("CONTRACT_SLOW", "1"))


class RpcError(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code, self.data = error["code"], error.get("data")


class Client:
    def __init__(self, first_id=1):
        self.server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines, self.next_id, self.notes = queue.Queue(), first_id, []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.server.stdout:
            self.lines.put(json.loads(line))

    def say(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.server.stdin.flush()

    def notify(self, method, params=None):
        self.say({"method": method} if params is None else {"method": method, "params": params})

    def ask(self, method, params=None, id=None):
        """Sends a request and returns its id."""
        if id is None:
            id, self.next_id = self.next_id, self.next_id + 1
        self.say({"id": id, "method": method} if params is None else {"id": id, "method": method, "params": params})
        return id

    def answer(self, id, seconds):
        """The result for this id; notifications before it are kept in self.notes."""
        while True:
            message = self.lines.get(timeout=seconds * SLOW)
            if "method" in message:
                assert "id" not in message, message
                self.notes.append(message)
                continue
            assert message["jsonrpc"] == "2.0" and message["id"] == id, message
            if "error" in message:
                raise RpcError(message["error"])
            return message["result"]

    def request(self, method, params=None, id=None, seconds=5):
        return self.answer(self.ask(method, params, id), seconds)

    def fails(self, code, method, params=None, **more):
        """The request must be answered with this error."""
        try:
            got = self.request(method, params, **more)
        except RpcError as error:
            assert error.code == code, (error.code, str(error))
            return error
        raise AssertionError(f"{method}: no error, but {got}")

    def close(self):
        """Ends the server. Returns its exit status."""
        self.server.stdin.close()
        status = self.server.wait(timeout=5 * SLOW)
        assert self.lines.empty(), self.lines.get()
        assert status == 0, f"the server ended with {status}"
