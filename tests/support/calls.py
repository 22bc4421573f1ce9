"""The rows of the table `calls` that follow from the messages of a session, after docs/evidence.md ("Calls") alone: a second
implementation of model/calls.c.

    problem = difference(db, session_id)        of a database in which text is read as bytes or as str
"""
COLUMNS = ("id", "closing_seq", "direction", "origin", "method", "target", "status", "error_code", "t_us", "duration_us",
           "request_size", "response_size")
NEEDED = ("id", "t_us", "direction", "origin", "kind", "rpc_id", "method", "target", "size", "action", "request_seq", "error_code", "finding")
LAST = (1 << 36) - 1        # the highest seq
OWN = 64                    # requests of the proxy that an answer without request_seq may belong to


def names_of(finding):
    return (finding or "").split(",")


def status_of(answer):
    """Of a request that was not refused."""
    found = names_of(answer["finding"])
    if answer["kind"] == "notification":
        return "cancelled"
    if answer["origin"] == "interposer":
        for name in ("server-gone", "interrupted", "timeout"):
            if name in found:
                return name
    if answer["kind"] == "error":
        return "error"
    return "tool-error" if "tool-error" in found else "ok"


def ends(call, m):
    """Whether a later message that belongs to the call ends it."""
    own, forwarded = call["origin"] == "interposer", m["action"] == "forwarded"
    if m["kind"] == "notification":
        return not own and forwarded and m["origin"] == "peer" and m["direction"] == call["direction"]
    return m["direction"] != call["direction"] and (own or forwarded)


def own_request(own, m):
    """The request of the proxy that an answer without request_seq belongs to, or None."""
    if m["action"] != "swallowed" or not m["rpc_id"] or "own-request" not in names_of(m["finding"]):
        return None
    for request in own[-OWN:]:
        if not request["answered"] and request["direction"] != m["direction"] and request["rpc_id"] == m["rpc_id"]:
            request["answered"] = True
            return request["seq"]
    return None


def calls_of(messages):
    """Rows as dicts, by seq. messages: what rows_of() returns, with NEEDED, in the order of their ids."""
    calls, own = {}, []
    for m in messages:
        seq = m["id"] & LAST
        if m["kind"] == "request":
            refused = m["action"] == "refused"
            calls[seq] = {"id": m["id"], "closing_seq": None, "direction": m["direction"], "origin": m["origin"], "method": m["method"],
                          "target": m["target"], "status": "refused" if refused else "open", "error_code": None, "t_us": m["t_us"],
                          "duration_us": 0 if refused else None, "request_size": m["size"], "response_size": None}
            if m["origin"] == "interposer":
                own.append({"seq": seq, "answered": False, "direction": m["direction"], "rpc_id": m["rpc_id"]})
            continue
        if m["kind"] not in ("result", "error", "notification"):
            continue
        answer, number = m["kind"] != "notification", m["request_seq"]
        if number is not None and answer:
            for request in own[-OWN:]:
                request["answered"] |= request["seq"] == number and request["direction"] != m["direction"]
        if number is None and answer:
            number = own_request(own, m)
        call = calls.get(number)
        if call is None or call["closing_seq"] is not None or not ends(call, m):
            continue
        call |= {"closing_seq": seq, "duration_us": max(0, m["t_us"] - call["t_us"]),
                 "status": "refused" if call["status"] == "refused" else status_of(m)}
        if answer:
            call |= {"response_size": m["size"], "error_code": m["error_code"]}
    return calls


def rows_of(db, table, columns, session):
    """As dicts, whatever the connection makes of rows and text."""
    found = db.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE id BETWEEN ? AND ? ORDER BY id", (session << 36, (session << 36) + LAST))
    return [{k: v.decode("utf-8", "replace") if type(v) is bytes else v for k, v in zip(columns, row)} for row in found]


def difference(db, session):
    """What is wrong in the rows of a session that is filled in: (kind of docs/evidence.md, seq, text), or None."""
    wanted = calls_of(rows_of(db, "messages", NEEDED, session))
    for row in rows_of(db, "calls", COLUMNS, session):
        seq = row["id"] & LAST
        call = wanted.pop(seq, None)
        if call is None:
            return "added", seq, "is in calls, and no message is its request"
        if row != call:
            return "changed", seq, f"is in calls as {row}, and its messages say {call}"
    for seq in wanted:
        return "removed", seq, "is missing in calls"
    return None
