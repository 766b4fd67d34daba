"""A bot of examples/ in Flatlands, where it also waves; and the bots of a swarm."""

import pytest

from flatlands.loadtest.swarm.scenarios import OWN, scenario
from games.flatlands.tests.servers import serving
from tests.socket_client import SocketClient, together
from tests.test_examples import bots, said_by


@pytest.mark.process
def test_the_greeter_greets_by_name_comes_near_and_returns_a_wave():
    with serving() as server, bots() as start:
        watcher = SocketClient(server.port).hello("Watcher")
        start("examples.greeter", server)
        watcher.until(lambda: said_by(watcher, "Greeter Bot"))
        assert "Hello, Watcher!" in said_by(watcher, "Greeter Bot")[0]
        ada = SocketClient(server.port).hello("Ada")
        both = watcher, ada
        together(both, lambda: any("Hello, Ada!" in text for text in said_by(ada, "Greeter Bot")))
        greeter = next(p for p in ada.model.players.values() if p.name == "Greeter Bot")

        def is_near():
            (x, y), (bx, by) = ada.at(), ada.at(greeter.id)
            return abs(x + 2048 - bx) < 64 and abs(y - by) < 64

        together(both, is_near)
        before = len(ada.model.game_events)
        ada.send(35, "emote", [1])
        together(both, lambda: ("Greeter Bot", 1) in ada.model.game_events[before:])


def test_a_swarm_plays_as_the_bot_of_flatlands_if_no_game_is_named():
    assert scenario(OWN, "").move.__module__ == "<run_path>"
