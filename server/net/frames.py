"""WebSocket frames, RFC 6455 section 5: a strict parser for clients' frames, and makers of answers.

Bytes go in, messages come out. Nothing here ever does I/O, waits, reads a clock or uses gevent.
"""

import struct
from codecs import getincrementaldecoder
from typing import Any, Final

# Opcodes, RFC 6455 section 5.2.
CONTINUATION: Final = 0
TEXT: Final = 1
BINARY: Final = 2
CLOSE_FRAME: Final = 8
PING_FRAME: Final = 9
PONG_FRAME: Final = 10

# Close codes, RFC 6455 section 7.4.1.
NORMAL: Final = 1000
PROTOCOL_ERROR: Final = 1002
NO_CODE: Final = 1005  # never sent: "the close frame carried no code"
ABNORMAL: Final = 1006  # never sent: "the connection ended without a close frame"
INVALID_DATA: Final = 1007
POLICY: Final = 1008
TOO_BIG: Final = 1009
INTERNAL_ERROR: Final = 1011

CONTROL_PAYLOAD: Final = 125  # bytes, RFC 6455 section 5.5
CLOSE_REASON: Final = CONTROL_PAYLOAD - 2  # bytes of UTF-8 left behind the code

#: Fragments of fewer bytes count as light: they are mostly header.
SMALL_FRAGMENT: Final = 16

_FIN: Final = 0x80
_RESERVED: Final = 0x70
_OPCODE: Final = 0x0F
_MASKED: Final = 0x80
_LENGTH: Final = 0x7F
_SHORT_HEAD: Final = struct.Struct("!BB")
_MEDIUM_HEAD: Final = struct.Struct("!BBH")
_LONG_HEAD: Final = struct.Struct("!BBQ")
_CODE: Final = struct.Struct("!H")
_Utf8Decoder = getincrementaldecoder("utf-8")

Message = tuple[int, bytes]


class FrameError(Exception):
    """A peer broke the protocol. It has the close code to use, and a sentence that says why."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


class FrameReader:
    """Turns the bytes of one client into messages, however the network cut them.

    `max_message` is the largest payload of a message in bytes. In a fragmented message every
    fragment counts as one byte more than it carries, so that a stream of empty ones ends too.

    `error` is None until the stream breaks a rule, and from then on the FrameError. The `feed` that
    finds the fault still returns the messages that were complete before it.

    `light` counts frames that carry next to nothing: pings, pongs, empty frames and small
    fragments. Its reader may set it to 0.
    """

    __slots__ = (
        "error",
        "light",
        "_max_message",
        "_fresh",
        "_ended",
        "_rest",
        "_opcode",
        "_message",
        "_size",
        "_decoder",
        "_left",
        "_final",
        "_key",
    )

    def __init__(self, max_message: int) -> None:
        self.error: FrameError | None = None
        self.light = 0
        self._max_message = max_message
        # Whether the fast path of feed() may be used: no message has begun, no byte waits and no
        # fault was found; and the limit is so large that the fast path need not check it.
        self._fresh = max_message >= CONTROL_PAYLOAD
        self._ended = False
        self._rest = b""  # an incomplete header or control frame, under 139 bytes
        self._opcode = 0  # of the unfinished message, 0 between messages
        self._message: Any = None  # its payload until now, a bytearray
        self._size = 0  # bytes that its frames count against max_message
        self._decoder: Any = None  # checks an unfinished text message
        self._left = 0  # payload bytes of the current data frame still to come
        self._final = 0  # whether that frame ends its message
        self._key = b""  # its mask, rotated so that it begins at the next byte

    @property
    def fresh(self) -> bool:
        """Whether all that it was fed were whole messages, so that another reader may go on."""
        return not (self._rest or self._opcode or self._ended)

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages that `data` completes, in order, as (opcode, payload).

        TEXT and BINARY messages are whole, and TEXT is valid UTF-8. Control frames come where they
        stood between fragments; the payload of a CLOSE_FRAME is valid for parse_close. Never
        raises: see `error` afterwards. After a fault or a close frame everything is dropped.
        """
        length = len(data) - 6
        # This is by far the usual case: a read with a single short masked binary message.
        if self._fresh and 0 < length < 126 and data[0] == 0x82 and data[1] == length + 128:
            number = int.from_bytes
            payload = number(data[6:], "big") ^ number((data[2:6] * 32)[:length], "big")
            return [(BINARY, payload.to_bytes(length, "big"))]
        if self._ended:
            return []
        messages: list[Message] = []
        try:
            self._parse(self._rest + data if self._rest else data, messages)
        except FrameError as error:
            self.error = error
            self._end()
        self._fresh = not (
            self._rest or self._opcode or self._ended or self._max_message < CONTROL_PAYLOAD
        )
        return messages

    def _end(self) -> None:
        self._ended = True
        self._rest = self._key = b""
        self._message = self._decoder = None

    def _parse(self, data: bytes, messages: list[Message]) -> None:
        """Append to `messages` those that `data` completes, and keep the rest of the bytes.

        Each rule is checked as soon as the bytes that it needs are there, in the order of the
        bytes, so the fault that is found never depends on how the stream was cut.
        """
        at, end = 0, len(data)
        self._rest = b""
        while at < end:
            if self._left:
                chunk = data[at : at + self._left]
                at += len(chunk)
                self._left -= len(chunk)
                self._collect(chunk, messages)
                continue

            head = self._head(data, at, end)
            if head is None:
                break
            final, opcode, length, start = head
            key = data[start - 4 : start]
            if opcode < CLOSE_FRAME:
                at = start
                self._begin(final, opcode, length, key)
                if not length:
                    self._collect(b"", messages)
            elif start + length > end:
                break
            else:
                at = start + length
                payload = _unmask(data[start:at], key)
                if opcode == CLOSE_FRAME:
                    parse_close(payload)
                    messages.append((CLOSE_FRAME, payload))
                    self._end()
                    return
                self.light += 1
                messages.append((opcode, payload))
        self._rest = data[at:]

    def _head(self, data: bytes, at: int, end: int) -> tuple[int, int, int, int] | None:
        """Return what the head of the frame at `at` says, as (whether it is the last of its
        message, opcode, length), and where its payload begins; None if it is not all here."""
        first = data[at]
        opcode = first & _OPCODE
        self._check_first(first, opcode)
        if at + 2 > end:
            return None
        second = data[at + 1]
        length = second & _LENGTH
        if not second & _MASKED:
            raise FrameError(PROTOCOL_ERROR, "A frame from a client must be masked.")
        if opcode >= CLOSE_FRAME and length > CONTROL_PAYLOAD:
            raise FrameError(PROTOCOL_ERROR, "A control frame carries at most 125 bytes.")
        start = at + 2
        if length > 125:
            more, least = (2, 126) if length == 126 else (8, 65536)
            # The highest bit is in the first of eight bytes; the others need not be here.
            if more == 8 and start < end and data[start] & 0x80:
                raise FrameError(PROTOCOL_ERROR, "A frame length had its highest bit set.")
            start += more
            if start > end:
                return None
            length = int.from_bytes(data[start - more : start], "big")
            if length < least:
                raise FrameError(PROTOCOL_ERROR, "A frame length was not in its shortest form.")
        if (
            opcode < CLOSE_FRAME
            and self._size + length + _fragment(first, opcode) > self._max_message
        ):
            raise FrameError(TOO_BIG, f"A message may have at most {self._max_message} bytes.")
        return (first & _FIN, opcode, length, start + 4) if start + 4 <= end else None

    def _begin(self, final: int, opcode: int, length: int, key: bytes) -> None:
        """Begin a data frame, and a message unless the frame continues one."""
        fragment = _fragment(final, opcode)
        if not length or (fragment and length < SMALL_FRAGMENT):
            self.light += 1
        if opcode:
            self._opcode = opcode
            self._message = bytearray()
            if opcode == TEXT:
                self._decoder = _Utf8Decoder()
        self._size += length + fragment
        self._left = length
        self._final = final
        self._key = key

    def _check_first(self, first: int, opcode: int) -> None:
        """Raise FrameError if a frame may not begin with this byte here, sections 5.2 to 5.5."""
        if first & _RESERVED:
            raise FrameError(PROTOCOL_ERROR, "A reserved bit was set, but no extension was agreed.")
        if opcode > PONG_FRAME or BINARY < opcode < CLOSE_FRAME:
            raise FrameError(PROTOCOL_ERROR, f"Opcode {opcode} is not defined.")
        if opcode >= CLOSE_FRAME:
            if not first & _FIN:
                raise FrameError(PROTOCOL_ERROR, "A control frame must not be fragmented.")
        elif opcode:
            if self._opcode:
                raise FrameError(
                    PROTOCOL_ERROR, "A new message began before the last one was complete."
                )
        elif not self._opcode:
            raise FrameError(PROTOCOL_ERROR, "A continuation frame came outside of a message.")

    def _collect(self, chunk: bytes, messages: list[Message]) -> None:
        """Add payload bytes of the current data frame; end the message if they are its last."""
        key = self._key
        payload = _unmask(chunk, key)
        last = self._final and not self._left
        if self._decoder is not None:
            try:
                self._decoder.decode(payload, last)
            except UnicodeDecodeError:
                raise FrameError(INVALID_DATA, "A text message was not valid UTF-8.") from None
        message = self._message
        if last:
            if message:
                message += payload
                payload = bytes(message)
            messages.append((self._opcode, payload))
            self._opcode = self._size = 0
            self._message = self._decoder = None
            self._key = b""
        else:
            message += payload
            turn = len(chunk) & 3
            self._key = key[turn:] + key[:turn]


def _fragment(first: int, opcode: int) -> int:
    """Return 1 for a frame that is only a part of a message, and so counts as a byte more."""
    return not (first & _FIN and opcode)


def _unmask(payload: bytes, key: bytes) -> bytes:
    """Return a payload unmasked, section 5.3. A loop over bytes would be fifty times slower."""
    length = len(payload)
    mask = (key * ((length + 3) >> 2))[:length]
    number = int.from_bytes
    return (number(payload, "big") ^ number(mask, "big")).to_bytes(length, "big")


def frame(payload: bytes, opcode: int = BINARY) -> bytes:
    """Return a whole unmasked frame, as a server sends it, section 5.2."""
    length = len(payload)
    if length < 126:
        return _SHORT_HEAD.pack(_FIN | opcode, length) + payload
    if length < 65536:
        return _MEDIUM_HEAD.pack(_FIN | opcode, 126, length) + payload
    return _LONG_HEAD.pack(_FIN | opcode, 127, length) + payload


def close_frame(code: int = NO_CODE, reason: str = "") -> bytes:
    """Return a close frame, section 5.5.1. NO_CODE makes it empty. A long reason is cut."""
    if code == NO_CODE:
        return frame(b"", CLOSE_FRAME)
    # Errors are ignored because the cut may be inside a character, whose first bytes are left out.
    text = reason.encode()[:CLOSE_REASON].decode(errors="ignore")
    return frame(_CODE.pack(code) + text.encode(), CLOSE_FRAME)


def parse_close(payload: bytes) -> tuple[int, str]:
    """Return the code and reason in a received close frame's payload; (NO_CODE, "") if it is empty.

    Raises FrameError for a single byte or a code that may not be sent (1002), and for a reason that
    is not UTF-8 (1007): sections 5.5.1 and 7.4.
    """
    if not payload:
        return NO_CODE, ""
    if len(payload) == 1:
        raise FrameError(PROTOCOL_ERROR, "A close frame carried half a code.")
    (code,) = _CODE.unpack_from(payload)
    # 1012 to 1014 were registered after the RFC; browsers and proxies do send them.
    if not (1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999):
        raise FrameError(PROTOCOL_ERROR, f"Close code {code} may not be sent.")
    try:
        return code, payload[2:].decode()
    except UnicodeDecodeError:
        raise FrameError(INVALID_DATA, "The reason in a close frame was not valid UTF-8.") from None
