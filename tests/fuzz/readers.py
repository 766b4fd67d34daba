"""Fuzzers for the readers of a client's bytes: of the frames, and of the messages in them."""

import random
from typing import Any

from flatlands.server.messages import protocol, texts
from flatlands.server.messages.protocol import MESSAGE_LIMIT, Refused
from flatlands.server.messages.table import Row
from flatlands.server.net.frames import FrameReader
from tests.fuzz.draw import anything, corrupted, mutated, number, packed, text
from tests.fuzz.inputs import Broken, Inputs
from tests.server.client_frames import client_close, client_frame
from tests.server.violations import VIOLATIONS

#: Bytes that a reader may keep in addition to a message: an incomplete header or control frame.
A_LITTLE = 139

_SIZES = (0, 1, 5, 15, 16, 125, 126, 127, 300, 4095, 4096, 4097, 65536)
#: Large sizes are rare, since they take long.
_SHARES = (9, 9, 9, 9, 9, 9, 9, 9, 5, 3, 3, 3, 1)


def frames(chance: random.Random, inputs: Inputs) -> None:
    """Feed a stream to several readers, cut differently for each: all must find the same."""
    stream = b"".join(_frames(chance) for _ in range(chance.randint(1, 6)))
    for _ in range(chance.choice((0, 1, 1, 2))):
        stream = corrupted(chance, stream)
    inputs.add(stream)
    limit = chance.choice((MESSAGE_LIMIT, MESSAGE_LIMIT, 125, 124, 1, 0, 65536))
    cuts = [[stream], cut(chance, stream, 5000), cut(chance, stream, 40)]
    if len(stream) < 2000:
        cuts.append([stream[n : n + 1] for n in range(len(stream))])
    found = [_read(pieces, limit) for pieces in cuts]
    for other in found[1:]:
        if other != found[0]:
            raise Broken(f"with a limit of {limit} it depends on the cuts: {found[0]}, {other}")


def _frames(chance: random.Random) -> bytes:
    """Return the bytes of a frame, or of the frames of a fragmented message."""
    how = chance.randrange(10)
    key = chance.randbytes(4)
    if how == 0:
        return chance.choice(VIOLATIONS)[1]
    if how == 1:
        payload = chance.randbytes(chance.choice(_SIZES[:7]))
        return client_frame(chance.choice((9, 10)), payload, key=key)
    if how == 2 and chance.random() < 0.3:
        return client_close(chance.choice((999, 1000, 1001, 1005, 1012, 4001)), b"why")
    opcode = chance.choice((1, 2, 2))
    size = chance.choices(_SIZES, _SHARES)[0]
    payload = ("é" * size).encode()[:size] if opcode == 1 else chance.randbytes(size)
    if how < 7:
        return client_frame(opcode, payload, key=key)
    cuts = sorted(chance.randint(0, size) for _ in range(chance.randint(1, 4)))
    pieces = [payload[a:b] for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    last = len(pieces) - 1
    return b"".join(
        client_frame(0 if n else opcode, piece, fin=n == last, key=key)
        + (client_frame(9, b"ping") if n < last and chance.random() < 0.3 else b"")
        for n, piece in enumerate(pieces)
    )


def cut(chance: random.Random, stream: bytes, most: int) -> list[bytes]:
    """Return a stream in pieces of various sizes, up to `most` bytes."""
    pieces, at = [], 0
    while at < len(stream):
        size = chance.choice((1, 2, 6, 7, 14, most))
        pieces.append(stream[at : at + size])
        at += size
    return pieces


def _read(pieces: list[bytes], limit: int) -> tuple[Any, ...]:
    reader = FrameReader(limit)
    found = []
    for piece in pieces:
        found += reader.feed(piece)
        kept = len(reader._rest) + len(reader._message or b"")
        if kept > limit + A_LITTLE:
            raise Broken(f"with a limit of {limit} it keeps {kept} bytes")
    error = reader.error
    return found, error and (error.code, error.reason), reader.light


def messages(chance: random.Random, inputs: Inputs) -> None:
    """Have a message read: if it is not refused, its fields must be in the table's ranges."""
    payload = packed(_message(chance))
    how = chance.randrange(6)
    if how == 0:
        payload = corrupted(chance, payload)
    elif how == 1:
        payload = packed(mutated(chance, _message(chance)))
    elif how == 2:
        payload = packed(anything(chance))
    elif how == 3:
        payload = chance.randbytes(chance.choice((0, 1, 2, 5, 30, MESSAGE_LIMIT)))
    elif how == 4 and chance.random() < 0.1:
        payload = chance.choice((b"\x91", b"\x81", b"\xdd", b"\xc7", b"\xdf")) * MESSAGE_LIMIT
    inputs.add(payload)
    try:
        kind, *fields = protocol.read(payload)
    except Refused as refused:
        # The answer to the client must be packable too.
        protocol.error(refused.code, refused.sentence)
        return
    for field, value in zip(protocol.CLIENT_MESSAGES[kind].fields, fields, strict=True):
        if type(value) is str:
            most = max(field.text, field.high if field.type is str else 0)
            if len(value) > most:
                raise Broken(f"{field.name} may have {most} characters, and had {len(value)}")
            for limit in (texts.PLAYER_NAME_LIMIT, texts.TEXT_LIMIT):
                _check_clean(value, limit)
        elif value is None:
            if not field.optional:
                raise Broken(f"{field.name} may not be nil")
        elif type(value) is list:
            if len(value) > field.high:
                raise Broken(f"{field.name} may have {field.high} items, and had {len(value)}")
        elif type(value) is not int or not field.low <= value <= field.high:
            raise Broken(f"{field.name} may not be {value!r}")


def _check_clean(text: str, limit: int) -> None:
    clean = texts.clean(text, limit)
    if clean is None:
        return
    clean.encode()
    if not 1 <= len(clean) <= limit or texts.clean(clean, limit) != clean:
        raise Broken(f"{text!r} was cleaned to {clean!r}")


def _message(chance: random.Random) -> list[Any]:
    kind = chance.choice(list(protocol.CLIENT_MESSAGES))
    return [kind, *drawn(chance, protocol.CLIENT_MESSAGES[kind])]


def drawn(chance: random.Random, row: Row) -> list[Any]:
    """Return fields for a row: in their ranges, at the ends of these, or just outside."""
    message: list[Any] = []
    for field in row.fields:
        if field.optional and chance.random() < 0.5:
            message.append(None)
        elif field.type is list:
            message.append([anything(chance) for _ in range(chance.choice((0, 1, 2, 16, 17)))])
        elif field.type is str or (field.text and chance.random() < 0.5):
            message.append(text(chance))
        else:
            ends = (field.low, field.high)
            near = chance.choice(ends) + chance.choice((0, 0, 0, 1, -1))
            inside = chance.randint(*ends)
            message.append(chance.choice((near, inside, inside, number(chance))))
    return message
