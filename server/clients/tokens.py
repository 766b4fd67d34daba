"""Tokens: what lets a player who lost its connection come back as itself; and invitations, which
let others begin beside it.

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


#: For so many seconds an invitation is good.
INVITED_FOR = 24 * 3600


class Invitation(NamedTuple):
    """Who invites, and where it was then, in units."""

    id: int
    place: tuple[int, int]


class Claim(NamedTuple):
    """Who somebody says it is: player, a seq of its, place in units; `fresh`: the place counts."""

    id: int
    seq: int
    place: tuple[int, int]
    fresh: bool


class Tokens:
    """Makes and reads tokens; without a secret, only until the process ends."""

    def __init__(self, secret: str | None) -> None:
        secret = secret or secrets.token_hex()
        self._serializer = URLSafeTimedSerializer(secret, "flatlands")
        # With a salt of its own, for it is shown around: nobody comes back as who invited.
        self._inviting = URLSafeTimedSerializer(secret, "flatlands invitation")

    def make(self, id: int, seq: int, place: tuple[int, int]) -> str:
        """Return a token for a player who is at a place now, and of whom `seq` was told."""
        token = self._serializer.dumps([id, seq, *place])
        assert isinstance(token, str)
        return token

    def read(self, token: str) -> Claim | None:
        """Return what a token claims, or None where it is not one of ours or too old."""
        try:
            (id, seq, x, y), made = self._serializer.loads(token, return_timestamp=True)
        except BadData:
            return None
        # Below zero where it was made by a node whose clock is ahead.
        age = abs((datetime.now(UTC) - made).total_seconds())
        if age > IDENTITY_FOR:
            return None
        return Claim(id, seq, (x, y), fresh=age <= PLACE_FOR)

    def invite(self, id: int, place: tuple[int, int]) -> str:
        """Return an invitation of a player who is at a place now."""
        text = self._inviting.dumps([id, *place])
        assert isinstance(text, str)
        return text

    def read_invitation(self, text: str) -> Invitation | None:
        """Return what an invitation says, or None where it is not one of ours or too old."""
        try:
            (id, x, y), made = self._inviting.loads(text, return_timestamp=True)
        except BadData:
            return None
        if abs((datetime.now(UTC) - made).total_seconds()) > INVITED_FOR:
            return None
        return Invitation(id, (x, y))
