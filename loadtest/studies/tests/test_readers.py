"""What a later version of the server may send is ignored by all that read its messages here."""

import msgpack
import pytest

from flatlands.loadtest.studies.connections.dialects import Talk
from flatlands.loadtest.studies.floods import Field
from flatlands.loadtest.studies.growth.walkers import Walker
from flatlands.server.net.frames import frame
from tests.test_tomorrow import check


def idle(told):
    """Return what a connection of growth/walkers.py knows, which the scenario idle uses too."""
    game, talk = Walker("localhost", "/ws"), Talk()
    came = [game.came(talk, b"HTTP/1.1 101\r\n\r\n")[0]]
    for _, messages in told:
        frames = b"".join(frame(msgpack.packb(message)) for message in messages if message[0] != 24)
        came.append(game.came(talk, frames)[0])
    return came, talk.flush, talk.owes, talk.ready, game._places[talk]


def floods(told):
    """Return what a player of floods.py knows."""
    field, player = Field.__new__(Field), type("Player", (), {})()
    field.pongs, field.moves, field.gap, field.pong_at = [], [], 0.0, 0.0
    player.id = player.ahead = player.flush = 0
    player.named, player.moves = None, dict.fromkeys(range(300), 0.0)
    for now, messages in told:
        for message in messages:
            field._take(player, msgpack.packb(message), float(now))
    return field.pongs, field.moves, field.gap, vars(player)


@pytest.mark.parametrize("reader", [idle, floods])
def test_items_and_kinds_of_later_versions_change_nothing(reader):
    check(reader)
