"""adopt.py COMMAND...: run a command and wait for the processes that lose their parent in it, too, so that whoever waits for
this process gets the CPU time of all of them. Exits with the status of the command, when the command exits."""
import ctypes
import os
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36


def status_of(child):
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda *_: None)      # the command, in the same group, gets the signal and ends; exec resets this
# Python ignores the first two itself.
command = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
code = status_of(command)
sys.exit(code if code >= 0 else 128 - code)
