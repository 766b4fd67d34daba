"""Random inputs for fuzzers: odd numbers, texts and values, and messages that are not quite right.

Everything is drawn from a random.Random, so that the same seed gives the same inputs.
"""

import random
from typing import Any

import msgpack

#: Numbers close to which the ranges of types and limits end.
_EDGES = [0, *(2**bits for bits in (7, 8, 15, 16, 31, 32, 41, 42, 52, 53, 63, 64))]
_LEAST = -(2**63)
_MOST = 2**64 - 1

#: Characters that are invisible, join, reverse text, pile up, or are no characters.
_ODD = "\0\n\x7f\u00a0\u0301\u0489\u200b\u200d\u202e\u2028\u2800\u3164\ufdfd\ufe0f\ufeff\uffff"
_ODD += "\U0001f468\U000e0041\U0010ffff\U00012031\ud800\udfff"
_LETTERS = "abc xyzäß漢ไ"

#: Lengths around which texts become too long.
_LENGTHS = (0, 1, 2, 5, 19, 20, 21, 80, 81, 119, 120, 121, 512, 513, 4000)


def number(chance: random.Random) -> int:
    """Return a whole number near an end of some range, which fits into MessagePack."""
    edge = chance.choice(_EDGES) * chance.choice((1, 1, -1)) + chance.randint(-2, 2)
    return min(max(edge, _LEAST), _MOST)


def text(chance: random.Random) -> str:
    """Return a text of ordinary and odd characters, surrogates included."""
    letters = chance.choice((_LETTERS, _LETTERS, _ODD, _LETTERS + _ODD))
    return "".join(chance.choices(letters, k=chance.choice(_LENGTHS)))


def anything(chance: random.Random, depth: int = 0) -> Any:
    """Return a value of any type that MessagePack has."""
    some = chance.randrange(12 if depth < 3 else 9)
    if some < 3:
        return number(chance)
    if some < 5:
        return text(chance)
    if some == 5:
        return chance.choice((None, True, False))
    if some == 6:
        return chance.choice((0.5, -0.0, 1.0, 1e300, float("inf"), float("nan")))
    if some == 7:
        return chance.randbytes(chance.choice((0, 1, 16, 300)))
    if some == 8:
        kinds = (msgpack.ExtType(chance.randrange(128), b"ext"), msgpack.Timestamp(2**33, 1))
        return chance.choice(kinds)
    if some < 11:
        return [anything(chance, depth + 1) for _ in range(chance.choice((0, 1, 2, 5, 15, 17)))]
    return {chance.choice(("a", 1, None)): anything(chance, depth + 1)}


def mutated(chance: random.Random, message: list[Any]) -> list[Any]:
    """Return a message in which a field, or one in a nested list, is changed, added or removed."""
    message = list(message)
    if not message:
        return [anything(chance)]
    at = chance.randrange(len(message))
    if isinstance(message[at], list) and message[at] and chance.random() < 0.7:
        message[at] = mutated(chance, message[at])
        return message
    how = chance.randrange(8)
    if how == 0:
        del message[at]
    elif how == 1:
        message.insert(at, anything(chance))
    elif how < 5 and type(message[at]) is int:
        message[at] = number(chance)
    else:
        message[at] = anything(chance)
    return message


def corrupted(chance: random.Random, data: bytes) -> bytes:
    """Return bytes with some bits flipped, and some bytes removed, doubled or added."""
    some = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(some) + 1)
        how = chance.randrange(6)
        if how < 3 and at < len(some):
            some[at] ^= 1 << chance.randrange(8)
        elif how == 3:
            del some[at : at + chance.choice((1, 2, 9, 10_000))]
        elif how == 4:
            some[at:at] = chance.randbytes(chance.choice((1, 2, 9)))
        else:
            some[at:at] = some[at : at + chance.choice((1, 6, 40))]
    return bytes(some)


def packed(message: Any) -> bytes:
    """Return a message's bytes. Texts with surrogates make them invalid UTF-8."""
    data = msgpack.packb(message, unicode_errors="surrogatepass")
    assert isinstance(data, bytes)
    return data
