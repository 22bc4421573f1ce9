"""A reader of strict JSON that accepts any depth: what a client gets from the interposer must pass it."""
import json
import re

TOKEN = re.compile(r'[ \t\r]*(?:("[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")'
                   r'|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)|([][{},:]))')
JSON_DEPTH = 500    # deeper than this Python's own reader may reach its limit of recursion


class Invalid(Exception):
    pass


def refuse(word):
    raise Invalid(f"{word} is not JSON")


def depth(text):
    """The number of levels of one object in JSON, or Invalid."""
    at, deepest, stack, expected = 0, 0, [], "value"
    while stack or at == 0:
        match = TOKEN.match(text, at)
        if not match:
            raise Invalid(f"byte {at}: {text[at:at + 20]!r}")
        string, scalar, sign = match.groups()
        if sign and sign in "{[" and expected in ("value", "first value"):
            stack.append(sign)
            deepest = max(deepest, len(stack))
            expected = "first key" if sign == "{" else "first value"
        elif sign == "}" and stack[-1:] == ["{"] and expected in ("first key", "next") or \
                sign == "]" and stack[-1:] == ["["] and expected in ("first value", "next"):
            stack.pop()
            expected = "next"
        elif sign == "," and expected == "next":
            expected = "key" if stack[-1] == "{" else "value"
        elif sign == ":" and expected == "colon":
            expected = "value"
        elif string and expected in ("key", "first key"):
            expected = "colon"
        elif (string or scalar) and expected in ("value", "first value"):
            expected = "next"
        else:
            raise Invalid(f"byte {match.start()}: {expected} expected")
        at = match.end()
    if text[at:].strip(" \t\r"):
        raise Invalid(f"byte {at}: text behind the message")
    return deepest


def check(line):
    """Raises Invalid unless a line is one message in strict JSON."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as e:
        raise Invalid(str(e)) from e
    if not text.lstrip(" \t").startswith("{"):
        raise Invalid(f"no object: {text[:20]!r}")
    if depth(text) <= JSON_DEPTH:
        json.loads(text, parse_constant=refuse)
