"""The judgement of screens, and of players that came back, on made-up runs."""

import numpy as np

from flatlands.loadtest.swarm.screens import look, returns
from flatlands.loadtest.swarm.truth import SECOND, TILE, Truth
from flatlands.wire import GONE
from tests.loadtest.test_oracle import SPAN, life, observed

END = 40 * SECOND


def world(*lives):
    report = {"lives": lives, "at": END, "rules": (SPAN, SPAN // 2), "stalled": [], "slow": []}
    return Truth([report], (0, END), ())


def watcher(believed, *, links=()):
    """A bot in square 0, 0 that looks twice a second; `believed(second)` is what its screen shows:
    ids of players, with their seqs."""
    seen = observed()
    times = np.arange(SECOND, END, SECOND // 2)
    screens = [believed(at / SECOND) for at in times.tolist()]
    seen["looks"] = np.array([times, [len(screen) for screen in screens]]).T
    pairs = [pair for screen in screens for pair in screen.items()]
    seen["screens"] = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    seen["links"] = list(links)
    return life(1, (0, 0), seen=seen)


def test_a_screen_with_everybody_on_it_is_right():
    found = look(world(watcher(lambda t: {1: 1, 2: 1}), life(2, (0, 0))), strangers=False)
    assert found.looks > 70 and found.wrong == {} and found.lasting == {}


def test_a_player_that_left_and_stays_on_a_screen_is_a_ghost():
    left = life(2, (0, 0), left=10 * SECOND)
    found = look(world(watcher(lambda t: {2: 1} if t < 15 else {}), left), strangers=False)
    # Until 12 s the news may be under way; then the player is a ghost, but not for long.
    assert found.lasting == {} and found.wrong_until(10 * SECOND) == 4.5
    found = look(world(watcher(lambda t: {2: 1} if t < 19 else {}), left), strangers=False)
    assert found.lasting == {"ghosts": 1} and 5 < found.longest["ghosts"] < 7


def test_a_player_that_was_cut_off_may_stay_dimmed_for_ten_seconds_more():
    cut = {**life(2, (0, 0), left=10 * SECOND), "why": "Connection reset by peer"}
    found = look(world(watcher(lambda t: {2: 1} if t < 22 else {}), cut), strangers=False)
    assert found.wrong == {}
    found = look(world(watcher(lambda t: {2: 1}), cut), strangers=False)
    assert found.lasting == {"ghosts": 1}


def test_a_player_that_is_not_on_a_screen_that_covers_it_is_unseen():
    there, far = life(2, (0, 0)), life(3, (5, 0))
    found = look(world(watcher(lambda t: {}), there, far), strangers=False)
    assert found.lasting == {"unseen": 1}
    found = look(world(watcher(lambda t: {} if 10 < t < 14 else {2: 1}), there), strangers=False)
    assert found.lasting == {} and found.wrong_until(10 * SECOND) == 3.5


def test_an_error_that_a_banner_tells_lasts_as_long_as_the_banner():
    links = [(5 * SECOND, 0), (30 * SECOND, 1)]
    screen = watcher(lambda t: {} if 6 < t < 31 else {2: 1}, links=links)
    found = look(world(screen, life(2, (0, 0))), strangers=False)
    assert found.lasting == {} and found.wrong_until(5 * SECOND) > 25


def test_a_player_that_is_shown_as_it_was_long_ago_is_outdated():
    mover = life(2, (0, 0), [10 * SECOND])
    assert look(world(watcher(lambda t: {2: 1 + (t > 11)}), mover), strangers=False).wrong == {}
    found = look(world(watcher(lambda t: {2: 1}), mover), strangers=False)
    assert found.lasting == {"outdated": 1}


def test_somebody_who_never_was_a_bot_is_a_ghost_where_only_bots_play():
    screen = watcher(lambda t: {77: 1})
    assert look(world(screen), strangers=False).lasting == {"ghosts": 1}
    assert look(world(screen), strangers=True).lasting == {}


def again(before, *, id=2, seq=5, at=20):
    """A bot's next life."""
    after = life(id, (0, 0), ready=at * SECOND)
    after.update(index=before["index"], asked=at * SECOND - 5, welcomed=at * SECOND, former_seq=1)
    after["timeline"][0, 0] = seq
    return after


def test_returns_are_counted_with_the_player_as_whom_a_bot_came_back():
    cut = {**life(2, (0, 0), left=18 * SECOND), "why": "Connection reset by peer"}
    found = returns(world(cut, again(cut)), until=END)
    assert (found.cuts, found.as_themselves, found.away) == (1, 1, [2.0]) and not found.faults
    assert found.why == {"Connection reset by peer": 1}
    assert returns(world(cut, again(cut, id=9)), until=END).as_others == 1
    assert returns(world(cut), until=END).never == 1
    # There was no time to come back.
    assert returns(world(cut), until=17 * SECOND).never == 0
    goodbye = life(2, (0, 0), left=18 * SECOND)
    assert returns(world(goodbye), until=END).cuts == 0


def test_a_bot_that_stays_older_than_it_was_has_come_back_with_an_older_seq():
    cut = {**life(2, (0, 0), left=18 * SECOND), "why": "1012"}

    def found(*seqs, kind=0):
        seen = observed([(21 * SECOND, id, 0, kind, 0, seq) for id, seq in seqs])
        back = {**again(cut), "former_seq": 5, "observed": seen}
        return returns(world(cut, back), until=END).backwards

    assert found((2, 3), (1, 9)) == 1
    # Another node may know better than the one to which the bot came, and says so.
    assert found((2, 3), (2, 6)) == found((2, 5)) == found() == 0
    # The last word of a node on a player that has left it is not the player's state.
    assert found((2, 3), kind=GONE) == 0


def test_a_path_goes_on_in_the_next_life():
    cut = {**life(2, (0, 0), left=18 * SECOND), "why": "1012"}
    after = again(cut)
    after["timeline"][0, 4:6] += 3 * TILE
    after["timeline"][0, 8] = 20_000
    x, _ = world(cut, after).paths[2].at(np.array([19 * SECOND, 21 * SECOND]))
    assert x[1] - x[0] == 3 * TILE
