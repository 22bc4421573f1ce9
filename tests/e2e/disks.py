"""Small file systems of a case's own, for tests of a full disk or of full shared memory."""
import ctypes
import os
import subprocess

import lib
from lib import Skip

_private = []


def private_mounts():
    """Mounts in a private namespace, which end with this process."""
    if not lib.ROOT_USER:
        raise Skip("mounting needs root")
    if not _private:
        new_namespace = 0x00020000      # CLONE_NEWNS
        if ctypes.CDLL(None, use_errno=True).unshare(new_namespace) != 0:
            raise Skip(f"no mounts of our own here: {os.strerror(ctypes.get_errno())}")
        r = subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True, text=True)
        if r.returncode != 0:
            raise Skip(f"no mounts of our own here: {r.stderr.strip()}")
        _private.append(True)


def mount(t, size, name="disk"):
    """A small file system of our own."""
    private_mounts()
    folder = t.tmp / name
    folder.mkdir()
    r = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "e2e", folder],
                       capture_output=True, text=True)
    if r.returncode != 0:
        raise Skip(f"no tmpfs can be mounted here: {r.stderr.strip()}")
    t.closing.callback(lambda: subprocess.run(["umount", "-l", folder], check=True))
    return folder


def remount(folder, how):
    """"ro" once no process has a file of it open for writing: a recorder may exit after its proxy."""
    lib.wait_until(lambda: subprocess.run(["mount", "-o", f"remount,{how}", folder], stderr=subprocess.DEVNULL).returncode == 0,
                   10, f"no process to have a file of {folder} open for writing")


def fill(folder):
    """Use up every byte of it, after what was forwarded before is stored: a recorder that is late meets the full disk
    earlier than its case means, while it still makes the database."""
    lib.settle()
    path = folder / "ballast"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    size = 1 << 16
    while size:
        try:
            os.write(fd, b"\0" * size)
        except OSError:
            size //= 2
    os.close(fd)
    return path
