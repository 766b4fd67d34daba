"""Tokens, with which players come back as themselves, and invitations, to begin beside a player.

Both are signed with the server's secret, so that nobody else can make them. The server never keeps
a list of them.
"""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from itsdangerous import BadData, URLSafeTimedSerializer

from flatlands.brokers.base import short_hash

#: How long a token is valid, with the player's id and its place. A client gets a new one each time
#: it comes, so it may stay away this long. Whoever keeps old tokens can come back to where they
#: were made; but a place that a node remembers from the last minute takes precedence, so nobody
#: gains much by it.
TOKEN_VALID_S = 400 * 24 * 3600

#: Where a token has the hash of the game's name, beside the player's persistent fields, none of
#: which has an empty name. Servers of versions without it ignore it.
GAME: Final = ""

#: How long an invitation is valid.
INVITATION_VALID_S = 24 * 3600


class Invitation(NamedTuple):
    """The content of an invitation: the player that invites, its name, and where it was, in
    units."""

    id: int
    name: str
    place: tuple[int, int]


class TokenClaim(NamedTuple):
    """The content of a token: the player's id, a seq of it, its place in units, and the values of
    its persistent fields, by name."""

    id: int
    seq: int
    place: tuple[int, int]
    fields: Mapping[str, object] = {}


class Tokens:
    """Makes and reads tokens. Without a secret they are valid until the process ends. Those that
    were made with the secret `old` are read, too.

    `world` is the name and the seed of the world: with the same secret, a place in another world is
    no place in this one. Nor are the fields of another `game` this one's: a token of another game
    is not read. One that names no game, as those of version 0.4 and before, is.
    """

    def __init__(
        self, secret: str | None, world: str = "", old: str = "", *, game: str = ""
    ) -> None:
        # The last one signs.
        secret_keys = [*([old] if old else []), secret or secrets.token_hex()]
        self._serializer = URLSafeTimedSerializer(secret_keys, f"flatlands {world}")
        # Another salt, so that nobody can use an invitation, which is public, as a token.
        self._inviting = URLSafeTimedSerializer(secret_keys, f"flatlands invitation {world}")
        self._game = short_hash(game)

    def make(
        self, id: int, seq: int, place: tuple[int, int], fields: Mapping[str, object] | None = None
    ) -> str:
        """Return a token for a player that is at a place, in units, and has reached `seq`."""
        token = self._serializer.dumps([id, seq, *place, {GAME: self._game, **(fields or {})}])
        assert isinstance(token, str)
        return token

    def read(self, token: str) -> TokenClaim | None:
        """Return the content of a token, or None if its signature is wrong, it is too old, or of
        another game."""
        try:
            (id, seq, x, y, *more), made = self._serializer.loads(token, return_timestamp=True)
        except BadData:
            return None
        # The difference is negative if the clock of the node that made it is ahead.
        if abs((datetime.now(UTC) - made).total_seconds()) > TOKEN_VALID_S:
            return None
        fields: dict[str, object] = more[0] if more else {}
        if fields.pop(GAME, self._game) != self._game:
            return None
        return TokenClaim(id, seq, (x, y), fields)

    def invite(self, id: int, name: str, place: tuple[int, int]) -> str:
        """Return an invitation of a player that is at a place, in units."""
        text = self._inviting.dumps([id, name, *place])
        assert isinstance(text, str)
        return text

    def read_invitation(self, text: str) -> Invitation | None:
        """Return the content of an invitation, or None if its signature is wrong or it is too
        old."""
        try:
            (id, name, x, y), made = self._inviting.loads(text, return_timestamp=True)
        except BadData:
            return None
        if abs((datetime.now(UTC) - made).total_seconds()) > INVITATION_VALID_S:
            return None
        return Invitation(id, name, (x, y))
