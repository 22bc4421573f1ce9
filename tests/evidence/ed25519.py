"""Ed25519 after RFC 8032, section 5.1, with Python's integers: slow and not constant in time, for tests only.

    public_key(seed) -> 32 bytes       sign(seed, text) -> 64 bytes       verify(public, text, signature) -> bool
"""
import functools
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)
ZERO = (0, 1, 1, 0)


def add(a, b):
    """The sum of two points in extended coordinates: (X, Y, Z, T) with x = X/Z, y = Y/Z, x*y = T/Z."""
    x = (a[1] - a[0]) * (b[1] - b[0]) % P
    y = (a[1] + a[0]) * (b[1] + b[0]) % P
    t, z = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = y - x, z - t, z + t, y + x
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, point):
    result = ZERO
    while n:
        if n & 1:
            result = add(result, point)
        point, n = add(point, point), n >> 1
    return result


def same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def x_of(y, odd):
    """The x of a point with this y, or None."""
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_1 % P
    if (x * x - square) % P or (x == 0 and odd):
        return None
    return x if x & 1 == odd else P - x


def decode(data):
    """The point of 32 bytes, or None."""
    n = int.from_bytes(data, "little")
    y, odd = n & (1 << 255) - 1, n >> 255
    x = x_of(y, odd) if len(data) == 32 and y < P else None
    return None if x is None else (x, y, 1, x * y % P)


def encode(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = (x_of(BASE_Y, 0), BASE_Y, 1, x_of(BASE_Y, 0) * BASE_Y % P)


def number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


@functools.cache    # a hundred vaults have the same notes, and each takes 10 ms
def verify(public, text, signature):
    a, r = decode(public), decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or len(signature) != 64 or s >= L:
        return False
    k = number(signature[:32], public, text) % L
    return same(times(s, BASE), add(r, times(k, a)))


def expand(seed):
    h = hashlib.sha512(seed).digest()
    return int.from_bytes(h[:32], "little") & (1 << 254) - 8 | 1 << 254, h[32:]


def public_key(seed):
    return encode(times(expand(seed)[0], BASE))


def sign(seed, text):
    a, prefix = expand(seed)
    public, r = public_key(seed), number(prefix, text) % L
    point = encode(times(r, BASE))
    return point + ((r + number(point, public, text) * a) % L).to_bytes(32, "little")
