"""Tokens of nodes whose wall clocks differ."""

import random
import time
from contextlib import closing

import pytest
from itsdangerous import URLSafeTimedSerializer

from flatlands.server.clients.tokens import INVITATION_VALID_S, TOKEN_VALID_S, Tokens
from flatlands.server.game.me import TOKEN_FIELDS_BYTES
from flatlands.server.messages.channels import DEFAULT_WORLD
from flatlands.server.messages.protocol import INVITATION_LIMIT, TOKEN_LIMIT
from flatlands.world.track import UNIT
from tests.inside import inside
from tests.server.harness import Harness
from tests.socket_client import SocketClient


@pytest.mark.parametrize(
    "ahead, known",
    [
        (0, True),
        (5, True),
        (-5, True),
        (5 * 3600, True),
        (-30 * 24 * 3600, True),
        (TOKEN_VALID_S + 60, False),
        (-TOKEN_VALID_S - 60, False),
    ],
)
def test_a_token_is_worth_the_same_whichever_clock_is_ahead(monkeypatch, ahead, known):
    now = time.time()
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: now + ahead)
        token = Tokens("shared").make(5, 3, (100, -7))
    claim = Tokens("shared").read(token)
    assert claim == ((5, 3, (100, -7), {}) if known else None)


@pytest.mark.parametrize("age", [0, -3600, INVITATION_VALID_S - 60, INVITATION_VALID_S + 60])
def test_an_invitation_is_good_for_a_day(monkeypatch, age):
    now = time.time()
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: now - age)
        text = Tokens("shared").invite(5, "Wren", (100, -7))
    told = Tokens("shared").read_invitation(text)
    assert told == ((5, "Wren", (100, -7)) if age < INVITATION_VALID_S else None)


def test_an_invitation_is_no_token_and_nobody_else_can_make_one():
    tokens = Tokens("shared")
    assert tokens.read(tokens.invite(5, "Wren", (100, -7))) is None
    assert tokens.read_invitation(tokens.make(5, 3, (100, -7))) is None
    forged = Tokens("other").invite(5, "Wren", (1, 1))
    for text in ("", "7", "a.b.c", tokens.invite(5, "Wren", (1, 1))[:-1], forged):
        assert tokens.read_invitation(text) is None


def test_a_token_with_another_secret_or_a_changed_letter_is_worth_nothing():
    token = Tokens("shared").make(5, 3, (100, -7))
    assert Tokens("another").read(token) is None
    for at in range(len(token) - 1):
        other = "A" if token[at] != "A" else "B"
        assert Tokens("shared").read(token[:at] + other + token[at + 1 :]) is None


def test_a_token_that_the_secret_before_has_signed_is_read_and_the_new_one_signs():
    before, now = Tokens("first"), Tokens("second", old="first")
    token, text = before.make(5, 3, (100, -7)), before.invite(5, "Wren", (100, -7))
    assert now.read(token) == (5, 3, (100, -7), {})
    assert now.read_invitation(text) == (5, "Wren", (100, -7))
    renewed = now.make(5, 4, (1, 1))
    assert Tokens("second").read(renewed) and before.read(renewed) is None
    assert Tokens("third", old="second").read(token) is None


def test_a_token_of_another_world_with_the_same_secret_is_worth_nothing():
    """Its player would begin at a place that belongs to the other world."""
    one = Tokens("shared", "2013 flatlands")
    token, text = one.make(5, 3, (100, -7)), one.invite(5, "Wren", (100, -7))
    for world, known in (("7 flatlands", 0), ("2013 elsewhere", 0), ("2013 flatlands", 1)):
        other = Tokens("shared", world)
        assert bool(other.read(token)) == bool(other.read_invitation(text)) == known


def test_a_token_of_another_game_is_worth_nothing_and_one_that_names_no_game_is_read():
    one, other = Tokens("shared", game="one"), Tokens("shared", game="other")
    token = one.make(5, 3, (100, -7), {"team": 2})
    assert one.read(token) == (5, 3, (100, -7), {"team": 2})
    assert other.read(token) is None and Tokens("shared").read(token) is None
    # As versions before 0.5 made them.
    signer = URLSafeTimedSerializer(["shared"], "flatlands ")
    for more in ([], [{"team": 2}]):
        assert one.read(signer.dumps([5, 3, 100, -7, *more])) == (5, 3, (100, -7), *(more or [{}]))


GAME = """
from flatlands import Game as Engine, Me as EngineMe, number, plain

class Me(EngineMe):
    team = number(0, 2, persist=True)

class Game(Engine):
    ground, me = plain(), Me

    def on_join(self, me, back):
        if not back:
            me.team = {team}
"""


def test_what_one_game_keeps_of_a_player_never_reaches_another_with_the_same_secret(tmp_path):
    for name, team in (("one", 2), ("other", 0)):
        (tmp_path / f"{name}.py").write_text(GAME.format(team=team))

    def served(name):
        return inside("--game", str(tmp_path / f"{name}.py"), SECRET_KEY="shared")

    def came(server, game, team, token=None):
        """Return the id and the errors of a player, once it has a token with its team."""
        read = Tokens("shared", f"2013 {DEFAULT_WORLD}", game=game).read
        with closing(SocketClient(server.port).hello("Ada", token=token)) as client:
            client.until(lambda: client.model.token and read(client.model.token).fields == team)
            return client.model.id, client.model.errors, client.model.token

    with served("one") as server:
        id, errors, token = came(server, "one", {"team": 2})
        assert errors == [] and came(server, "one", {"team": 2}, token)[:2] == (id, [])
    with served("other") as server:
        stranger, errors, _ = came(server, "other", {"team": 0}, token)
        assert stranger != id and errors == ["token"]
        assert server.counted()["unknown_tokens"] == 1


def test_a_token_with_the_most_fields_fits_a_hello():
    letters = "".join(
        random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=TOKEN_FIELDS_BYTES - 6)
    )
    fields = {letters[:123]: letters[123:]}
    token = Tokens("shared", game="g" * 100).make(2**52, 2**53 - 1, (-(2**41), -(2**41)), fields)
    assert len(token) <= TOKEN_LIMIT


def test_a_player_from_another_world_is_a_newcomer():
    harness = Harness()
    far = harness.stand("Wren", (100_003 * UNIT, 5 * UNIT), (40, 25), harness.host(seed=7))
    back = harness.client().hello(token=far.model.token)
    assert abs(back.at()[0]) < 100 * UNIT
    assert back.model.errors == ["token"] and harness.node.stats["unknown_tokens"] == 1


def test_without_a_secret_each_process_makes_its_own():
    one, other = Tokens(None), Tokens(None)
    token = one.make(5, 3, (100, -7))
    assert one.read(token) == (5, 3, (100, -7), {})
    assert other.read(token) is None and Tokens("").read(token) is None


def test_an_invitation_with_the_longest_name_fits_a_hello():
    text = Tokens("shared").invite(2**52, "\U0001f98a" * 20, (2**41, -(2**41)))
    assert len(text) <= INVITATION_LIMIT
    assert Tokens("shared").read_invitation(text).name == "\U0001f98a" * 20
