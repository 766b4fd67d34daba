"""The fuzzers: some rounds pass, faults are found, and a seed gives the same inputs again."""

import contextlib
import random

import pytest

from flatlands.server.game import play as played
from flatlands.server.messages import peer_batches, peer_protocol
from flatlands.server.messages.table import NUMBER, Field, Row
from flatlands.server.net import frames
from flatlands.server.players import movement
from flatlands.server.squares import context
from flatlands.testkit.ground import PatchedTerrain
from flatlands.world.events import ENTER
from flatlands.world.track import leg, stand
from tests.fuzz import worlds
from tests.fuzz.__main__ import TARGETS, play
from tests.fuzz.draw import packed
from tests.fuzz.inputs import Broken, Inputs

#: How many streams, messages and worlds a round here has.
ROUNDS = {
    "frames": 100,
    "messages": 1000,
    "servers": 1000,
    "sessions": 3,
    "strangers": 3,
    "forgers": 3,
}


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_breaks(target):
    inputs = Inputs()
    play(target, 1, inputs, ROUNDS[target])
    assert inputs.count >= 100


@pytest.mark.parametrize("target", TARGETS)
def test_a_round_that_is_played_again_gives_the_same_inputs(target):
    first, again, other = Inputs(), Inputs(), Inputs()
    for inputs, seed in ((first, 7), (again, 7), (other, 8)):
        play(target, seed, inputs, 1)
    assert (first.count, first.last) == (again.count, again.last)
    assert first.last != other.last


def test_a_stranger_sends_every_kind_of_message_well_formed_ones_too():
    chance = random.Random(1)
    crowd = worlds.Crowd(chance)
    stranger = worlds.Stranger(crowd, Inputs(), forger=True)
    kinds = set()
    for _ in range(1000):
        for message in (stranger._about_square((0, 0)), stranger._among_nodes()):
            with contextlib.suppress(peer_protocol.Malformed):
                kinds.add(type(peer_protocol.read(packed(message))))
    crowd.store.close()
    # Counts are only sent where a node listens for them.
    assert kinds == {list, *peer_protocol.MESSAGES.values()} - {peer_protocol.Counts}


def take_any_length(monkeypatch):
    """The frame reader accepts messages of any length."""
    init = frames.FrameReader.__init__
    monkeypatch.setattr(
        frames.FrameReader, "__init__", lambda self, limit: init(self, limit + 70_000)
    )


def take_any_number(monkeypatch):
    """Numbers may be out of range, even in fields that may also be nil or a text."""
    monkeypatch.setattr(Field, "allows", lambda self, value: True)


def believe_any_time(monkeypatch):
    """An intent is believed to be as old as it claims."""
    monkeypatch.setattr(movement, "INTENT_AGE_MS", 100_000)


def walk_on_water(monkeypatch):
    """Walks are planned as if nothing were in their way."""
    free = PatchedTerrain(lambda _x, _y: False)
    monkeypatch.setattr(movement, "leg", lambda _terrain, *walk: leg(free, *walk))


def stand_anywhere(monkeypatch):
    """A player that asks to go somewhere far away is there at once."""
    act = movement.Movement.act

    def faulty(self, resident, number, t, intent, *more):
        act(self, resident, number, t, intent, *more)
        if intent is not None and abs(intent.x) > 2**20:
            resident.track = stand(intent.x, intent.y, self._loop.now())

    monkeypatch.setattr(movement.Movement, "act", faulty)


def believe_any_event(monkeypatch):
    """Anything with the types of an event is believed."""
    kinds = {}
    for kind, (make, row) in peer_batches.EVENTS.items():
        fields = tuple(Field(field.name, field.type, -NUMBER) for field in row.fields)
        kinds[kind] = peer_batches.TupleKind(make, Row(row.name, fields))
    monkeypatch.setattr(context, "EVENTS", kinds)
    monkeypatch.setattr(played, "enters", lambda _fields, _movers: kinds[ENTER])


#: Each fault, and a seed soon after which a round shows it.
@pytest.mark.parametrize(
    ("target", "fault", "first"),
    [
        ("frames", take_any_length, 0),
        ("messages", take_any_number, 0),
        ("sessions", believe_any_time, 58),
        ("sessions", walk_on_water, 19),
        ("sessions", stand_anywhere, 36),
        ("strangers", believe_any_event, 35),
        ("forgers", believe_any_event, 0),
    ],
)
def test_a_fault_is_found(target, fault, first, monkeypatch):
    fault(monkeypatch)
    with pytest.raises((Broken, AssertionError)):
        for seed in range(first, first + 200):
            play(target, seed, Inputs())
