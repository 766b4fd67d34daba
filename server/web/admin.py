"""The pages of operators: whether a server is ready, what it counts, and moderation.

Requests for /metrics and /stats must come from this machine or carry the token. Requests that
change something are POSTs that carry the token, with parameters in the query and without a body;
each is logged. This module decides who may ask, and whether a request makes sense.
"""

import hmac
import ipaddress
import logging
import re
from collections.abc import Callable
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

from flask import Blueprint, Response, abort, jsonify, make_response, request
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from flatlands.server.game.play import Play
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT, TEXT_LIMIT, clean
from flatlands.server.net.handshake import UNNAMED_KEY
from flatlands.server.net.hosts import is_local
from flatlands.server.net.http_budget import TURN_KEY, Turn
from flatlands.server.players.moderation import (
    ACTION_MOST_S,
    BAR,
    BY_OWNER,
    DOOR,
    KICK,
    MUTE,
    NOTICE,
    Moderation,
    network,
)
from flatlands.server.runtime import logs
from flatlands.server.runtime.logs import log_line
from flatlands.server.storage.client import StoreUnavailable
from flatlands.server.web.status import Status
from flatlands.world.grid import Rect, Square

log = logging.getLogger("flatlands")

#: How long an action is in force if nobody says.
ACTION_MINUTES = 10

#: How long an action is in force at most.
ACTION_MINUTES_MOST = ACTION_MOST_S // 60

#: The most squares that are undone or cleared at once.
SQUARES_MOST = 1000

#: An owner who wrote on the ground, as the store has it.
_OWNER = re.compile("[0-9a-f]{16}")

#: A request with one of these headers came through a proxy, so its address is not the client's.
_FORWARDED = ("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Forwarded")

_T = TypeVar("_T")


#: Passes all players on to other servers, and waits; returns "", or a sentence that says why not.
Drain = Callable[[], str]


class _Access:
    """Decides who may see the numbers, and who may act: whoever has the token, if there is
    one. What is only seen is shown to this machine, too."""

    def __init__(self, status: Status, token: str | None) -> None:
        self._status, self._token = status, token

    def may_see(self) -> bool:
        """Return whether a request may be shown everything."""
        if UNNAMED_KEY in request.environ:
            return False  # perhaps a page of a stranger, in a browser on this machine
        return is_from_this_machine() or self._has_token()

    def check_seeing(self) -> None:
        """Abort a request that may not be shown everything."""
        if not self.may_see():
            self._refuse()

    def check_acting(self) -> None:
        """Abort a request that may not act."""
        if not self._has_token():
            self._refuse()

    def _has_token(self) -> bool:
        sent, token = request.headers.get("Authorization", "").encode(), self._token
        return token is not None and hmac.compare_digest(sent, f"Bearer {token}".encode())

    def _refuse(self) -> None:
        self._status.node.stats["admin_refused"] += 1
        code = 403 if self._token is None else 401
        log_line("refused", how="admin", code=code, address=request.remote_addr)
        if self._token is None:
            abort(_answer(code, "Only this machine may see this: set ADMIN_TOKEN to allow others."))
        answer = _answer(code, "Send the header Authorization: Bearer and the admin token.")
        answer.headers["WWW-Authenticate"] = "Bearer"
        abort(answer)


def operator_pages(
    status: Status, drain: Drain, moderation: Moderation, play: Play, token: str | None
) -> Blueprint:
    """Return the pages /readyz, /stats, /metrics and /admin; `token` opens the last three."""
    pages, access = Blueprint("operators", __name__), _Access(status, token)
    _show_numbers(pages, access, status, moderation)
    _take_actions(pages, access, drain, moderation, play)

    @pages.after_request
    def fresh(response: Response) -> Response:
        # A proxy must neither keep these pages nor show them to others.
        response.headers["Cache-Control"] = "no-store"
        return response

    return pages


def _show_numbers(
    pages: Blueprint, access: _Access, status: Status, moderation: Moderation
) -> None:
    """Add the pages that only show something."""

    @pages.get("/readyz")
    def readyz() -> tuple[Response, int]:
        reasons = status.readiness()
        shown: dict[str, object] = {"ready": not reasons}
        if access.may_see():
            # The reasons name brokers and nodes, which only operators may know.
            shown |= {"reasons": reasons, **status.about()}
            if warnings := status.warnings():
                shown["warnings"] = warnings
            if moderation.seconds(DOOR):
                # This is no reason to send players to another node: all nodes have closed.
                shown["door"] = "closed"
        return jsonify(shown), 503 if reasons else 200

    @pages.get("/stats")
    def stats() -> Response:
        access.check_seeing()
        return jsonify(status.stats(_turn().sleep))

    @pages.get("/metrics")
    def metrics() -> Response:
        access.check_seeing()
        return Response(status.metrics(_turn().sleep), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _take_actions(
    pages: Blueprint, access: _Access, drain: Drain, moderation: Moderation, play: Play
) -> None:
    """Add the pages of moderation actions, and of drain, clear and undo."""

    @pages.post("/admin/<action>")
    def act(action: str) -> Response:
        access.check_acting()
        kind, who, seconds = _read(action)
        lasts = "" if kind == NOTICE else f" for {seconds} s"
        log.warning("admin: %s %r%s, by %s", action, who, lasts, _by())
        moderation.apply(kind, who, seconds)
        return jsonify({"action": action, "who": who, "seconds": seconds})

    @pages.post("/admin/drain")
    def drained() -> Response:
        access.check_acting()
        if "minutes" in request.args:
            abort(_answer(400, "A drain takes no minutes: it ends when the server is restarted."))
        if refused := _wait_for(drain):
            abort(_answer(409, refused))
        log.warning("admin: drain, by %s", _by())
        return jsonify({"action": "drain"})

    @pages.post("/admin/clear")
    def clear() -> Response:
        access.check_acting()
        if "name" in request.args:
            name = clean(request.args["name"], PLAYER_NAME_LIMIT)
            if name is None:
                abort(_answer(400, f"name must have 1 to {PLAYER_NAME_LIMIT} characters."))
            log.warning("admin: clear %r, by %s", name, _by())
            _wait_for(lambda: play.content.clear_name(name))
            return jsonify({"action": "clear", "name": name})
        squares = _squares()
        log.warning("admin: clear %d:%d to %d:%d, by %s", *squares, _by())
        for square in squares.squares():
            _wait_for(partial(play.content.clear, square))
        return jsonify({"action": "clear", "squares": len(squares.squares())})

    @pages.post("/admin/undo")
    def undo() -> Response:
        access.check_acting()
        squares, owner = _squares(), request.args.get("owner")
        if owner is not None:
            fields = (_owner(owner), *squares, _by())
            log.warning("admin: undo %s in %d:%d to %d:%d, by %s", *fields)
        tiles = _wait_for(lambda: play.content.undo(owner, squares))
        return jsonify({"action": "undo", "tiles": tiles})

    @pages.get("/admin/<action>")
    def not_posted(action: str) -> Response:
        answer = _answer(405, "Use POST: curl -X POST.")
        answer.headers["Allow"] = "POST"
        return answer


def _turn() -> Turn:
    turn = request.environ[TURN_KEY]
    assert isinstance(turn, Turn)
    return turn


def _wait_for(call: Callable[[], _T]) -> _T:
    """Return what a call returns that waits, mostly for the store: meanwhile other requests have
    their turn. Aborts with a sentence if the store is away: part of the work may be done, and the
    request can be repeated."""
    turn = _turn()
    turn.end()
    try:
        return call()
    except StoreUnavailable as error:
        abort(_answer(503, f"{error}. Repeat the request."))
    finally:
        turn.begin()


def _by() -> str:
    """Return who acts, as it is logged."""
    return logs.shown(request.remote_addr or "")


def is_from_this_machine() -> bool:
    """Return whether the present request comes from this machine, and names it as such."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    # The name counts too: a page whose own name points to this machine could read the answer.
    name = urlsplit(f"//{request.host}").hostname or ""
    return is_local(name) and is_local(request.remote_addr or "")


def _read(action: str) -> tuple[str, str, int]:
    """Return what a request asks for, as (action, who, seconds). Aborts with a sentence if that is
    wrong."""
    seconds = 60 * _number("minutes", ACTION_MINUTES, ACTION_MINUTES_MOST)
    if action == "kick" and "address" in request.args:
        return BAR, _address(), seconds
    if action in ("kick", "mute"):
        kind = KICK if action == "kick" else MUTE
        if "owner" in request.args:
            return BY_OWNER[kind], _owner(request.args["owner"]), seconds
        return kind, str(_number("id", None, 2**53 - 1)), seconds
    if action == "close":
        return DOOR, "", seconds
    if action == "open":
        return DOOR, "", 0
    if action == "notice":
        text = clean(request.args.get("text", ""), TEXT_LIMIT)
        if text is None:
            abort(_answer(400, f"text must have 1 to {TEXT_LIMIT} characters."))
        return NOTICE, text, 0
    abort(
        _answer(
            404,
            "There are /admin/kick, /mute, /close, /open, /notice, /clear, /undo, /drain.",
        )
    )


def _owner(text: str) -> str:
    if not _OWNER.fullmatch(text) or not int(text, 16):
        abort(
            _answer(400, "owner must be 16 hexadecimal digits, as /admin/undo?square= lists them.")
        )
    return text


def _number(name: str, default: int | None, most: int) -> int:
    text = request.args.get(name)
    if text is None and default is not None:
        return default
    sound = text is not None and text.isascii() and text.isdecimal() and len(text) <= 16
    if text is None or not sound or int(text) > most:
        abort(_answer(400, f"{name} must be a whole number from 0 to {most}."))
    return int(text)


def _square(name: str = "square") -> Square:
    found = re.fullmatch(r"(-?[0-9]{1,10}):(-?[0-9]{1,10})", request.args.get(name, ""))
    if found is None:
        abort(_answer(400, f"{name} must be a column and a row, such as 3:-2; or give a name."))
    return int(found[1]), int(found[2])


def _squares() -> Rect:
    """Return the squares from a request's `square` to its `to`, both included."""
    first = _square()
    last = _square("to") if "to" in request.args else first
    columns, rows = (abs(a - b) + 1 for a, b in zip(first, last, strict=True))
    if columns * rows > SQUARES_MOST:
        abort(_answer(400, f"these are {columns * rows} squares: name {SQUARES_MOST} at most."))
    return Rect(*map(min, first, last), *map(max, first, last))


def _address() -> str:
    try:
        return network(str(ipaddress.ip_address(request.args["address"].strip())))
    except ValueError:
        abort(_answer(400, "address must be an IP address, such as 192.0.2.1."))


def _answer(status: int, sentence: str) -> Response:
    return make_response(f"{sentence}\n", status, {"Content-Type": "text/plain; charset=utf-8"})
