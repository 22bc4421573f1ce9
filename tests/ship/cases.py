"""What all cases of tests/ship/run share. They are in cases_*.py, each file about one subject."""
from pathlib import Path

from vaults import differences

ROOT = Path(__file__).resolve().parent.parent.parent
CASES = []


class Skip(Exception):
    pass


def case(name, store=True):
    """store: it needs the cluster, with an empty store."""
    def add(function):
        function.store = store
        CASES.append((name, function))
        return function
    return add


def page(name):
    """A page of the documentation."""
    return (ROOT / "docs" / name).read_text()


def same(t, vault):
    said = differences(t.cluster, vault)
    assert not said, said


def sent(done, status=0):
    assert done.returncode == status, (done.returncode, done.stderr)
    return done.stderr
