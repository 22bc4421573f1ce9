"""The list of changes that mutate.py and mutate_log.py fill, and what stands in it."""

CHANGED, REMOVED, ADDED, MOVED, EXCHANGED, SIGNATURE = ({k} for k in ("changed", "removed", "added", "moved", "exchanged", "signature"))
NOT_FOUND = frozenset()
MUTATIONS = []


class Mutation:
    """only: nothing but these kinds may be said. Otherwise one of them has to be said: a change of the log also shows in the
    sessions, and against a note."""

    def __init__(self, name, change, kinds, against, key, at, only):
        self.name, self.change, self.kinds, self.at, self.only = name, change, kinds, at, only
        self.against, self.key = kinds if against is None else against, key


def mutation(name, kinds, against=None, key=None, at=None, only=True):
    """at: (session, record) that has to be named."""
    def note(change):
        MUTATIONS.append(Mutation(name, change, kinds, against, key, at, only))
        return change
    return note


def statement(name, kinds, text, *values, **more):
    """A change that is one SQL statement."""
    mutation(name, kinds, **more)(lambda m: m.sql(text, *values))
