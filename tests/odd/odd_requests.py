"""Odd requests to a server, and what the server of each official SDK and the interposer do with them.

A row: as in odd_answers.py. What the client writes has `%id%` where the id stands.

SDK     READS    the server answers the request
        NOTHING  the server does not answer
way     SAME     the client gets what it gets directly; directly and through the interposer nothing, if the SDK is silent
        MENDED   what it gets directly for `clean`
        REFUSED  the error `code` of the interposer, at once, with the request's id; with null, if the row has NO_ID
"""
from typing import NamedTuple

from odd_answers import MENDED, NOTHING, READS, REFUSED, SAME, Pause

NUMBER = object()       # the id is %id%, a number of the client's own


class Request(NamedTuple):
    section: str
    name: str
    parts: list
    sdk: str
    way: str
    clean: bytes
    why: str
    code: int           # of REFUSED
    id: object          # of the answer


REQUESTS = []
PARSE, INVALID = -32700, -32600
NO_ID = None


def add(way, name, request, sdk, clean=None, why="", code=None, id=NUMBER):
    parts = request if isinstance(request, list) else [request + b"\n"]
    REQUESTS.append(Request(SECTION, name, parts, sdk, way, clean, why, code, id))


def same(name, request, sdk=READS, **more):
    add(SAME, name, request, sdk, **more)


def mended(name, request, clean, sdk=NOTHING):
    add(MENDED, name, request, sdk, clean + b"\n")


def refused(name, request, code=PARSE, sdk=NOTHING, **more):
    add(REFUSED, name, request, sdk, code=code, **more)


def envelope(members):
    return b'{"jsonrpc":"2.0","id":%id%,' + members + b"}"


def ask(arguments):
    return envelope(b'"method":"tools/call","params":{"name":"echo","arguments":' + arguments + b"}")


def text(characters):
    return ask(b'{"text":"' + characters + b'"}')


def value(json):
    return ask(b'{"value":' + json + b"}")


def with_id(spelt):
    return FINE.replace(b"%id%", spelt)


def deep(levels, open_=b"[", inner=b"1", close=b"]"):
    """A request of this many levels in all: three are of its envelope."""
    return value(open_ * (levels - 3) + inner + close * (levels - 3))


FINE = text(b"fine")
UNREAD = "unknown members and methods are forwarded: the protocol grows"
GUESS = "a tool must not run with text that is a guess"
TWICE = "two parsers would read two requests (CVE-2026-27896)"

SECTION = "text that is not UTF-8"
refused("a Latin-1 byte in a value", text(b"caf\xe9"), sdk=READS, why=GUESS)
refused("a Latin-1 byte in a key", value(b'{"caf\xe9":1}'), sdk=READS, why=GUESS)
refused("an overlong slash", text(b"\xc0\xaf"), sdk=READS, why=GUESS)
refused("a cut character", text(b"cut \xe2\x82"), sdk=READS, why=GUESS)
refused("a surrogate pair as two times three bytes", text(b"\xed\xa0\xbd\xed\xb2\xa9"), sdk=READS, why=GUESS)
same("an escape of half a surrogate pair", text(b"\\ud800"))
same("U+2028 as it is", text("a\u2028b".encode()))
refused("UTF-16", "\ufeff".encode("utf-16-le") + FINE.decode().encode("utf-16-le") + b"\n\0", id=NO_ID)

SECTION = "control characters"
refused("a tab in a string", text(b"a\tb"))
refused("NUL in a string", text(b"a\0b"))
refused("a carriage return in a string", text(b"a\rb"))
same("DEL in a string", text(b"a\x7fb"))

SECTION = "numbers"
refused("NaN", value(b"NaN"))
refused("-Infinity", value(b"-Infinity"))
refused("a number with a leading zero", value(b"007"))
same("1e400", value(b"1e400"))
same("a number of 400 digits", value(b"1" * 400))

SECTION = "nesting"
same("600 levels of arrays", deep(600))
same("3,000 levels of objects", deep(3000, b'{"a":', b"1", b"}"))
same("10,000 levels", deep(10_000))
refused("10,001 levels", deep(10_001), sdk=READS, why="deeper than 10,000")

SECTION = "text around, several lines"
refused("a word behind", FINE + b" done")
refused("text in front", b"> " + FINE)
refused("two requests on one line", FINE + b'{"jsonrpc":"2.0","id":"other","method":"ping"}')
refused("pretty-printed", FINE.replace(b"{", b"{\n").replace(b",", b",\n"), id=NO_ID)
refused("a line break after the id", FINE.replace(b'"method"', b'\n"method"'))

SECTION = "the envelope"
refused("id null", with_id(b"null"), INVALID, id=NO_ID)
refused("an id that is true", with_id(b"true"), INVALID, id=NO_ID)
refused("an id that is an array", with_id(b"[1]"), INVALID, id=NO_ID)
refused("id twice", FINE.replace(b'"id":', b'"id":%id%,"id":'), INVALID, READS, why=TWICE)
refused("method twice", FINE.replace(b'"method":', b'"method":"ping","method":'), INVALID, READS, why=TWICE)
refused("no jsonrpc", FINE.replace(b'"jsonrpc":"2.0",', b""), INVALID)
refused("jsonrpc 1.0", FINE.replace(b"2.0", b"1.0"), INVALID)
refused("no method", envelope(b'"params":{}'), INVALID)
refused("a method that is a number", envelope(b'"method":1'), INVALID)
refused("params that are a string", envelope(b'"method":"tools/call","params":"echo"'), INVALID)
refused("a method and a result", FINE[:-1] + b',"result":{}}', INVALID)
refused("an array with a request", b"[" + FINE + b"]", INVALID)
same("an unknown member at the top level", FINE[:-1] + b',"sent_ms":3}', NOTHING, why=UNREAD)
same("an id that is a fraction", with_id(b"1.5"), NOTHING, id=1.5, why="JSON-RPC has them")
same("params that are an array", envelope(b'"method":"tools/call","params":["echo"]'), NOTHING, why="JSON-RPC has them")
same("an id that is an empty string", with_id(b'""'), id="")
same("an id with escapes", with_id(b'"\\u0061\\n\\ud83d\\udca9"'), id="a\n\U0001f4a9")
same("an id that is zero", with_id(b"0"), id=0)
same("an id with a fraction of zero", with_id(b"4000.0"), id=4000)
same("an id with an exponent", with_id(b"5e3"), id=5000)
same("a name with escapes", FINE.replace(b'"method"', b'"m\\u0065thod"'))
same("keys twice in the arguments", value(b'{"a":1,"a":2}'))
same("__proto__ as a key", value(b'{"__proto__":{"a":1}}'))

SECTION = "other mistakes in the JSON"
refused("a comma too many", FINE.replace(b"}}", b",}}"))
refused("single quotes", FINE.replace(b'"', b"'"))
refused("a Windows path", text(b"C:\\dir\\new"))
refused("a comment", FINE.replace(b'"params"', b'/* why */ "params"'))
refused("cut in a string", FINE[:-8])
refused("cut, the id behind the flaw", b'{"jsonrpc":"2.0","method":"tools/call","params":{"path":"C:\\dir"},"id":%id%}')
refused("nothing that is an object", b'"tools/call"', INVALID, id=NO_ID)
refused("a line of text", b"tools/call echo", id=NO_ID)

SECTION = "white space, byte order marks, size"
mended("a byte order mark", b"\xef\xbb\xbf" + FINE, FINE)
same("carriage return and newline", FINE + b"\r")
same("carriage returns between tokens", FINE.replace(b",", b",\r"))
same("empty lines around", b"\n\r\n  \n" + FINE + b"\n\n")
same("the headers of LSP before", b"Content-Length: 71\r\n\r\n" + FINE)
same("in three writes", [FINE[:20], Pause(0.01), FINE[20:50], Pause(0.01), FINE[50:] + b"\n"])
same("a key of 100,000 bytes", value(b'{"' + b"k" * 100_000 + b'":1}'))
same("a text of 1,000,000 bytes", text(b"x" * 1_000_000))
