"""Tokens: what lets a player who lost its connection come back as itself.

Signed with the server's secret, so that nobody can make one. It keeps no list of them.
"""

import secrets
from datetime import UTC, datetime
from typing import NamedTuple

from itsdangerous import BadData, URLSafeTimedSerializer

#: For so many seconds a token is worth its place; later only who one is.
PLACE_FOR = 60

#: For so many seconds a token is worth anything.
IDENTITY_FOR = 24 * 3600


class Claim(NamedTuple):
    """Who somebody says it is: player, incarnation, place in units; `fresh`: the place counts."""

    id: int
    incarnation: int
    place: tuple[int, int]
    fresh: bool


class Tokens:
    """Makes and reads tokens; without a secret, only until the process ends."""

    def __init__(self, secret: str | None) -> None:
        self._serializer = URLSafeTimedSerializer(secret or secrets.token_hex(), "flatlands")

    def make(self, id: int, incarnation: int, place: tuple[int, int]) -> str:
        """Return a token for a player who is at a place now."""
        token = self._serializer.dumps([id, incarnation, *place])
        assert isinstance(token, str)
        return token

    def read(self, token: str) -> Claim | None:
        """Return what a token claims, or None where it is not one of ours or too old."""
        try:
            (id, incarnation, x, y), made = self._serializer.loads(token, return_timestamp=True)
        except BadData:
            return None
        # Below zero where it was made by a node whose clock is ahead.
        age = abs((datetime.now(UTC) - made).total_seconds())
        if age > IDENTITY_FOR:
            return None
        return Claim(id, incarnation, (x, y), fresh=age <= PLACE_FOR)
