"""Tokens of nodes whose wall clocks differ."""

import time

import pytest

from server.tokens import IDENTITY_FOR, PLACE_FOR, Tokens


@pytest.mark.parametrize(
    "ahead, known, fresh",
    [
        (0, True, True),
        (5, True, True),
        (-5, True, True),
        (2 * PLACE_FOR, True, False),
        (-2 * PLACE_FOR, True, False),
        (5 * 3600, True, False),
        (IDENTITY_FOR + 60, False, False),
        (-IDENTITY_FOR - 60, False, False),
    ],
)
def test_a_token_is_worth_the_same_whichever_clock_is_ahead(monkeypatch, ahead, known, fresh):
    now = time.time()
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: now + ahead)
        token = Tokens("shared").make(5, 3, (100, -7))
    claim = Tokens("shared").read(token)
    assert claim == ((5, 3, (100, -7), fresh) if known else None)
