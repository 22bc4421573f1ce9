"""Shared by the five servers: a loop over lines, and one fault on demand.

CONTRACT_DIR     a folder that the processes of one server share. Each received line is appended to the file `received`
                 there, with the number of the process in front.
CONTRACT_FAULT   "KIND METHOD[ TARGET]": on the first such request the first process does KIND: crash (SIGKILL),
                 status (exits with 3), hang (no answer, and stops reading), mute (no answer, but continues), late
                 (answers after CONTRACT_LATE seconds, 1 by default), refuse (an error about rejected credentials)."""
import json
import os
import signal
import sys
import time
from pathlib import Path


class Shared:
    def __init__(self):
        folder = os.environ.get("CONTRACT_DIR")
        self.folder = Path(folder) if folder else None
        self.fault = os.environ.get("CONTRACT_FAULT", "").split()
        self.number = 1
        if self.folder:
            with open(self.folder / "starts", "a+", encoding="utf-8") as starts:
                starts.write(f"{os.getpid()}\n")
                starts.flush()
                starts.seek(0)
                self.number = len(starts.readlines())

    def note(self, line):
        if self.folder:
            with open(self.folder / "received", "a", encoding="utf-8") as received:
                received.write(f"{self.number} {line.strip()}\n")

    def fault_of(self, message):
        """The fault that this message triggers, or None."""
        if not self.fault or self.number > 1 or not isinstance(message, dict):
            return None
        params = message.get("params") or {}
        target = params.get("name") or params.get("uri")
        if self.fault[1] != message.get("method") or self.fault[2:] not in ([], [target]):
            return None
        kind, self.fault = self.fault[0], []
        return kind


def strike(kind):
    """Executes faults that give no answer. False: the message must be answered."""
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "status":
        print("Traceback (most recent call last): the server has had enough", file=sys.stderr, flush=True)
        os._exit(3)
    if kind == "hang":
        while True:
            signal.pause()
    if kind == "late":
        time.sleep(float(os.environ.get("CONTRACT_LATE", "1")))
    return kind == "mute"


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def serve(handle):
    """handle(message) returns an answer, or None; it may also send other messages."""
    shared = Shared()
    for line in sys.stdin:
        shared.note(line)
        message = json.loads(line)
        kind = shared.fault_of(message)
        if strike(kind):
            continue
        if kind == "refuse":
            send({"id": message["id"], "error": {"code": -32000, "message": "401 Unauthorized: the credentials have expired"}})
            continue
        answer = handle(message)
        if answer is not None and "id" in message:
            send({"id": message["id"], **answer})
