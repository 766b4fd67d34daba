"""Emotes: who is muted makes none."""

from flatlands.server.players.moderation import MUTE
from games.flatlands.tests.worlds import ask, lonely


def test_a_muted_player_makes_no_emote():
    world = lonely()
    ada, ben, cid = (
        world.join(name, n % 2, at=(n, 0)) for n, name in enumerate(("Ada", "Ben", "Cid"))
    )
    world.game(1).node.moderation.apply(MUTE, str(ben.id), 60)
    world.run(2)
    assert ask(world, ben, "emote", 1) and not ask(world, cid, "emote", 1)
    assert [who.name for what, who, _ in ada.events if what == "Emote"] == ["Cid"]
