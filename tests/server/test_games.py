"""Which game a server plays, and what is left of it where there is none."""

import pytest

from flatlands.server import games, settings
from flatlands.server.messages import protocol
from flatlands.server.query.tables import tables
from tests.inside import inside
from tests.socket_client import SocketClient


def test_in_the_quiet_game_players_meet_and_nothing_else_is_there():
    with inside("--game", "quiet", STORE_URL="memory://") as server:
        one, other = (SocketClient(server.port).hello(name) for name in ("One", "Other"))
        one.until(lambda: one.sees(other))
        one.walk(1, 0)
        one.send(6, "is anybody here?")
        other.until(lambda: other.model.chat == [("One", "is anybody here?")])
        for message in (
            (9, 0, 0, "0:0:1"),
            (10, "k" * 32),
            (11,),
            (12, "stones"),
            (protocol.FIND, 0, 0),
        ):
            one.send(*message)
            one.until(lambda: one.model.errors)
            assert one.model.errors.pop() == "game"
        assert one.closed is None and not one.model.things
        one.close()
        other.close()


def test_a_game_has_its_own_options_and_tables():
    flatlands = settings.read(["--gems", "2"], {"DEER": "1"}).of_game
    assert (flatlands.gems, flatlands.gem_pause, flatlands.deer) == (2, 120, 1)
    assert settings.read(["--game", "quiet"], {"DEER": "1"}).of_game is None
    with pytest.raises(SystemExit):
        settings.read(["--game", "quiet", "--gems", "2"], {})
    assert tables("flatlands").keys() - tables("quiet").keys() == {"gem", "cairn", "score"}
    assert games.shipped() == ["flatlands", "quiet"] and games.DEFAULT in games.shipped()
