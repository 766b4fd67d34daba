"""Host names that a server answers to, and origins whose pages may connect."""

import pytest

from flatlands.server.net.hosts import Hosts, is_local, is_origin


@pytest.mark.parametrize(
    ("local", "hosts", "host", "answered"),
    [
        (True, (), "localhost:8000", True),
        (True, (), "LOCALHOST", True),
        (True, (), "flat.localhost", True),
        (True, (), "127.0.0.1:8000", True),
        (True, (), "127.9.9.9", True),
        (True, (), "[::1]:8000", True),
        (True, (), "", True),
        # A name that somebody has given this machine's address.
        (True, (), "evil.example:8000", False),
        (True, (), "127.0.0.1.evil.example", False),
        (True, (), "localhost.evil.example", False),
        (True, (), "192.168.0.1", False),
        (True, ("flat.example",), "Flat.Example:443", True),
        (True, ("flat.example",), "localhost", True),
        (True, ("*",), "evil.example", True),
        (False, (), "anything.example", True),
        (False, ("flat.example",), "flat.example", True),
        (False, ("flat.example",), "other.example", False),
        (False, ("flat.example",), "localhost:8000", True),
    ],
)
def test_a_server_answers_to_a_name_or_says_what_to_set(local, hosts, host, answered):
    sentence = Hosts(hosts=hosts, local=local).host_refusal(host)
    assert (sentence is None) == answered
    assert answered or "ALLOWED_HOSTS" in sentence


@pytest.mark.parametrize(
    ("origins", "origin", "host", "welcome"),
    [
        ((), "", "flat.example", True),
        ((), "https://flat.example", "flat.example", True),
        ((), "https://flat.example", "flat.example:443", True),
        ((), "http://flat.example", "flat.example:80", True),
        ((), "https://Flat.Example", "flat.example", True),
        ((), "http://localhost:8000", "localhost:8000", True),
        ((), "http://[::1]:8000", "[::1]:8000", True),
        ((), "http://localhost:9000", "localhost:8000", False),
        ((), "http://127.0.0.1:8000", "localhost:8000", False),
        ((), "https://evil.example", "flat.example", False),
        ((), "https://flat.example.evil.example", "flat.example", False),
        ((), "https://flat.example,https://evil.example", "flat.example", False),
        ((), "null", "flat.example", False),
        ((), "flat.example", "flat.example", False),
        ((), "https://flat.example/", "flat.example", False),
        (("https://other.example/",), "https://other.example", "flat.example", True),
        (("https://other.example",), "http://other.example", "flat.example", False),
        (("null",), "null", "flat.example", True),
        (("*",), "https://evil.example", "flat.example", True),
    ],
)
def test_pages_of_the_servers_own_host_and_of_named_ones_may_connect(
    origins, origin, host, welcome
):
    sentence = Hosts(origins).origin_refusal(origin, host)
    assert (sentence is None) == welcome
    assert welcome or "ALLOWED_ORIGINS" in sentence


def test_a_sentence_about_a_strangers_origin_is_short_and_in_ascii():
    sentence = Hosts().origin_refusal("https://" + "\u00e9" * 5000, "flat.example")
    assert sentence.isascii() and len(sentence) < 300


def test_an_origin_has_a_scheme_and_a_host():
    some = ("https://a.example", "http://localhost:3000", "*", "null")
    others = ("a.example", "https://", "https://a.example/path", "https:a")
    assert list(map(is_origin, some + others)) == [True] * 4 + [False] * 4


def test_only_this_machine_can_reach_a_listener_on_loopback():
    assert is_local("127.0.0.1") and is_local("::1")
    assert not is_local("0.0.0.0") and not is_local("::") and not is_local("192.0.2.1")


def test_pages_of_other_machines_of_the_world_may_connect_and_no_others():
    machines = ["https://b.example.org:443/game", "http://10.0.0.2:8000", "http://10.0.0.3:80"]
    hosts = Hosts(machines=lambda: machines)
    for origin in ("https://b.example.org", "http://10.0.0.2:8000", "http://10.0.0.3"):
        assert hosts.origin_refusal(origin, "a.example.org") is None
    for origin in ("http://b.example.org", "https://b.example.org:444", "http://10.0.0.2", "null"):
        assert hosts.origin_refusal(origin, "a.example.org")
    machines.clear()
    assert hosts.origin_refusal("https://b.example.org", "a.example.org")
