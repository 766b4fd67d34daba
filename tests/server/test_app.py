"""The round in which the server looks after its sessions."""

from collections import Counter
from types import SimpleNamespace

from flatlands.server.app import Server


class Heard:
    """A session as the round knows it, whose client was heard at a time in seconds."""

    resident = None
    pinged = 0.0

    def __init__(self, at):
        self.connection, self.last_heard, self.did = self, at, []
        self.lag = SimpleNamespace(since=None)

    def ping(self):
        self.did.append("pinged")

    def abort(self):
        self.did.append("let go")


def test_nobody_is_let_go_who_was_not_asked_however_long_a_round_takes():
    server = SimpleNamespace(stats=Counter())

    def look_after(session, second):
        Server._look_after(server, session, second * 1000, float(second))

    quiet, gone = Heard(at=100), Heard(at=100)
    for session in (quiet, gone):
        look_after(session, 190)
        assert session.did == ["pinged"]
    quiet.last_heard = 190.2
    for session in (quiet, gone):
        look_after(session, 280)
    assert quiet.did == ["pinged", "pinged"] and gone.did == ["pinged", "let go"]
    assert server.stats["given_up"] == 1
