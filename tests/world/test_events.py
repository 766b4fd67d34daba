from world.events import (
    ENTER,
    GONE,
    LEAVE,
    REMEMBERED,
    SAY,
    TRACK,
    Batch,
    Corner,
    Departed,
    GoneEvent,
    Player,
    Replica,
    SayEvent,
    TrackEvent,
    named,
)
from world.grid import Grid
from world.track import Track, stand

SPAN = Grid().span
SQUARE = (-2, 3)
X, Y = SQUARE[0] * SPAN, SQUARE[1] * SPAN


def player(id=7, seq=1, x=X + 10, y=Y + 20, start=900):
    return Player(1, id, seq, 4, "Wren", False, Track(x, y, 100, -200, start, 40))


def batch(sent=1000):
    return Batch(Corner(SQUARE, SPAN, sent))


def events(batch):
    return [event for part, _ in batch.parts(99) for event in part]


def replica_of(*batches):
    replica = Replica(SQUARE, SPAN, Departed())
    for b in batches:
        replica.apply(1, b.corner.sent, events(b), 0)
    return replica


def test_positions_are_counted_from_the_corner_and_times_are_ages():
    assert Corner(SQUARE, SPAN, 1000).enter(player()) == (
        ENTER, 7, 1, 4, "Wren", False, 10, 20, 100, -200, 100, 40,
    )  # fmt: skip
    assert Corner(SQUARE, SPAN, 1000).track(player()) == (
        TRACK, 7, 1, 4, 10, 20, 100, -200, 100, 40,
    )  # fmt: skip


def test_what_is_read_is_what_was_written():
    corner = Corner(SQUARE, SPAN, 1000)
    assert corner.read(corner.enter(player())) == player().track
    assert corner.read(corner.track(player(start=1005))) == player(start=1005).track


def test_a_players_newer_event_replaces_its_older_one_and_is_counted():
    b = batch()
    p = player()
    for seq in (1, 2, 3):
        p.seq = seq
        b.track(p)
    b.track(player(8))
    assert [event[:3] for event in events(b)] == [(TRACK, 7, 3), (TRACK, 8, 1)]
    assert [replaced for _, replaced in b.parts(1)] == [2, 0]


def test_enter_and_track_is_an_enter_with_the_track():
    b, p = batch(), player()
    b.enter(p)
    p.seq, p.track = 2, stand(X, Y, 1000)
    b.track(p)
    assert events(b) == [Corner(SQUARE, SPAN, 1000).enter(p)]


def test_leave_and_enter_is_an_enter_and_enter_and_leave_a_leave():
    there_and_back, in_and_out, p = batch(), batch(), player()
    there_and_back.leave(p, (0, 0))
    there_and_back.enter(p)
    assert [event.kind for event in events(there_and_back)] == [ENTER]
    in_and_out.enter(p)
    in_and_out.leave(p, (0, 0))
    assert events(in_and_out) == [(LEAVE, 7, 1, 0, 0)]


def test_nothing_said_is_ever_replaced():
    b = batch()
    for text in ("one", "two"):
        b.say(player(), text)
    assert events(b) == [SayEvent(SAY, 7, "one"), SayEvent(SAY, 7, "two")]


def test_a_replica_follows_enters_tracks_and_leaves():
    first, second, third = batch(), batch(1100), batch(1200)
    first.enter(player(7))
    first.enter(player(8))
    second.track(player(7, seq=2, start=1090))
    third.leave(player(8, seq=3), (-1, 3))
    replica = replica_of(first, second)
    assert replica.players[7].track == player(start=1090).track
    assert set(replica.players) == {7, 8}
    replica.apply(1, 1200, events(third), 0)
    assert set(replica.players) == {7}


def test_what_is_older_than_what_is_known_changes_nothing():
    new, old = batch(), batch(1100)
    new.enter(player(7, seq=5))
    old.track(player(7, seq=4, start=1))
    old.gone(7, 5)
    replica = replica_of(new)
    replica.apply(1, 1100, [TrackEvent(TRACK, 7, 5, 0, 0, 0, 0, 0, 0, 0), *events(old)], 0)
    assert replica.players[7].track == player().track


def test_a_track_or_a_leave_of_somebody_unknown_is_no_error():
    replica = Replica(SQUARE, SPAN, Departed())
    track = TrackEvent(TRACK, 9, 5, 0, 0, 0, 0, 0, 0, 0)
    replica.apply(1, 1000, [track, GoneEvent(GONE, 9, 6), SayEvent(SAY, 9, "hm")], 0)
    assert replica.players == {}


def test_a_snapshot_makes_the_same_replica():
    b = batch()
    b.enter(player(7))
    b.enter(player(8, start=990))
    replica, copy = replica_of(b), Replica(SQUARE, SPAN, Departed())
    copy.apply(1, 5000, list(map(named, replica.snapshot(5000))), 0)
    assert copy.snapshot(6000) == replica.snapshot(6000)
    assert copy.players[8].track == player(start=990).track


def test_what_a_node_has_replaces_all_that_it_had_and_nothing_of_others():
    replica, corner = Replica(SQUARE, SPAN, Departed()), Corner(SQUARE, SPAN, 1000)
    replica.apply(1, 1000, [corner.enter(player(7)), corner.enter(player(8))], 0)
    replica.apply(2, 1000, [corner.enter(player(9))], 0)
    assert not replica.replace(1, 1000, [corner.enter(player(7)), corner.enter(player(8))], 0)[0]
    assert replica.replace(1, 1000, [corner.enter(player(8)), corner.enter(player(10))], 0)[0]
    assert set(replica.players) == {8, 9, 10}
    assert replica.drop(2) == [9] and replica.drop(2) == []
    assert replica.hosts(1) and not replica.hosts(2)


def test_one_who_went_to_another_node_is_not_removed_by_the_old_one():
    replica, corner = Replica(SQUARE, SPAN, Departed()), Corner(SQUARE, SPAN, 1000)
    replica.apply(1, 1000, [corner.enter(player(7))], 0)
    replica.apply(2, 1000, [corner.enter(player(7, seq=2**24))], 0)
    replica.replace(1, 1000, [], 0)
    assert replica.players[7].node == 2


def test_players_of_a_node_believed_dead_may_be_told_of_again():
    replica, corner = Replica(SQUARE, SPAN, Departed()), Corner(SQUARE, SPAN, 1000)
    replica.apply(1, 1000, [corner.enter(player(7))], 0)
    replica.drop(1)
    assert replica.replace(1, 1000, [corner.enter(player(7))], 0)[0]
    assert set(replica.players) == {7}


def test_what_comes_late_does_not_raise_one_who_was_removed():
    replica, corner = Replica(SQUARE, SPAN, Departed()), Corner(SQUARE, SPAN, 1000)
    replica.apply(1, 1000, [corner.enter(player(7, seq=5)), GoneEvent(GONE, 7, 6)], 0)
    late = [corner.enter(player(7, seq=4))]
    replica.apply(1, 1000, late, 5000)
    assert not replica.replace(1, 1000, late, 5000)[0]
    assert replica.players == {}
    replica.apply(1, 1000, [corner.enter(player(7, seq=7))], 5000)
    assert set(replica.players) == {7}
    replica.apply(1, 1000, [GoneEvent(GONE, 7, 8)], 5000)
    replica.apply(1, 1000, late, 5000 + REMEMBERED)
    assert set(replica.players) == {7}


def test_a_removed_player_is_remembered_with_its_highest_seq_for_just_so_long():
    corner = Corner(SQUARE, SPAN, 1000)

    def raised(seq, at, *gone):
        replica = Replica(SQUARE, SPAN, Departed())
        for gone_seq, moment in gone:
            replica.apply(1, 1000, [GoneEvent(GONE, 7, gone_seq)], moment)
        replica.apply(1, 1000, [corner.enter(player(7, seq=seq))], at)
        return set(replica.players) == {7}

    assert not raised(8, REMEMBERED - 1, (8, 0))
    assert raised(8, REMEMBERED, (8, 0))
    assert raised(9, 0, (8, 0))
    # An older word that comes later makes it no younger, but lasts.
    assert not raised(8, REMEMBERED + 50, (8, 0), (6, 100))
    assert not raised(8, 200, (6, 0), (8, 100))
    assert raised(9, 200, (6, 0), (8, 100))


def test_those_who_were_removed_long_ago_are_forgotten():
    replica = Replica(SQUARE, SPAN, Departed())
    for n in range(1000):
        replica.apply(1, 1000, [GoneEvent(GONE, n, 1)], n * 100)
    assert len(replica._departed._removed) <= REMEMBERED // 100 + 1


def test_an_entry_that_is_known_changes_nothing_and_a_newer_one_does():
    replica, corner = Replica(SQUARE, SPAN, Departed()), Corner(SQUARE, SPAN, 1000)
    replica.apply(1, 1000, [corner.enter(player(7, seq=5))], 0)
    assert not replica.replace(1, 1000, [corner.enter(player(7, seq=5, start=1))], 0)[0]
    assert not replica.replace(1, 1000, [corner.enter(player(7, seq=4, start=1))], 0)[0]
    assert replica.players[7].track == player().track
    assert replica.replace(1, 1000, [corner.enter(player(7, seq=6, start=1))], 0)[0]
    assert replica.players[7].track == player(start=1).track
