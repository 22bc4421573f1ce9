"""What all cases of tests/ship/run share. They are in cases_*.py, each file about one subject."""
import os
import signal
from pathlib import Path

from cluster import DEADLINE
from vaults import differences

LONG = os.environ.get("TEST_LONG") == "1"       # everything, not samples
ROOT = Path(__file__).resolve().parent.parent.parent
CASES = []


class Skip(Exception):
    pass


def case(name, needs="store", months=False):
    """needs: `store`, the cluster with an empty store; `server`, PostgreSQL, for clusters of its own; None. months: the store has the
    partitions of all months, as `ship init` makes them; without it, of the months around this one."""
    def add(function):
        function.needs, function.months = needs, months
        CASES.append((name, function))
        return function
    return add


def page(name):
    """A page of the documentation."""
    return (ROOT / "docs" / name).read_text()


def end(shipper):
    """Ends one of Vault.follow(), which runs, without an error."""
    assert shipper.poll() is None, shipper.said.read_text()
    shipper.send_signal(signal.SIGTERM)
    assert shipper.wait(DEADLINE) == 0, shipper.said.read_text()


def same(cluster, vault):
    said = differences(cluster, vault)
    assert not said, said


def sent(done, status=0):
    assert done.returncode == status, (done.returncode, done.stderr)
    return done.stderr
