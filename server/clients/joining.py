"""From hello to welcome, as a client sees it: asks whether it may play, and does what is decided.

Who may play is decided in admission.py.
"""

from collections.abc import Iterable, Sequence

from flatlands.server.clients.admission import (
    Admitted,
    Decision,
    Hello,
    Request,
    Spawn,
    Superseded,
)
from flatlands.server.clients.session import TAKEN_OVER, Session
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import Refused
from flatlands.server.messages.texts import BAD_NAME, PLAYER_NAME_LIMIT, clean
from flatlands.server.net.frames import ABNORMAL, frame
from flatlands.server.runtime.logs import log_line
from flatlands.world.grid import viewport
from flatlands.world.track import DIAGONAL, SPEED, UNIT

#: The answer to a newcomer whose token is of another world, of another secret, or too old.
UNKNOWN_TOKEN = "you are new here: this world does not know who this browser was"


def hello(
    session: Session,
    _version: int,
    name: str,
    width: int,
    height: int,
    token: str | None,
    near: int | str | None,
    x: int | None,
    y: int | None,
) -> None:
    """Let a client play, or refuse it."""
    cleaned = clean(name, PLAYER_NAME_LIMIT)
    if cleaned is None:
        raise Refused("name", BAD_NAME)
    place = None if x is None or y is None else (x, y)
    early = [(protocol.KEY, (session.key,))] if session.key else []
    view = viewport(width, height)
    join(session, Hello(cleaned, view, token, near, place, session.ticket), early=early)


def join(
    session: Session,
    hello: Hello,
    spawn: Spawn | None = None,
    early: Iterable[tuple[int, Sequence[object]]] = (),
) -> None:
    """Let a client that has said hello play, or refuse it: now or later. If another worker has
    passed it on, that one has decided where it begins. `early` is what is obeyed after the
    welcome: the key that came before the hello, and what came after it."""
    session.request = request = Request(session, hello, _decided, spawn, early)
    session.admission.decide(request)


def _decided(request: Request, decision: Decision) -> None:
    """Do what was decided on the request of a session."""
    session = request.client
    assert isinstance(session, Session)
    if isinstance(decision, Refused):
        session.refuse(decision)
        return
    session.request = None
    if isinstance(decision, Superseded):
        session.connection.close(protocol.CLOSE_TAKEN_OVER, TAKEN_OVER)
    elif session.connected:
        _welcome(session, request, decision)
    else:
        session.connection_ended(decision.resident, request.close_code or ABNORMAL)


def _welcome(session: Session, request: Request, admitted: Admitted) -> None:
    """Let a session play as the resident as which it was admitted, and tell its client."""
    resident, view, host = admitted.resident, request.hello.view, admitted.host
    node, grid = session.node, session.node.grid
    session.stop_watching_map()
    session.play(resident)
    log_line(
        "join",
        player=resident.id,
        name=resident.name,
        how="back" if admitted.back else "new",
        address=session.address,
        node=node.id,
    )
    now = node.loop.now()
    welcome = protocol.Welcome(
        protocol.VERSION,
        resident.id,
        now,
        node.terrain.seed,
        *resident.track.at(now),
        grid.side,
        SPEED,
        DIAGONAL,
        grid.lead,
        grid.drop,
        view.half_width * 2 // UNIT,
        view.half_height * 2 // UNIT,
        node.terrain.function,
        node.play.kinds(),
    )
    # Its last token is that of another connection, so there is a new one.
    session.renew_token(first=frame(protocol.welcome(welcome)))
    if request.hello.token is not None and not admitted.back:
        node.stats["unknown_tokens"] += 1
        session.answer(protocol.error("token", UNKNOWN_TOKEN))
    if not node.peers.is_linked:
        session.send_link()
    node.residents.attach(resident, session, view)
    # The first hook of the game must find the player's owner. A key may end the session.
    session.obey([one for one in request.early if one[0] == protocol.KEY])
    if session.resident is not resident:
        return
    if node.play.has_join_hooks and not admitted.resumed:
        node.play.player_joined(resident, admitted.back)
    session.obey([one for one in request.early if one[0] != protocol.KEY])
    if host is not None:
        session.send_host(host)
    node.router.relocate_now(resident)
