"""A fuzzer for the readers of what brokers' servers send."""

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from flatlands.brokers import mqtt, nats
from flatlands.brokers.link import PARSE_ERRORS
from flatlands.brokers.redis import wire
from tests.fuzz.draw import corrupted
from tests.fuzz.inputs import Broken, Inputs
from tests.fuzz.readers import cut

_PARSERS: dict[str, Callable[[Iterator[bytes]], Iterator[Any]]] = {
    "nats": nats.parse,
    "mqtt": mqtt.parse,
    "redis": wire.parse,
}

_SIZES = ("0", "1", "5", "5", "126", "128", "70000", "1048577", "-1", "-26", "+5", "1_0", "x", "")


def servers(chance: random.Random, inputs: Inputs) -> None:
    """Have a server's stream parsed whole and in pieces: both must find the same items, and
    no more of them than there are bytes."""
    name = chance.choice(list(_PARSERS))
    stream = b"".join(_ITEMS[name](chance) for _ in range(chance.randint(1, 6)))
    for _ in range(chance.choice((0, 1, 1, 2))):
        stream = corrupted(chance, stream)
    inputs.add(stream)
    found = [_read(name, pieces) for pieces in ([stream], cut(chance, stream, 40))]
    if found[0] != found[1]:
        raise Broken(f"it depends on the cuts what {name} says: {found[0]}, {found[1]}")


def _read(name: str, pieces: list[bytes]) -> list[Any]:
    most = sum(map(len, pieces)) + 1
    found: list[Any] = []
    try:
        found += map(repr, islice(_PARSERS[name](iter(pieces)), most))
    except (ConnectionError, *PARSE_ERRORS) as error:
        # What came before the error in the same bytes is not compared.
        return [type(error).__name__]
    if len(found) == most:
        raise Broken(f"{name} finds items without end")
    return found


def _nats(chance: random.Random) -> bytes:
    body = chance.randbytes(chance.choice((0, 5, 126)))
    size = chance.choice((str(len(body)), chance.choice(_SIZES)))
    reply = chance.choice(("", "", " back"))
    return chance.choice(
        (
            f"MSG some.subject {chance.randint(1, 9)}{reply} {size}\r\n".encode() + body + b"\r\n",
            b"PING\r\n",
            b"PONG\r\n",
            b"-ERR 'x'\r\n",
            b'INFO {"max_payload": 5}\r\n',
            b"MSG \r\n",
        )
    )


def _mqtt(chance: random.Random) -> bytes:
    topic = chance.randbytes(chance.choice((0, 3, 200)))
    body = len(topic).to_bytes(2) + topic + b"\0" + chance.randbytes(chance.choice((0, 9, 300)))
    kind = chance.choice((0x20, 0x30, 0x30, 0x90, 0xE0))
    return mqtt.packet(kind, chance.choice((body, body, body[:3], b"")))


def _redis(chance: random.Random) -> bytes:
    size = chance.choice(_SIZES)
    return chance.choice(
        (
            wire.pack((b"message", b"a", chance.randbytes(5))),
            b"+PONG\r\n",
            b"-ERR no\r\n",
            b":1\r\n",
            f"${size}\r\n".encode() + chance.randbytes(5) + b"\r\n",
            f"*{size}\r\n".encode(),
            b"$-1\r\n",
            b"#f\r\n",
        )
    )


_ITEMS = {"nats": _nats, "mqtt": _mqtt, "redis": _redis}
