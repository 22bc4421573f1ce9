"""The format of docs/evidence.md: hashes, leaves, keys and notes. No database."""
import base64
import hashlib
import json
import re

import ed25519

GROUP = 64              # commitments
SESSION_FIELDS = ("uid", "name", "command", "started_at_us", "pid", "host", "record_level", "interposer_version", "redact_rules")
MESSAGE_FIELDS = ("seq", "t_us", "direction", "origin", "kind", "rpc_id", "method", "target", "size", "redactions", "action",
                  "request_seq", "error_code", "batch_seq", "finding")
# Behind everything else, up to the last one that is not NULL; columns of version 4.
SESSION_TAIL = ("cwd", "tools_rule")
MESSAGE_TAIL = ("revision",)
EVENT_FIELDS = ("t_us", "kind", "detail")
END_FIELDS = ("client_name", "client_version", "server_name", "server_version", "protocol_version", "ended_at_us", "end_reason",
              "exit_status")
LEAVES = {"begin": ("version", "vault", "at_us", "after"),
          "open": ("session", "id", "commitment"),
          "seal": ("session", "at_us", "end", "commitment", "records", "root"),
          "prune": ("session", "at_us"),
          "redact": ("session", "at_us", "records", "digest"),
          "key": ("at_us", "key", "previous", "signature", "previous_signature")}
NUMBERS = ("version", "at_us", "after", "id", "records")
NULLABLE = ("end", "previous", "previous_signature")
HASHES = ("commitment", "root", "digest")


class Malformed(Exception):
    """Not in the form that docs/evidence.md describes."""


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


# --- records --------------------------------------------------------------------------------------

def field(value):
    if value is None:
        return b"\0"
    if isinstance(value, int):
        value = str(value)
    if isinstance(value, str):
        value = value.encode()
    n, length = len(value) + 1, bytearray()
    while n > 127:
        length.append(n & 127 | 128)
        n >>= 7
    return bytes(length) + bytes([n]) + value


def tail(values):
    """The fields of a tail: without the NULLs at its end."""
    values = list(values)
    while values and values[-1] is None:
        values.pop()
    return values


def record_input(salt, values):
    """What is hashed. `values` starts with the kind of record."""
    return b"mcpi1" + salt + b"".join(map(field, values))


def commitment(salt, values):
    return sha256(record_input(salt, values))


# --- trees ----------------------------------------------------------------------------------------

def leaf_hash(data):
    return sha256(b"\0", data)


def node_hash(left, right):
    return sha256(b"\1", left, right)


def tree_hash(leaves):
    """RFC 6962, section 2.1, over hashes of leaves."""
    if not leaves:
        return sha256()
    if len(leaves) == 1:
        return leaves[0]
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return node_hash(tree_hash(leaves[:k]), tree_hash(leaves[k:]))


def groups(commitments):
    return [leaf_hash(b"".join(commitments[i:i + GROUP])) for i in range(0, len(commitments), GROUP)]


def session_root(commitments):
    return tree_hash(groups(commitments))


def subtrees(commitments):
    """`sessions.tree`: the largest complete subtrees over the complete groups."""
    hashes, out, at = groups(commitments), b"", 0
    full = len(commitments) // GROUP
    for bit in range(full.bit_length() - 1, -1, -1):
        if full >> bit & 1:
            out += tree_hash(hashes[at:at + (1 << bit)])
            at += 1 << bit
    return out


# --- leaves of the log ----------------------------------------------------------------------------

def leaf_text(kind, **members):
    return json.dumps({"type": kind} | {name: members[name] for name in LEAVES[kind]}, separators=(",", ":"))


def parse_leaf(text):
    """The members of a leaf. Malformed if it is not exactly as described."""
    try:
        leaf = json.loads(text)
        again = json.dumps(leaf, separators=(",", ":"), ensure_ascii=False)
    except (ValueError, UnicodeDecodeError, RecursionError):
        raise Malformed("is not JSON") from None
    if not isinstance(leaf, dict) or again.encode() != text:
        raise Malformed("is not a JSON object in the form of a leaf")
    names = LEAVES.get(leaf.get("type")) if isinstance(leaf.get("type"), str) else None
    if names is None or tuple(leaf) != ("type", *names):
        raise Malformed("does not have the members of a leaf")
    for name in names:
        value = leaf[name]
        if value is None and name in NULLABLE:
            continue
        if type(value) is not (int if name in NUMBERS else str):
            raise Malformed(f"has the wrong type of value in {name}")
        if name in HASHES and not re.fullmatch("[0-9a-f]{64}", value):
            raise Malformed(f"has no hash in {name}")
    return leaf


def origin(vault):
    return f"mcp-interposer/{vault}"


def digest_input(changes):
    """Of the leaf redact. `changes`: (record, old, new)."""
    lines = [f"{record} {old.hex()} {new.hex()}\n".encode() for record, old, new in changes]
    return b"".join(sorted(lines, key=lambda line: line.rsplit(b" ", 2)[0]))


# --- keys and notes -------------------------------------------------------------------------------

def base64_bytes(text, n):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Malformed("is not base64") from None
    if len(data) != n or base64.b64encode(data).decode() != text:
        raise Malformed("is not base64 of the right length")
    return data


def key_hash(name, public):
    return sha256(name.encode(), b"\n\1", public)[:4]


def verifier_key(name, public):
    return f"{name}+{key_hash(name, public).hex()}+{base64.b64encode(bytes([1]) + public).decode()}"


def parse_key(text):
    """(name, key hash, public key) of a verifier key."""
    parts = text.split("+", 2)      # the base64 may contain +
    if len(parts) != 3 or not parts[0] or re.search(r"\s", text):
        raise Malformed("is not a verifier key")
    data = base64_bytes(parts[2], 33)
    if data[0] != 1 or parts[1] != key_hash(parts[0], data[1:]).hex():
        raise Malformed("is not an Ed25519 verifier key with its hash")
    return parts[0], key_hash(parts[0], data[1:]), data[1:]


def key_statement(vault, key, previous):
    """What the signatures of a leaf `key` are over."""
    return f"mcp-interposer key\n{origin(vault)}\n{key}\n{previous or '-'}\n".encode()


def checkpoint_text(vault, size, root):
    return f"{origin(vault)}\n{size}\n{base64.b64encode(root).decode()}\n"


def make_note(seed, name, text):
    signature = key_hash(name, ed25519.public_key(seed)) + ed25519.sign(seed, text.encode())
    return f"{text}\n\N{EM DASH} {name} {base64.b64encode(signature).decode()}\n"


class Note:
    """A signed checkpoint: origin, size, root, text, signatures [(name, key hash, signature)]."""

    def __init__(self, note):
        text, empty, signatures = note.partition("\n\n")
        self.text = text + "\n"
        lines = text.split("\n")
        if not empty or not signatures.endswith("\n") or len(lines) < 3 or not re.fullmatch("0|[1-9][0-9]{0,18}", lines[1]):
            raise Malformed("is not a checkpoint")
        self.origin, self.size, self.root = lines[0], int(lines[1]), base64_bytes(lines[2], 32)
        self.signatures = []
        for line in signatures[:-1].split("\n"):
            parts = line.split(" ")
            if len(parts) != 3 or parts[0] != "\N{EM DASH}":
                raise Malformed("has a signature line of another form")
            try:
                data = base64.b64decode(parts[2], validate=True)
            except ValueError:
                raise Malformed("has a signature that is not base64") from None
            self.signatures.append((parts[1], data[:4], data[4:]))

    def signed_by(self, key):
        """Signatures of other keys, for example of witnesses, are ignored."""
        name, short, public = parse_key(key)
        found = [s for n, h, s in self.signatures if (n, h) == (name, short)]
        return len(found) > 0 and all(ed25519.verify(public, self.text.encode(), s) for s in found)
