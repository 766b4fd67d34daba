"""The round in which the server looks after its sessions."""

import time
from collections import Counter
from types import SimpleNamespace

from flatlands.server.clients.sessions import Sessions


class Heard:
    """A session as the round sees it; its client was last heard at `at` seconds."""

    resident = lags_since = None
    heard_at_ping_s = 0.0

    def __init__(self, at):
        self.connection, self.last_heard, self.did = self, at, []

    def ping(self):
        self.did.append("pinged")

    def abort(self):
        self.did.append("let go")


def test_no_session_is_closed_before_it_was_asked_however_long_a_round_takes(monkeypatch):
    quiet, gone = Heard(at=100), Heard(at=100)
    loop = SimpleNamespace(recent_stall_ms=lambda: 0, now=lambda: 0)
    node = SimpleNamespace(loop=loop, stats=Counter(), router=None)
    sessions = Sessions(node, None, None, None)
    sessions.all = {quiet, gone}

    def look_after(second):
        monkeypatch.setattr(time, "monotonic", lambda: second)
        for session in (quiet, gone):
            sessions.check(session)
        monkeypatch.undo()

    look_after(190)
    assert quiet.did == gone.did == ["pinged"]
    quiet.last_heard = 190.2
    look_after(280)
    assert quiet.did == ["pinged", "pinged"] and gone.did == ["pinged", "let go"]
    assert node.stats["given_up"] == 1
