"""Who somebody is behind proxies, and how often anybody may do anything."""

import pytest

from server.limits import Proxies


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "client"),
    [
        ("", "192.0.2.1", "", "192.0.2.1"),
        # Whoever is no trusted proxy may say what it likes.
        ("", "192.0.2.1", "10.0.0.1", "192.0.2.1"),
        ("127.0.0.1", "192.0.2.1", "10.0.0.1", "192.0.2.1"),
        ("127.0.0.1", "127.0.0.1", "192.0.2.1", "192.0.2.1"),
        # What the client has invented stands at the left.
        ("127.0.0.1", "127.0.0.1", "203.0.113.9, 192.0.2.1", "192.0.2.1"),
        ("127.0.0.1,10.0.0.0/8", "127.0.0.1", "203.0.113.9,192.0.2.1, 10.1.2.3", "192.0.2.1"),
        ("10.0.0.0/8", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("127.0.0.1", "127.0.0.1", "", "127.0.0.1"),
        # One hop, whoever it is.
        ("*", "10.3.4.5", "203.0.113.9, 192.0.2.1", "192.0.2.1"),
        ("*, 10.0.0.0/8", "10.3.4.5", "203.0.113.9, 192.0.2.1, 10.9.9.9", "192.0.2.1"),
        # What is no address is not looked behind.
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
def test_the_address_that_counts_is_the_rightmost_that_is_no_proxy(
    trusted, peer, forwarded, client
):
    assert Proxies(trusted).client(peer, forwarded) == client


@pytest.mark.parametrize("text", ["localhost", "10.0.0.0/33", "127.0.0.1;10.0.0.1", "1"])
def test_what_is_no_network_is_refused(text):
    with pytest.raises(ValueError):
        Proxies(text)
