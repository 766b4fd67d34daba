"""Which client is behind proxies, and how often a client may do anything."""

import gc
import weakref
from collections import Counter

import pytest

from flatlands.server.runtime.limits import (
    JOINS,
    LEAST_SEATS,
    PEOPLE,
    PER_ADDRESS,
    Limits,
    Proxies,
    Rate,
    Rates,
)
from flatlands.testkit.clock import Clock


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "client"),
    [
        ("", "192.0.2.1", "", "192.0.2.1"),
        # A peer that is not a trusted proxy is not believed.
        ("", "192.0.2.1", "10.0.0.1", "192.0.2.1"),
        ("127.0.0.1", "192.0.2.1", "10.0.0.1", "192.0.2.1"),
        ("127.0.0.1", "127.0.0.1", "192.0.2.1", "192.0.2.1"),
        # Whatever the client has invented is on the left.
        ("127.0.0.1", "127.0.0.1", "203.0.113.9, 192.0.2.1", "192.0.2.1"),
        ("127.0.0.1,10.0.0.0/8", "127.0.0.1", "203.0.113.9,192.0.2.1, 10.1.2.3", "192.0.2.1"),
        ("10.0.0.0/8", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("127.0.0.1", "127.0.0.1", "", "127.0.0.1"),
        # A client that is within a trusted network, or a proxy there, is not this machine.
        ("10.0.0.0/8", "10.0.0.1", "127.0.0.1, 10.0.0.5", "10.0.0.5"),
        ("127.0.0.1,10.0.0.0/8", "127.0.0.1", "127.0.0.1, 10.0.0.5", "10.0.0.5"),
        ("10.0.0.0/8", "10.0.0.1", "::ffff:127.0.0.9", "10.0.0.1"),
        ("*", "10.0.0.1", "::1", "10.0.0.1"),
        # But proxies on one machine may be in a row.
        ("127.0.0.1", "127.0.0.1", "192.0.2.1, 127.0.0.1", "192.0.2.1"),
        # One hop, whoever it is.
        ("*", "10.3.4.5", "203.0.113.9, 192.0.2.1", "192.0.2.1"),
        ("*, 10.0.0.0/8", "10.3.4.5", "203.0.113.9, 192.0.2.1, 10.9.9.9", "192.0.2.1"),
        # Nothing to the left of something that is not an address counts.
        ("127.0.0.1", "127.0.0.1", "203.0.113.9, unknown", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1", "203.0.113.9,", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1", "192.0.2.1:4711", "192.0.2.1"),
        ("::1", "::1", "[2001:db8::1]:4711", "2001:db8::1"),
        ("::1", "::1", "2001:db8::1", "2001:db8::1"),
        ("127.0.0.0/8", "::ffff:127.0.0.1", "::ffff:192.0.2.1", "192.0.2.1"),
        ("", "fe80::1%eth0", "", "fe80::1"),
        ("127.0.0.1", "127.0.0.1", "x" * 5000, "127.0.0.1"),
    ],
)
def test_the_address_that_counts_is_the_rightmost_one_that_is_not_a_proxy(
    trusted, peer, forwarded, client
):
    assert Proxies(trusted).client(peer, forwarded) == client


@pytest.mark.parametrize("text", ["localhost", "10.0.0.0/33", "127.0.0.1;10.0.0.1", "1"])
def test_anything_but_a_network_is_refused(text):
    with pytest.raises(ValueError):
        Proxies(text)


@pytest.fixture
def clock():
    return Clock()


def limits(clock, **options):
    return Limits(Counter(), now=lambda: clock.time, **options)


def nothing():
    return True


def test_each_address_has_its_own_limit_of_connections(clock):
    one = limits(clock, per_address=3)
    connections = [one.enter("192.0.2.1", nothing) for _ in range(5)]
    assert [limited is None for limited in connections] == [False] * 3 + [True] * 2
    assert one.enter("192.0.2.2", nothing)
    assert one.stats["limited_connections"] == 2
    connections[0].leave()
    assert one.enter("192.0.2.1", nothing) and not one.enter("192.0.2.1", nothing)


def test_all_addresses_of_a_slash_64_count_as_one(clock):
    one = limits(clock, per_address=2)
    assert one.enter("2001:db8::1", nothing) and one.enter("2001:db8::ffff:2", nothing)
    assert not one.enter("2001:db8::3", nothing)
    assert one.enter("2001:db8:0:1::1", nothing)
    assert one.enter("::ffff:192.0.2.1", nothing) and one.enter("192.0.2.1", nothing)
    assert not one.enter("::ffff:192.0.2.1", nothing)


def test_all_networks_of_a_slash_48_together_have_sixteen_times_as_much(clock):
    one = limits(clock, per_address=2)
    connections = [one.enter(f"2001:db8:1:{n:x}::1", nothing) for n in range(40)]
    assert [limited is not None for limited in connections] == [True] * 32 + [False] * 8
    assert one.enter("2001:db8:2::1", nothing) and one.enter("192.0.2.1", nothing)
    connections[0].leave()
    assert one.enter("2001:db8:1:ffff::1", nothing)
    assert not one.enter("2001:db8:1:fffe::1", nothing)
    # A machine with few connections leaves as many for others.
    few = limits(clock, most=20)
    assert sum(few.enter(f"2001:db8:1:{n:x}::1", nothing) is not None for n in range(20)) == 10
    assert sum(one.allow_address(JOINS, f"2001:db8:1:{n:x}::1") for n in range(200)) == 160


def test_this_machine_is_not_limited_unless_a_proxy_runs_on_it(clock):
    one = limits(clock, per_address=1)
    assert all(one.enter(address, nothing) for address in ("127.0.0.1", "::1") for _ in range(9))
    behind = limits(clock, per_address=1, proxies=Proxies("127.0.0.1"))
    # Connections of the proxy belong to its clients: they count once it is known to which one.
    first, second = (behind.enter("127.0.0.1", nothing) for _ in range(2))
    assert first.settle("192.0.2.1") and not second.settle("192.0.2.1")
    assert second.settle("192.0.2.2")
    first.leave()
    assert behind.enter("127.0.0.1", nothing).settle("192.0.2.1")


def test_one_address_never_has_more_than_half_of_all_places_and_zero_means_no_limit(clock):
    one, free = limits(clock, most=10), limits(clock, per_address=0)
    assert sum(one.enter("192.0.2.1", nothing) is not None for _ in range(10)) == 5
    assert all(free.enter("192.0.2.1", nothing) for _ in range(1000))
    assert all(free.allow_address(JOINS, "192.0.2.1") for _ in range(1000))


# What is compiled does not read this constant again.
@pytest.mark.interpreted
def test_people_met_longest_ago_are_new_again(clock, monkeypatch):
    monkeypatch.setattr("flatlands.server.runtime.limits.MET_MOST", 3)
    one, school, most = limits(clock), "192.0.2.1", int(PEOPLE.burst)
    assert all(one.meet(f"{n}", school) for n in range(most))
    assert [one.meet(f"{most - n}", school) for n in (3, 2, 1, 4)] == [True] * 3 + [False]
    # One that has come back was met later than another one.
    assert one.meet(f"{most - 3}", school) and one.meet("elsewhere", "192.0.2.2")
    assert one.meet(f"{most - 3}", school) and not one.meet(f"{most - 2}", school)
    assert all(limits(clock, per_address=0).meet(f"{n}", school) for n in range(1000))


def test_a_school_class_behind_one_address_has_its_places_on_a_node_however_small(clock):
    one, school = limits(clock), "192.0.2.1"
    places = sum(one.has_seat(school, 100) and one.take("seats", school) for _ in range(99))
    assert places == LEAST_SEATS > 50


def test_when_all_places_are_taken_the_oldest_connection_without_a_hello_goes(clock):
    one, closed = limits(clock, most=6, per_address=0), []

    def enter(name, plays=False):
        def close():
            if not plays:
                closed.append(name)
                connections[name].leave()
            return not plays

        limited = one.enter("192.0.2.1", close)
        if limited is not None:
            connections[name] = limited
        return limited

    connections = {}
    enter("plays, not known yet", plays=True)
    for name in "abcde":
        assert enter(name)
    connections["a"].stay()
    assert enter("f") and closed == ["b"]
    assert enter("g") and closed == ["b", "c"]
    assert one.connections == 6 and one.stats["evicted"] == 2
    for name in ("d", "e", "f", "g"):
        connections[name].stay()
    assert enter("h") is None and one.stats["limited_descriptors"] == 1


def test_what_was_made_for_a_connection_is_freed_when_it_ends(clock):
    class Made:
        """What a server makes for a connection: knows how it is limited, and can close it."""

        def __init__(self, limits):
            self.limited = limits.enter("192.0.2.1", self.close)

        def close(self):
            return True

    made = Made(limits(clock))
    seen = weakref.ref(made)
    gc.disable()
    try:
        made.limited.leave()
        del made
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("times", [1, 2])
def test_an_address_has_a_rate_that_grows_with_its_limit_of_connections_and_recovers(clock, times):
    one = limits(clock, per_address=PER_ADDRESS * times)
    most = JOINS.burst * times
    assert sum(one.allow_address(JOINS, "192.0.2.1") for _ in range(1000)) == most
    assert one.allow_address(JOINS, "192.0.2.2")
    assert one.stats["limited_joins"] == 1000 - most
    clock.time += 10_000
    came_back = sum(one.allow_address(JOINS, "192.0.2.1") for _ in range(1000))
    assert came_back == 10 * JOINS.rate * times


def test_counts_by_address_are_forgotten_once_they_say_nothing_any_more(clock):
    one = limits(clock)
    for n in range(50_000):
        clock.time += 1
        one.allow_address(JOINS, f"10.0.{n >> 8}.{n & 255}")
    assert len(one._rates.full_at) < 3000


def test_a_rate_makes_up_for_a_pause_of_the_server_and_only_once():
    rate, rates = Rate("talk", 2, 4), Rates()

    def spend(times, now, late=0):
        return sum(rates.spend("a", rate, now, late=late) for _ in range(times))

    assert spend(10, 100_000) == 4
    assert spend(30, 100_000, late=10_000) == 20
    assert not spend(1, 100_000, late=10_000)
    assert spend(10, 105_000) == 4
    assert spend(2, 105_500) == 1
