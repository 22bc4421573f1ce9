"""All cases of this suite: how a vault is made, and what a verifier has to say of it.

Another verifier is tested with the same list:

    for case in cases.all(): checks = case.make(folder); for check in checks: ...
"""
import mutate  # noqa: F401  fills the list
import mutate_database  # noqa: F401
import mutate_log  # noqa: F401
from base_vault import ENDED, KILLED, LAST, PRUNED, REDACTED, SHORT, Copy
from honest import HONEST
from mutation import MUTATIONS


class Check:
    """One run of a verifier. against: the text of a note. key: a verifier key. kinds: it has to name one of
    these, and, if `only`, no others; empty if the verdict must not be TAMPERED. at: (session, record) that it has to name.
    statuses: {session: status}."""

    def __init__(self, name, kinds=(), against=None, key=None, at=None, statuses=None, only=False):
        self.name, self.kinds, self.against, self.key = name, kinds, against, key
        self.at, self.statuses, self.only = at, statuses, only


class Case:
    def __init__(self, name, make):
        self.name, self.make = name, make


def of_mutation(mutation):
    def make(path):
        copy = Copy(path)
        mutation.change(copy)
        if copy.db:
            copy.close()
        checks = [Check("", mutation.kinds, at=mutation.at, only=mutation.only),
                  Check("against a note", mutation.against, against=copy.base.note)]
        if mutation.key is not None:
            checks.append(Check("with the key", mutation.key, key=copy.base.key))
        return checks
    return Case(f"mutation: {mutation.name}", make)


def of_base(path):
    copy = Copy(path)
    copy.close()
    now = {ENDED: "valid, not anchored", SHORT: "valid, not anchored", REDACTED: "redacted", PRUNED: None, KILLED: "incomplete",
           LAST: "valid, not anchored"}
    return [Check("", statuses=now), Check("with the key", key=copy.base.key, statuses=now),
            Check("against a note", against=copy.base.note, statuses=now | {ENDED: "valid", SHORT: "valid"}),
            Check("against an early note", against=copy.base.early, key=copy.base.key, statuses=now | {ENDED: "valid", SHORT: "valid"})]


def of_honest(name, build):
    return Case(f"honest: {name}", lambda path: [Check(n, **more) for n, more in build(path)])


def all():
    return [Case("honest: the vault that is changed", of_base), *(of_honest(*h) for h in HONEST), *map(of_mutation, MUTATIONS)]
