"""A connection to a PostgreSQL server, over its Unix socket, without a password. A process psql for each query would take
some twenty times as much of the processor, and the cases ask thousands of times."""
import select
import socket
import struct

PARTS = (("D", "DETAIL"), ("H", "HINT"), ("W", "CONTEXT"))


class Refused(Exception):
    """By the server, in the words of psql; or the connection has ended."""


def _report(body):
    """An error or a notice."""
    fields = {x[:1].decode(): x[1:].decode("utf-8", "replace") for x in body.split(b"\0") if x}
    said = f"{fields['S']}:  {fields['M']}\n"
    return said + "".join(f"{word}:  {fields[key]}\n" for key, word in PARTS if key in fields)


class Connection:
    def __init__(self, path, role, database, seconds):
        self.data, self.socket = bytearray(), socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds)
        try:
            self.socket.connect(str(path))
            words = ("user", role, "database", database, "client_encoding", "UTF8", "application_name", "psql", "")
            start = struct.pack("!i", 196608) + b"".join(w.encode() + b"\0" for w in words)
            self.socket.sendall(struct.pack("!i", len(start) + 4) + start)
            self._answer()
        except (OSError, Refused) as e:
            self.close()
            raise Refused(f"psql: error: connection to server on socket \"{path}\" failed: {e}") from None

    def close(self):
        self.socket.close()

    def is_idle(self):
        """Nothing has come since the last answer, such as its end."""
        return not self.data and not select.select([self.socket], [], [], 0)[0]

    def query(self, sql):
        """(rows, what else was said, whether there was an error). Rows are lines, with tabs between the values."""
        body = sql.encode() + b"\0"
        try:
            self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
            return self._answer()
        except OSError as e:
            raise Refused(f"connection to server was lost: {e}") from None

    def _answer(self):
        rows, said, failed = [], "", False
        while True:
            kind, body = self._message()
            if kind == b"D":
                rows.append("\t".join(_values(body)))
            elif kind in b"EN":
                said += _report(body)
                if kind == b"E" and body.startswith((b"SFATAL", b"SPANIC")):
                    raise Refused(said)
                failed |= kind == b"E"
            elif kind == b"Z":
                return rows, said, failed
            elif kind == b"R" and body != bytes(4):
                raise Refused("a password is needed")

    def _message(self):
        head = self._take(5)
        return head[:1], self._take(struct.unpack("!i", head[1:])[0] - 4)

    def _take(self, n):
        while len(self.data) < n:
            more = self.socket.recv(1 << 20)
            if not more:
                raise Refused("server closed the connection unexpectedly")
            self.data += more
        taken = bytes(memoryview(self.data)[:n])
        del self.data[:n]
        return taken


def _values(body):
    """Of a row: texts, and nothing for NULL."""
    at = 2
    for _ in range(struct.unpack_from("!h", body)[0]):
        n = struct.unpack_from("!i", body, at)[0]
        at += 4
        yield body[at:at + max(n, 0)].decode()
        at += max(n, 0)
