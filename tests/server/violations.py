"""Byte streams that break RFC 6455, as (name, bytes, close code). Messages may have LIMIT bytes.

Each ends where the violation must be noticed, so a parser that waits for more bytes fails.
"""

import struct

from tests.server.client_frames import client_close, client_frame

LIMIT = 4096

VIOLATIONS = [
    *[
        (f"reserved bits {bits}", client_frame(1, b"a", reserved=bits), 1002)
        for bits in range(1, 8)
    ],
    *[(f"opcode {code}", client_frame(code, b"a"), 1002) for code in (3, 4, 5, 6, 7)],
    *[(f"opcode {code}", client_frame(code, b"a"), 1002) for code in (11, 12, 13, 14, 15)],
    ("a text frame without a mask", client_frame(1, b"hi", key=None), 1002),
    ("a binary frame without a mask", client_frame(2, b"hi", key=None), 1002),
    ("an empty frame without a mask", client_frame(2, key=None), 1002),
    ("a ping without a mask", client_frame(9, key=None), 1002),
    ("a close without a mask", client_frame(8, b"\x03\xe8", key=None), 1002),
    ("a ping in fragments", client_frame(9, b"p", fin=False), 1002),
    ("a pong in fragments", client_frame(10, b"p", fin=False), 1002),
    ("a close in fragments", client_frame(8, b"\x03\xe8", fin=False), 1002),
    ("a ping of 126 bytes", client_frame(9, b"p" * 126), 1002),
    ("a pong of 126 bytes", client_frame(10, b"p" * 126), 1002),
    ("a close of 126 bytes", client_close(1000, b"r" * 124), 1002),
    ("a ping of 70000 bytes, its head", client_frame(9, b"p" * 70000)[:2], 1002),
    ("a last continuation of nothing", client_frame(0, b"a"), 1002),
    ("a first continuation of nothing", client_frame(0, b"a", fin=False), 1002),
    (
        "a continuation after a whole fragmented message",
        client_frame(2, b"a", fin=False) + client_frame(0, b"b") + client_frame(0, b"c"),
        1002,
    ),
    ("a text inside a text", client_frame(1, b"a", fin=False) + client_frame(1, b"b"), 1002),
    ("a binary inside a text", client_frame(1, b"a", fin=False) + client_frame(2, b"b"), 1002),
    (
        "a text inside a binary, behind a ping",
        client_frame(2, b"a", fin=False) + client_frame(9) + client_frame(1, b"b"),
        1002,
    ),
    ("a close of one byte", client_frame(8, b"a"), 1002),
    *[
        (f"a close with code {code}", client_close(code), 1002)
        for code in (0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535)
    ],
    ("125 bytes with a 16-bit length", client_frame(2, b"a" * 125, length=b"\0\x7d"), 1002),
    ("no bytes with a 16-bit length", client_frame(2, length=b"\0\0"), 1002),
    ("no bytes with a 64-bit length", client_frame(2, length=bytes(8)), 1002),
    (
        "4000 bytes with a 64-bit length, the head",
        client_frame(2, length=struct.pack("!Q", 4000))[:10],
        1002,
    ),
    (
        "a 64-bit length with its highest bit, up to this bit",
        client_frame(2, length=struct.pack("!Q", 1 << 63))[:3],
        1002,
    ),
    ("all bits of a 64-bit length", client_frame(2, length=b"\xff" * 8), 1002),
    ("a text that is not UTF-8", client_frame(1, b"\xff\xfe"), 1007),
    ("an overlong character", client_frame(1, b"\xc0\xaf"), 1007),
    ("a surrogate", client_frame(1, b"\xed\xa0\x80"), 1007),
    ("a character past the last", client_frame(1, b"\xf4\x90\x80\x80"), 1007),
    ("a text that ends within a character", client_frame(1, "é".encode()[:1]), 1007),
    (
        "a fragmented text that ends within a character",
        client_frame(1, b"a", fin=False) + client_frame(0, "é".encode()[:1]),
        1007,
    ),
    ("a bad byte in an unfinished text frame", client_frame(1, b"a\xff" + b"b" * 500)[:12], 1007),
    ("a bad byte in a first fragment", client_frame(1, b"a\xff", fin=False), 1007),
    (
        "a character broken by a fragment",
        client_frame(1, "é".encode()[:1], fin=False) + client_frame(0, b"a", fin=False),
        1007,
    ),
    ("a close reason that is not UTF-8", client_close(1000, b"\xff"), 1007),
    ("a close reason that ends within a character", client_close(1000, "é".encode()[:1]), 1007),
    ("a head that declares one byte too many", client_frame(2, b"a" * (LIMIT + 1))[:8], 1009),
    ("a text that declares 70000 bytes", client_frame(1, b"a" * 70000)[:14], 1009),
    ("a head that declares 2^62 bytes", client_frame(2, length=struct.pack("!Q", 1 << 62)), 1009),
    (
        "fragments that together declare too much",
        client_frame(2, b"a" * 3000, fin=False) + client_frame(0, b"a" * 1095)[:8],
        1009,
    ),
    (
        "empty fragments without end",
        client_frame(2, fin=False) + client_frame(0, fin=False) * LIMIT,
        1009,
    ),
]
