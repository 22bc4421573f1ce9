"""The corpus for the end-to-end tests: reads secrets.txt and lookalikes.txt, generates their values, and adds secrets
that are identified by their key or place, and secrets with escapes.

The needles of a secret are its generated parts; none of them may be found in a vault.
"""
import base64
import json
import random
import re
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
UPPER, LOWER, DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"
ALPHABET = {"a": UPPER + LOWER + DIGITS, "C": UPPER + LOWER + DIGITS, "w": UPPER + LOWER + DIGITS + "_-",
            "b": UPPER + LOWER + DIGITS + "+/", "S": UPPER + LOWER + DIGITS + "+/", "d": DIGITS,
            "h": DIGITS + "abcdef", "H": DIGITS + "ABCDEF", "u": UPPER + DIGITS, "k": UPPER + "234567",
            "l": LOWER + DIGITS}


class Case:
    def __init__(self, name, rule, text, needles):
        self.name, self.rule, self.text, self.needles = name, rule, text, needles


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def checksum(text):
    digits, n, out = DIGITS + UPPER + LOWER, zlib.crc32(text.encode()), ""
    for _ in range(6):
        out, n = digits[n % 62] + out, n // 62
    return out


class Drawer:
    """Expands one line; remembers the generated parts inside a mark."""

    def __init__(self, seed):
        self.random, self.needles, self.inside = random.Random(seed), [], False

    def draw(self, letters, n):
        text = "".join(self.random.choices(letters, k=n))
        return self.keep(text)

    def keep(self, text):
        if self.inside and len(text) >= 8:
            self.needles.append(text)
        return text

    def pem(self, label, newline):
        lines = [self.draw(ALPHABET["b"], n) for n in (64, 64, 64, 64, 24)]
        return newline.join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])

    def named(self, what):
        if what == "jwt":
            claims = json.dumps({"sub": self.draw(DIGITS, 10), "iat": 1767225600}).encode()
            head = base64url(b'{"alg":"HS256","typ":"JWT"}')
            return f"{head}.{self.keep(base64url(claims))}.{self.draw(ALPHABET['w'], 43)}"
        if what == "uuid":
            text = "-".join("".join(self.random.choice(ALPHABET["h"]) for _ in range(n)) for n in (8, 4, 4, 4, 12))
            return self.keep(text)
        if what == "basic":
            secret = self.draw(ALPHABET["w"], 14)
            return self.keep(base64.b64encode(f"bob:{secret}".encode()).decode())
        if what.startswith("pem:"):
            return self.pem(what[4:], "\n")
        if what.startswith("pemn:"):
            return self.pem(what[5:], "\\n")
        if what.startswith("pem64:"):
            whole = base64.b64encode(self.pem(what[6:], "\n").encode()).decode()
            self.keep(whole)
            return whole
        return None

    def value(self, what):
        named = self.named(what)
        if named is not None:
            return named
        m = re.fullmatch(r"([abdhklwuCHS])([1-9]\d*)", what)
        if m is None:
            return "{" + what + "}"
        kind, n = m.group(1), int(m.group(2))
        if kind == "S":
            return self.keep("aB3" + self.draw(ALPHABET["S"], n - 3))
        text = self.draw(ALPHABET[kind], n)
        return text + checksum(text) if kind == "C" else text

    def expand(self, line):
        out = ""
        for part in re.findall(r"«|»|\{[^{}]*\}|\\n|\\\\|[^«»{\\]+|.", line, re.S):
            if part in "«»":
                self.inside = part == "«"
            elif part in ("\\n", "\\\\"):
                out += "\n" if part == "\\n" else "\\"
            elif part.startswith("{") and part.endswith("}"):
                out += self.value(part[1:-1])
            else:
                out += part
        return out


def lines(name):
    for number, line in enumerate((HERE / name).read_text().splitlines(), 1):
        if line and line != "#" and not line.startswith("# "):
            yield number, line


def by_shape(seed=1):
    """Texts with secrets that are recognized by their shape."""
    cases = []
    for number, line in lines("secrets.txt"):
        rule, text = line.split("\t", 1)
        d = Drawer(f"{seed} {number}")
        plain = d.expand(text)
        # words without a generated part (a passphrase) are needles as a whole
        needles = d.needles or re.findall("«(.*?)»", text)
        cases.append(Case(f"secrets.txt:{number}", rule, plain, needles))
    return cases


def lookalikes(seed=1):
    return [Drawer(f"{seed} {number}").expand(line) for number, line in lines("lookalikes.txt")]


class Words:
    """Secrets without a recognizable shape: only their key or place identifies them."""

    def __init__(self, seed):
        self.random = random.Random(f"words {seed}")

    def __call__(self):
        return "".join(self.random.choice(LOWER) for _ in range(14))


def keyed(seed=1):
    """(name, arguments of a call, needles): secrets that only their key identifies."""
    w, out = Words(seed), []

    def add(name, make, n=1):
        words = [w() for _ in range(n)]
        out.append((name, make(*words), words))

    for key in ("password", "Password", "PASSWD", "user_password", "userPassword", "passphrase", "pwd", "secret",
                "client_secret", "clientSecret", "token", "access_token", "refreshToken", "id_token", "api_key",
                "apiKey", "API-KEY", "x-api-key", "Authorization", "proxy-authorization", "cookie", "Set-Cookie",
                "private_key", "privateKey", "secret_access_key", "credentials", "auth_token", "bearer_token",
                "session_token", "signing_key", "encryption_key", "db_password", "smtpPass", "connection_string"):
        add(f"key {key}", lambda s, key=key: {"query": "x", key: s})
    add("nested", lambda s: {"a": {"b": [{"c": {"password": s}}]}})
    add("array value", lambda s, t: {"passwords": [s, t]}, 2)
    add("object value", lambda s: {"secret": {"inner": s, "n": 1}})
    add("header lines", lambda s, t: {"headers": [f"Authorization: Bearer {s}", f"X-Api-Key: {t}"]}, 2)
    add("header objects", lambda s: {"headers": [{"name": "Authorization", "value": f"Bearer {s}"}]})
    add("header object", lambda s: {"headers": {"Authorization": f"Token {s}", "Accept": "*/*"}})
    add("headers in one string", lambda s: {"headers": f"Accept: */*\r\nAuthorization: Bearer {s}\r\nHost: x"})
    add("env map", lambda s, t: {"env": {"GITHUB_TOKEN": s, "PGPASSWORD": t, "PATH": "/bin"}}, 2)
    add("env list", lambda s: {"env": ["PATH=/bin", f"DB_PASSWORD={s}"]})
    add("env names and values", lambda s: {"env": [{"name": "DB_PASSWORD", "value": s}]})
    add("form", lambda s: {"data": f"user=bob&password={s}&x=1"})
    add("query", lambda s: {"url": f"https://x.test/a?user=bob&password={s}#top"})
    add("argv, two", lambda s: {"args": ["--user", "bob", "--password", s]})
    add("argv, one", lambda s: {"args": [f"--password={s}", "-v"]})
    add("JSON in a string", lambda s: {"payload": json.dumps({"user": "bob", "password": s})})
    add("JSON in JSON in a string", lambda s: {"payload": json.dumps({"a": json.dumps({"api_key": s})})})
    add("JSON three deep", lambda s: {"p": json.dumps({"a": json.dumps([json.dumps({"secret": s})])})})
    add("JSON in text", lambda s: {"log": 'sent {"user":"bob","password":"%s"} to x' % s})
    return out
