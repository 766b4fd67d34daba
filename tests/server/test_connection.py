"""A Connection over a socket pair, in this process: what its owner sees."""

import socket

import gevent
import pytest

from flatlands.server.net import connection as connection_module
from flatlands.server.net.connection import CONTROL_LIMIT, Connection
from flatlands.server.net.frames import close_frame, frame
from tests.server.client_frames import client_close, client_frame
from tests.server.servers import until

BIG = frame(bytes(range(256)) * 8000)  # 2 MB: more than a socket pair holds


class Owner:
    """An owner that keeps what it is told."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.messages: list[tuple[int, bytes]] = []
        self.ends: list[tuple[int, str]] = []
        self.drains = 0
        connection.on_message = lambda opcode, payload: self.messages.append((opcode, payload))
        connection.on_close = lambda code, reason: self.ends.append((code, reason))
        connection.on_drain = self.drained

    def drained(self) -> None:
        self.drains += 1


@pytest.fixture
def connect():
    """Return a function that makes an owner with a connection, and the peer's plain socket. Some
    bytes may have arrived before the connection starts."""
    owners = []

    def make(early=b"", start=True):
        ours, peer = socket.socketpair()
        ours.setblocking(False)
        peer.setblocking(False)
        owner = Owner(Connection(ours, 4096, early))
        owners.append((owner, ours, peer))
        if start:
            owner.connection.start()
            turn()
        return owner, peer

    yield make
    for owner, ours, peer in owners:
        peer.close()
        owner.connection.abort()
        turn()
        assert len(owner.ends) == 1 and ours.fileno() == -1


@pytest.fixture
def pair(connect):
    return connect()


def turn() -> None:
    """Let the loop run what is due, and what follows from that: a socket that is ready may have its
    turn after the timer that ends one sleep, but not after the next one.
    """
    for _ in range(5):
        gevent.sleep(0.001)


def ended(owner: Owner) -> None:
    until(lambda: owner.ends)


def read_all(peer: socket.socket) -> bytes:
    """Return what the peer gets until nothing more comes."""
    found, waited = b"", False
    while True:
        try:
            part = peer.recv(1 << 20)
        except BlockingIOError:
            if waited:
                return found
            waited = True
            turn()
            continue
        if not part:
            return found
        found, waited = found + part, False


def test_only_control_frames_are_sent_behind_a_remainder_and_in_order(pair):
    owner, peer = pair
    assert owner.connection.send(BIG)
    assert owner.connection.backlogged
    assert not owner.connection.send(frame(b"skipped"))
    assert owner.connection.send_control(frame(b"one"))
    owner.connection.ping()
    assert owner.connection.send_control(frame(b"two"))
    assert read_all(peer) == BIG + frame(b"one") + b"\x89\x00" + frame(b"two")
    assert not owner.connection.backlogged and owner.drains == 1
    assert owner.connection.send(frame(b"fresh"))
    assert peer.recv(100) == frame(b"fresh")


def test_a_round_trip_is_from_a_ping_to_its_own_pong(pair):
    owner, peer = pair
    pong = client_frame(10)
    peer.send(pong)  # to nothing
    turn()
    assert owner.connection.round_trip == 0
    owner.connection.ping()
    gevent.sleep(0.05)
    owner.connection.ping()  # while the first one is under way
    peer.send(pong)
    until(lambda: owner.connection.round_trip)
    first = owner.connection.round_trip
    assert 0.05 <= first < 30
    peer.send(pong)
    gevent.sleep(0.05)
    assert owner.connection.round_trip == first
    owner.connection.ping()
    peer.send(pong)
    until(lambda: owner.connection.round_trip != first)


def test_a_refused_write_is_kept_whole(pair):
    owner, peer = pair
    while not owner.connection.backlogged:
        owner.connection.send(frame(b"x" * 1000))
    assert len(read_all(peer)) % 1004 == 0


def test_too_many_control_frames_behind_a_remainder_abort(pair):
    owner, _ = pair
    owner.connection.send(BIG)
    full = CONTROL_LIMIT // 64
    assert all(owner.connection.send_control(frame(b"x" * 62)) for _ in range(full))
    assert not owner.connection.send_control(b"!")
    turn()
    assert owner.ends == [(1006, "")]


def test_callbacks_never_run_inside_a_call_by_the_owner(pair):
    owner, peer = pair
    peer.close()
    while owner.connection.send(frame(b"into the void")):
        pass
    owner.connection.abort()
    assert owner.ends == []
    turn()
    assert owner.ends == [(1006, "")]


IN_ORDER = {
    "pings in a row, then a message": (
        b"".join(client_frame(9, bytes([n])) for n in range(9)) + client_frame(2, b"m"),
        b"".join(frame(bytes([n]), 10) for n in range(9)) + frame(b"m"),
    ),
    "a message, then a ping": (
        client_frame(2, b"m") + client_frame(9, b"p" * 125),
        frame(b"m") + frame(b"p" * 125, 10),
    ),
    "a ping between two fragments": (
        client_frame(1, b"a", fin=False) + client_frame(9, b"p") + client_frame(0, b"b"),
        frame(b"p", 10) + frame(b"ab", 1),
    ),
    "a pong that nobody asked for": (client_frame(10, b"?") + client_frame(2), frame(b"")),
    "a message before a violation, and one behind it": (
        client_frame(2, b"good") + client_frame(3) + client_frame(2, b"never"),
        frame(b"good") + close_frame(1002, "Opcode 3 is not defined."),
    ),
    "a close, and frames behind it": (
        client_close(1000) + client_frame(2, b"m") + client_frame(9),
        close_frame(1000),
    ),
    "an empty close": (client_frame(8), close_frame()),
    "a close of 125 bytes": (client_close(1000, b"r" * 123), close_frame(1000)),
    **{
        f"a close with {code}": (client_close(code, b"why"), close_frame(code))
        for code in (1001, 1002, 1003, 1007, 1011, 1012, 1014, 3000, 4001, 4999)
    },
}


@pytest.mark.parametrize(("stream", "answers"), IN_ORDER.values(), ids=IN_ORDER)
def test_frames_are_answered_in_order(pair, stream, answers):
    owner, peer = pair
    connection = owner.connection
    connection.on_message = lambda opcode, payload: connection.send(frame(payload, opcode))
    peer.send(stream)
    assert read_all(peer) == answers


LIGHT = {
    "pings": client_frame(9),
    "pongs": client_frame(10),
    "empty messages": client_frame(2),
    "small fragments": client_frame(2, b"x", fin=False) + client_frame(0, b"y"),
}


@pytest.mark.parametrize("light", LIGHT.values(), ids=LIGHT)
def test_a_flood_of_frames_that_carry_nothing_is_closed(pair, light, monkeypatch):
    monkeypatch.setattr(connection_module, "monotonic", lambda: 1000.0)
    owner, peer = pair
    peer.send(light * 40)
    turn()
    assert owner.connection.open
    peer.send(light * 80)
    turn()
    assert not owner.connection.open
    assert read_all(peer).endswith(
        close_frame(1008, "Send at most 20 pings or empty frames a second.")
    )


def test_frames_that_carry_nothing_are_tolerated_at_a_decent_pace(pair, monkeypatch):
    owner, peer = pair
    clock = [1000.0]
    monkeypatch.setattr(connection_module, "monotonic", lambda: clock[0])
    for _ in range(50):
        peer.send((client_frame(9) + client_frame(10)) * 10)
        turn()
        clock[0] += 1.0
        assert read_all(peer) == frame(b"", 10) * 10
    assert owner.connection.open


def test_a_flood_after_our_close_is_not_read_for_long(pair):
    owner, peer = pair
    owner.connection.close(1008, "enough")
    with pytest.raises(BlockingIOError):
        for _ in range(3000):
            peer.send(client_frame(9, b"x" * 100) * 100)
            turn()
    assert read_all(peer) == close_frame(1008, "enough")


def test_early_bytes_are_delivered_first_and_not_inside_start(connect):
    owner, peer = connect(early=client_frame(2, b"first"), start=False)
    peer.send(client_frame(2, b"second"))
    owner.connection.start()
    owner.connection.start()
    assert owner.messages == []
    turn()
    assert owner.messages == [(2, b"first"), (2, b"second")]


def test_close_is_sent_once_and_answered(pair):
    owner, peer = pair
    owner.connection.close(4001, "enough")
    owner.connection.close(4002, "more than enough")
    assert not owner.connection.open
    assert not owner.connection.send(frame(b"late"))
    assert not owner.connection.send_control(frame(b"late"))
    peer.send(client_frame(2, b"late") + client_close(4001))
    assert read_all(peer) == close_frame(4001, "enough")
    peer.close()
    turn()
    assert owner.messages == [] and owner.ends == [(4001, "enough")]


def test_a_close_waits_for_the_remainder(pair):
    owner, peer = pair
    owner.connection.send(BIG)
    owner.connection.close(4001)
    assert read_all(peer) == BIG + close_frame(4001)
    assert owner.drains == 0


@pytest.mark.parametrize("how", ["nobody answers", "a remainder is stuck", "the peer closes"])
def test_a_close_that_does_not_come_to_an_end_is_ended_in_time(monkeypatch, pair, how):
    monkeypatch.setattr(connection_module, "CLOSE_TIMEOUT", 0.05)
    owner, peer = pair
    if how == "the peer closes":
        peer.send(client_close(4001, b"enough"))
        turn()
        assert not owner.connection.open
    else:
        if how == "a remainder is stuck":
            owner.connection.send(BIG)
        owner.connection.close(4001, "enough")
    ended(owner)
    assert owner.ends == [(4001, "enough")]


@pytest.mark.parametrize("end", ["close", "abort"])
def test_an_owner_that_closes_or_aborts_in_a_message_gets_none_after_it(pair, end):
    owner, peer = pair

    def on_message(opcode, payload):
        owner.messages.append((opcode, payload))
        owner.connection.close(4001) if end == "close" else owner.connection.abort()

    owner.connection.on_message = on_message
    peer.send(client_frame(2, b"one") + client_frame(2, b"two") + client_frame(9) + client_frame(3))
    turn()
    assert owner.messages == [(2, b"one")]
    assert owner.ends == ([] if end == "close" else [(1006, "")])
    assert peer.recv(100) == (close_frame(4001) if end == "close" else b"")


def test_an_owner_knows_whether_more_came_with_a_message(pair):
    owner, peer = pair
    more = []
    owner.connection.on_message = lambda *_: more.append(owner.connection.more)
    one, two, three = (client_frame(2, text) for text in (b"one", b"two", b"three"))
    for stream in (client_frame(9) + one + two + client_frame(9), three):
        peer.send(stream)
        turn()
    assert more == [True, False, False]


BYE = client_close(4000, b"bye")


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (BYE, (4000, "bye")),
        (None, (4000, "bye")),
        *((part, None) for part in (b"", client_frame(1, b"hello")[:4], client_frame(9)[:1])),
    ],
)
def test_the_owner_is_told_of_a_close_before_tcp_ends_but_not_of_an_end_without_one(
    pair, sent, told
):
    owner, peer = pair
    closing = []
    owner.connection.on_closing = lambda code, reason: closing.append((code, reason))
    owner.connection.close(4000, "bye") if sent is None else peer.send(sent)
    turn()
    assert closing == [told] * (told is not None) and owner.ends == []
    peer.close()
    turn()
    assert closing == [told] * (told is not None) and owner.ends == [told or (1006, "")]


def test_a_failing_callback_is_logged_once_and_ends_with_1011(pair, caplog):
    owner, peer = pair
    owner.connection.on_message = lambda *_: 1 / 0
    peer.send(client_frame(2, b"one") + client_frame(2, b"two"))
    turn()
    assert [record.exc_info[0] for record in caplog.records] == [ZeroDivisionError]
    goodbye = close_frame(1011, "Internal error while handling a message.")
    assert peer.recv(100)[:4] == goodbye[:4]


def test_a_failing_drain_ends_with_1011_and_a_failing_on_close_is_logged_too(pair, caplog):
    owner, peer = pair

    def on_close(code, reason):
        owner.ends.append((code, reason))
        raise RuntimeError

    owner.connection.on_drain = lambda: 1 / 0
    owner.connection.on_close = on_close
    owner.connection.send(BIG)
    assert read_all(peer)[len(BIG) :][2:4] == b"\x03\xf3"
    peer.close()
    ended(owner)
    logged = [record.exc_info[0] for record in caplog.records]
    assert logged == [ZeroDivisionError, RuntimeError]


def test_an_ended_connection_takes_any_call(pair):
    owner, peer = pair
    peer.close()
    ended(owner)
    assert not owner.connection.send(b"") and not owner.connection.send_control(b"")
    owner.connection.ping()
    owner.connection.close()
    owner.connection.abort()
    owner.connection.start()
    turn()
    assert owner.ends == [(1006, "")]


def test_a_connection_closed_before_its_start_says_goodbye(connect):
    owner, peer = connect(early=client_frame(2, b"early"), start=False)
    owner.connection.close(1013, "full")
    owner.connection.start()
    peer.send(client_close(1013))
    assert read_all(peer) == close_frame(1013, "full")
    peer.close()
    ended(owner)
    assert owner.ends == [(1013, "full")] and owner.messages == []
