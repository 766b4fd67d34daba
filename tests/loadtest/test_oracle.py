"""The oracle's arithmetic on made-up runs: who must hear what, and what became of it."""

import numpy as np
import pytest

from flatlands.loadtest.swarm.observer import SNAPSHOT_ENTRY
from flatlands.loadtest.swarm.oracle import INCARNATION, judge
from flatlands.loadtest.swarm.truth import SECOND, TILE, Truth
from flatlands.wire import ENTER, GONE, LEAVE, TRACK

SPAN = 16 * TILE
BEGIN = 10 * SECOND
END = 20 * SECOND
VIEWPORT = (24, 24)


def life(id, square, moves=(), *, left=0, seen=None, place=None, ready=SECOND, node=1):
    """Return a player in the middle of a square, each of whose moves is answered."""
    x, y = place or (square[0] * SPAN + SPAN // 2, square[1] * SPAN + SPAN // 2)
    rows = [(1, 0, *square, x, y, 0, 0, 0, 0)]
    rows += [(2 + n, due, *square, x, y, 0, 0, due // 1000, 0) for n, due in enumerate(moves)]
    return {
        "index": id,
        "id": id,
        "viewport": VIEWPORT,
        "asked": 0,
        "ready": ready,
        "left": left,
        "offset": 0.0,
        "honest": True,
        "held_changes": 0,
        "intents": np.array(moves, dtype=np.int64),
        "timeline": np.array(rows, dtype=np.int64),
        "observed": seen,
        "why": "",
        "welcomed": 0,
        "former_seq": 0,
        "node": node,
        "late": np.empty(0, dtype=np.int64),
        "told_at": np.array([0, *moves], dtype=np.int64),
    }


def observed(news=(), rows=((0, 0, 0, 1, 0),), beliefs=(), behind=(), holds=()):
    """What an observer was told: news (when, id, due, kind, row, seq), and rows of batches."""
    return {
        "news": np.array(news, dtype=np.int64).reshape(-1, 6),
        "holds": np.array(holds, dtype=np.int64).reshape(-1, 5),
        "links": [],
        "looks": np.empty((0, 2), dtype=np.int64),
        "screens": np.empty((0, 2), dtype=np.int64),
        "rows": np.array(rows, dtype=np.int64).reshape(-1, 5),
        "beliefs": np.array(beliefs, dtype=np.int64).reshape(-1, 12),
        "behind": list(behind),
        "duplicate": 0,
        "reordered": 0,
        "lacking": 0,
    }


def belief(player):
    """Return what an observer should believe of a player in the end."""
    return (player["id"], *player["timeline"][-1].tolist(), 0)


def verdict(*lives, losses=(), slow=()):
    report = {
        "lives": lives,
        "at": 24 * SECOND,
        "rules": (SPAN, SPAN // 2),
        "stalled": [],
        "slow": list(slow),
    }
    return judge(Truth([report], (BEGIN, END), losses))


MOVES = [12 * SECOND, 13 * SECOND, 14 * SECOND]
TOLD = [(due + 5000, 2, due, TRACK, 0, 2 + n) for n, due in enumerate(MOVES)]


def watch(news, square=(0, 0), *, mover=None, believed=None, losses=(), slow=(), **what):
    """Judge an observer in square 0, 0 of a mover, who makes MOVES in `square` if none is given; it
    believes in the end what it should, unless something else is `believed`."""
    mover = mover or life(2, square, MOVES)
    believed = [belief(mover)] if believed is None else believed
    watcher = life(1, (0, 0))
    watcher["observed"] = observed(news, beliefs=[*believed, belief(watcher)], **what)
    return verdict(watcher, mover, losses=losses, slow=slow)


def test_a_move_that_is_told_is_delivered_and_one_that_is_not_is_missing():
    found = watch(TOLD)
    assert (found.expected, found.delivered) == (3, 3)
    assert found.adds_up and found.faults == {}
    found = watch(TOLD[:1] + TOLD[2:])
    assert (found.expected, found.delivered, found.missing) == (3, 2, 1)
    assert not found.adds_up and found.faults == {"missing": 1}


@pytest.mark.parametrize(("counted", "replaced"), [(0, 0), (1, 1), (2, 2), (5, 2)])
def test_no_more_is_replaced_than_the_batch_says(counted, replaced):
    found = watch(TOLD[2:], rows=[(MOVES[2], 0, 0, 1, counted)])
    assert (found.delivered, found.replaced, found.missing) == (1, replaced, 2 - replaced)


def test_moves_that_a_slow_client_missed_are_skipped():
    found = watch(TOLD[2:], behind=[(MOVES[0], MOVES[1] + 1)])
    assert (found.delivered, found.skipped) == (1, 2) and found.adds_up


LOSSES = [(MOVES[1], MOVES[1] + SECOND)]


def test_a_move_that_is_not_told_is_dropped_only_if_a_loss_was_counted_there_and_then():
    assert watch(TOLD[2:], losses=LOSSES).dropped == 2
    found = watch(TOLD[2:])
    assert (found.dropped, found.missing) == (0, 2)
    # At another time something else was lost.
    news = [(MOVES[0] - SECOND, 2, 0, ENTER, 0, 1), (*TOLD[2][:4], 1, TOLD[2][5])]
    rows = [(0, 0, 0, 1, 0), (MOVES[2], 0, 0, 1, 0)]
    found = watch(news, rows=rows, losses=[(SECOND, 2 * SECOND)])
    assert (found.dropped, found.missing) == (0, 2)


@pytest.mark.parametrize(
    ("told", "node", "square", "missing"),
    [
        # What another observer at the same node was told has come to the node.
        (TOLD, 1, (0, 0), 2),
        (TOLD, 2, (0, 0), 0),
        (TOLD[1:], 1, (0, 0), 1),
        # The other was told of it in a square that the observer did not hold.
        (TOLD, 1, (5, 0), 0),
    ],
)
def test_a_move_that_another_observer_was_told_was_not_dropped_on_the_way_to_its_node(
    told, node, square, missing
):
    mover = life(2, (0, 0), MOVES)
    watcher, other = life(1, (0, 0)), life(3, (0, 0), node=node)
    watcher["observed"] = observed(TOLD[2:], beliefs=[belief(p) for p in (watcher, mover, other)])
    rows = [(due, *square, 1, 0) for due in MOVES]
    news = [(*row[:4], at, row[5]) for at, row in zip(range(3 - len(told), 3), told, strict=True)]
    other["observed"] = observed(news, rows, beliefs=[belief(p) for p in (watcher, mover, other)])
    found = verdict(watcher, mover, other, losses=LOSSES)
    assert (found.missing, found.dropped) == (missing, 2 - missing + (told is not TOLD))


def test_moves_before_a_border_are_paid_for_by_the_batch_of_that_square():
    # Two moves in square 1, 0, then a third beyond its border, all in one flush. What is told
    # first, the leave, has replaced nothing; the batch of the third square pays.
    enter = (MOVES[0] - SECOND, 2, 0, ENTER, 0, 1)
    leave = (MOVES[2] + 9, 2, 0, LEAVE, 1, 2)
    arrival = (MOVES[2] + 9, 2, MOVES[2], ENTER, 2, 5)
    rows = [(0, 0, 0, 1, 0), (MOVES[2], 0, 0, 1, 0), (MOVES[2], 1, 0, 1, 2)]
    found = watch([enter, leave, arrival], rows=rows)
    assert (found.delivered, found.replaced, found.missing) == (1, 2, 0)
    rows[2] = (MOVES[2], 1, 0, 1, 1)
    assert watch([enter, leave, arrival], rows=rows).missing == 1


def test_events_that_are_no_moves_are_paid_for_first_as_they_were():
    # Of two events in between, one is the move: a batch that replaced one paid for either.
    news = [(MOVES[0] + 9, 2, MOVES[0], TRACK, 0, 2), (MOVES[2] + 9, 2, MOVES[2], TRACK, 1, 5)]
    rows = [(0, 0, 0, 1, 0), (MOVES[2], 0, 0, 1, 2)]
    assert watch(news, rows=rows).faults == {}
    rows[1] = (MOVES[2], 0, 0, 1, 1)
    assert watch(news, rows=rows).missing == 1


@pytest.mark.parametrize(("square", "missing"), [((5, 0), 0), ((0, 0), 1)])
def test_an_event_beyond_a_border_that_a_late_server_took_back_was_not_to_be_told(square, missing):
    # Of two events between the first move and the second, one was in this square. The third move
    # was replaced, unless what paid for it paid for these.
    moves = [*MOVES, 15 * SECOND]
    mover = life(2, (0, 0), moves)
    mover["timeline"][2:, 0] = 5, 6, 7
    there = mover["timeline"][1].copy()
    there[[0, 2, 3]] = 3, *square
    mover["timeline"] = np.insert(mover["timeline"], 2, there, axis=0)
    mover["told_at"] = np.insert(mover["told_at"], 2, moves[0] + SECOND // 2)
    news = [
        (due + 9, 2, due, TRACK, row, seq)
        for row, (due, seq) in enumerate(((moves[0], 2), (moves[1], 5), (moves[3], 7)))
    ]
    rows = [(due, 0, 0, 1, replaced) for due, replaced in ((0, 0), (moves[1], 0), (moves[3], 1))]
    found = watch(news, mover=mover, rows=rows)
    assert (found.delivered, found.replaced, found.missing) == (3, 1 - missing, missing)


@pytest.mark.parametrize(("late", "missing"), [(3900, 0), (900, 1)])
def test_events_of_a_late_server_on_a_track_that_led_farther_were_not_to_be_told(late, missing):
    # The second move comes `late` ms after it was due. By then a server has taken the mover along
    # the first one's track, perhaps to a square that the watcher does not see, and nobody was told
    # of two events. The third move was replaced, unless what paid for it paid for these.
    moves = [12 * SECOND, 13 * SECOND, 17 * SECOND + 1, 17 * SECOND + 2]
    mover = life(2, (0, 0), moves)
    mover["timeline"][1, 6:] = 3 * SPAN, 0, moves[0] // 1000, 6400
    mover["timeline"][2:, 0] = 5, 6, 7
    mover["told_at"][2] = came = moves[1] + late * 1000
    told = [(moves[0], moves[0], 2), (came, moves[1], 5), (moves[3] + 9, moves[3], 7)]
    news = [(at, 2, due, TRACK, row, seq) for row, (at, due, seq) in enumerate(told)]
    rows = [(at, 0, 0, 1, row // 2) for row, (at, *_) in enumerate(told)]
    found = watch(news, mover=mover, rows=rows)
    assert (found.delivered, found.replaced, found.missing) == (3, 1 - missing, missing)


@pytest.mark.parametrize(("counted", "missing"), [(1, 0), (0, 1)])
def test_a_move_is_where_its_mover_was_told_that_it_began(counted, missing):
    # The mover walks in square 1, 0. Its second move turns it round, and it leaves the square; its
    # third one begins beyond the border, 1 ms after it was due. It was not told of the second move,
    # since the third one replaced that, and so seems to have walked on until the third one.
    edge, y = 2 * SPAN, SPAN // 2
    mover = life(2, (1, 0), MOVES)
    mover["timeline"] = np.array(
        [
            (1, 0, 1, 0, edge - 5 * TILE, y, 0, 0, 0, 0),
            (2, MOVES[0], 1, 0, edge - 3 * TILE, y, -20 * TILE, 0, MOVES[0] // 1000, 4000),
            (6, MOVES[2], 2, 0, edge + 2 * TILE, y, 0, 0, MOVES[2] // 1000 + 1, 0),
        ]
    )
    mover["told_at"] = np.array([0, MOVES[0], MOVES[2] + 5000])
    rows = [(MOVES[0], 1, 0, 1, 0), (MOVES[2] + 5000, 1, 0, 1, counted)]
    news = [(MOVES[0], 2, MOVES[0], TRACK, 0, 2), (MOVES[2] + 5000, 2, 0, LEAVE, 1, 4)]
    found = watch(news, mover=mover, rows=rows, believed=[])
    assert (found.delivered, found.replaced, found.missing) == (1, 1 - missing, missing)


@pytest.mark.parametrize(
    ("events", "counted", "missing"), [(2, 1, 0), (3, 1, 1), (3, 2, 0), (2, 0, 1)]
)
def test_a_player_that_is_passed_on_starts_counting_its_events_again(events, counted, missing):
    # Before the last of `events` events at the next worker nothing was told but the first move; the
    # batch of that last event has replaced `counted`.
    seq = INCARNATION + events
    news = [(MOVES[0] + 9, 2, MOVES[0], TRACK, 0, 2), (MOVES[2] + 9, 2, MOVES[2], ENTER, 1, seq)]
    rows = [(0, 0, 0, 1, 0), (MOVES[2], 0, 0, 1, counted)]
    found = watch(news, rows=rows)
    assert (found.delivered, found.missing) == (2, missing)


@pytest.mark.parametrize(("left", "missing"), [(3, 0), (6, 1)])
def test_a_leave_may_come_after_the_enter_and_so_after_the_end(left, missing):
    # The second move was replaced by the third. The leave after it was not told before the
    # observer left, `left` seconds after the third move.
    last = MOVES[2]
    entered = last + 3 * SECOND // 2
    news = [TOLD[0], (last + 9, 2, last, TRACK, 1, 4), (entered, 2, last, ENTER, 2, 6)]
    rows = [(0, 0, 0, 1, 0), (last + 9, 0, 0, 1, 1), (entered, 0, 0, 1, 0)]
    watcher = life(1, (0, 0), seen=observed(news, rows=rows), left=last + left * SECOND)
    found = verdict(watcher, life(2, (0, 0), MOVES))
    assert (found.delivered, found.replaced, found.missing) == (2, 1 - missing, missing)


def test_a_move_that_was_due_before_its_players_enter_was_told_comes_after_it():
    # The enter acknowledges nothing: the batch of the next event pays, and not that of the enter.
    news = [(MOVES[0] + 9, 2, 0, ENTER, 0, 1), (MOVES[1] + 9, 2, MOVES[1], TRACK, 1, 3), TOLD[2]]
    rows = [(0, 0, 0, 1, 0), (MOVES[1], 0, 0, 1, 1)]
    found = watch(news, rows=rows)
    assert (found.delivered, found.replaced, found.missing) == (2, 1, 0)


def test_a_loss_that_the_server_did_not_own_up_to_is_missing_in_a_stalled_run_too():
    two = [(MOVES[0] + 9, 2, MOVES[0], TRACK, 0, 2), (MOVES[2] + 9, 2, MOVES[2], TRACK, 1, 4)]
    rows = [(0, 0, 0, 1, 0), (MOVES[2], 0, 0, 1, 0)]
    assert watch(two, rows=rows, slow=[(BEGIN, END)]).missing == 1


def test_a_move_shown_by_a_square_that_was_told_late_is_not_missing():
    shown = (MOVES[2] + 9, 2, MOVES[2], SNAPSHOT_ENTRY, -1, 4)
    assert watch([shown]).missing == 2
    found = watch([shown], holds=[(MOVES[1], 0, 0, 1, 1)])
    assert (found.unheld, found.missing) == (2, 0) and found.adds_up


def test_a_move_that_is_told_late_is_stale_unless_pongs_were_late_too():
    late = (MOVES[1] + 3 * SECOND, 2, MOVES[1], TRACK, 0, 3)
    news = [TOLD[0], late, TOLD[2]]
    assert watch(news).faults == {"stale": 1}
    found = watch(news, slow=[(MOVES[1] + SECOND, MOVES[1] + 3 * SECOND)])
    assert found.late == 1 and found.faults == {}


def test_a_move_that_was_sent_too_late_or_never_arrived_is_not_judged():
    late = life(2, (0, 0), MOVES)
    late["late"] = np.array(MOVES[:1])
    assert watch(TOLD[1:], mover=late).expected == 2
    cut = life(2, (0, 0), MOVES, left=MOVES[2] + SECOND)
    cut["why"] = "Connection reset by peer"
    cut["timeline"] = cut["timeline"][:-1]
    found = watch(TOLD[:2], mover=cut)
    assert (found.expected, found.delivered) == (2, 2)


@pytest.mark.parametrize(
    ("square", "must"),
    # A viewport of 24 tiles from the middle of square 0 touches the squares around it.
    [((1, 1), True), ((-1, 0), True), ((2, 0), False), ((0, -2), False)],
)
def test_the_viewport_says_what_must_be_heard(square, must):
    found = watch([], square, believed=[])
    assert found.expected == (3 if must else 0)


def test_a_move_heard_within_the_outer_margin_is_right_and_beyond_it_foreign():
    # 12 tiles, and 8 of margin, from the middle: up to 20 tiles, of which the second square has 4.
    assert watch(TOLD, (1, 0), rows=[(MOVES[0], 1, 0, 3, 0)]).foreign == 0
    assert watch(TOLD, (2, 0), rows=[(MOVES[0], 3, 0, 3, 0)], believed=[]).foreign == 3


@pytest.mark.parametrize(("ago", "foreign"), [(SECOND, 0), (2 * SECOND, 3)])
def test_moves_told_by_a_server_that_was_late_a_moment_ago_are_not_foreign(ago, foreign):
    # A ping waited for two seconds, and was answered `ago` ago.
    slow = [(MOVES[0] - 2 * SECOND - ago, MOVES[0] - ago)]
    told = watch(TOLD, (2, 0), rows=[(MOVES[0], 3, 0, 3, 0)], believed=[], slow=slow)
    assert (told.foreign, told.lingering) == (foreign, 3 - foreign)


def test_a_player_that_is_believed_in_after_it_left_is_a_ghost():
    gone = life(3, (0, 0), left=15 * SECOND)
    assert watch([], mover=gone).ghosts == 1
    assert watch([(15 * SECOND, 3, 0, GONE, 0, 2)], mover=gone, believed=[]).faults == {}


def test_a_player_that_is_not_believed_in_is_unseen_and_one_believed_elsewhere_wrong():
    mover = life(2, (0, 0), MOVES)
    assert watch(TOLD, believed=[]).faults == {"unseen": 1}
    elsewhere = list(belief(mover))
    elsewhere[5] += 1
    assert watch(TOLD, believed=[elsewhere]).faults == {"wrong": 1}


@pytest.mark.parametrize(("ago", "wrong"), [(SECOND // 2, 0), (2 * SECOND, 1)])
def test_a_player_that_was_passed_on_at_the_end_may_not_have_been_told_of_yet(ago, wrong):
    mover = life(2, (0, 0), MOVES)
    before = belief(mover)
    anew = mover["timeline"][-1].copy()
    anew[0] = INCARNATION + 1
    mover["timeline"] = np.append(mover["timeline"], [anew], axis=0)
    mover["told_at"] = np.append(mover["told_at"], 24 * SECOND - ago)
    assert watch(TOLD, mover=mover, believed=[before]).wrong == wrong
    assert watch(TOLD, mover=mover).faults == {}


def test_a_player_that_gets_no_answer_to_its_last_move_is_unanswered():
    mover = life(2, (0, 0), MOVES)
    mover["intents"] = np.array([*MOVES, MOVES[-1] + SECOND])
    mover["observed"] = observed([(0, 2, 0, ENTER, 0, 1), *TOLD], beliefs=[belief(mover)])
    found = verdict(mover)
    assert found.unanswered == 1 and found.missing == 1


def test_an_event_in_a_square_far_from_its_track_is_misplaced():
    mover = life(2, (0, 0), MOVES, place=(5 * SPAN, 0))
    assert verdict(mover).misplaced == 4
