"""A server that is a short Python program, run in a thread of the test: to start Python and to import json takes 30 ms of CPU time."""
import array
import builtins
import os
import select
import socket
import threading
import traceback
from types import SimpleNamespace

from lib import fake


class Lines:
    """The stdin of a server, until its process has ended."""

    def __init__(self, fd, connection):
        self.fd, self.connection, self.buf = fd, connection, b""

    def readline(self):
        while b"\n" not in self.buf:
            p = select.poll()
            for fd in (self.fd, self.connection.fileno()):
                p.register(fd, select.POLLIN)
            ready = [fd for fd, _ in p.poll()]
            data = os.read(self.fd, 1 << 16) if self.fd in ready else None
            if data is None:
                raise SystemExit
            if not data:
                break
            self.buf += data
        line, end, self.buf = self.buf.partition(b"\n")
        return (line + end).decode()

    def __iter__(self):
        return iter(self.readline, "")


def run_as_main(code, args, connection):
    """One start of the server: as if the process had run the program."""
    _, control, _, _ = connection.recvmsg(64, socket.CMSG_SPACE(3 * 4), socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    fds.frombytes(control[0][2])
    status = 0
    with open(fds[1], "w") as out, open(fds[2], "w") as err:
        def stop(status=0):
            raise SystemExit(status)
        own = SimpleNamespace(argv=["server.py", *args], stdin=Lines(fds[0], connection), stdout=out, stderr=err, exit=stop)

        def load(name, *more):
            return own if name == "sys" else __import__(name, *more)

        def say(*words, file=out, **how):
            print(*words, file=file, **how)
        try:
            exec(code, {"__name__": "__main__", "__builtins__": {**vars(builtins), "__import__": load, "print": say}})
        except SystemExit as e:
            status = e.code or 0
        except BaseException:
            status = 1
            try:
                traceback.print_exc(file=err)
                err.flush()
            except OSError:
                pass
        finally:
            os.close(fds[0])
            try:
                out.flush()
            except OSError:     # nobody reads it
                os.dup2(os.open(os.devnull, os.O_WRONLY), fds[1])
    with connection:
        try:
            connection.sendall(f"exit {status}\n".encode())
        except OSError:
            pass


def scripted(t, source, *args):
    """The command of a server that runs `source` with these arguments at each of its starts. Its sys has argv, stdin, stdout, stderr
    and exit()."""
    code, path = compile(source, "server.py", "exec"), str(t.tmp / f"s{next(t.numbers)}")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)

    def serve():
        with listener:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=run_as_main, args=(code, [str(a) for a in args], connection), daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    t.closing.callback(listener.shutdown, socket.SHUT_RDWR)
    return [fake("puppet"), path]
