"""Which player a slot means, and when the move that a record acknowledges was due."""

import multiprocessing
from itertools import pairwise

import msgpack
import pytest

from flatlands import wire
from flatlands.loadtest.swarm.intent_times import KEPT, IntentTimes, room
from flatlands.loadtest.swarm.observer import Observer
from flatlands.loadtest.swarm.reader import Reader
from flatlands.loadtest.swarm.slot_tables import SlotTable
from flatlands.model import FIRST_PERSON_ID
from tests.loadtest.test_reader import enter, flush, record, snapshot, wide

HERE = (0, 0)
THERE = (1, 0)

RULES = wire.TrackReader()
RULES.set(16, 5120, 3620)

SECOND = 1_000_000


class Bot:
    """A bot whose player is `id`; `told` has the player's own events: (square, seq, ack)."""

    def __init__(self, town, id=None):
        self.view = SlotTable(RULES, town.dues, town.players)
        self.view.bots.add(self)
        self.reader, self.told = town.reader, []
        if id is not None:
            town.players[id] = self

    def hold(self, *squares, before=()):
        self.view.hold(set(before), set(squares))
        return self

    def shown(self, square, *entries, source=0, missed=None):
        self.view.snapshot(square, snapshot(square, *entries, source=source), 1000, missed)
        return self

    def moved(self, square, seq, ack, track, now):
        if (square, seq, ack) not in self.told:
            self.told.append((square, seq, ack))

    def receive(self, number, *batches, crowds=(), now=1000):
        """Receive a flush; return it."""
        data = flush(number, *batches, now=now, crowds=crowds)
        [(found, _)] = self.reader.parts(data, self.view, now)
        return found

    def read(self, number, *batches, now=1000):
        """Receive a flush; return the due times of the moves that it is the first to tell of."""
        return self.receive(number, *batches, now=now).dues

    def replaced(self, number, *batches, **more):
        """Receive a flush; return the due times of the moves that it replaces."""
        return sorted(self.receive(number, *batches, **more).replaced)


class Town:
    """What the bots of a process share."""

    def __init__(self, bots=4):
        self.dues = IntentTimes(room(bots), bots)
        self.players, self.reader = {}, Reader()

    def sends(self, index, id, number, due):
        self.dues.name(index, id)
        self.dues.put(index, number, due)

    def two_send(self, number=1):
        """Let 50 send its move 1, due at 100, and 51 its move `number`, due at 200."""
        self.sends(0, 50, 1, 100)
        self.sends(1, 51, number, 200)


@pytest.fixture
def town():
    return Town()


@pytest.fixture
def bot(town):
    """A bot whose player is 50, shown to it with slot 3."""
    return Bot(town, 50).hold(HERE).shown(HERE, enter(50, 1, 3))


def batch(square, tracks=b"", others=(), *, source=0, replaced=0, broad=b""):
    return [*square, source, 0, tracks, list(others), replaced, broad]


# When a move was due


def write(memory):
    dues = IntentTimes(memory, 3)
    dues.name(2, 77)
    for number in range(1, 301):
        dues.put(2, number, number * 1000)


def test_a_process_finds_when_the_moves_of_another_one_were_due():
    context = multiprocessing.get_context("spawn")
    memory = room(3)
    ours = IntentTimes(memory, 3)
    other = context.Process(target=write, args=(memory,))
    other.start()
    other.join()
    assert other.exitcode == 0
    assert [ours.get(77, number) for number in (300, 256, 45)] == [300_000, 256_000, 45_000]
    # The number before the first belongs to no move, and no other player is a bot.
    assert ours.get(77, 0) == ours.get(78, 5) == 0


def test_a_bot_whose_place_another_player_takes_is_found_by_its_new_id(town):
    town.sends(1, 50, 1, 7000)
    assert town.dues.get(50, 1) == 7000
    town.sends(1, 51, 2, 8000)
    assert town.dues.get(51, 2) == 8000


def test_the_numbers_of_moves_go_on_after_their_low_byte_has_wrapped(town, bot):
    told = []
    for number in range(1, 3 * KEPT):
        town.sends(0, 50, number, number * 1000)
        told += bot.read(number, batch(HERE, record(3, number + 1 & 255, number & 255)))
    assert told == [number * 1000 for number in range(1, 3 * KEPT)]
    assert bot.told[-1] == (HERE, 3 * KEPT, 3 * KEPT - 1)
    assert all(after[1] == before[1] + 1 for before, after in pairwise(bot.told))


def test_a_move_counts_once_however_many_events_acknowledge_it(town, bot):
    town.sends(0, 50, 1, 9000)
    assert bot.read(1, batch(HERE, record(3, 2, 1))) == [9000]
    # A walk that goes on has a new seq and the old ack.
    assert bot.read(2, batch(HERE, record(3, 3, 1))) == []
    # An event older than the known one tells nothing new.
    assert bot.read(3, batch(HERE, record(3, 2, 1))) == []
    assert bot.told == [(HERE, 2, 1), (HERE, 3, 1)]


# Moves of which nothing tells


def test_a_player_that_comes_back_is_not_taken_for_its_last_life(town):
    for number in range(1, 6):
        town.sends(0, 50, number, number * 100)
    assert list(town.dues.back(50, 5, 200)) == [500, 400, 300]
    assert list(town.dues.after(50, 3)) == [400, 500]
    # In its next life it numbers its moves anew.
    for number in (1, 2):
        town.sends(0, 50, number, number * 1000)
    assert list(town.dues.back(50, 2, 500)) == [2000, 1000]
    assert list(town.dues.back(50, 2, 0)) == [2000, 1000]
    assert list(town.dues.after(50, 1)) == [2000]
    assert list(town.dues.after(50, 0)) == list(town.dues.back(51, 2, 0)) == []


def test_all_moves_that_are_kept_are_found_and_none_of_bots_elsewhere():
    dues = IntentTimes(room(1), 1, elsewhere=True)
    dues.name(0, 50)
    for number in range(1, 3 * KEPT):
        dues.put(0, number, number)
    assert list(dues.back(50, 3 * KEPT - 1, 0)) == list(range(3 * KEPT - 1, 2 * KEPT - 1, -1))
    assert list(dues.after(50, 3 * KEPT - 1)) == []
    assert list(dues.back(51, 9, 0)) == list(dues.after(51, 9)) == []


@pytest.fixture
def five(town):
    """Let 50 send its moves 1 to 5, due at 100 to 500, and 51 its move 1, due at 90."""
    for number in range(1, 6):
        town.sends(0, 50, number, number * 100)
    town.sends(1, 51, 1, 90)


def sketch(square, marks):
    """A crowd of which the player with slot 3 is told."""
    return [*square, 0, 0, bytes([4, marks, 1, 1, 0, 0])]


@pytest.mark.parametrize("how", ["record", "enter", "sketch"])
def test_moves_that_a_newer_one_has_replaced_are_found(town, bot, five, how):
    assert bot.replaced(1, batch(HERE, record(3, 2, 1))) == []
    if how == "sketch":
        told = bot.receive(2, crowds=[sketch(HERE, 0x45)])
    elif how == "enter":
        told = bot.receive(2, batch(HERE, b"", [enter(50, 5, 9, ack=4)]))
    else:
        told = bot.receive(2, batch(HERE, record(3, 5, 4)))
    assert (told.dues, sorted(told.replaced)) == ([400], [200, 300])
    assert bot.replaced(3, batch(HERE, record(9 if how == "enter" else 3, 6, 5))) == []


def test_moves_before_a_border_are_replaced_by_what_the_player_did_beyond_it(town, five):
    bot = Bot(town, 50).hold(HERE, THERE).shown(HERE, enter(50, 1, 3))
    bot.read(1, batch(HERE, record(3, 2, 1)))
    leave, there = [wire.LEAVE, 50, 3, *THERE], enter(50, 6, 8, ack=4)
    assert bot.replaced(2, batch(HERE, b"", [leave]), batch(THERE, b"", [there])) == [200, 300]
    # Whichever is read first.
    leave, here = [wire.LEAVE, 50, 8, *HERE], enter(50, 9, 8, ack=5)
    assert bot.replaced(3, batch(HERE, b"", [here]), batch(THERE, b"", [leave])) == []


def test_moves_in_squares_that_nobody_holds_were_not_to_be_told(town, five):
    bot = Bot(town).hold(HERE).shown(HERE, enter(50, 1, 3))
    bot.read(1, batch(HERE, record(3, 2, 1), [[wire.LEAVE, 50, 3, *THERE]]))
    assert bot.replaced(2, batch(HERE, b"", [enter(50, 9, 3, ack=4)])) == []
    # The player stays, but for a while nobody holds the square.
    bot.hold(before=[HERE])
    bot.hold(HERE).shown(HERE, enter(50, 10, 3, ack=5))
    town.sends(0, 50, 6, 600)
    town.sends(0, 50, 7, 700)
    assert bot.replaced(3, batch(HERE, record(3, 13, 7))) == [600]


def test_moves_before_a_player_came_into_view_were_not_to_be_told(town, five):
    bot = Bot(town).hold(HERE).shown(HERE, enter(50, 4, 3, ack=2))
    told = bot.receive(1, batch(HERE, record(3, 8, 5), [enter(51, 7, 4, ack=1)]))
    assert sorted(told.dues) == [90, 500] and sorted(told.replaced) == [300, 400]


def test_a_view_that_becomes_another_takes_over_whom_it_follows(town, five):
    one, other = Bot(town).hold(THERE), Bot(town).hold(HERE).shown(HERE, enter(50, 1, 3))
    one.read(1, batch(THERE, b"", [enter(50, 1, 3), [wire.LEAVE, 50, 2, 9, 9]]))
    other.read(2, batch(HERE, record(3, 4, 2)))
    one.view.join(other.view)
    assert one.replaced(3, batch(HERE, record(3, 6, 5))) == [300, 400]


def test_moves_that_a_player_had_sent_when_it_left_are_replaced_by_that(town, bot, five):
    bot.read(1, batch(HERE, record(3, 2, 1)))
    assert bot.replaced(2, batch(HERE, b"", [[wire.GONE, 50, 5]])) == [200, 300, 400, 500]
    assert bot.replaced(3, batch(HERE, b"", [[wire.GONE, 50, 6]])) == []


def test_moves_of_its_last_life_are_replaced_when_a_player_comes_back(town, bot, five):
    bot.read(1, batch(HERE, record(3, 2, 3)))
    assert bot.replaced(2, batch(HERE, b"", [enter(50, 3, 3)])) == [400, 500]


def test_a_bot_that_missed_events_has_missed_the_moves_that_a_snapshot_is_newer_than(town, five):
    bot = Bot(town).hold(HERE)
    entries = snapshot(HERE, enter(50, 9, 3, ack=4), enter(51, 2, 4, ack=1))
    assert sorted(bot.view.snapshot(HERE, entries, 1000, 150)) == [200, 300, 400]
    assert bot.view.snapshot(HERE, entries, 1000, None) == []


def test_moves_that_are_still_under_way_are_outstanding(town, bot, five):
    bot.read(1, batch(HERE, record(3, 2, 1), [enter(51, 7, 4)]))
    assert bot.view.outstanding(HERE) == [200, 300, 400, 500]
    assert bot.view.outstanding(THERE) == []
    bot.read(2, batch(HERE, record(3, 6, 5)))
    assert bot.view.outstanding(HERE) == []


# Which player is meant


def test_a_slot_that_is_given_out_again_is_another_players(town):
    bot = Bot(town, 50).hold(HERE)
    town.two_send()
    assert bot.read(1, batch(HERE, record(), [enter(50, 4, 3)])) == []
    assert bot.read(2, batch(HERE, record(3, 5, 1))) == [100]
    assert bot.read(3, batch(HERE, b"", [[wire.GONE, 50, 6]])) == []
    lacking = town.reader.lacking
    assert bot.read(4, batch(HERE, record(3, 7, 2))) == []
    assert town.reader.lacking == lacking + 1
    assert bot.read(5, batch(HERE, b"", [enter(51, 90, 3)])) == []
    assert bot.read(6, batch(HERE, record(3, 91, 1))) == [200]
    assert bot.told == [(HERE, 4, 0), (HERE, 5, 1)]


def test_a_slot_of_one_square_and_node_says_nothing_of_another(town):
    bot = Bot(town).hold(HERE, THERE)
    for n, id in enumerate((50, 51, 52)):
        town.sends(n, id, 1, n + 1)
    bot.shown(HERE, enter(50, 1, 300)).shown(THERE, enter(51, 1, 300))
    bot.read(1, batch(HERE, b"", [enter(52, 1, 300)], source=1))
    one = wide(300, 2, 1)
    assert bot.read(2, batch(HERE, broad=one)) == [1]
    assert bot.read(3, batch(THERE, broad=one)) == [2]
    assert bot.read(4, batch(HERE, broad=one, source=1)) == [3]
    assert bot.read(5, batch(THERE, broad=one, source=1)) == []


def test_an_old_snapshot_that_is_read_late_takes_no_slot_from_its_present_player(town):
    # Nothing else was ever told of the player that leaves.
    bot = Bot(town).hold(HERE).shown(HERE, enter(50, 5, 3), enter(60, 5, 4))
    town.two_send()
    bot.read(2, batch(HERE, b"", [[wire.LEAVE, 50, 7, 9, 9]]))
    bot.read(3, batch(HERE, b"", [enter(51, 1, 3)]))
    # The snapshot is needed for the slot of 60.
    town.sends(2, 60, 1, 300)
    assert sorted(bot.read(4, batch(HERE, record(4, 6, 1) + record(3, 2, 1)))) == [200, 300]


def test_a_player_that_goes_on_in_the_next_square_is_followed_whichever_batch_is_read_first(town):
    bot = Bot(town, 50).hold(HERE, THERE)
    bot.read(9, batch(HERE, b"", [enter(50, 1, 3)]))
    town.sends(0, 50, 1, 100)
    town.sends(0, 50, 2, 200)
    leave, there = [wire.LEAVE, 50, 3, *THERE], enter(50, 4, 8, ack=1)
    assert bot.read(1, batch(THERE, b"", [there]), batch(HERE, record(3, 2, 1), [leave])) == [100]
    assert bot.read(2, batch(THERE, record(8, 5, 2))) == [200]
    # What the player did here is still told.
    assert bot.told == [(HERE, 1, 0), (THERE, 4, 1), (HERE, 2, 1), (THERE, 5, 2)]


@pytest.mark.parametrize("how", ["enter", "snapshot", "join"])
def test_a_late_event_from_the_node_that_had_a_player_is_no_news(town, how):
    bot, other = Bot(town, 50).hold(HERE), Bot(town).hold(HERE)
    bot.read(1, batch(HERE, b"", [enter(50, 17, 3)], source=1))
    begun = 2**24 + 1
    if how == "enter":
        bot.read(2, batch(HERE, b"", [enter(50, begun, 8)], source=2))
    elif how == "snapshot":
        bot.shown(HERE, enter(50, begun, 8), source=2, missed=900)
    else:
        other.shown(HERE, enter(50, begun, 8), source=2, missed=900)
        bot.view.join(other.view)
    # The other node had published it before it passed the player on.
    bot.read(3, batch(HERE, record(3, 18), source=1))
    assert town.reader.lacking == 1
    bot.read(4, batch(HERE, record(8, begun + 1 & 255), source=2))
    assert bot.told[-1] == (HERE, begun + 1, 0)
    assert max(seq for _, seq, _ in bot.told) == begun + 1


def test_nothing_is_kept_of_a_square_that_nobody_holds(town):
    bot = Bot(town).hold(HERE).shown(HERE, enter(50, 1, 3))
    town.two_send(9)
    assert bot.read(1, batch(HERE, record(3, 2, 1))) == [100]
    bot.hold(before=[HERE])
    bot.hold(HERE).shown(HERE, enter(51, 8, 3, ack=8))
    assert bot.read(2, batch(HERE, record(3, 9, 9))) == [200]


def test_a_missed_enter_is_learned_from_the_snapshot_that_follows(town):
    bot = Bot(town).hold(HERE).shown(HERE, enter(50, 1, 3))
    town.two_send(9)
    assert bot.read(1, batch(HERE, record(3, 2, 1))) == [100]
    bot.shown(HERE, enter(51, 8, 3, ack=8), missed=900)
    assert bot.read(2, batch(HERE, record(3, 9, 9))) == [200]


def test_a_bot_that_another_node_takes_over_is_told_of_itself_by_the_snapshot_alone(town):
    bot = Bot(town, 50).hold(HERE)
    bot.read(1, batch(HERE, b"", [enter(50, 17, 3, ack=7)], source=1))
    begun = 2**24 + 1
    # The event by which it came to the other node was published before it was subscribed there.
    bot.shown(HERE, enter(50, begun, 8, ack=8), source=2, missed=900)
    assert bot.told == [(HERE, 17, 7), (HERE, begun, 8)]


def test_a_bot_that_comes_back_starts_numbering_its_moves_again(town, bot):
    for number in range(1, 201):
        town.sends(0, 50, number, number)
        assert bot.read(number, batch(HERE, record(3, number + 1, number))) == [number]
    assert bot.read(300, batch(HERE, b"", [enter(50, 202, 3)])) == []
    town.sends(0, 50, 1, 5000)
    assert bot.read(301, batch(HERE, record(3, 203, 1))) == [5000]
    assert bot.told[-2:] == [(HERE, 202, 0), (HERE, 203, 1)]


# Bots of one node


def test_bots_of_one_node_have_one_view_once_they_are_told_the_same(town):
    first = Bot(town).hold(HERE).shown(HERE, enter(50, 1, 3))
    second = Bot(town).hold(HERE, THERE).shown(HERE, enter(50, 1, 3)).shown(THERE, enter(51, 1, 3))
    town.two_send()
    here = batch(HERE, record(3, 2, 1))
    assert first.read(1, here) == [100]
    # It is the same batch, so this still counts as the first telling.
    assert second.read(1, here, batch(THERE, record(3, 2, 1))) == [100, 200]
    assert first.view is second.view and first.view.bots == {first, second}
    first.hold(HERE, THERE, before=[HERE])
    assert first.read(2, batch(THERE, record(3, 3, 1))) == []


def test_bots_of_one_node_have_one_view_once_both_are_told_who_joins_there(town):
    first, second, third = (Bot(town).hold(HERE) for _ in range(3))
    newcomer = batch(HERE, b"", [enter(50, 1, 3)])
    for bot in (first, second):
        bot.read(1, newcomer)
    assert first.view is second.view
    # A say has no seq, and a player that joins at another node may be told at any node alike.
    said = batch(HERE, b"", [[4, 50, "hello"]])
    elsewhere = batch(HERE, b"", [enter(51, 1, 3)], source=1)
    for bot in (second, third):
        bot.read(2, said, elsewhere)
    assert third.view is not second.view


def test_bots_of_two_nodes_keep_apart_what_is_told_of_a_source(town):
    # To the first bot, 50 is a player of its own node, and to the second one of another node.
    first = Bot(town).hold(HERE).shown(HERE, enter(50, 1, 3)).shown(HERE, enter(50, 1, 3))
    second = Bot(town).hold(HERE)
    second.shown(HERE, enter(51, 1, 3), source=0)
    second.read(9, batch(HERE, b"", [enter(50, 1, 3)], source=1))
    first.read(9, batch(HERE, b"", [enter(51, 1, 3)], source=1))
    town.two_send()
    assert first.read(1, batch(HERE, record(3, 2, 1))) == [100]
    assert second.read(1, batch(HERE, record(3, 2, 1), source=1)) == [100]
    # The very same bytes mean something else to each of them.
    assert first.read(2, batch(HERE, record(3, 3, 1), source=1)) == [200]
    assert second.read(2, batch(HERE, record(3, 3, 1), source=1)) == []
    assert first.view is not second.view


def test_a_bot_that_knows_more_reads_again_a_batch_that_another_could_not(town):
    new = Bot(town).hold(HERE)
    old = Bot(town).hold(HERE).shown(HERE, enter(50, 1, 3))
    town.sends(0, 50, 1, 100)
    assert new.read(1, batch(HERE, record(3, 2, 1))) == []
    assert old.read(1, batch(HERE, record(3, 2, 1)), batch(THERE, b"")) == [100]


def test_an_event_that_a_newcomers_snapshot_shows_is_news_to_those_who_were_there(town):
    # The newcomer gets the same flush as the others, but reads it first.
    old = Bot(town, 50).hold(HERE).shown(HERE, enter(50, 1, 3))
    town.sends(0, 50, 1, 100)
    town.sends(0, 50, 2, 200)
    assert old.read(1, batch(HERE, record(3, 2, 1))) == [100]
    new = Bot(town).hold(HERE).shown(HERE, enter(50, 3, 3, ack=2))
    told = batch(HERE, record(3, 3, 2))
    new.read(2, told)
    assert old.read(2, told) == [200] and old.view is new.view
    assert old.told == [(HERE, 2, 1), (HERE, 3, 2)]
    town.sends(0, 50, 3, 300)
    assert new.read(3, batch(HERE, record(3, 4, 3))) == [300]


def test_a_late_look_into_a_snapshot_sends_nobody_back(town, bot):
    town.sends(0, 50, 1, 100)
    town.sends(0, 50, 2, 200)
    assert bot.read(1, batch(HERE, record(3, 2, 1))) == [100]
    # This one shows an event of 50 that is told in the flush after it.
    bot.shown(HERE, enter(50, 3, 3, ack=2), enter(60, 7, 4))
    assert bot.read(2, batch(HERE, record(4, 8) + record(3, 3, 2))) == [200]
    assert bot.told[-1] == (HERE, 3, 2)


# An observing bot


@pytest.fixture
def found(town):
    """An observer of both squares."""
    found = Observer(town.dues)
    found.take([wire.HELD, 0, 0, 1, 0], 0)
    return found


def tell(found, at, *batches, crowds=(), now=1000):
    found.take([wire.FLUSH, found.flush + 1, now, batches, crowds], at)


def show(found, at, *entries, source=0):
    found.take(msgpack.unpackb(snapshot(HERE, *entries, source=source)), at)


def news(found):
    """What an observer has logged: (id, due, kind, seq)."""
    return [(id, due, kind, seq) for _, id, due, kind, _, seq in found.report()["news"].tolist()]


def test_an_observer_believes_what_a_record_says_of_who_has_its_slot(town, found):
    town.sends(0, 50, 7, 700)
    show(found, 1, enter(50, 254, 3, ack=6))
    moved = record(3, 255, 7, x=-8192, y=5, dx=5120, age=20)
    tell(found, 2, batch(HERE, moved))
    tell(found, 3, batch(HERE, record(3, 0, 7)))
    assert news(found) == [(50, 0, 9, 254), (50, 700, 1, 255), (50, 700, 1, 256)]
    assert found.players[50].seq == 256 and found.players[50].ack == 7
    assert (found.duplicate, found.reordered, found.lacking) == (0, 0, 0)
    [belief] = found.report()["beliefs"].tolist()
    assert belief == [50, 256, 700, 0, 0, 8192, 8192, 0, 0, 1000, 0, 0]


def test_an_observer_counts_records_that_name_nobody(found):
    tell(found, 1, batch(HERE, record(3, 1, 0)))
    show(found, 2, enter(50, 1, 3))
    tell(found, 3, batch(HERE, record(3, 2), source=1), batch(THERE, record(3, 2)))
    assert found.lacking == 3 and news(found) == [(50, 0, 9, 1)]
    # A player whose slot is now another's has none.
    tell(found, 4, batch(HERE, b"", [enter(51, 20, 3)]))
    tell(found, 5, batch(HERE, record(3, 21)))
    assert news(found)[-1] == (51, 0, 1, 21) and found.players[50].seq == 1


def test_an_observer_does_not_log_movers_as_players_on_its_screen(found):
    show(found, 1, enter(50, 1, 3), enter(FIRST_PERSON_ID + 50, 1, 4))
    found.look(2)
    assert found.report()["screens"].tolist() == [[FIRST_PERSON_ID + 50, 1]]
    assert found.report()["looks"].tolist() == [[2, 1]]


def test_an_observer_finds_what_comes_twice_and_what_comes_too_late(found):
    show(found, 0, enter(50, 1, 3), enter(51, 1, 4))
    one, other = batch(HERE, record(3, 2)), batch(HERE, record(4, 2))
    tell(found, 1, one, one)
    assert (found.duplicate, found.reordered) == (1, 0)
    # The batch was begun before the one that has come, though that was of another player.
    tell(found, 2, other, now=900)
    assert (found.duplicate, found.reordered) == (1, 1)
    assert found.players[51].seq == 2
    tell(found, 3, batch(HERE, record(3, 4)), now=1100)
    tell(found, 4, batch(HERE, record(3, 3)), now=1200)
    assert (found.reordered, found.players[50].seq) == (2, 4)
    assert news(found)[-1] == (50, 0, 1, 3)
    # In a crowd the server begins batches of its own when it writes them.
    tell(found, 5, crowds=[[*HERE, 0, 0, b""]], now=1300)
    tell(found, 6, batch(HERE, record(4, 3)), now=1000)
    assert (found.reordered, found.players[51].seq) == (2, 3)


def test_the_last_gone_of_a_player_that_a_node_handed_over_is_not_too_late(found):
    tell(found, 1, batch(HERE, b"", [enter(50, 2**24 + 1, 3)], source=1))
    tell(found, 2, batch(HERE, b"", [[3, 50, 8]]))
    assert found.reordered == 0 and found.players[50].seq == 2**24 + 1
    tell(found, 3, batch(HERE, b"", [[3, 50, 2**24]]))
    assert found.reordered == 1 and found.players[50].seq == 2**24 + 1
    # The player came to this node, and so was shown by a snapshot.
    show(found, 4, enter(51, 2**24 + 1, 4))
    before = news(found)
    tell(found, 5, batch(HERE, b"", [[3, 51, 8]]))
    assert found.reordered == 1 and news(found) == before


def test_a_track_of_an_earlier_incarnation_is_not_too_late_and_changes_nothing(found):
    tell(found, 1, batch(HERE, b"", [enter(50, 8, 3)]))
    tell(found, 2, batch(HERE, b"", [enter(50, 2**24 + 1, 3)], source=1))
    tell(found, 3, batch(HERE, record(3, 9)))
    assert found.reordered == 0 and found.players[50].seq == 2**24 + 1


def test_an_event_told_before_a_clock_was_estimated_again_is_not_too_late(found):
    tell(found, 1, batch(HERE, b"", [enter(50, 1, 3)], source=1), now=1000)
    tell(found, 2, batch(HERE, record(3, 2), source=1), now=990)
    assert found.reordered == 0
    tell(found, 3, batch(HERE, record(3, 3), source=1), now=800)
    assert found.reordered == 1


def test_an_event_that_comes_after_its_player_was_told_of_elsewhere_is_heard(town, found):
    for number in (1, 2):
        town.sends(0, 50, number, number * 100)
    show(found, 0, enter(50, 1, 3))
    tell(found, 1, batch(THERE, b"", [enter(50, 4, 9, ack=2)]))
    tell(found, 2, batch(HERE, record(3, 2, 1), [[wire.LEAVE, 50, 3, *THERE]]))
    assert news(found)[1:] == [(50, 200, 0, 4), (50, 100, 1, 2), (50, 0, 2, 3)]
    belief = found.players[50]
    assert (belief.square, belief.seq, belief.ack) == (THERE, 4, 2)
    # Ten seconds later the slot may be another's whose enter was lost.
    tell(found, 11 * SECOND, batch(HERE, record(3, 3, 1)))
    assert found.lacking == 1


def test_an_enter_that_comes_after_a_newer_one_elsewhere_says_whose_its_slot_was(town, found):
    for number in (1, 2):
        town.sends(0, 50, number, number * 100)
    show(found, 0, enter(50, 1, 3))
    # The player went to the next square, did something there, and came back.
    tell(found, 1, batch(HERE, b"", [enter(50, 5, 4, ack=2)]))
    tell(found, 2, batch(THERE, b"", [enter(50, 2, 9)]))
    tell(found, 3, batch(THERE, record(9, 3, 1), [[wire.LEAVE, 50, 4, *HERE]]))
    assert news(found)[1:] == [(50, 200, 0, 5), (50, 0, 0, 2), (50, 100, 1, 3), (50, 0, 2, 4)]
    assert found.lacking == 0
    belief = found.players[50]
    assert (belief.square, belief.seq, belief.ack) == (HERE, 5, 2)


def test_a_player_that_is_drawn_on_after_a_leave_is_moved_by_no_record(found):
    show(found, 0, enter(50, 1, 3))
    tell(found, 1, batch(HERE, b"", [[wire.LEAVE, 50, 2, *THERE]]))
    tell(found, 2, batch(THERE, record(3, 3)), batch(HERE, record(3, 3)))
    assert found.players[50].seq == 2 and found.lacking == 1


def test_an_entry_with_a_seq_that_is_known_may_tell_of_another_slot(found):
    show(found, 0, enter(50, 5, 3))
    show(found, 1, enter(50, 5, 7), source=2)
    tell(found, 2, batch(HERE, record(7, 6), source=2), batch(HERE, record(7, 7)))
    assert (found.players[50].seq, found.lacking) == (6, 1)


def test_a_part_is_read_once_the_parts_before_it_were_obeyed(town):
    # A bot that joins may read its squares, a snapshot, and later enters, all at once.
    bot = Bot(town, 50)
    town.sends(0, 50, 1, due=7 * SECOND)
    entered = flush(1, batch(HERE, others=[enter(50, 1, 3)]))
    parts = bot.reader.parts(entered + flush(2, batch(HERE, record(3, 2, 1))), bot.view, 0)
    bot.hold(HERE).shown(HERE)
    assert [part.dues for part, _ in parts] == [[], [7 * SECOND]]
    assert bot.told == [(HERE, 1, 0), (HERE, 2, 1)]
