"""Odd answers to a `tools/call`, and what each official SDK and the interposer do with them.

A row: a section of the table; a name; the bytes that the server writes, with `%id%` where the id of the request stands; what the SDK does with
them directly; what a client gets through the interposer.

SDK     READS    the call returns a result, or the error that the server sent
        FAILS    the call fails: the SDK rejects the result that it has read
        NOTHING  the call never ends
way     SAME     what the SDK shows directly
        MENDED   what the SDK shows directly for the same answer without the flaw (`clean`)
        REFUSED  an error of the interposer, at once
"""
from typing import NamedTuple

READS, FAILS, NOTHING = "reads", "fails", "nothing"
SAME, MENDED, REFUSED = "same", "mended", "refused"


class Pause(NamedTuple):
    """Between two parts of an answer."""
    seconds: float


class Answer(NamedTuple):
    section: str
    name: str
    parts: list             # bytes and Pause
    sdk: str
    way: str
    clean: bytes = None     # of MENDED
    why: str = ""           # of REFUSED, where the SDK reads the answer; of SAME, where it never ends


ANSWERS = []


def add(way, name, answer, sdk, clean=None, why=""):
    parts = answer if isinstance(answer, list) else [answer + b"\n"]
    ANSWERS.append(Answer(SECTION, name, parts, sdk, way, clean, why))


def same(name, answer, sdk=READS, why=""):
    add(SAME, name, answer, sdk, why=why)


def mended(name, answer, clean, sdk=NOTHING):
    add(MENDED, name, answer, sdk, clean + b"\n")


def refused(name, answer, sdk=NOTHING, why=""):
    add(REFUSED, name, answer, sdk, why=why)


def envelope(members):
    return b'{"jsonrpc":"2.0","id":%id%,' + members + b"}"


def result(value):
    return envelope(b'"result":' + value)


def text(characters):
    return result(b'{"content":[{"type":"text","text":"' + characters + b'"}]}')


def value(json):
    """A structured result with this value in it."""
    return result(b'{"content":[],"structuredContent":{"value":' + json + b"}}")


def error(members):
    return envelope(b'"error":{' + members + b"}")


def pretty(newline, step=b"  "):
    return [newline + step * n + line for n, line in (
        (1, b'"jsonrpc": "2.0",'), (1, b'"id": %id%,'), (1, b'"result": {'), (2, b'"content": ['), (3, b"{"),
        (4, b'"type": "text",'), (4, b'"text": "fine"'), (3, b"}"), (2, b"]"), (1, b"}"), (0, b"}"))]


def deep(levels, open_=b"[", inner=b"1", close=b"]"):
    """An answer of this many levels in all: three are of its envelope."""
    return value(open_ * (levels - 3) + inner + close * (levels - 3))


FINE = text(b"fine")
FAILED = error(b'"code":-32000,"message":"failed"')
REQUEST = b'{"jsonrpc":"2.0","id":%id%,"method":"tools/call","params":{"name":"odd","arguments":{}}}'
LOG = b'{"level":30,"time":1700000000000,"pid":7,"msg":"listening"}\n'

# Every maximal invalid part becomes U+FFFD, as in Node.
SECTION = "text that is not UTF-8"
same("a Latin-1 byte in a value", text(b"caf\xe9"))
same("a Latin-1 byte in a key", value(b'{"caf\xe9":1}'))
same("a Latin-1 byte in an error's message", error(b'"code":-32000,"message":"d\xe9j\xe0 vu"'))
same("quotation marks of Windows-1252", text(b"\x93fine\x94"))
same("a Latin-1 byte in a name at the top level", envelope(b'"caf\xe9":1,"result":{"content":[]}'), NOTHING,
     why="unknown members are forwarded: the protocol grows")
same("an overlong slash, two bytes", text(b"\xc0\xaf"))
same("an overlong slash, three bytes", text(b"\xe0\x80\xaf"))
same("a character cut before the quotation mark", text(b"cut \xe2\x82"))
same("a character of four bytes without its last", text(b"\xf0\x9f\x92 cut"))
same("a surrogate pair as two times three bytes", text(b"\xed\xa0\xbd\xed\xb2\xa9"))
same("a code point above U+10FFFF", text(b"\xf4\x90\x80\x80"))
same("bytes that are never in UTF-8", text(b"\xff\xfe\xf8"))
same("a continuation byte alone", text(b"a\x80b"))
same("valid and invalid text in turn", text(b"\xc3\xa9\xe9\xe2\x82\xac\xe2\x82\xf0\x9f\x92\xa9\xf0\x9f\xc3"))
same("an escape of half a surrogate pair", text(b"\\ud800"))
same("U+2028 as it is", text("a\u2028b".encode()))
same("U+FEFF within a text", text(b"a\xef\xbb\xbfb"))
same("an invalid byte before a backslash", text(b"\xe9\\n\xe9\\\\"))

SECTION = "control characters"
mended("a tab in a string", text(b"a\tb"), text(b"a\\tb"))
mended("NUL in a string", text(b"a\0b"), text(b"a\\u0000b"))
mended("colours: ESC in a string", text(b"\x1b[31mred\x1b[0m"), text(b"\\u001b[31mred\\u001b[0m"))
mended("a carriage return in a string", text(b"a\rb"), text(b"a\\rb"))
mended("a control character in a key", value(b'{"a\x01b":1}'), value(b'{"a\\u0001b":1}'))
mended("all control characters but newline", text(bytes(c for c in range(32) if c != 10)),
       text(b"".join(b"\\u%04x" % c for c in range(32) if c != 10)))
mended("a tab and a Latin-1 byte", text(b"\tcaf\xe9"), text(b"\\tcaf\xe9"))
same("DEL in a string", text(b"a\x7fb"))

SECTION = "numbers"
mended("NaN", value(b"NaN"), value(b"null"))
mended("Infinity", value(b"Infinity"), value(b"null"))
mended("-Infinity", value(b"-Infinity"), value(b"null"))
mended("NaN in an array, several times", value(b'[1,NaN,"NaN",{"a":-Infinity}]'), value(b'[1,null,"NaN",{"a":null}]'))
mended("NaN without a space before what follows", value(b'{"a":NaN,"b":[NaN]}'), value(b'{"a":null,"b":[null]}'))
same("1e400", value(b"1e400"))
same("a number of 400 digits", value(b"1" * 400))
same("-0 and 1E+2", value(b"[-0,1E+2,1e-400]"))
refused("a number that ends with a point", value(b"1."))
refused("a number that begins with a point", value(b".5"))
refused("a number with a leading zero", value(b"007"))
refused("a hexadecimal number", value(b"0x1F"))
refused("undefined", value(b"undefined"))
refused("True, None, of Python", value(b"[True,None]"))

SECTION = "nesting"
same("600 levels of arrays", deep(600))
same("3,000 levels of arrays", deep(3000))
same("3,000 levels of objects", deep(3000, b'{"a":', b"1", b"}"))
same("10,000 levels", deep(10_000))
refused("10,001 levels", deep(10_001), READS, why="deeper than 10,000")
refused("100,000 levels", deep(100_000), READS, why="deeper than 10,000")
same("3,000 levels around a Latin-1 byte", deep(3000, inner=b'"caf\xe9"'))
mended("3,000 levels around NaN", deep(3000, inner=b"NaN"), deep(3000, inner=b"null"))
refused("3,000 levels, the id behind them, cut", b'{"jsonrpc":"2.0","result":' + b"[" * 3000 + b"]" * 3000 + b',"id":%id%,"note":"cut')

SECTION = "members that are null"
mended("error null beside a result", envelope(b'"result":{"content":[]},"error":null'), result(b'{"content":[]}'))
mended("error null before a result", envelope(b'"error":null,"result":{"content":[]}'), result(b'{"content":[]}'))
mended("result null beside an error", envelope(b'"result":null,"error":{"code":-32000,"message":"failed"}'), FAILED)
mended("result null behind an error", envelope(b'"error":{"code":-32000,"message":"failed"} , "result" : null'), FAILED)
mended("an error with id null", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"failed"}}', FAILED)
refused("result null", result(b"null"))
refused("error null", envelope(b'"error":null'))
refused("result null and error null", envelope(b'"result":null,"error":null'))

SECTION = "text around a message"
mended("a word behind", FINE + b" done", FINE)
mended("a comma behind", FINE + b",", FINE)
mended("one brace too many", FINE + b"}", FINE)
mended("a comment behind", FINE + b" // done", FINE)
mended("NUL behind", FINE + b"\0", FINE)
mended("a log text in front", b"INFO answered in 3 ms " + FINE, FINE)
mended("a log level in brackets in front", b"[INFO] " + FINE, FINE)
mended("a log level in brackets in front of NaN", b"[INFO] [db] " + value(b"NaN"), value(b"null"))
mended("colours in front", b"\x1b[0m" + FINE, FINE)
mended("the field name of an event stream in front", b"data: " + FINE, FINE)
mended("text in front and behind", b"> " + FINE + b" <", FINE)
mended("Latin-1 text in front", b"r\xe9ponse " + FINE, FINE)
refused("a time in brackets in front, and cut", b"[12:04:05] " + FINE[:-8])
refused("two messages on one line", FINE + b' {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}')
refused("the answer twice on one line", FINE + FINE)

SECTION = "over several lines"
mended("pretty-printed", b"{" + b"".join(pretty(b"\n")), FINE)
mended("pretty-printed with CRLF", b"{" + b"".join(pretty(b"\r\n")) + b"\r", FINE)
mended("pretty-printed with tabs", b"{" + b"".join(pretty(b"\n", b"\t")), FINE)
mended("pretty-printed, line by line with pauses",
       [b"{"] + [x for line in pretty(b"\n") for x in (Pause(0.005), line)] + [b"\n"], FINE)
mended("pretty-printed, with a Latin-1 byte", b"{" + b"".join(pretty(b"\n")).replace(b"fine", b"caf\xe9"), text(b"caf\xe9"))
mended("a line break in a string", text(b"a\nb"), text(b"a\\nb"))
mended("an empty line in a string", text(b"a\n\nb"), text(b"a\\n\\nb"))
mended("a line break after a comma", FINE.replace(b'"result"', b'\n"result"'), FINE)
mended("lines that are values themselves", value(b"[\n1,\n2\n]"), value(b"[1,2]"))

SECTION = "the envelope"
refused("no result and no error", b'{"jsonrpc":"2.0","id":%id%}')
refused("a result and an error", envelope(b'"result":{"content":[]},"error":{"code":-32000,"message":"failed"}'))
refused("an array with the answer", b"[" + FINE + b"]")
refused("a result and a method", envelope(b'"method":"tools/call","result":{"content":[]}'))
refused("no jsonrpc", FINE.replace(b'"jsonrpc":"2.0",', b""))
refused("JSON-RPC 1.0: no jsonrpc, error null", b'{"id":%id%,"result":{"content":[]},"error":null}')
refused("jsonrpc 1.0", FINE.replace(b'"2.0"', b'"1.0"'))
refused("jsonrpc as a number", FINE.replace(b'"2.0"', b"2.0"))
refused("an error without a code", error(b'"message":"failed"'))
refused("an error without a message", error(b'"code":-32000'))
refused("a code that is a string", error(b'"code":"-32000","message":"failed"'))
refused("a code that is a fraction", error(b'"code":-32000.5,"message":"failed"'))
refused("an error that is a string", envelope(b'"error":"failed"'))
refused("result twice", envelope(b'"result":{"content":[]},"result":{"content":[]}'), READS,
        why="two parsers would read two messages (CVE-2026-27896)")
refused("id twice", b'{"jsonrpc":"2.0","id":%id%,"id":%id%,"result":{"content":[]}}', READS,
        why="two parsers would read two messages (CVE-2026-27896)")
refused("id twice, once escaped", b'{"jsonrpc":"2.0","id":%id%,"\\u0069d":%id%,"result":{"content":[]}}', READS,
        why="two parsers would read two messages (CVE-2026-27896)")
same("a code that is a whole number with a fraction", error(b'"code":-32000.0,"message":"failed"'))
same("an error with other members", error(b'"code":-32000,"message":"failed","stack":["a"],"data":null'))
same("the id as a string", FINE.replace(b"%id%", b'"%id%"'))
same("the id with a fraction of zero", FINE.replace(b"%id%", b"%id%.0"))
same("the members in another order", b'{"result":{"content":[]},"id":%id%,"jsonrpc":"2.0"}')
same("a name with escapes", b'{"jsonrpc":"2.0","\\u0069d":%id%,"r\\u0065sult":{"content":[]}}')
same("keys twice inside the result", value(b'{"a":1,"a":2,"a":{"b":3,"b":4}}'))
same("__proto__ as a key", value(b'{"__proto__":{"a":1},"constructor":1}'))
same("an unknown member at the top level", envelope(b'"result":{"content":[]},"took_ms":3'), NOTHING,
     why="unknown members are forwarded: the protocol grows")
same("an empty result", result(b"{}"))
same("a result that is a string", result(b'"fine"'), NOTHING, why="results that are neither object nor null are forwarded")
same("a result that is an array", result(b"[1]"), NOTHING, why="results that are neither object nor null are forwarded")
same("a content that is not an array", result(b'{"content":"fine"}'), FAILS)

SECTION = "other mistakes in the JSON"
refused("a comma too many in an object", FINE.replace(b"}]", b",}]"))
refused("a comma too many in an array", FINE.replace(b"}]", b"},]"))
refused("a comma too many at the end", FINE[:-1] + b",}")
refused("a comma missing", FINE.replace(b'","text"', b'" "text"'))
refused("single quotes", FINE.replace(b'"', b"'"))
refused("keys without quotes", b'{jsonrpc:"2.0",id:%id%,result:{content:[]}}')
refused("a Windows path", text(b"C:\\dir\\new"))
refused("an escape of two digits", text(b"\\x41"))
refused("an escape of a single quote", text(b"it\\'s"))
refused("a comment", FINE.replace(b'"result"', b'/* the result */ "result"'))
refused("a quotation mark in a string", text(b'say "hello"'))
refused("cut in a string", FINE[:-8])
refused("cut behind a key", result(b'{"content"')[:-1])
refused("cut within an escape", text(b"caf\\u00e9")[:-7])
refused("without the last brace", FINE[:-1])
refused("cut, the id behind the flaw", b'{"jsonrpc":"2.0","result":{"path":"C:\\dir"},"id":%id%}')
refused("a no-break space between tokens", FINE.replace(b'"result":', b'"result":\xc2\xa0'))
refused("a form feed between tokens", FINE.replace(b'"result":', b'"result":\f'))

SECTION = "white space, other lines, size"
mended("a byte order mark", b"\xef\xbb\xbf" + FINE, FINE)
same("carriage return and newline", FINE + b"\r")
same("two carriage returns", FINE + b"\r\r")
same("carriage returns between tokens", FINE.replace(b",", b",\r"))
same("white space around", b" \t" + FINE + b"  \t")
same("empty lines around", b"\n\r\n  \n" + FINE + b"\n\n")
same("a banner before", b"Server 1.0 listening on stdio\n\n" + FINE)
same("a Latin-1 banner before", b"D\xe9marrage...\n" + FINE)
same("a log in JSON before", LOG + FINE)
same("a log in JSON with an id before", b'{"level":30,"id":%id%,"msg":"listening"}\n' + FINE)
same("the request, printed by Python, before", REQUEST.replace(b'"', b"'") + b"\n" + FINE)
same("the request, cut, before", REQUEST[:-9] + b"\n" + FINE)
same("a log text with the request before", b"DEBUG <- " + REQUEST + b"\n" + FINE)
same("the request before", REQUEST + b"\n" + FINE)
same("a log text with the answer before", b"DEBUG -> " + FINE + b"\n" + FINE)
same("the answer, printed by Python, before", FINE.replace(b'"', b"'") + b"\n" + FINE)
same("lines that are JSON values before", b'{}\n[]\nnull\n17\n"text"\n[1,2]\n' + FINE)
same("the headers of LSP before", b"Content-Length: 71\r\n\r\n" + FINE)
same("a traceback before", b'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    {"a": 1}[0]\nKeyError: 0\n' + FINE)
same("an answer to an unknown id before", FINE.replace(b"%id%", b"987654") + b"\n" + FINE)
same("the same answer again", FINE + b"\n" + FINE)
same("a notification before", b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n' + FINE)
same("in three writes", [FINE[:20], Pause(0.01), FINE[20:50], Pause(0.01), FINE[50:] + b"\n"])
same("a key of 100,000 bytes", value(b'{"' + b"k" * 100_000 + b'":1}'))
same("a text of 2,000,000 bytes, one of them Latin-1", text(b"x" * 1_999_999 + b"\xe9"))
same("10,000 keys", value(b"{" + b",".join(b'"k%d":%d' % (n, n) for n in range(10_000)) + b"}"))

SECTION = "nothing says whose answer it is"
NOBODY = "it has no id that is pending"
same("no id", FINE.replace(b'"id":%id%,', b""), NOTHING, why=NOBODY)
same("a result with id null", FINE.replace(b"%id%", b"null"), NOTHING, why=NOBODY)
same("an id in an array", FINE.replace(b"%id%", b"[%id%]"), NOTHING, why=NOBODY)
same("UTF-16", "\ufeff".encode("utf-16-le") + FINE.decode().encode("utf-16-le") + b"\n\0", NOTHING, why=NOBODY)
