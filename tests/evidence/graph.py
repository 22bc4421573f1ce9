"""Pages of a database with many pointers to one page below: a table or an index then has far more entries than bytes."""
import sqlite3


def make_graph(file, name, levels):
    """`name`: a table or an index. Its root gets `levels` levels of such pages, above its first leaf."""
    db = sqlite3.connect(file)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (root,), (size,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone(), db.execute("PRAGMA page_size").fetchone()
    db.close()
    data = bytearray(file.read_bytes())
    at = (root - 1) * size
    leaf = data[at:at + size]
    while leaf[0] in (2, 5):        # an interior page: its first child
        cell = int.from_bytes(leaf[12:14], "big")
        child = int.from_bytes(leaf[cell:cell + 4], "big")
        leaf = data[(child - 1) * size:child * size]
    first = int.from_bytes(leaf[8:10], "big")
    key = bytes(leaf[first:first + 1 + leaf[first]]) if leaf[0] == 10 else b"\x01"     # an entry of an index, or a rowid
    kind, below = 2 if leaf[0] == 10 else 5, len(data) // size + 1
    data += leaf
    for _ in range(levels):
        page, n = bytearray(size), (size - 12) // (6 + len(key)) - 2
        page[0], page[3:5], page[8:12] = kind, n.to_bytes(2, "big"), below.to_bytes(4, "big")
        for i in range(n):
            to = size - (4 + len(key)) * (i + 1)
            page[to:to + 4 + len(key)] = below.to_bytes(4, "big") + key
            page[12 + 2 * i:14 + 2 * i] = to.to_bytes(2, "big")
        page[5:7] = to.to_bytes(2, "big")
        data += page
        below += 1
    data[at:at + size] = data[-size:]
    data[28:32] = (len(data) // size).to_bytes(4, "big")
    file.write_bytes(data)
