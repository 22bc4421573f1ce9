"""Changes of the log, of checkpoints, keys and redactions, and whole other vaults. See mutate.py."""
import base64
import functools
import re
import shutil

import ed25519
import form
from base_vault import ENDED, LAST, REDACTED, SHORT, states
from build_vault import KEY_NAME
import mutation as rows
from mutation import ADDED, CHANGED, EXCHANGED, NOT_FOUND, REMOVED, SIGNATURE

OTHER_SEED = bytes(range(200, 232))
OTHER_KEY = form.verifier_key(KEY_NAME, ed25519.public_key(OTHER_SEED))
mutation, statement = (functools.partial(f, only=False) for f in (rows.mutation, rows.statement))
ROLLED_BACK, FORKED = {"rolled back"}, {"forked"}

# --- leaves ---------------------------------------------------------------------------------------


def on_leaf(name, kind, session, change, kinds, **more):
    """change: what is done to the text of a leaf."""
    def apply(m):
        n = m.leaf_of(kind, session)
        text = m.leaves()[n]
        assert change(text) != text
        m.sql("UPDATE leaves SET leaf = ? WHERE n = ?", change(text), n)
    mutation(name, kinds, **more)(apply)


def digit(name):
    """Another digit at the end of a number."""
    def change(text):
        head, _, tail = text.partition(f'"{name}":')
        number = tail.split(",")[0].rstrip("}")
        return f'{head}"{name}":{number[:-1]}{(int(number[-1]) + 1) % 10}{tail[len(number):]}'
    return change


def hash_of(name):
    return lambda text: re.sub(f'"{name}":"....', f'"{name}":"0000', text)


for where, session in (("before the checkpoint", SHORT), ("after the checkpoint", LAST)):
    on_leaf(f"a leaf open has another id, {where}", "open", session, digit("id"), CHANGED)
    on_leaf(f"a leaf open has another commitment, {where}", "open", session, hash_of("commitment"), CHANGED | EXCHANGED)
    on_leaf(f"a seal has another root, {where}", "seal", session, hash_of("root"), CHANGED | EXCHANGED)
    on_leaf(f"a seal has another commitment, {where}", "seal", session, hash_of("commitment"), CHANGED | EXCHANGED)
    on_leaf(f"a seal has another number, {where}", "seal", session, digit("records"), CHANGED | ADDED | REMOVED)
    on_leaf(f"a seal has another end, {where}", "seal", session, lambda t: t.replace("client-closed", "killed"), CHANGED)
    on_leaf(f"a seal is of another session, {where}", "seal", session, lambda t: t.replace('"session":"01', '"session":"02'), CHANGED | ADDED)
    on_leaf(f"a leaf has a blank, {where}", "seal", session, lambda t: t.replace(":", ": ", 1), CHANGED)
    on_leaf(f"a leaf has a member twice, {where}", "seal", session, lambda t: t[:-1] + ',"records":1}', CHANGED)
    on_leaf(f"a leaf has one member more, {where}", "seal", session, lambda t: t[:-1] + ',"more":1}', CHANGED)
    on_leaf(f"a leaf has an escape, {where}", "seal", session, lambda t: t.replace("client", "\\u0063lient"), CHANGED)
    on_leaf(f"a leaf is not JSON, {where}", "open", session, lambda t: t[:-1], CHANGED)
on_leaf("the time of a seal is another one", "seal", SHORT, digit("at_us"), CHANGED)
on_leaf("the time of a seal after the checkpoint is another one", "seal", LAST, digit("at_us"), NOT_FOUND)
on_leaf("a redaction is of more records", "redact", REDACTED, digit("records"), CHANGED)
on_leaf("a redaction has another digest", "redact", REDACTED, hash_of("digest"), CHANGED)

for gap in (False, True):
    how = "and leaves a gap" if gap else "and the others are numbered again"
    for kind, session, kinds in (("seal", SHORT, REMOVED | CHANGED), ("open", SHORT, REMOVED | ADDED | CHANGED),
                                 ("seal", LAST, REMOVED | CHANGED), ("open", LAST, REMOVED | ADDED | CHANGED)):
        mutation(f"the {kind} of session {session} is removed, {how}", kinds)(
            lambda m, k=kind, s=session, g=gap: m.remove_leaf(m.leaf_of(k, s), not g))
statement("the first leaf is removed", CHANGED | REMOVED, "DELETE FROM leaves WHERE n = 0")
statement("all leaves are removed", CHANGED | REMOVED, "DELETE FROM leaves")
statement("the log is cut off", CHANGED | REMOVED | ADDED, "DELETE FROM leaves WHERE n > 6")
statement("the leaf begin covers less", CHANGED, """UPDATE leaves SET leaf = replace(leaf, '"after":0', '"after":1') WHERE n = 0""")


@mutation("two leaves are exchanged", CHANGED)
def reorder(m):
    a, b = m.leaf_of("seal", SHORT), m.leaf_of("open", REDACTED)
    for old, new in ((a, 1000), (b, a), (1000, b)):
        m.sql(f"UPDATE leaves SET n = {new} WHERE n = {old}")


def append(name, kinds, kind, **members):
    def change(m):
        given = {k: v(m) if callable(v) else v for k, v in members.items()}
        m.append(kind, at_us=1795256199000000, **given)
    mutation(name, kinds)(change)


def uid(session):
    return lambda m: m.base.uids[session]


append("a second leaf begin", CHANGED | ADDED, "begin", version=1, vault="01M7YSNFPE4WHD7A4MYSYTND3Q", after=99)
append("a session is opened again", ADDED | CHANGED, "open", session=uid(SHORT), id=SHORT, commitment="0" * 64)
append("a session that does not exist is opened", REMOVED, "open", session="01AAAAAAAAAAAAAAAAAAAAAAAA", id=50, commitment="0" * 64)
append("a session that was not opened is sealed", ADDED, "seal", session="01AAAAAAAAAAAAAAAAAAAAAAAA", end=None, commitment="0" * 64, records=1,
       root="0" * 64)
append("a session is sealed again with another root", EXCHANGED | CHANGED, "seal", session=uid(SHORT), end="client-closed",
       commitment="0" * 64, records=8, root="0" * 64)
append("a session is sealed again with fewer records", ADDED | CHANGED | EXCHANGED, "seal", session=uid(ENDED), end="client-closed",
       commitment="0" * 64, records=3, root="0" * 64)
append("a redaction that did not happen", CHANGED, "redact", session=uid(SHORT), records=1, digest="0" * 64)
mutation("a leaf of a type that is not known", CHANGED)(
    lambda m: m.sql("INSERT INTO leaves VALUES (?, ?)", len(m.leaves()), '{"type":"note","at_us":1}'))


@mutation("a prune is written over a seal", CHANGED)
def forge_prune(m):
    text = form.leaf_text("prune", session=m.base.uids[SHORT], at_us=1795256140123456)
    m.sql("UPDATE leaves SET leaf = ? WHERE n = ?", text, m.leaf_of("seal", SHORT))
    for table in ("messages", "events"):
        m.sql(f"DELETE FROM {table} WHERE session_id = ?", SHORT)
    m.sql("DELETE FROM sessions WHERE id = ?", SHORT)


@mutation("a prune is appended, and the session is deleted", NOT_FOUND)
def append_prune(m):
    """As `prune` does it: the log says that the session was there, and when it was removed."""
    m.append("prune", session=m.base.uids[SHORT], at_us=1795256199000000)
    for table in ("messages", "events"):
        m.sql(f"DELETE FROM {table} WHERE session_id = ?", SHORT)
    m.sql("DELETE FROM sessions WHERE id = ?", SHORT)


# --- checkpoints and keys -------------------------------------------------------------------------

NEWEST = "(SELECT max(size) FROM checkpoints)"
statement("an old checkpoint in the place of a new one", CHANGED,
          f"UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE size < {NEWEST}) WHERE size = {NEWEST}")
statement("an old checkpoint as a new one", CHANGED, f"UPDATE checkpoints SET size = {NEWEST} + 1 WHERE size = {NEWEST}")
statement("the newest checkpoint is deleted", NOT_FOUND, f"DELETE FROM checkpoints WHERE size = {NEWEST}")
statement("the checkpoints are deleted", NOT_FOUND, "DELETE FROM checkpoints")
statement("a checkpoint is not a note", CHANGED, "UPDATE checkpoints SET note = replace(note, '— ', '- ')")
statement("a checkpoint has another size", REMOVED, "UPDATE checkpoints SET note = replace(note, char(10) || size, char(10) || '1' || size), "
          f"size = '1' || size WHERE size = {NEWEST}")
statement("a checkpoint is of another vault", CHANGED | SIGNATURE, "UPDATE checkpoints SET note = replace(note, 'interposer/01', 'interposer/02')")
statement("the signature of a checkpoint has another name", SIGNATURE | CHANGED, "UPDATE checkpoints SET note = replace(note, '-audit', '-other')")
mutation("the checkpoints are signed with another key", SIGNATURE)(lambda m: m.sign_again(OTHER_SEED))


@mutation("one bit of a signature is changed", SIGNATURE | CHANGED)
def bit_of_signature(m):
    note = m.one(f"SELECT note FROM checkpoints WHERE size = {NEWEST}")
    head, _, text = note[:-1].rpartition(" ")
    data = bytearray(base64.b64decode(text))
    data[30] ^= 4
    m.sql(f"UPDATE checkpoints SET note = ? WHERE size = {NEWEST}", f"{head} {base64.b64encode(data).decode()}\n")


def key_leaf(m, key, seed, previous=None, previous_seed=None):
    text = form.key_statement(m.base.vault, key, previous)
    signatures = [s and base64.b64encode(ed25519.sign(s, text)).decode() for s in (seed, previous_seed)]
    return form.leaf_text("key", at_us=1795256140000001, key=key, previous=previous, signature=signatures[0],
                          previous_signature=signatures[1])


@mutation("the key is another one from the beginning", NOT_FOUND, against=FORKED, key=SIGNATURE)
def other_key(m):
    m.sql("UPDATE leaves SET leaf = ? WHERE n = 1", key_leaf(m, OTHER_KEY, OTHER_SEED))
    m.sign_again(OTHER_SEED)


def next_key(name, kinds, make):
    mutation(name, kinds)(lambda m: m.sql("INSERT INTO leaves VALUES (?, ?)", len(m.leaves()), make(m)))


next_key("a key without the one before it", SIGNATURE, lambda m: key_leaf(m, OTHER_KEY, OTHER_SEED))
next_key("a key without the signature of the one before it", SIGNATURE, lambda m: key_leaf(m, OTHER_KEY, OTHER_SEED, m.base.key))
next_key("a key with a wrong signature of the one before it", SIGNATURE, lambda m: key_leaf(m, OTHER_KEY, OTHER_SEED, m.base.key, OTHER_SEED))
next_key("a key after another key", SIGNATURE, lambda m: key_leaf(m, OTHER_KEY, OTHER_SEED, OTHER_KEY, OTHER_SEED))
next_key("a key that states another one before it", SIGNATURE,
         lambda m: key_leaf(m, OTHER_KEY, OTHER_SEED, m.base.key, m.base.seed).replace(f'"previous":"{m.base.key}"', f'"previous":"{OTHER_KEY}"'))
next_key("a key with a wrong signature", SIGNATURE, lambda m: key_leaf(m, OTHER_KEY, m.base.seed, m.base.key, m.base.seed))

# --- redactions -----------------------------------------------------------------------------------

FIRST = f"session_id = {REDACTED} AND record = 'message 2' AND leaf = (SELECT min(leaf) FROM replaced)"
statement("a replaced commitment is another one", CHANGED | EXCHANGED, f"UPDATE replaced SET commitment = zeroblob(32) WHERE {FIRST}")
statement("a replaced commitment is too short", CHANGED, f"UPDATE replaced SET commitment = substr(commitment, 2) WHERE {FIRST}")
statement("a replaced commitment is deleted", CHANGED | REMOVED, f"DELETE FROM replaced WHERE {FIRST}")
statement("all replaced commitments are deleted", CHANGED | REMOVED, f"DELETE FROM replaced WHERE session_id = {REDACTED}")
statement("a replaced commitment is of another message", CHANGED | REMOVED, f"UPDATE replaced SET record = 'message 3' WHERE {FIRST}")
statement("a replaced commitment is of a message that does not exist", CHANGED | REMOVED, f"UPDATE replaced SET record = 'message 99' WHERE {FIRST}")
statement("a replaced commitment is of another session", CHANGED | REMOVED | ADDED, f"UPDATE replaced SET session_id = {SHORT} WHERE {FIRST}")
statement("a replaced commitment is of a leaf that is not a redaction", CHANGED, f"UPDATE replaced SET leaf = 2 WHERE {FIRST}")
statement("a redacted body is another one", CHANGED, f"UPDATE messages SET body = 'forged' WHERE id = {(REDACTED << 36) + 2}",
          at=(REDACTED, "message 2"))


@mutation("a message is replaced as if it were redacted, without a leaf", CHANGED)
def forge_redaction(m):
    where = f"id = {(SHORT << 36) + 2}"
    values = m.sql(f"SELECT {', '.join(form.MESSAGE_FIELDS)} FROM messages WHERE {where}")[0]
    old, salt = m.one(f"SELECT commitment FROM messages WHERE {where}"), b"s" * 16
    m.sql(f"UPDATE messages SET body = 'forged', salt = ?, commitment = ? WHERE {where}", salt,
          form.commitment(salt, ["message", *values, "forged"]))
    m.sql("INSERT INTO replaced VALUES (?, 'message 2', ?, ?)", SHORT, m.leaf_of("redact", REDACTED), old)


@mutation("a redaction is forged whole, with its leaf", NOT_FOUND)
def redact_whole(m):
    """As `redact --apply` does it: the log says how many records were changed, and the session is `redacted`."""
    forge_redaction(m)
    old, new = (m.one(f"SELECT commitment FROM {t}") for t in (f"replaced WHERE session_id = {SHORT}", f"messages WHERE id = {(SHORT << 36) + 2}"))
    n = m.append("redact", session=m.base.uids[SHORT], at_us=1795256199000000, records=1,
                 digest=form.sha256(form.digest_input([("message 2", old, new)])).hex())
    m.sql("UPDATE replaced SET leaf = ? WHERE session_id = ?", n, SHORT)


# --- whole vaults ---------------------------------------------------------------------------------

def state(m, name):
    m.db.close()
    shutil.rmtree(m.path)
    states().copy(name, m.path)
    m.db = None


mutation("the whole vault is an earlier one", NOT_FOUND, against=ROLLED_BACK)(lambda m: state(m, "early"))
mutation("the whole vault is another one with the same beginning and key", NOT_FOUND, against=FORKED)(lambda m: state(m, "other"))


@mutation("everything about evidence is removed", REMOVED, against=REMOVED, key=REMOVED)
def without_log(m):
    for table in ("leaves", "checkpoints", "replaced"):
        m.sql(f"DROP TABLE {table}")
