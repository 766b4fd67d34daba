"""Echoes: the fastest player holds a course, on any nodes, whatever dies, and never by a claim."""

import struct
from base64 import b64decode
from itertools import pairwise
from math import hypot

import pytest

from flatlands.games.flatlands.echoes import echoes as module
from flatlands.games.flatlands.echoes.echoes import Echo, Echoes
from flatlands.games.flatlands.echoes.run import LENGTH, RING, between, packed
from flatlands.games.flatlands.ground.posts import APART, SIDES, Posts
from flatlands.games.flatlands.pace import LONGEST, WAITS
from flatlands.server.players.recording import POINTS_MOST
from flatlands.world.terrain import Terrain
from flatlands.world.track import SPEED, UNIT
from games.flatlands.tests.worlds import lonely, noted, part, resident
from tests.vectors import load

#: The course from the plaza to the first signpost in the west, which is a straight walk.
WEST = (0, 0, 2)
#: The course that leads back.
EAST = (-1, 0, 0)
PLAZA = (0, 0)
THERE = (-76, -3)

#: A place beside the way.
ASIDE = (-30.5, -14.5)

#: The fewest ms between the two rings; their width adds a few.
STRAIGHT = (hypot(76, 3) - 2 * RING) * UNIT / SPEED * 1000


def join(world, name, node=0, at=PLAZA):
    player = world.join(name, node, at=at)
    world.run(0.5)
    return player


def home(player):
    """Put a player onto the plaza, as H does."""
    player._n += 1
    player.send(4, player._n)


def run(world, player, course=WEST, via=(), goal=THERE):
    """Let a player race to a tile; return what it is sent on arrival."""
    player.do("race", *course)
    for place in (*via, (goal[0] + 0.5, goal[1] + 0.5)):
        player.go(*place)
        world.run(0.1)
        while resident(world, player).walks(player.now()):
            world.run(0.1)
    return arrive(player, course)


def set_out(world, *players):
    """Let players begin a race to the west and walk there."""
    for player in players:
        player.do("race", *WEST)
        player.go(THERE[0] + 0.5, THERE[1] + 0.5)


def arrive(player, course=WEST):
    """Let a player say that it has arrived; return [ms, won, ms, name, own] if it has."""
    before = len(player.events)
    player.do("arrive", *course)
    runs = [more[1] for what, _, more in player.events[before:] if what == "message"]
    return runs[-1][3:] if runs else None


def holders(player, course=WEST):
    """Return who holds the courses of a signpost: side -> [ms, name, own]."""
    player.do("courses", *course[:2])
    column, row, rows = player.message("courses")
    assert (column, row) == course[:2]
    return {side: rest for side, *rest in rows}


def book(world, player):
    """Return the lines of a player's book without their times: [kind, who, ms, side, x, y]."""
    lines = noted(world, player)
    return sorted([kind, who, *divmod(n, 4), x, y] for kind, who, n, x, y in lines)


def points(text):
    """Return the way of an echo, as (ms, x, y) in tiles from the first signpost."""
    return [(t, x / 128, y / 128) for t, x, y in struct.iter_unpack("<Hhh", b64decode(text))]


# Who holds a course


def test_the_fastest_on_any_node_holds_a_course_and_the_loser_reads_so_in_its_book():
    world = lonely()
    ada, ben = join(world, "Ada"), join(world, "Ben", 1)
    slow, won, *nobody = run(world, ada, via=[ASIDE])
    assert won and nobody == [0, "", False] and slow > STRAIGHT + 500
    assert holders(ben) == {2: [slow, "Ada", False]}
    fast, won, *other = run(world, ben)
    assert won and other == [slow, "Ada", False] and fast == pytest.approx(STRAIGHT, abs=60)
    assert holders(ada) == {2: [fast, "Ben", False]} and holders(ben) == {2: [fast, "Ben", True]}
    # A third player is slower, and improves nothing.
    cyd = join(world, "Cyd")
    ms, won, *other = run(world, cyd, via=[ASIDE])
    assert not won and ms > fast and other == [fast, "Ben", False]
    assert holders(cyd) == {2: [fast, "Ben", False]} and book(world, cyd) == []
    # Nobody holds the courses that lead back yet.
    assert holders(ben, EAST) == {}
    assert book(world, ada) == [
        ["beaten", "Ben", fast, 2, 0, 0],
        ["echo", "", slow, 2, 0, 0],
    ]
    assert book(world, ben) == [["echo", "Ada", fast, 2, 0, 0]]
    world.check()


def test_a_player_that_beats_its_own_echo_beats_nobody_and_an_equal_time_wins_nothing():
    world = lonely(1)
    ada = join(world, "Ada")
    runs = []
    for via in ([ASIDE], (), [ASIDE], ()):
        runs.append(run(world, ada, via=via))
        run(world, ada, EAST, goal=PLAZA)
    slow, fast = runs[0][0], runs[1][0]
    assert fast < slow and runs[1] == [fast, True, slow, "Ada", True]
    assert runs[2] == [runs[2][0], False, fast, "Ada", True]
    assert runs[3] == [fast, False, fast, "Ada", True]
    assert [(line[0], line[4]) for line in book(world, ada)] == [("echo", -1), ("echo", 0)]


@pytest.mark.parametrize("cut", [False, True])
def test_of_two_players_that_arrive_in_the_same_ms_on_two_nodes_one_holds_it(cut):
    world = lonely()
    players = join(world, "Ada"), join(world, "Ben", 1)
    if cut:
        world.cut(0, 1)
    set_out(world, *players)
    world.run(20)
    results = [arrive(player) for player in players]
    assert [won for _, won, *_ in results] == [True, False] and results[0][0] == results[1][0]
    assert results[1][2:] == [results[0][0], "Ada", False]
    world.heal()
    world.run(65)
    assert holders(players[1]) == {2: [results[0][0], "Ada", False]}
    assert book(world, players[1]) == []
    world.check()


def test_a_player_that_is_overtaken_between_read_and_write_is_not_the_holder(monkeypatch):
    world = lonely()
    ada, ben = join(world, "Ada"), join(world, "Ben", 1)
    ada.do("race", *WEST)
    ada.go(*ASIDE)
    world.run(8)
    ada.go(THERE[0] + 0.5, THERE[1] + 0.5)
    set_out(world, ben)
    world.run(20)
    change, other = type(part(world, Echoes).best).change, []

    def overtaken(self, id, how):
        def late(before):
            if not other:
                other.append(ben)
                ben.do("arrive", *WEST)
            return how(before)

        return change(self, id, late)

    monkeypatch.setattr(type(part(world, Echoes).best), "change", overtaken)
    slow, won, *best = arrive(ada)
    assert other == [ben]
    fast, first, *_ = ben.message("arrived")[3:]
    assert first and not won and slow > fast and best == [fast, "Ben", False]
    assert holders(ada) == {2: [fast, "Ben", False]}


# The way of an echo


def test_all_players_that_see_a_runner_are_sent_the_echo_that_walks_along():
    world = lonely()
    ada, ben = join(world, "Ada"), join(world, "Ben", 1)
    far = join(world, "Far", 1, (-170, 12))
    ada.send(33, "Ada", 1033)
    ms = run(world, ada, via=[ASIDE])[0]
    world.run(3)
    for player in (ada, ben, far):
        player.events.clear()
    home(ada)
    world.run(2)
    ada.do("race", *WEST)
    world.run(1)
    [(_, runner, race)] = [heard for heard in ben.events if heard[0] == "Race"]
    assert runner.id == ada.id and not any(heard[0] == "Race" for heard in far.events)
    way = points(race.pop("way"))
    of = {"ms": ms, "name": "Ada", "player": ada.id, "look": 1033}
    assert race == {"x": 0, "y": 0, "side": 2, **of}
    # From ring to ring, by way of the corner, in this many ms and at everybody's pace.
    assert way[0][0] == 0 and way[-1][0] == ms and len(way) < 10
    assert hypot(*way[0][1:]) == pytest.approx(RING, abs=0.05)
    assert hypot(way[-1][1] + 76, way[-1][2] + 3) == pytest.approx(RING, abs=0.05)
    assert any(hypot(x - ASIDE[0] + 0.5, y - ASIDE[1] + 0.5) < 0.1 for _, x, y in way)
    for (t, x, y), (then, to_x, to_y) in pairwise(way):
        assert hypot(to_x - x, to_y - y) == pytest.approx((then - t) * 0.005, abs=0.15)


def test_a_long_way_with_many_turns_is_stored_briefly_and_near_the_true_one():
    step = [(100 * n, 512 * n, (-1) ** n * 900) for n in range(130)]
    text = packed(step, (0, 0))
    assert len(text) <= LENGTH
    assert points(text)[0] == (0, 0, 900 // 8 / 128) and points(text)[-1][0] == 12_900
    # A straight way of many pieces is stored as one of few.
    assert len(points(packed([(100 * n, 512 * n, 0) for n in range(POINTS_MOST)], (0, 0)))) < 20
    # A runner that rests still rests in what is stored.
    rests = [(0, 0, 0), (1000, 5120, 0), (3000, 5120, 0), (4000, 10240, 0)]
    assert [t for t, *_ in points(packed(rests, (0, 0)))] == [0, 1000, 3000, 4000]


RUNS = {
    "from the middle of the one ring past the other one's": (
        [(0, 0, 0), (10_000, 51_200, 0)],
        10_000 * (40 - 8) / 50,
    ),
    "back to the signpost, after a while, and out again": (
        [(0, 0, 0), (2000, 9000, 0), (4000, 0, 0), (9000, 0, 0), (19_000, 51_200, 0)],
        6400,
    ),
    "it begins on the way": ([(0, 9000, 0), (9000, 55_000, 0)], None),
    "it never comes there": ([(0, 0, 0), (6000, 32_000, 0)], None),
    "it only touches the ring": (
        [(0, 0, 0), (8000, 40_960, -9000), (9000, 40_960, -4096)],
        9000 - 8000 * 4096 / hypot(40_960, 9000),
    ),
    "it passes the ring by": ([(0, 0, 0), (8000, 40_960, -9000), (9000, 40_960, -4097)], None),
    "the other ring comes first": ([(0, 40_960, 0), (8000, 0, 0)], None),
    "it rests in the ring that it has come to": (
        [(0, 0, 0), (9000, 40_960, 0), (19_000, 40_960, 0)],
        9000 * (40 - 8) / 40,
    ),
}


@pytest.mark.parametrize("way, ms", RUNS.values(), ids=RUNS)
def test_a_run_is_what_lies_between_two_rings(way, ms):
    ends = [(0, 0), (40 * UNIT, 0)]
    found = between(way, *ends)
    if ms is None:
        assert found is None
        return
    assert found[-1][0] - found[0][0] == pytest.approx(ms, abs=1)
    for (_, x, y), (at_x, at_y) in zip((found[0], found[-1]), ends, strict=True):
        assert hypot(x - at_x, y - at_y) == pytest.approx(RING * UNIT, abs=2)


# Where courses are


@pytest.mark.parametrize("vector", load("posts"), ids=lambda v: f"{v['seed']}@{v['plot']}")
def test_a_course_is_where_the_vectors_say(vector):
    posts = Posts(Terrain(vector["seed"]))
    courses = [posts.course(tuple(vector["plot"]), side) for side in range(len(SIDES))]
    assert [course and [list(end) for end in course] for course in courses] == vector["courses"]


def test_a_course_leads_to_and_fro_between_signposts_that_are_apart():
    land = Terrain(7)
    posts, count = Posts(land), 0
    for plot in ((i, j) for i in range(-5, 5) for j in range(-5, 5)):
        for side, (i, j) in enumerate(SIDES):
            course = posts.course(plot, side)
            there = plot[0] + i, plot[1] + j
            assert posts.course(there, (side + 2) % 4) == (course and course[::-1])
            if course is not None:
                count += 1
                assert hypot(*[a - b for a, b in zip(*course, strict=True)]) >= APART
                assert not any(land.blocked(*end) for end in course)
    assert count > 100


# What nobody can claim


def test_nobody_arrives_before_its_tracks_do_or_wins_a_race_it_has_not_begun():
    world = lonely()
    ada = join(world, "Ada")
    set_out(world, ada)
    for _ in range(3):
        world.run(4)
        assert arrive(ada) is None and ada.errors()[-1] == "you have not arrived there yet"
    world.run(8)
    # The player has run this course, and no other.
    for course in (EAST, (-1, 0, 1), (0, 0, 0), (0, 0, 1), (0, 0, 3), (5, 5, 0)):
        world.run(1.1)
        assert arrive(ada, course) is None
    world.run(2)
    assert arrive(ada)[1]
    ben = join(world, "Ben", 1)
    ben.go(THERE[0] + 0.5, THERE[1] + 0.5)
    world.run(20)
    assert arrive(ben) is None and ben.errors()[-1].startswith("the race is off")
    assert resident(world, ada).recorded and not resident(world, ben).recorded


@pytest.mark.parametrize(
    ("trick", "refusal"),
    [
        ("home", "the race is off"),
        ("rest", "a race counts only"),
        ("waits", "a race is off after 60 s at its start"),
        ("turns", "the race is off"),
        ("elsewhere", "you have not"),
    ],
)
def test_a_trick_does_not_count_as_a_run(trick, refusal):
    world = lonely(1)
    ada = join(world, "Ada", at=(-170, 12) if trick == "home" else PLAZA)
    course = (-3, 0, 0) if trick == "home" else WEST
    if trick == "elsewhere":
        # A race that is begun on the way has no run.
        ada.go(-20.5, -1.5)
        world.run(6)
    ada.do("race", *course)
    if trick == "home":
        # Home is the fastest way to the plaza.
        home(ada)
        world.run(1)
    elif trick == "rest":
        # A run of more than a minute does not count, wherever the runner rests.
        ada.go(-20.5, -1.5)
        world.run(LONGEST / 1000)
    elif trick == "waits":
        # On a road it would be faster once it could no longer be in a race.
        world.run(WAITS / 1000 + 1)
    elif trick == "turns":
        for turn in range(POINTS_MOST):
            ada.walk(*[(1, 0), (-1, 0)][turn % 2])
            world.run(0.15)
    ada.go(THERE[0] + 0.5, THERE[1] + 0.5)
    world.run(25)
    assert arrive(ada, course) is None and holders(ada, course) == {}
    assert ada.errors()[-1].startswith(refusal)


def test_a_player_without_a_key_holds_nothing():
    world = lonely(1)
    nobody = join(world, "Nobody")
    resident(world, nobody).owner = ""
    nobody.do("race", *WEST)
    nobody.do("arrive", *WEST)
    assert (
        nobody.errors()
        == ["send a key first, so that the server can tell which echoes are yours"] * 2
    )
    assert holders(nobody) == {} and nobody.playing


def test_forged_courses_are_refused_and_harm_nobody():
    world = lonely(1)
    ada = join(world, "Ada")
    for course in ((2**25, -(2**25), 3), (0, 0, 3), (2**24, 2**24, 0)):
        ada.do("race", *course)
        assert arrive(ada, course) is None and ada.errors()[-1] == "you have not arrived there yet"
        world.run(2)
    # No course leads to the plaza from the north.
    assert arrive(ada, (0, -1, 1)) is None and ada.errors()[-1].startswith("no path leads")
    # Nobody can make the server look for signposts everywhere.
    assert len(part(world, Echoes)._posts._known) < 4
    for wrong in ((2**26, 0, 0), (0, 0, 4), (0, 0, -1), ("0", 0, 0), (0, 0)):
        mallory = join(world, "Mallory")
        mallory.do("race", *wrong)
        assert mallory.playing and mallory.errors()[-1].startswith("race")
    assert ada.playing
    world.run(5)
    world.check()


# What goes wrong


def test_a_race_is_off_when_its_node_dies_and_the_player_learns_of_it():
    world = lonely()
    ada = join(world, "Ada")
    set_out(world, ada)
    world.run(8)
    world.kill(0)
    ada.back(1)
    world.run(2)
    assert arrive(ada) is None and ada.errors()[-1].startswith("the race is off")
    ada.go(THERE[0] + 0.5, THERE[1] + 0.5)
    world.run(10)
    assert arrive(ada) is None and ada.errors()[-1].startswith("the race is off")
    # At the next signpost one can begin another race.
    assert run(world, ada, EAST, goal=PLAZA)[1]
    world.check()


@pytest.mark.parametrize("fails", ["the store", "the node, before the books"])
def test_a_run_whose_arrival_failed_is_kept_when_it_is_said_again_and_only_once(fails, monkeypatch):
    world = lonely()
    ada, ben = join(world, "Ada"), join(world, "Ben", 1)
    slow = run(world, ben, via=[ASIDE])[0]
    set_out(world, ada)
    world.run(20)
    if fails == "the store":
        world.lose_store()
        before = len(ada.errors())
        assert arrive(ada) is None and len(ada.errors()) == before + 1
        # Walking past a signpost is not an error.
        ada.do("courses", 0, 0)
        assert len(ada.errors()) == before + 1
        world.heal()
        world.run(10)
    else:
        with monkeypatch.context() as broken, pytest.raises(ZeroDivisionError):
            broken.setattr(Echoes, "_note", lambda *_: 1 / 0)
            ada.do("arrive", *WEST)
        world.run(2)
    fast, won, *other = arrive(ada)
    assert won and other == [slow, "Ben", False]
    # The answer may have been lost; saying it again changes nothing.
    world.run(2)
    assert arrive(ada) == [fast, won, *other]
    assert book(world, ada) == [["echo", "Ben", fast, 2, 0, 0]]
    assert ["beaten", "Ada", fast, 2, 0, 0] in book(world, ben)


# What becomes of it all


def test_two_players_that_race_all_day_fill_neither_the_books_nor_the_store(monkeypatch):
    # A day lasts an hour.
    monkeypatch.setattr(module, "DAY", 3600_000)
    world = lonely(1)
    world.run(3600 - world.game().now() / 1000 % 3600)
    ada, ben = join(world, "Ada"), join(world, "Ben")
    # Each in turn is a little faster than the other one.
    for aside in range(12, 2, -3):
        for player in (ada, ben):
            run(world, player, via=[(-30.5, -aside - 0.5 + (player is ben))])
            run(world, player, EAST, via=[(-30.5, -aside - 0.5 + (player is ben))], goal=PLAZA)
    best = part(world, Echoes).best
    assert len(best.all("0:0")) == len(best.all("-1:0")) == 1
    for player in (ada, ben):
        lines = [(kind, x) for kind, _who, _ms, _side, x, _y in book(world, player)]
        assert sorted(lines) == [("beaten", -1), ("beaten", 0), ("echo", -1), ("echo", 0)]
    # On another day it is noted again.
    world.run(3600)
    assert run(world, ada)[1]
    assert len(book(world, ben)) == 5


def test_an_arrival_that_wins_nothing_is_not_counted_for_the_address():
    world = lonely(1)
    address = part(world, Echoes)._declared_actions["arrive"].of_address
    ada, ben = join(world, "Ada"), join(world, "Ben")
    run(world, ada)
    # The address of this machine is not limited.
    ben._client.connection.address = "192.0.2.1"
    ben.do("race", *WEST)
    ben.go(*ASIDE)
    world.run(8)
    ben.go(THERE[0] + 0.5, THERE[1] + 0.5)
    world.run(15)
    for _ in range(int(address.burst) + 25):
        assert arrive(ben)[1] is False
        world.run(1)


def test_a_course_that_nobody_runs_becomes_free_again_and_one_in_use_does_not(monkeypatch):
    # Seconds in place of the ninety days.
    assert Echo.lasts == 90 * 24 * 3600
    monkeypatch.setattr(Echo, "lasts", 150)
    world = lonely(1)
    ada = join(world, "Ada")
    fast = run(world, ada)[0]
    run(world, ada, EAST, goal=PLAZA)
    world.run(100)
    ben = join(world, "Ben")
    assert run(world, ben, via=[ASIDE])[1:] == [False, fast, "Ada", False]
    world.run(100)
    cyd = join(world, "Cyd")
    assert holders(cyd) == {2: [fast, "Ada", False]} and holders(cyd, EAST) == {}
