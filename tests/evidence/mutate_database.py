"""Changes of the database itself: what a statement reads is then not what is stored in the tables, or need not be."""
from base_vault import SHORT
from mutation import ADDED, CHANGED, REMOVED, mutation, statement

DAMAGED = {"damaged"}


def rewrite_schema(m, statement, *values):
    """A statement that changes sqlite_schema."""
    m.db.execute("PRAGMA writable_schema = ON")
    m.sql(statement, *values)
    version = m.one("PRAGMA schema_version")
    m.db.execute(f"PRAGMA schema_version = {version + 1}")
    m.db.execute("PRAGMA writable_schema = RESET")


FORGED = "CREATE INDEX forged ON messages (id, session_id, seq, t_us, direction, kind, method, target, body)"


@mutation("a forged covering index, which a forged sqlite_stat1 prefers", ADDED)
def forge_index(m):
    """The index is of another table, and SQLite is then told that it is one of `messages`."""
    m.db.executescript(f"""CREATE TABLE other AS SELECT * FROM messages; UPDATE other SET body = 'forged';
        {FORGED.replace("messages", "other")}; ANALYZE""")
    rewrite_schema(m, "UPDATE sqlite_schema SET tbl_name = 'messages', sql = ? WHERE name = 'forged'", FORGED)
    m.db.executescript("UPDATE sqlite_stat1 SET tbl = 'messages' WHERE idx = 'forged'; DROP TABLE other")


for text in (FORGED, "CREATE INDEX more ON events (kind)", "CREATE TABLE more (x)", "CREATE TABLE Interposer (x TEXT) STRICT",
             "CREATE VIEW more AS SELECT 1", "ANALYZE", "CREATE VIRTUAL TABLE more USING fts5 (x)",
             "CREATE TRIGGER more AFTER INSERT ON messages BEGIN DELETE FROM messages; END",
             "CREATE TRIGGER more AFTER INSERT ON events BEGIN SELECT 1; END"):
    statement(f"added: {text[:40]}", ADDED, text)

statement("a column is added", CHANGED, "ALTER TABLE messages ADD COLUMN more TEXT")
statement("a generated column is added", CHANGED, "ALTER TABLE events ADD COLUMN more TEXT AS ('x')")
statement("a column has another name", CHANGED, "ALTER TABLE running RENAME COLUMN pid TO pids")
statement("an index is missing", REMOVED, "DROP INDEX events_by_session")
mutation("an index has more columns", CHANGED)(
    lambda m: m.db.executescript("DROP INDEX events_by_session; CREATE INDEX events_by_session ON events (session_id, id, detail)"))
mutation("an index is partial", CHANGED)(
    lambda m: m.db.executescript("DROP INDEX events_by_session; CREATE INDEX events_by_session ON events (session_id, id) WHERE id > 5"))
mutation("the log's checkpoints are gone", REMOVED)(lambda m: m.sql("DROP TABLE checkpoints"))
mutation("a view that is not the one of the program", CHANGED)(lambda m: m.sql("CREATE VIEW invocations AS SELECT 1 AS status"))


def rebuild(m, table, change, more=""):
    """The table again, with the same rows."""
    sql = change(m.one("SELECT sql FROM sqlite_schema WHERE name = ?", table))
    m.db.executescript(f"ALTER TABLE {table} RENAME TO old; {sql}; INSERT INTO {table} SELECT * FROM old; DROP TABLE old; {more}")


@mutation("a table without its primary key has two rows with one id", CHANGED)
def no_key(m):
    rebuild(m, "messages", lambda sql: sql.replace("id INTEGER PRIMARY KEY", "id INTEGER", 1))
    m.sql(f"INSERT INTO messages SELECT * FROM messages WHERE id = {(SHORT << 36) + 1}")


def rewrite_table(name, table, old, new, more=""):
    def change(m):
        assert old in m.one("SELECT sql FROM sqlite_schema WHERE name = ?", table)
        rewrite_schema(m, "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?", old, new, table)
        m.db.executescript(more)
    mutation(name, CHANGED)(change)


rewrite_table("a table has a constraint", "messages", "size INTEGER", "size INTEGER CHECK (length(hex(randomblob(9))) > 0)")
rewrite_table("a constraint of `sessions` is another one", "sessions", "uid TEXT", "uid TEXT CHECK (salt IS NOT NULL OR id <= 5 OR 1)")
rewrite_table("a table removes rows that are added twice", "events", "session_id INTEGER NOT NULL", "session_id INTEGER NOT NULL ON CONFLICT IGNORE")
rewrite_table("the SQL of a table has a comment", "leaves", "leaf TEXT", "leaf TEXT /* */")


statement("the schema has the version of a vault without evidence", CHANGED, "PRAGMA user_version = 2")
mutation("a table is not STRICT", CHANGED)(lambda m: rebuild(m, "messages", lambda sql: sql.replace(" STRICT", "")))
mutation("a column has another collation", CHANGED)(
    lambda m: rebuild(m, "messages", lambda sql: sql.replace("kind TEXT", "kind TEXT COLLATE NOCASE")))
mutation("a column has a default", CHANGED)(lambda m: rebuild(m, "running", lambda sql: sql.replace("boot TEXT", "boot TEXT DEFAULT 'x'")))


@mutation("a table is a view that answers differently each second", CHANGED | ADDED | REMOVED)
def table_is_view(m):
    m.db.executescript("""ALTER TABLE messages RENAME TO genuine; CREATE VIEW messages AS SELECT * FROM genuine WHERE
        strftime('%s') % 2 UNION ALL SELECT * FROM genuine WHERE NOT strftime('%s') % 2""")


@mutation("a leaf says that a session was removed, and forged rows are there", ADDED)
def prune_and_forge(m):
    m.sql(f"UPDATE messages SET body = 'forged' WHERE id = {(SHORT << 36) + 2}")
    m.append("prune", session=m.base.uids[SHORT], at_us=1795256199000000)


@mutation("a leaf says that a session was removed, and one message was", ADDED)
def prune_little(m):
    m.sql(f"DELETE FROM messages WHERE id = {(SHORT << 36) + 1}")
    m.append("prune", session=m.base.uids[SHORT], at_us=1795256199000000)


# --- bytes of the file ----------------------------------------------------------------------------


def page_of(m, name):
    """(number, offset in the file, size) of the root page of a table or an index."""
    m.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    number, size = m.one("SELECT rootpage FROM sqlite_schema WHERE name = ?", name), m.one("PRAGMA page_size")
    return number, (number - 1) * size, size


def change_bytes(m, at, change):
    with (m.path / "interposer.db").open("r+b") as file:
        file.seek(at)
        data = bytearray(file.read(1 << 16))
        change(data)
        file.seek(at)
        file.write(data)


@mutation("an entry of an index is of another row", DAMAGED)
def forge_entry(m):
    """Of the two numbers of the first entry of events_by_session the second one is changed: a leaf of an index, whose cells
    are a length, a header (3 bytes) and the values."""
    _, at, _ = page_of(m, "events_by_session")

    def change(page):
        assert page[0] == 10
        cell = int.from_bytes(page[8:10], "big")
        page[cell + page[cell]] ^= 16
    change_bytes(m, at, change)


@mutation("two rows of a leaf page are exchanged, so that ids do not grow", DAMAGED)
def unordered(m):
    """The root page of the smallest table: two pointers to cells are exchanged."""
    _, at, _ = page_of(m, "leaves")

    def change(page):
        first = 8 if page[0] == 13 else 12
        page[first:first + 2], page[first + 2:first + 4] = page[first + 2:first + 4], page[first:first + 2]
    change_bytes(m, at, change)


