import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatlands.world.batches import RECORD, WIDE, Batch, BatchContent, SquareCoordinates
from flatlands.world.events import ENTER, GONE, LEAVE, SAID, EnterEvent, GoneEvent, Player, SayEvent
from flatlands.world.grid import Grid
from flatlands.world.replica import REPLICA_REMOVED_MS, PlayerIndex, Replica, Tombstones
from flatlands.world.track import REACH, Track, duration, stand

SPAN = Grid().span
SQUARE = (-2, 3)
X = SQUARE[0] * SPAN
Y = SQUARE[1] * SPAN

COORDINATES = SquareCoordinates(SQUARE, SPAN, 1000)


def player(id=7, seq=1, x=X + 10, y=Y + 20, start=900, slot=None, dx=100):
    track = Track(x, y, dx, -200, start, duration(dx, -200))
    player = Player(1, id, seq, 4, "Wren", False, track)
    player.slot = id if slot is None else slot
    return player


def batch():
    return Batch(COORDINATES)


def events(batch):
    """Return what a batch says: events, and the fields of records as lists."""
    found = []
    for tracks, others, _replaced, wide, _writes in batch.parts(99):
        found += [list(record) for record in RECORD.iter_unpack(tracks)]
        found += [list(record) for record in WIDE.iter_unpack(wide)]
        found += others
    return found


def apply(replica, node, sent, said, now):
    """Let a replica apply a batch of these events."""
    return replica.apply(node, sent, BatchContent(b"", said), now)


def replica_of(*batches):
    """Return a replica that has applied batches of node 1."""
    replica = Replica(SQUARE, SPAN, Tombstones(), PlayerIndex())
    for b in batches:
        [content] = b.parts(99)
        replica.apply(1, b.coordinates.sent, content, 0)
    return replica


def test_positions_are_counted_from_the_corner_and_times_are_ages():
    who, where = (ENTER, 7, 1, 4, "Wren", False, 7), (10, 20, 100, -200, 100)
    assert COORDINATES.enter(player()) == (*who, *where, 0, 100, ())


def test_a_record_counts_positions_from_the_centre_and_has_low_bytes():
    where = (10 - SPAN // 2, 20 - SPAN // 2, 100, -200, 100)
    assert RECORD.unpack(COORDINATES.record(player(seq=515))) == (7, 3, 4, *where)
    assert WIDE.unpack(COORDINATES.record(player(slot=300))) == (300, 1, 4, *where)


@pytest.mark.parametrize(
    "what",
    [
        {"slot": 65536},
        {"x": X + SPAN // 2 + 32768},
        {"y": Y + SPAN // 2 - 32769},
        {"start": 1000 - 32768},
        {"start": 1000 + 32769},
        {"dx": 32768},
    ],
)
def test_a_track_that_does_not_fit_a_record_is_an_enter(what):
    b, p = batch(), player(**what)
    b.track(p)
    assert events(b) == [COORDINATES.enter(p)]


@pytest.mark.parametrize(
    "what",
    [
        *({"slot": slot} for slot in (0, 255, 256, 65535)),
        {"x": X + SPAN // 2 + 32767},
        {"y": Y + SPAN // 2 - 32768},
        {"start": 1000 - 32767},
        {"start": 1000 + 32768},
        {"dx": REACH},
        {"dx": -REACH},
    ],
)
def test_a_track_that_just_fits_a_record_is_one_and_is_read_as_it_was(what):
    first, second, p = batch(), batch(), player(**{"slot": 7, **what})
    first.enter(player(slot=p.slot))
    p.seq = 2
    second.track(p)
    assert isinstance(events(second)[0], list)
    assert replica_of(first, second).players[7].track == p.track


def test_a_track_is_read_as_it_was_written():
    assert COORDINATES.read(COORDINATES.enter(player())) == player().track
    assert COORDINATES.read(COORDINATES.enter(player(start=1005))) == player(start=1005).track


def test_a_players_newer_event_replaces_its_older_one_and_is_counted():
    b, p = batch(), player()
    for seq in (1, 2, 3):
        p.seq = seq
        b.track(p)
    b.track(player(8))
    assert [record[:2] for record in events(b)] == [[7, 3], [8, 1]]
    assert [content.replaced for content in b.parts(1)] == [2, 0]


def test_the_parts_of_a_batch_have_all_of_it_in_order():
    b = batch()
    for id in range(3):
        b.track(player(id))
    b.track(player(id=5, slot=300))
    b.gone(4, 9)
    for text in ("one", "two", "three"):
        b.say(player(), text)
    parts = list(b.parts(2))
    assert [part.events for part in parts] == [2, 2, 2, 2]
    assert b"".join(part.tracks for part in parts) == b"".join(
        COORDINATES.record(player(id)) for id in range(3)
    )
    assert [len(part.wide) for part in parts] == [0, 14, 0, 0]
    others = [event for part in parts for event in part.others]
    assert [event[-1] for event in others] == [9, "one", "two", "three"]
    assert list(batch().parts(2)) == []


def told(*replaces, leaps=False):
    """Return whether a batch of a player's tracks has an enter, given how many each replaces."""
    b, p = batch(), player()
    for some in replaces:
        p.seq += 1
        b.track(p, some, leaps)
    return isinstance(events(b)[0], EnterEvent)


def test_a_track_becomes_an_enter_before_low_bytes_could_deceive():
    assert not told(*[0] * 127) and told(*[0] * 128)
    assert not told(125) and told(126)
    assert not told(60, 65) and told(60, 66)
    assert told(0, leaps=True)


@given(st.integers(0, 2**52), st.integers(0, 2**40), st.lists(st.integers(1, 127), max_size=9))
def test_seq_and_ack_are_known_in_full_however_they_wrap(seq, ack, steps):
    replica, p = replica_of(), player(seq=seq)
    p.ack = ack
    replica.apply(1, 1000, BatchContent(b"", [COORDINATES.enter(p)]), 0)
    for step in steps:
        p.seq += step
        p.ack += step
        record = COORDINATES.record(p)
        for _ in range(2):
            # The second event is no news.
            replica.apply(1, 1000, BatchContent(record), 0)
            known = replica.players[7]
            assert (known.seq, known.ack) == (p.seq, p.ack)


def test_a_record_is_nobodys_once_its_player_has_left_or_its_slot_is_anothers():
    replica = replica_of()
    apply(replica, 1, 1000, [COORDINATES.enter(player(7, slot=3))], 0)
    old = BatchContent(COORDINATES.record(player(7, seq=2, slot=3, start=1)))
    # The same slot at another node belongs to another player.
    assert apply(replica, 2, 1000, [COORDINATES.enter(player(9, slot=3))], 0) == []
    # The leave of player 7 was lost: the enter with its slot implies it.
    assert apply(replica, 1, 1000, [COORDINATES.enter(player(8, seq=1, slot=3))], 0) == [7]
    assert set(replica.players) == {8, 9}
    replica.remove(8, 5, 0)
    replica.apply(1, 1000, old, 0)
    assert set(replica.players) == {9} and replica.players[9].track == player().track
    # A player that comes again has another slot, and its old one is nobody's.
    apply(replica, 1, 1000, [COORDINATES.enter(player(7, seq=2, slot=3))], 0)
    apply(replica, 1, 1000, [COORDINATES.enter(player(7, seq=3, slot=4))], 0)
    replica.apply(1, 1000, BatchContent(COORDINATES.record(player(7, seq=4, slot=3, start=1))), 0)
    assert replica.players[7].track == player().track
    replica.drop(1)
    replica.drop(2)
    assert replica._named == {}


def test_enter_and_track_is_an_enter_with_the_track():
    b, p = batch(), player()
    b.enter(p)
    p.seq, p.track = 2, stand(X, Y, 1000)
    b.track(p)
    assert events(b) == [COORDINATES.enter(p)]
    assert b.enters


def test_leave_and_enter_is_an_enter_and_enter_and_leave_a_leave():
    there_and_back, in_and_out, p = batch(), batch(), player()
    there_and_back.leave(p, (0, 0))
    there_and_back.enter(p)
    assert [event.kind for event in events(there_and_back)] == [ENTER]
    in_and_out.enter(p)
    in_and_out.leave(p, (0, 0))
    assert events(in_and_out) == [(LEAVE, 7, 1, 0, 0)]


def test_an_older_gone_does_not_replace_where_the_player_went():
    # It came back to the node and walked on before the node said that it had been handed over.
    some = batch()
    some.leave(player(seq=5), (3, -3))
    some.gone(7, 4)
    assert [event.seq for event in events(some)] == [5]
    some.gone(7, 6)
    assert [event.seq for event in events(some)] == [6]


def test_nothing_said_is_ever_replaced():
    b = batch()
    for text in ("one", "two"):
        b.say(player(), text)
    assert events(b) == [SayEvent(SAID, 7, "one"), SayEvent(SAID, 7, "two")]


def test_a_late_event_does_not_revive_a_player_that_was_removed():
    replica = replica_of()
    apply(replica, 1, 1000, [COORDINATES.enter(player(7, seq=5)), GoneEvent(GONE, 7, 6)], 0)
    late = [COORDINATES.enter(player(7, seq=4))]
    apply(replica, 1, 1000, late, 5000)
    assert not replica.replace(1, 1000, late, 5000)[0]
    assert replica.players == {}
    apply(replica, 1, 1000, [COORDINATES.enter(player(7, seq=7))], 5000)
    assert set(replica.players) == {7}
    apply(replica, 1, 1000, [GoneEvent(GONE, 7, 8)], 5000)
    apply(replica, 1, 1000, late, 5000 + REPLICA_REMOVED_MS)
    assert set(replica.players) == {7}


def test_a_removed_player_is_remembered_with_its_highest_seq_for_a_limited_time():

    def raised(seq, at, *gone):
        replica = replica_of()
        for gone_seq, moment in gone:
            apply(replica, 1, 1000, [GoneEvent(GONE, 7, gone_seq)], moment)
        apply(replica, 1, 1000, [COORDINATES.enter(player(7, seq=seq))], at)
        return set(replica.players) == {7}

    assert not raised(8, REPLICA_REMOVED_MS - 1, (8, 0))
    assert raised(8, REPLICA_REMOVED_MS, (8, 0))
    assert raised(9, 0, (8, 0))
    # An older event that comes later keeps the higher seq, and prolongs the memory of it.
    assert not raised(8, REPLICA_REMOVED_MS + 50, (8, 0), (6, 100))
    assert not raised(8, 200, (6, 0), (8, 100))
    assert raised(9, 200, (6, 0), (8, 100))


def test_players_that_were_removed_long_ago_are_forgotten():
    replica = replica_of()
    for n in range(1000):
        apply(replica, 1, 1000, [GoneEvent(GONE, n, 1)], n * 100)
    assert len(replica._tombstones._removed) <= REPLICA_REMOVED_MS // 100 + 1
