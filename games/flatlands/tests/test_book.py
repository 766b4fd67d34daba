"""The book of a person: what it has found and done, and what others did for it, whatever dies."""

import pytest

from flatlands.games.flatlands.book import almanac, book
from flatlands.games.flatlands.book.notes import note
from flatlands.games.flatlands.emotes import WITHIN
from flatlands.games.flatlands.walkers.company import QUIET
from flatlands.games.flatlands.walkers.errands import WAVE
from flatlands.games.flatlands.walkers.herd import Sizes
from flatlands.world.track import UNIT
from games.flatlands.tests.test_cairns import build, keyed
from games.flatlands.tests.test_finders import PLACE, come, find
from tests.server.things import KEY, Broken


def read(client):
    """Return the lines of a client's book without their times: [kind, who, n, x, y]."""
    client.model.told.pop("book", None)
    client.send(35, "book", [])
    client.harness.run(100)
    [lines] = client.model.told["book"]
    return [[line[0], *line[2:]] for line in lines]


def test_a_book_notes_what_others_do_even_while_its_player_is_away(world):
    harness = world(nodes=2)
    ada = keyed(harness, "Ada", (2, 1))
    build(harness, ada)
    ada.send(6)
    harness.run(15_000)
    bob = keyed(harness, "Bob", (2, 1), harness.hosts[1], key=KEY + "b")
    bob.send(35, "stone", [2, 1])
    harness.run(500)
    assert not bob.model.errors and read(bob) == []
    harness.kill(harness.hosts[1])
    again = keyed(harness, "Ada", (0, 0))
    stone, cairn = read(again)
    assert stone[:3] == ["stone", "Bob", 2] and cairn[:3] == ["cairn", "", 0]
    assert stone[3:] == cairn[3:], "that is where it stands"


def test_a_landmark_is_in_the_book_once(world):
    harness = world(nodes=2)
    ada = come(harness, "Ada")
    find(ada)
    find(come(harness, "Bob", (5, 3), harness.hosts[1]))
    harness.run(10_000)
    find(ada)
    assert read(ada) == [["landmark", "Ada", 1, *PLACE]]


def test_two_players_that_wave_to_each_other_note_it_once_a_day(world):
    harness = world(nodes=2)
    ada, bob = (
        keyed(harness, "Ada", (0, 0)),
        keyed(harness, "Bob", (0, 0), harness.hosts[1], KEY + "b"),
    )
    far = keyed(harness, "Far", (9, 9), key=KEY + "c")
    harness.run(1000)
    ada.send(35, "emote", [WAVE])
    for other in (bob.id, bob.id, far.id, ada.id, 2**52):
        ada.send(35, "spark", [other])
    harness.run(5000)
    assert [line[:2] for line in read(ada)] == [["spark", "Bob"]] and read(bob) == []


@pytest.mark.parametrize(("mine", "others"), [(None, 0), (WITHIN + 500, 0), (0, None), (0, 0)])
def test_only_who_has_waved_a_moment_ago_notes_a_spark(world, mine, others):
    """The ms since Ada waved, and since Bob did, who is at the same node; or None."""
    harness = world()
    ada, bob = keyed(harness, "Ada", (0, 0)), keyed(harness, "Bob", (0, 0), key=KEY + "b")
    harness.run(1000)
    if mine is not None:
        ada.send(35, "emote", [WAVE])
        harness.run(mine)
    if others is not None:
        bob.send(35, "emote", [WAVE])
    ada.send(35, "spark", [bob.id])
    harness.run(1000)
    assert [line[0] for line in read(ada)] == ["spark"] * (mine == others == 0)


def test_a_book_has_room_for_a_limited_number_of_lines(world, monkeypatch):
    monkeypatch.setattr(book, "MOST", 5)
    harness = world()
    ada = keyed(harness, "Ada", (0, 0))
    owner = harness.node.residents.by_id[ada.id].owner
    part = next(one for one in harness.node.play.records.values() if one.kind.__name__ == "Note")
    for n in range(8):
        part.add(note(owner, "spark", 1000 + n, n=n))
    assert [line[2] for line in read(ada)] == [7, 6, 5, 4, 3]
    assert len(part.all(owner[:16])) == 5


def test_a_player_without_a_key_has_no_book_and_is_told_if_the_store_is_away(world):
    harness = world()
    ada = harness.place("Ada", (0, 0))
    assert read(ada) == []
    ada.send(35, "spark", [ada.id])
    harness.run(100)
    ada.send(10, KEY)
    harness.node.keeper.store = Broken()
    harness.run(20_000)
    ada.send(35, "book", [])
    harness.run(100)
    assert ada.model.errors == ["store"]
    with pytest.raises(ValueError, match="no book"):
        note("", "spark", 0)


def page(client):
    """Return the almanac that a client is told, by kind: its day, and the first entry of each."""
    client.model.told.pop("almanac", None)
    client.send(35, "almanac", [])
    client.harness.run(200)
    day, entries = client.model.told["almanac"]
    return day, {kind: rest for kind, *rest in reversed(entries)}


def test_everybody_reads_the_same_page_of_a_day_whatever_happens_meanwhile(world):
    harness = world(nodes=2)
    ada, bob = come(harness, "Ada"), keyed(harness, "Bob", (2, 1), harness.hosts[1], KEY + "b")
    find(ada)
    build(harness, bob, "the first")
    bob.harness.stand("far", (64 * UNIT, 0), (40, 25))
    cid = keyed(harness, "Cid", (40, 0), key=KEY + "c")
    harness.run(2000)
    build(harness, cid, "alone")
    harness.run(10_000)
    day, entries = page(ada)
    assert entries["farthest"] == ["Ada", 1, *PLACE, ""]
    assert entries["oldest"][0] == "Bob" and entries["oldest"][-1] == "the first"
    assert 10_000 < entries["oldest"][1] < 20_000
    assert entries["loneliest"][0] in ("Bob", "Cid") and entries["loneliest"][1] > 400
    x, y = entries["unseen"][2:4]
    assert (x, y) != PLACE and max(abs(x), abs(y)) <= 3
    build(harness, keyed(harness, "Dan", (90, 0), key=KEY + "d"), "later")
    assert page(bob) == (day, entries)
    harness.run(almanac.DAY)
    after, others = page(cid)
    assert after == day + 1 and others["loneliest"][0] == "Dan"


def test_clockwork_quotes_the_almanac_once_somebody_has_asked_for_it(world):
    harness = world(sizes=Sizes(people=6))
    ada = keyed(harness, "Ada", (2, 1))
    build(harness, ada, "the first")
    harness.stand("Bob", (0, 0), (40, 25))
    page(ada)
    harness.run(3 * QUIET)
    told = {text for client in harness.clients for _, text in client.model.chat}
    quotes = harness.game_of().herd.quotes
    assert told & {*quotes} and 'Ada wrote on the oldest cairn: "the first"' in quotes
