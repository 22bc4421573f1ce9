"""Changes of a vault that a verifier has to find, and what it has to say of each.

Each is a function that changes a copy of the vault of base_vault.py, with the kinds of change (docs/evidence.md, Verdict)
that may be named. An empty set: it cannot be found by this check. `against` is the check with the newest note
(default: as without it), `key` that with the vault's key.
"""
import json
import os

import form
from base_vault import ENDED, KILLED, LARGE_1, LARGE_2, LAST, SHORT
from mutation import ADDED, CHANGED, EXCHANGED, MOVED, NOT_FOUND, REMOVED, mutation, statement


def row(session, seq):
    return f"id = {(session << 36) + seq}"


# --- every column ---------------------------------------------------------------------------------

def columns():
    """Change each covered column of each table: another value, NULL, and a value instead of NULL."""
    numbers = {"started_at_us", "pid", "ended_at_us", "exit_status", "seq", "t_us", "size", "redactions", "request_seq", "error_code",
               "batch_seq", "session_id", "body_offset", "body_length", "id", "place", "records"}
    required = {"uid", "name", "command", "started_at_us", "pid", "host", "record_level", "interposer_version", "seq", "t_us", "direction",
                "origin", "kind", "size", "redactions", "action", "session_id", "id"}
    for seq in (1, 2):          # a request, and an answer with other columns
        for column in (*form.MESSAGE_FIELDS, "body", "session_id", "id"):
            one_column("messages", column, row(ENDED, seq), numbers, required)
    for column in ("body", "body_offset", "body_length"):
        one_column("messages", column, row(ENDED, LARGE_1), numbers, required)
    for column in (*form.EVENT_FIELDS, "session_id", "place"):
        one_column("events", column, f"session_id = {ENDED} AND kind = 'spawn'", numbers, required)
    for column in (*form.SESSION_FIELDS, *form.END_FIELDS, "id", "records"):
        one_column("sessions", column, f"id = {SHORT}", numbers, required)
    for table, where in (("messages", row(ENDED, 1)), ("events", f"session_id = {ENDED} AND kind = 'spawn'"), ("sessions", f"id = {SHORT}")):
        for column in ("salt", "commitment", *(("end_salt", "end_commitment", "tree") if table == "sessions" else ())):
            for how, value in (("another", f"zeroblob(length({column}) + 1 - 1) || x''"), ("one byte less", f"substr({column}, 2)"),
                               ("NULL", "NULL"), ("a longer", f"CAST({column} || x'00' AS BLOB)")):
                if column == "tree" and how in ("another", "one byte less"):
                    continue        # it is empty
                value = f"zeroblob(length({column}))" if how == "another" else value
                statement(f"{table}.{column}: {how}", CHANGED | EXCHANGED | ADDED, f"UPDATE {table} SET {column} = {value} WHERE {where}")


def one_column(table, column, where, numbers, required):
    change = f"coalesce({column} + 1, 1)" if column in numbers else f"coalesce({column}, '') || 'x'"
    kinds = CHANGED | MOVED | ADDED | REMOVED | EXCHANGED if column in ("id", "session_id", "place", "uid", "records", "seq") else CHANGED
    if column == "id":
        change = f"{column} + {1000 if table == 'messages' else 90}"
    if column == "session_id":
        change = f"{column} + 200"
    if column == "seq":
        change = f"{column} + 5000"
    statement(f"{table}.{column}: another value, {where}", kinds, f"UPDATE {table} SET {column} = {change} WHERE {where}")
    if column not in required:
        def erase(m):
            if m.one(f"SELECT {column} IS NULL FROM {table} WHERE {where}"):
                m.sql(f"UPDATE {table} SET {column} = '5' WHERE {where}")
            else:
                m.sql(f"UPDATE {table} SET {column} = NULL WHERE {where}")
        mutation(f"{table}.{column}: NULL, or no longer NULL, {where}", kinds | CHANGED)(erase)


columns()

# --- records --------------------------------------------------------------------------------------


def swap(m, table, column, a, b):
    values = [m.one(f"SELECT {column} FROM {table} WHERE {where}") for where in (a, b)]
    assert values[0] != values[1]
    m.sql(f"UPDATE {table} SET {column} = ? WHERE {a}", values[1])
    m.sql(f"UPDATE {table} SET {column} = ? WHERE {b}", values[0])


mutation("two bodies are exchanged", CHANGED, at=(ENDED, "message 5"))(lambda m: swap(m, "messages", "body", row(ENDED, 5), row(ENDED, 9)))
mutation("two salts are exchanged", CHANGED, at=(ENDED, "message 5"))(lambda m: swap(m, "messages", "salt", row(ENDED, 5), row(ENDED, 9)))
mutation("two commitments are exchanged", CHANGED, at=(ENDED, "message 5"))(
    lambda m: swap(m, "messages", "commitment", row(ENDED, 5), row(ENDED, 9)))
statement("the first message is deleted", REMOVED, f"DELETE FROM messages WHERE {row(ENDED, 1)}", at=(ENDED, "message 1"))
statement("a message in the middle is deleted", REMOVED, f"DELETE FROM messages WHERE {row(ENDED, 77)}", at=(ENDED, "message 77"))
statement("the last message is deleted", REMOVED, f"DELETE FROM messages WHERE {row(ENDED, 153)}")
statement("the only event at the start is deleted", REMOVED, f"DELETE FROM events WHERE session_id = {ENDED} AND kind = 'spawn'")
statement("the last event is deleted", REMOVED, f"DELETE FROM events WHERE session_id = {ENDED} AND kind = 'exit'")
statement("all events are deleted", REMOVED | CHANGED, f"DELETE FROM events WHERE session_id = {ENDED}")
statement("the beginning is cut off", REMOVED, f"DELETE FROM messages WHERE session_id = {ENDED} AND seq <= 100")
statement("the end is cut off", REMOVED, f"DELETE FROM messages WHERE session_id = {ENDED} AND seq > 64")
statement("all messages are deleted", REMOVED | CHANGED, f"DELETE FROM messages WHERE session_id = {SHORT}")
statement("the last message of a killed session is deleted", REMOVED, f"DELETE FROM messages WHERE {row(KILLED, 70)}")
statement("a finding that was added is removed", CHANGED, f"UPDATE messages SET finding = NULL WHERE {row(ENDED, 3)}")
statement("another finding was added", CHANGED, f"UPDATE messages SET finding = finding || ',x' WHERE {row(ENDED, 3)}", at=(ENDED, "message 3"))


def insert_message(m, seq, **more):
    """A copy of message 1."""
    names = [name for _, name, *_ in m.sql("PRAGMA table_info(messages)")]
    values = dict(zip(names, m.sql(f"SELECT * FROM messages WHERE {row(SHORT, 1)}")[0])) | {"id": (SHORT << 36) + seq, "seq": seq} | more
    if more.get("commitment"):
        values["commitment"] = form.commitment(values["salt"], ["message", *(values[f] for f in form.MESSAGE_FIELDS), values["body"]])
    m.sql(f"INSERT INTO messages VALUES ({', '.join('?' * len(values))})", *values.values())
    return values["commitment"]


mutation("a message is added at the end", ADDED)(lambda m: insert_message(m, 6))
mutation("a message with its commitment is added", ADDED)(lambda m: insert_message(m, 6, commitment=True))
mutation("a message without evidence is added", ADDED | CHANGED)(lambda m: insert_message(m, 6, salt=None, commitment=None))
statement("the last message has another id", CHANGED, f"UPDATE messages SET id = id + 1 WHERE {row(SHORT, 5)}", at=(SHORT, "message 5"))
mutation("a message of a session that does not exist is added", ADDED)(
    lambda m: insert_message(m, 6, id=(77 << 36) + 6, session_id=77, commitment=True))
mutation("a message with an id before those of all sessions is added", ADDED)(lambda m: insert_message(m, 6, id=6, commitment=True))
statement("an event of a session that does not exist is added", ADDED,
          "INSERT INTO events (session_id, t_us, kind) VALUES (77, 1, 'spawn')")
mutation("a message is added at the start", ADDED)(lambda m: insert_message(m, 0, commitment=True))


def commitments(m, session):
    """Of the records of a session that was not redacted, in the order of their places."""
    places = {0: m.one("SELECT commitment FROM sessions WHERE id = ?", session),
              **dict(m.sql("SELECT place, commitment FROM events WHERE session_id = ?", session))}
    messages = iter(m.sql("SELECT commitment FROM messages WHERE session_id = ? ORDER BY id", session))
    return [places[i] if i in places else next(messages)[0]
            for i in range(len(places) + m.one("SELECT count(*) FROM messages WHERE session_id = ?", session))]


@mutation("a message is added at the end, with another seal", NOT_FOUND)
def continue_session(m):
    """As a recorder does with a late `gap`: the log says when, and the first seal how much there was."""
    insert_message(m, 6, commitment=True, body="forged")
    m.sql("INSERT INTO calls (id, direction, origin, method, target, status, t_us, request_size)"
          f" SELECT id, direction, origin, method, target, 'open', t_us, size FROM messages WHERE {row(SHORT, 6)}")
    all = commitments(m, SHORT)
    m.sql("UPDATE sessions SET records = ?, tree = ? WHERE id = ?", len(all), form.subtrees(all), SHORT)
    seal = json.loads(m.leaves()[m.leaf_of("seal", SHORT)]) | {"records": len(all), "root": form.session_root(all).hex()}
    m.append(**{"kind" if k == "type" else k: v for k, v in seal.items()})


@mutation("a message is replaced by another one with its commitment", EXCHANGED)
def replace_message(m):
    m.sql(f"DELETE FROM messages WHERE {row(SHORT, 4)}")
    insert_message(m, 4, commitment=True, body="forged")


@mutation("a message in a complete group of a session without a seal is replaced", EXCHANGED)
def replace_unsealed(m):
    salt = b"s" * 16
    values = list(m.sql(f"SELECT {', '.join(form.MESSAGE_FIELDS)}, body FROM messages WHERE {row(KILLED, 9)}")[0])
    m.sql(f"UPDATE messages SET body = 'forged', salt = ?, commitment = ? WHERE {row(KILLED, 9)}", salt,
          form.commitment(salt, ["message", *values[:-1], "forged"]))


@mutation("a message is inserted and all following are numbered again", CHANGED | ADDED)
def shift(m):
    for seq in range(5, 2, -1):
        m.sql(f"UPDATE messages SET seq = seq + 1, id = id + 1 WHERE {row(SHORT, seq)}")
    insert_message(m, 3, commitment=True, body="new")


@mutation("two messages are exchanged as a whole", CHANGED)
def exchange(m):
    for old, new in ((4, 1000), (5, 4), (1000, 5)):
        m.sql(f"UPDATE messages SET seq = {new}, id = {(SHORT << 36) + new} WHERE {row(SHORT, old)}")


@mutation("the messages of one session are copied over those of another", EXCHANGED | CHANGED | REMOVED)
def copy_session(m):
    m.sql(f"DELETE FROM messages WHERE session_id = {SHORT}")
    m.sql(f"UPDATE messages SET session_id = {SHORT}, id = id + {(SHORT - LAST) << 36} WHERE session_id = {LAST} AND seq <= 5")


@mutation("messages of two sessions are exchanged", EXCHANGED)
def exchange_sessions(m):
    for old, new in ((SHORT, 900), (LAST, SHORT), (900, LAST)):
        m.sql(f"UPDATE messages SET session_id = {new}, id = id + {(new - old) << 36} WHERE {row(old, 1)}")


# events

def place(name, kinds, value, kind="spawn"):
    statement(name, kinds, f"UPDATE events SET place = {value} WHERE session_id = {ENDED} AND kind = '{kind}'")


place("an event is moved to the place of a message", EXCHANGED, 2)
place("an event has the place of another one", MOVED, f"(SELECT max(place) FROM events WHERE session_id = {ENDED})")
place("an event has the place of the session", MOVED, 0)
place("an event has a place after the last", MOVED, 5000)
place("an event has no place", MOVED | CHANGED, "NULL")


@mutation("two events are exchanged in the order of their ids", MOVED)
def exchange_events(m):
    a, b = (i for i, in m.sql(f"SELECT id FROM events WHERE session_id = {ENDED} ORDER BY id LIMIT 2"))
    for old, new in ((a, 10000), (b, a), (10000, b)):
        m.sql(f"UPDATE events SET id = {new} WHERE id = {old}")


# --- sessions -------------------------------------------------------------------------------------

def delete_session(m, session):
    for table in ("messages", "events", "replaced"):
        m.db.execute(f"DELETE FROM {table} WHERE session_id = {session}")
    m.db.execute(f"DELETE FROM calls WHERE id >> 36 = {session}")
    m.sql(f"DELETE FROM sessions WHERE id = {session}")


statement("a working directory is changed", CHANGED, f"UPDATE sessions SET cwd = '/x' WHERE id = {SHORT}", at=(SHORT, "session"))
statement("a working directory is added or removed", CHANGED,
          f"UPDATE sessions SET cwd = iif(cwd IS NULL, '/x', NULL) WHERE id = {ENDED}", at=(ENDED, "session"))
statement("the rule of the tools is added or removed", CHANGED,
          f"UPDATE sessions SET tools_rule = iif(tools_rule IS NULL, 'x', NULL) WHERE id = {ENDED}", at=(ENDED, "session"))
statement("the revision of a message is added or removed", CHANGED,
          f"UPDATE messages SET revision = iif(revision IS NULL, 'x', NULL) WHERE {row(ENDED, 3)}", at=(ENDED, "message 3"))
mutation("a session is deleted", REMOVED)(lambda m: delete_session(m, SHORT))
mutation("the last session is deleted", REMOVED)(lambda m: delete_session(m, LAST))
statement("a session is deleted without its messages", REMOVED | ADDED, f"DELETE FROM sessions WHERE id = {SHORT}")
statement("messages of a session that does not exist", ADDED | REMOVED,
          f"UPDATE messages SET session_id = 77, id = id + {(77 - SHORT) << 36} WHERE {row(SHORT, 5)}")


@mutation("a session and its leaves are deleted", CHANGED | REMOVED, only=False)
def delete_with_leaves(m):
    delete_session(m, SHORT)
    for kind in ("seal", "open"):
        m.remove_leaf(m.leaf_of(kind, SHORT))


@mutation("a session and its leaves after the last checkpoint are deleted", NOT_FOUND)
def delete_last(m):
    delete_session(m, LAST)
    for kind in ("seal", "open"):
        m.remove_leaf(m.leaf_of(kind, LAST))


@mutation("a session loses all of its evidence", CHANGED | MOVED)
def strip(m):
    for table in ("messages", "events"):
        m.sql(f"UPDATE {table} SET salt = NULL, commitment = NULL WHERE session_id = {SHORT}")
    m.sql("UPDATE events SET place = NULL WHERE session_id = ?", SHORT)
    m.sql("UPDATE sessions SET salt = NULL, commitment = NULL, end_salt = NULL, end_commitment = NULL, records = NULL, tree = NULL"
          " WHERE id = ?", SHORT)


ADD_SESSION = ("INSERT INTO sessions (id, uid, name, command, started_at_us, ended_at_us, end_reason, pid, host, record_level,"
               " interposer_version) VALUES (?, '01AAAAAAAAAAAAAAAAAAAAAAAA', 'n', '[]', 1, 2, 'client-closed', 1, '', 'full', '1')")
statement("a session without evidence is added", ADDED, ADD_SESSION, 99)
statement("a session without evidence is added before the first", ADDED, ADD_SESSION, 0)
statement("a session without evidence has the messages of another one", ADDED | CHANGED, ADD_SESSION, SHORT - (1 << 28))
statement("a session has not ended", CHANGED,
          f"UPDATE sessions SET ended_at_us = NULL, end_reason = NULL, end_salt = NULL, end_commitment = NULL WHERE id = {SHORT}")
statement("a killed session has ended", REMOVED | CHANGED,
          f"UPDATE sessions SET ended_at_us = 1795256140999999, end_reason = 'client-closed' WHERE id = {KILLED}")
statement("the tree of a session is that of another", CHANGED | EXCHANGED,
          f"UPDATE sessions SET tree = (SELECT tree FROM sessions WHERE id = {KILLED}) WHERE id = {ENDED}")
statement("the tree of a killed session is empty", EXCHANGED | CHANGED, f"UPDATE sessions SET tree = x'' WHERE id = {KILLED}")
statement("a killed session has more records in journals", REMOVED,
          f"INSERT INTO journals (session_id, position, records, tree) SELECT id, 1, records + 1, tree FROM sessions WHERE id = {KILLED}")
statement("a killed session has another tree in journals", EXCHANGED | REMOVED,
          f"INSERT INTO journals (session_id, position, records, tree) SELECT id, 1, records + 1, zeroblob(32) FROM sessions WHERE id = {KILLED}")
statement("a killed session has fewer records", ADDED | CHANGED, f"UPDATE sessions SET records = records - 1 WHERE id = {KILLED}")

# --- calls ----------------------------------------------------------------------------------------

for column, value in {"closing_seq": "3", "direction": "'s2c'", "origin": "'interposer'", "method": "'tools/list'", "target": "NULL",
                      "status": "'ok'", "error_code": "NULL", "t_us": "t_us - 1", "duration_us": "duration_us + 1",
                      "request_size": "request_size + 1", "response_size": "NULL"}.items():
    statement(f"calls.{column}: another value", CHANGED, f"UPDATE calls SET {column} = {value} WHERE {row(SHORT, 1)}", at=(SHORT, "call 1"))
statement("a call that is open has ended", CHANGED, f"UPDATE calls SET status = 'ok', duration_us = 1 WHERE {row(ENDED, 149)}", at=(ENDED, "call 149"))
statement("a call of a killed session was answered", CHANGED, f"UPDATE calls SET status = 'ok' WHERE {row(KILLED, 69)}", at=(KILLED, "call 69"))
for seq in (1, 3, 5):
    statement(f"call {seq} is deleted", REMOVED, f"DELETE FROM calls WHERE {row(SHORT, seq)}", at=(SHORT, f"call {seq}"))
statement("all calls of a session are deleted", REMOVED, f"DELETE FROM calls WHERE id >> 36 = {SHORT}", at=(SHORT, "call 1"))
ADD_CALL = "INSERT INTO calls (id, direction, origin, status, t_us, request_size) VALUES (?, 'c2s', 'peer', 'open', 1, 1)"
for seq in (0, 2, 6):
    statement(f"a call {seq} is added", ADDED, ADD_CALL, (SHORT << 36) + seq, at=(SHORT, f"call {seq}"))
statement("a call of a session that does not exist is added", ADDED, ADD_CALL, (77 << 36) + 1)
statement("a call with an id before those of all sessions is added", ADDED, ADD_CALL, 1)
statement("a session has calls, and its row says that it has not", ADDED, f"UPDATE sessions SET calls = NULL WHERE id = {SHORT}",
          at=(SHORT, "call 1"))
statement("a session that has not ended has calls, and its row says that it has not", ADDED,
          f"UPDATE sessions SET calls = NULL WHERE id = {KILLED}", at=(KILLED, "call 1"))
statement("a session has another mark of its calls", ADDED, f"UPDATE sessions SET calls = 2 WHERE id = {SHORT}", at=(SHORT, "call 1"))


@mutation("a session has no calls, as one of an older version, whose calls follow from its messages", NOT_FOUND)
def empty_calls(m):
    m.sql(f"UPDATE sessions SET calls = NULL WHERE id = {SHORT}")
    m.sql(f"DELETE FROM calls WHERE id >> 36 = {SHORT}")


# --- Bodies ---------------------------------------------------------------------------------------


@mutation("two bodies in Bodies are exchanged", CHANGED, at=(ENDED, f"message {LARGE_1}"))
def swap_in_file(m):
    data = m.bodies(ENDED).read_bytes()
    m.bodies(ENDED).write_bytes(data[70001:] + data[:70001])


@mutation("two places in Bodies are exchanged", CHANGED, at=(ENDED, f"message {LARGE_1}"))
def swap_offsets(m):
    swap(m, "messages", "body_offset", row(ENDED, LARGE_1), row(ENDED, LARGE_2))


@mutation("one byte in Bodies is changed", CHANGED, at=(ENDED, f"message {LARGE_2}"))
def change_file(m):
    data = bytearray(m.bodies(ENDED).read_bytes())
    data[-3] ^= 1
    m.bodies(ENDED).write_bytes(data)


@mutation("the file in Bodies is cut", CHANGED, at=(ENDED, f"message {LARGE_2}"))
def cut_file(m):
    m.bodies(ENDED).write_bytes(m.bodies(ENDED).read_bytes()[:140000])


mutation("the file in Bodies is removed", CHANGED, at=(ENDED, f"message {LARGE_1}"))(lambda m: m.bodies(ENDED).unlink())
@mutation("a body is a hole of 1 TB", CHANGED, at=(ENDED, f"message {LARGE_2}"))
def make_hole(m):
    os.truncate(m.bodies(ENDED), 1 << 41)
    m.sql(f"UPDATE messages SET body_length = {1 << 40} WHERE {row(ENDED, LARGE_2)}")


statement("two messages have one body", CHANGED, f"UPDATE messages SET body_offset = 0, body_length = 140000 WHERE {row(ENDED, LARGE_2)}",
          at=(ENDED, f"message {LARGE_2}"))
mutation("something that no row refers to is in Bodies", NOT_FOUND)(lambda m: m.bodies(ENDED).open("ab").write(b"more"))
statement("a message has two bodies", CHANGED, f"UPDATE messages SET body = 'forged' WHERE {row(ENDED, LARGE_1)}")
