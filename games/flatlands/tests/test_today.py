"""Who walked here within two days: names on the title, at all nodes, and after all restarted."""

import pytest

from flatlands.games.flatlands.today import ASK_EVERY_MS, NAMES_MOST, TODAY_QUEUE
from flatlands.server.players.moderation import BY_OWNER, KICK, MUTE, OWNER_PREFIX_CHARS
from games.flatlands.tests.harness import Harness, Sizes
from games.flatlands.walkers.tests.test_herd import herding
from tests.server.harness import Broken

TOTALS_ONLY = (15, 0, 1, 1, 0, 0)

TWO_DAYS_MS = 2 * 24 * 3600 * 1000


@pytest.fixture
def two():
    """Two nodes that share a store, with one clockwork walker."""
    harness = herding(nodes=2, sizes=Sizes(people=1))
    harness.run(2000)
    return harness


def come(harness, name, host=0):
    """Return a client that plays under a name and has a key."""
    client = harness.stand(name, (0, 0), (40, 25), harness.hosts[host])
    client.send(10, f"{name:_<20}")
    return client


def walked(harness, host=0):
    """Return what the title of a page of a node shows: some names, and the number of people."""
    watcher = harness.client(harness.hosts[host])
    watcher.send(*TOTALS_ONLY)
    harness.run(2 * ASK_EVERY_MS + 2000)
    watcher.connection.lose(1000)
    return watcher.model.totals[7:]


@pytest.mark.parametrize("host", [0, 1])
def test_the_newest_names_are_shown_at_all_nodes_and_after_all_were_replaced(two, host):
    assert walked(two, host) == [[], 0]
    mira, *_ = (come(two, name) for name in ("Mira", "Ben", "Cid", "Dan"))
    assert walked(two, host) == [["Dan", "Cid", "Ben"], 4]
    # A player that comes again under another name still counts as one.
    mira.send(33, "Mia", 0)
    assert walked(two, host) == [["Mia", "Dan", "Cid"], 4]
    two.host()
    for old in two.hosts[:2]:
        two.kill(old)
    two.run(2000)
    assert walked(two) == [["Mia", "Dan", "Cid"], 4]


def test_no_name_is_shown_for_longer_than_two_days(two):
    come(two, "Mira")
    two.run(ASK_EVERY_MS)
    today = two.node.game.today
    two.clock.time += TWO_DAYS_MS - 2 * ASK_EVERY_MS
    assert today.recent_visitors() == (["Mira"], 1)
    two.clock.time += 3 * ASK_EVERY_MS
    assert today.recent_visitors() == ([], 0)


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("deed", [KICK, MUTE])
def test_the_name_of_a_player_that_is_kicked_or_muted_is_removed(two, deed, by_key):
    come(two, "Ben")
    bad = come(two, "Bad", host=1)
    two.run(2 * ASK_EVERY_MS)
    owner = bad.session.playing.owner
    order = (BY_OWNER[deed], owner[:OWNER_PREFIX_CHARS]) if by_key else (deed, str(bad.id))
    two.hosts[0].node.moderation.apply(*order, 600)
    assert walked(two) == walked(two, 1) == [["Ben"], 1]
    if deed == MUTE:
        bad.send(33, "Worse", 0)
        # Nor is a newcomer with the same key.
        come(two, "Bad", host=1)
        assert walked(two, 1) == [["Ben"], 1]


def test_only_a_limited_number_of_names_is_kept(two):
    today, store = two.node.game.today, two.node.store_client.store
    for id in range(3 * NAMES_MOST):
        today.note(70_000 + id, "\N{PILE OF POO}" * 20, "")
        two.run(ASK_EVERY_MS if id % 50 == 0 else 1)
    two.run(ASK_EVERY_MS)
    assert today.recent_visitors()[1] == NAMES_MOST
    [item] = store.group(f"{TODAY_QUEUE} 2013-16", "today")
    assert len(item.body) < 12_000


def test_without_a_store_a_node_knows_only_its_own_names():
    harness = Harness()
    harness.run(2000)
    come(harness, "Mira")
    assert walked(harness) == [["Mira"], 1]


def test_names_that_the_store_did_not_take_are_written_later(two):
    store_client = two.node.store_client
    store, store_client.store = store_client.store, Broken()
    come(two, "Mira")
    two.run(3 * ASK_EVERY_MS)
    store_client.store = store
    two.run(2 * ASK_EVERY_MS)
    assert walked(two, 1) == [["Mira"], 1]
