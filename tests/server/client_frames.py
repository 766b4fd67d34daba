"""Frames as clients send them, valid or not, written from RFC 6455 without the server's code."""

import struct

KEY = b"\x11\x82\xf3\x64"


def client_frame(
    opcode: int,
    payload: bytes = b"",
    *,
    fin: bool = True,
    reserved: int = 0,
    key: bytes | None = KEY,
    length: bytes | None = None,
) -> bytes:
    """Return a frame. `length` replaces the bytes of the extended length, 2 or 8 of them."""
    size = len(payload)
    if length is None:
        length = b"" if size < 126 else struct.pack("!H" if size < 65536 else "!Q", size)
        short = size if size < 126 else 126 if size < 65536 else 127
    else:
        short = 126 if len(length) == 2 else 127
    head = bytes([fin << 7 | reserved << 4 | opcode, (key is not None) << 7 | short]) + length
    if key is None:
        return head + payload
    return head + key + bytes(byte ^ key[at % 4] for at, byte in enumerate(payload))


def client_close(code: int, reason: bytes = b"") -> bytes:
    return client_frame(8, struct.pack("!H", code) + reason)
