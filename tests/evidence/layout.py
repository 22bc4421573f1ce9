"""The database of a vault of version 3 to 5 as a whole, as docs/evidence.md describes it: the first part of verifier.py."""
import re

import form

KEY = {"sessions": "id", "messages": "id", "events": "id", "running": "session_id", "journals": "session_id", "leaves": "n",
       "checkpoints": "size", "replaced": "session_id record leaf", "escalations": "id", "shipped": "session_id target",
       "ship_targets": "target", "calls": "id", "operations": "id"}
PLAIN = {"sessions": "id INTEGER, uid TEXT!, name TEXT!, command TEXT!, client_name TEXT, client_version TEXT, server_name TEXT, "
         "server_version TEXT, protocol_version TEXT, started_at_us INTEGER!, ended_at_us INTEGER, end_reason TEXT, exit_status INTEGER, "
         "pid INTEGER!, host TEXT!, record_level TEXT!, interposer_version TEXT!, redact_rules TEXT, salt BLOB, commitment BLOB, "
         "end_salt BLOB, end_commitment BLOB, records INTEGER, tree BLOB",
         "messages": "id INTEGER, session_id INTEGER!, seq INTEGER!, t_us INTEGER!, direction TEXT!, origin TEXT!, kind TEXT!, rpc_id TEXT, "
         "method TEXT, target TEXT, body TEXT, body_offset INTEGER, body_length INTEGER, size INTEGER!, redactions INTEGER!, action TEXT!, "
         "request_seq INTEGER, error_code INTEGER, batch_seq INTEGER, finding TEXT, salt BLOB, commitment BLOB",
         "events": "id INTEGER, session_id INTEGER!, t_us INTEGER!, kind TEXT!, detail TEXT, place INTEGER, salt BLOB, commitment BLOB",
         "running": "session_id INTEGER, boot TEXT!, pid_namespace INTEGER, pid INTEGER!, pid_start INTEGER, client_pid INTEGER, "
         "client_start INTEGER, server_pid INTEGER, server_start INTEGER, server_group INTEGER, server_session INTEGER",
         "journals": "session_id INTEGER, position INTEGER!, records INTEGER, tree BLOB",
         "leaves": "n INTEGER, leaf TEXT!",
         "checkpoints": "size INTEGER, at_us INTEGER!, note TEXT!",
         "replaced": "session_id INTEGER!, record TEXT!, leaf INTEGER!, commitment BLOB!",
         "escalations": "id INTEGER, cause TEXT!, server TEXT!, tool TEXT, method TEXT, file TEXT!, first_at_us INTEGER!, "
         "last_at_us INTEGER!, count INTEGER!",
         "shipped": "target TEXT!, session_id INTEGER!, seq INTEGER!, event INTEGER!, complete INTEGER!, at_us INTEGER!",
         "ship_targets": "target TEXT!, tried_at_us INTEGER!, sent_at_us INTEGER, leaves INTEGER!, error TEXT",
         "operations": "id INTEGER, requests INTEGER!, asked INTEGER!, status TEXT!, closing_seq INTEGER, error_code INTEGER, "
         "duration_us INTEGER, server_us INTEGER!, person_us INTEGER!, state TEXT!, since_us INTEGER!, key INTEGER"}
# What version 4 has more: columns, and a table.
MORE = {"sessions": ", cwd TEXT, tools_rule TEXT, calls INTEGER", "messages": ", revision TEXT"}
CALLS = ("id INTEGER, closing_seq INTEGER, direction TEXT!, origin TEXT!, method TEXT, target TEXT, status TEXT!, error_code INTEGER, "
         "t_us INTEGER!, duration_us INTEGER, request_size INTEGER!, response_size INTEGER, revision TEXT, operation_seq INTEGER, "
         "result_tokens INTEGER")
TABLES = {3: PLAIN, 4: {t: columns + MORE.get(t, "") for t, columns in PLAIN.items()} | {"calls": CALLS}}
TABLES[5] = TABLES[4] | {"calls": CALLS + ", result_binaries INTEGER, result_binary_size INTEGER"}
LATER = {"operations", "escalations", "shipped", "ship_targets"}      # a vault need not have them, and need not have the views
KEYED = ("replaced", "shipped")                         # WITHOUT ROWID
INDEXES = {("events", "events_by_session"): (0, "c", ["session_id", "id"], "CREATE INDEX events_by_session ON events (session_id, id)"),
           ("sessions", "sqlite_autoindex_sessions_1"): (1, "u", ["uid"], None),
           ("ship_targets", "sqlite_autoindex_ship_targets_1"): (1, "pk", ["target"], None)}
WORDS = set("CREATE TABLE NOT NULL PRIMARY KEY UNIQUE STRICT WITHOUT ROWID INTEGER TEXT BLOB".split())
CLOSINGS = {"94edc2334a65f51cb77639c5ae9e46590ee4c941f3a85b21d9fb8c2ca7c860d5"}
VIEWS = {3: {"closings": CLOSINGS, "invocations": {"8830f6c09c53ed2024fed21cdd715addcf1db456dd1b5d72ee2376e731eb3ceb",
                                                   "73575024c526c8a04c5c4e349e5c7688d95d9a961583c77775609848747240f5"}},
         4: {"closings": CLOSINGS, "invocations": {"6e6e4ba445a89a1f3fd26490f244c4fea2de825b4eaf0774778cc696be403baa"}}}
VIEWS[5] = VIEWS[4]


def text_of(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def wrong_object(db, version, kind, name, table, sql):
    """What is wrong with an object that the vault has: a word, or None."""
    tables, views = TABLES[version], VIEWS[version]
    if kind == "view" and name in views:
        return None if form.sha256(sql.encode()).hex() in views[name] else "changed"
    if kind == "index" and (table, name) in INDEXES:
        unique, origin, names, text = INDEXES[table, name]
        found = [(row[2], text_of(row[3])) for row in db.execute(f"PRAGMA index_list({table})") if text_of(row[1]) == name]
        columns = [text_of(row[2]) for row in db.execute(f"PRAGMA index_info({name})")]
        return None if found == [(unique, origin)] and columns == names and sql == text else "changed"
    if kind != "table" or name not in tables:
        return "added"
    columns = {}
    for _, column, type, not_null, default, key, hidden in db.execute(f"PRAGMA table_xinfo({name})"):
        if default is not None or hidden:
            return "changed"
        columns[text_of(column)] = text_of(type) + "!" * not_null, key
    keys = {c: i for i, c in enumerate(KEY[name].split(), 1)}
    wanted = {c: (t, keys.get(c, 0)) for c, t in (x.split() for x in tables[name].split(", "))}
    return None if columns == wanted and plain(name, sql, columns) else "changed"


def plain(name, sql, columns):
    """The SQL of a table begins with its name, and has only its columns and these words."""
    if not sql.startswith(f"CREATE TABLE {name} (") or not sql.endswith(") STRICT, WITHOUT ROWID" if name in KEYED else ") STRICT"):
        return False
    if name == "sessions":
        sql = re.sub(r"CHECK \(salt IS NOT NULL OR id <= [0-9]*\)", "", sql)
    return re.fullmatch(r"[A-Za-z0-9_ (),]*", sql) is not None and set(re.findall(r"\w+", sql)) <= WORDS | set(columns) | {name}


def compare(db):
    """([(kind, what is wrong)], whether a statement of this database can be believed)"""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version < 3:
        names = {text_of(name) for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        return ([("changed", f"it states version {version}, and has a log")], False) if "leaves" in names else ([], True)
    if version not in TABLES:
        return [], True
    tables = TABLES[version]
    faults, believed, found = [], True, set()
    for row in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall():
        kind, name, table, sql = map(text_of, row)
        what = wrong_object(db, version, kind, name, table, sql)
        found.add(name)
        if what:
            believed &= not (kind == "index" and table in tables or kind == "table" and what == "changed" or name in tables)
            faults.append((what, f"the {kind} {name} is not one of this program"))
    for name in {*tables, "events_by_session"} - LATER - found:
        believed = False
        faults.append(("removed", f"{name} is missing"))
    if believed and (problem := db.execute("PRAGMA integrity_check(1)").fetchone()[0]) != b"ok":
        believed = False
        faults.append(("damaged", text_of(problem)))
    return faults, believed
