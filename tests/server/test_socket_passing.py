"""Sockets that are passed from process to process, here within one process."""

import os
import resource
import socket
from contextlib import contextmanager
from pathlib import Path

import gevent
import pytest

from flatlands.server.net.connection import Connection
from flatlands.server.net.socket_passing import MESSAGE_BYTES_MOST, Passage
from flatlands.server.runtime.limits import Limits
from tests.server.client_frames import client_frame
from tests.server.test_connection import turn


class Ends:
    """Two passages, and what has arrived at the second one."""

    def __init__(self, folder):
        self.here, self.there = Passage(folder), Passage(folder)
        self.arrived = []
        self.there.open("there", self.take)

    def take(self, message, sock):
        self.arrived.append((message, sock))


@pytest.fixture
def ends(tmp_path):
    ends = Ends(tmp_path)
    yield ends
    ends.there.close()
    ends.here.close()
    for _, sock in ends.arrived:
        if sock is not None:
            sock.close()


@pytest.fixture
def pair():
    """A connected socket, and the plain end of its peer."""
    ours, peer = socket.socketpair()
    ours.setblocking(False)
    peer.settimeout(5)
    with ours, peer:
        yield ours, peer


def test_a_socket_arrives_with_its_message_and_its_unread_bytes(ends, pair):
    ours, peer = pair
    peer.send(b"unread")
    assert ends.here.send("there", b"message", ours)
    ours.close()
    peer.send(b" and later")
    turn()
    [(message, sock)] = ends.arrived
    assert message == b"message" and sock.recv(100) == b"unread and later"
    sock.send(b"answer")
    assert peer.recv(100) == b"answer"
    assert not os.get_inheritable(sock.fileno())


def test_messages_come_alone_too_and_in_order(ends):
    assert all(ends.here.send("there", b"%d" % n) for n in range(5))
    turn()
    assert [message for message, _ in ends.arrived] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_receiver_that_is_not_there_gets_nothing(ends, pair):
    assert not ends.here.send("nobody", b"message", pair[0])
    assert not ends.here.send("there", bytes(MESSAGE_BYTES_MOST + 1), pair[0])
    ends.there.close()
    assert not ends.here.send("there", b"message", pair[0])


def test_messages_beyond_what_may_wait_are_refused_at_once(ends):
    sent = 0
    while ends.here.send("there", bytes(1000)):
        sent += 1
        assert sent < 10**6
    assert sent


def test_a_message_under_way_to_a_receiver_that_closes_is_still_taken(ends, pair):
    ours, peer = pair
    assert ends.here.send("there", b"message", ours)
    ours.close()
    ends.there.close()
    [(message, taken)] = ends.arrived
    peer.send(b"hello")
    assert message == b"message" and taken.recv(100) == b"hello"


def test_a_name_is_taken_over_from_its_former_holder(ends, tmp_path):
    later, arrived = Passage(tmp_path), []
    later.open("there", lambda message, _sock: arrived.append(message))
    assert ends.here.send("there", b"message")
    # The former holder closes later, as when a worker is replaced.
    ends.there.close()
    assert ends.here.send("there", b"another")
    turn()
    assert arrived == [b"message", b"another"] and not ends.arrived
    later.close()


def test_opening_a_passage_again_changes_nothing(ends, pair):
    assert ends.here.send("there", b"message", pair[0])
    descriptors = os.listdir("/proc/self/fd")
    ends.there.open("there", ends.take)
    # If a receiver were thrown away while the loop watches it, the process would die as soon as
    # another socket had the number of its descriptor.
    assert os.listdir("/proc/self/fd") == descriptors
    turn()
    [(message, _)] = ends.arrived
    assert message == b"message"


def test_a_receiver_that_fails_neither_ends_nor_leaves_the_client_hanging(ends, pair, tmp_path):
    ours, peer = pair
    came = []

    def fail(message, _sock):
        came.append(message)
        raise ValueError("as a test")

    later = Passage(tmp_path)
    later.open("later", fail)
    assert ends.here.send("later", b"message", ours)
    ours.close()
    turn()
    assert peer.recv(100) == b""
    assert ends.here.send("later", b"another")
    turn()
    assert came == [b"message", b"another"]
    later.close()


# A connection whose socket is passed on.


def epolled():
    """Return how many descriptors the event loop watches with epoll."""
    fd = gevent.get_hub().loop.fileno()
    return Path(f"/proc/self/fdinfo/{fd}").read_text().count("tfd:")


@contextmanager
def no_descriptor_left():
    """Prevent this process from opening descriptors."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.dup(0)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


class Owned:
    """A connection that has begun, and what its owner is told."""

    def __init__(self, sock):
        self.limits = Limits({"evicted": 0})
        self.limited = self.limits.enter("192.0.2.1", lambda: False)
        self.connection = Connection(sock, 4096, b"", "192.0.2.1", self.limited)
        self.messages, self.ends = [], []
        self.connection.on_message = lambda _opcode, payload: self.messages.append(payload)
        self.connection.on_close = lambda *end: self.ends.append(end)
        self.connection.start()
        turn()


def test_the_next_owner_reads_on_exactly_where_the_last_one_stopped(ends, pair):
    ours, peer = pair
    owned = Owned(ours)
    peer.send(client_frame(2, b"one"))
    turn()
    assert owned.messages == [b"one"] and owned.connection.at_rest
    # The peer sends half a message, which the first owner does not read any more.
    data = client_frame(2, b"two")
    peer.send(data[:4])
    watched = epolled()
    assert ends.here.send("there", b"", owned.connection.socket)
    owned.connection.release()
    turn()
    assert epolled() == watched - 1
    assert owned.ends == [] and owned.limits.connections == 0
    after = Owned(ends.arrived[0][1])
    peer.send(data[4:] + client_frame(2, b"three"))
    turn()
    assert owned.messages == [b"one"] and after.messages == [b"two", b"three"]
    after.connection.abort()
    turn()


def test_a_connection_is_passed_on_whole_even_when_no_descriptor_is_left(ends, pair):
    ours, peer = pair
    owned, watched = Owned(ours), epolled()
    with no_descriptor_left():
        assert ends.here.send("there", b"", owned.connection.socket)
        owned.connection.release()
    turn()
    assert ours.fileno() == -1 and owned.limits.connections == 0 and epolled() == watched - 1
    [(_, sock)] = ends.arrived
    sock.close()
    assert peer.recv(100) == b""


def test_a_connection_is_at_rest_only_when_no_byte_waits(pair):
    ours, peer = pair
    owned = Owned(ours)
    data = client_frame(2, b"message")
    for begin in range(1, len(data)):
        peer.send(data[:begin])
        turn()
        assert not owned.connection.at_rest
        peer.send(data[begin:])
        turn()
        assert owned.connection.at_rest
    # A message whose first fragment has come.
    peer.send(client_frame(2, b"mes", fin=False))
    turn()
    assert not owned.connection.at_rest
    peer.send(client_frame(0, b"sage"))
    turn()
    assert owned.connection.at_rest
    owned.connection.send(bytes(10**6))
    assert owned.connection.backlogged and not owned.connection.at_rest
    owned.connection.close()
    assert not owned.connection.at_rest
    owned.connection.abort()
    turn()
