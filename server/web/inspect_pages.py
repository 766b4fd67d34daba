"""The page /inspect, and what it asks: an author looks into the running game, and acts in it.

It exists only where `flatlands play` serves the game to this machine alone. Other pages in the
author's browser may neither read nor do anything here: requests must name this machine, and those
that change something must come from this server's own page, as JSON. All answers are JSON, with a
sentence under "sentence" if nothing was done; requests have no cookie, so that a header could carry
a token.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from flask import Blueprint, Response, abort, jsonify, request

from flatlands.server.messages.protocol import Refused
from flatlands.server.net.http_budget import TURN_KEY, Turn
from flatlands.server.runtime.logs import log_line
from flatlands.server.storage.client import StoreUnavailable
from flatlands.server.web.admin import is_from_this_machine
from flatlands.server.web.inspector import Inspector, Look, Unable
from flatlands.world.track import Tile

_FOLDER = Path(__file__).with_name("inspect")

#: What takes a body.
BODIES_AT: Final = ("/inspect/action", "/inspect/record", "/inspect/thing")

#: The most players that are shown at a time, and how many are if nobody says.
SHOWN_MOST: Final = 200
SHOWN_USUALLY: Final = 20

#: Seconds between two lines of the events of a square. There are empty ones: without writing to it,
#: nobody would notice that a page has gone.
EVENTS_EVERY_S: Final = 0.25

#: Seconds after which the events end, and the page asks again: no answer may take a minute.
EVENTS_FOR_S: Final = 45.0

#: How far from the origin one can look.
FARTHEST: Final = 2**31 - 1000

#: The codes of what the server refuses because it is wrong, and not because the game is as it is.
_WRONG: Final = ("fields", "say")

#: What the fields of a body are called in a sentence.
_TYPES: Final = {int: "a whole number", str: "a text", dict: "an object", list: "an array"}

_T = TypeVar("_T")


def inspect_pages(inspector: Inspector, *, workers: bool) -> Blueprint:
    """Return the pages below /inspect. If there are several `workers`, they only say that each
    would show something else."""
    pages = Blueprint("inspect", __name__)

    @pages.before_request
    def check() -> None:
        _check_origin()
        if workers and request.endpoint != "inspect.page":
            raise Unable(
                409, "workers", "Several workers serve this game: start it without --workers."
            )

    @pages.errorhandler(Refused)
    def refused(error: Refused) -> Response:
        return _refusal(400 if error.code in _WRONG else 409, error.code, error.sentence)

    @pages.errorhandler(Unable)
    def unable(error: Unable) -> Response:
        return _refusal(error.status, error.code, str(error))

    @pages.errorhandler(StoreUnavailable)
    def unavailable(error: StoreUnavailable) -> Response:
        return _refusal(503, "store", f"{error}.")

    @pages.after_request
    def fresh(response: Response) -> Response:
        response.headers["Cache-Control"] = "no-store"
        return response

    _show(pages, inspector)
    _act(pages, inspector)
    return pages


def _show(pages: Blueprint, inspector: Inspector) -> None:
    """Add the page, and what it is told."""
    files = {path.name: path.read_bytes() for path in sorted(_FOLDER.iterdir())}
    types = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

    @pages.get("/inspect", defaults={"name": "page.html"})
    @pages.get("/inspect/<name>")
    def page(name: str) -> Response:
        if name not in files:
            abort(404)
        return Response(files[name], content_type=f"{types[Path(name).suffix]}; charset=utf-8")

    @pages.get("/inspect/state")
    def state() -> Response:
        look = Look(
            tile=_tile("at") or (0, 0),
            follow=_number("follow", 0, 2**53),
            find=request.args.get("find", ""),
            order=request.args.get("order", "near"),
            most=_number("most", SHOWN_USUALLY, SHOWN_MOST),
            node=_number("node", 0, 2**32),
            ground=_tile("ground"),
        )
        return jsonify(inspector.state(look, _turn().rest))

    @pages.get("/inspect/records")
    def records() -> Response:
        kind, id = request.args.get("kind", ""), request.args.get("id", "")
        return jsonify(_waiting(lambda: inspector.records(kind, id)))

    @pages.get("/inspect/events")
    def events() -> Response:
        square = _tile("square") or (0, 0)
        return Response(_lines(inspector, square, _turn()), content_type="application/x-ndjson")


def _lines(inspector: Inspector, square: Tile, turn: Turn) -> Iterator[bytes]:
    """Yield what happens in a square, a line of JSON at a time."""
    with inspector.taps.open(square) as tap:
        for _ in range(round(EVENTS_FOR_S / EVENTS_EVERY_S)):
            happened, left_out = tap.take()
            line = {"events": happened, "left_out": left_out}
            yield json.dumps(line, separators=(",", ":")).encode() + b"\n"
            turn.sleep(EVENTS_EVERY_S)


def _act(pages: Blueprint, inspector: Inspector) -> None:
    """Add what changes something."""

    @pages.post("/inspect/action")
    def action() -> Response:
        body = _body()
        player, name = _given(body, "player", int), _given(body, "action", str)
        fields = _given(body, "fields", dict)
        log_line("inspect", asked="action", player=player, action=name, fields=f"{fields!s:.200}")
        _waiting(lambda: inspector.act(player, name, fields))
        return jsonify(done=True)

    @pages.post("/inspect/record")
    def record() -> Response:
        body = _body()
        kind, id = _given(body, "kind", str), _given(body, "id", str)
        before, after = _given_or_null(body, "before", dict), _given_or_null(body, "after", dict)
        log_line("inspect", asked="record", kind=kind, id=id, after=f"{after!s:.200}")
        values = _waiting(lambda: inspector.change_record(kind, id, before, after))
        return jsonify(values=values)

    @pages.post("/inspect/thing")
    def thing() -> Response:
        body = _body()
        kind, tile = _given(body, "kind", str), _given(body, "tile", list)
        values, player = _given(body, "values", dict), _given_or_null(body, "player", int)
        log_line("inspect", asked="thing", kind=kind, tile=str(tile), values=f"{values!s:.200}")
        _waiting(lambda: inspector.put_thing(kind, tile, values, player))
        return jsonify(done=True)


# Who may ask.


def _check_origin() -> None:
    """Abort a request that does not come from this machine, or that a page of another origin has
    made: such as one in the author's browser whose name was made to point here."""
    if not is_from_this_machine():
        raise Unable(403, "host", "Only this machine may look, by the name localhost or 127.0.0.1.")
    origin = request.headers.get("Origin")
    writes = request.method != "GET"
    same = origin in (f"http://{request.host}", f"https://{request.host}")
    if not same and (writes or origin is not None):
        raise Unable(403, "origin", "Only the page /inspect of this server may do this.")
    # Browsers say so even where they send no origin. Anybody may open the page itself.
    site = request.headers.get("Sec-Fetch-Site", "none")
    if site not in ("same-origin", "none") and request.endpoint != "inspect.page":
        raise Unable(403, "origin", "Only the page /inspect of this server may ask this.")
    if writes and request.mimetype != "application/json":
        raise Unable(415, "json", "Send a body of the type application/json.")


# What is asked.


def _tile(name: str) -> Tile | None:
    text = request.args.get(name)
    if text is None:
        return None
    found = re.fullmatch(r"(-?\d{1,10}),(-?\d{1,10})", text, re.ASCII)
    if found is None or max(abs(int(found[1])), abs(int(found[2]))) > FARTHEST:
        raise Unable(
            400, "place", f"{name} must be a column and a row, such as 3,-2, not {text!r:.40}."
        )
    return int(found[1]), int(found[2])


def _number(name: str, default: int, most: int) -> int:
    text = request.args.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and int(text) <= most):
        raise Unable(400, "number", f"{name} must be a whole number from 0 to {most}.")
    return int(text)


def _body() -> Mapping[str, Any]:
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise Unable(400, "json", "The body must be an object in JSON.")
    return body


def _given(body: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """Return a field of a body. Aborts if it is not there, or of another type."""
    value = body.get(name)
    # This is not isinstance, to which true is a number.
    if type(value) is not kind:
        raise Unable(400, "json", f"{name} must be {_TYPES[kind]}.")
    return value


def _given_or_null(body: Mapping[str, Any], name: str, kind: type[_T]) -> _T | None:
    return None if body.get(name) is None else _given(body, name, kind)


# How it is answered.


def _turn() -> Turn:
    """Return the turn of the present request (server/net/http_budget.py)."""
    turn = request.environ[TURN_KEY]
    assert isinstance(turn, Turn)
    return turn


def _waiting(call: Callable[[], _T]) -> _T:
    """Return what a call returns that waits: meanwhile other requests have their turn."""
    turn = _turn()
    turn.end()
    try:
        return call()
    except ValueError as error:
        raise Unable(400, "value", str(error)) from None
    finally:
        turn.begin()


def _refusal(status: int, code: str, sentence: str) -> Response:
    answer = jsonify(error=code, sentence=sentence)
    answer.status_code = status
    return answer
