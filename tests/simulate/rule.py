"""The rule that every simulated world must keep, as docs/nodes.md gives it.

A player on a screen is a resident of exactly one living node, or gone within five seconds. A player
that plays is on every screen that covers it. At any time, even while much goes wrong, a player is
shown only on ways that it went. This module only looks, and never changes anything.
"""

from collections import Counter
from typing import TYPE_CHECKING

from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.squares.peers import NODE_GONE_MS
from flatlands.server.workers.migration import SHOW_WITHIN_MS
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.comparison import (
    allow_for_sketches,
    believed_records,
    records_match,
    true_records,
)
from flatlands.testkit.harness import Harness
from flatlands.world.grid import Square

if TYPE_CHECKING:
    from tests.simulate.steps import World

#: ms by which the start of a track may differ on a screen: as long as a node stands still, or a
#: link is down, in an episode. If one lasts longer, that counts.
SLACK = 20_000

#: The same for longer episodes, as with things, or rare heartbeats: a clock may be known
#: only from a message that was read late, when a node that stood still for a whole episode went on,
#: and from no heartbeat since then.
SLACK_RARE = 75_000


class Broken(Exception):
    """A world breaks the rule; the text says how."""


def check(world: "World") -> None:
    """Raise Broken unless all clients in a quiet world believe the truth."""
    harness = world.harness
    places = Counter(id for host in harness.hosts for id in host.node.residents.by_id)
    for id, count in places.items():
        if count > 1:
            raise Broken(f"player {_short(id)} is a resident of {count} nodes")
    for host in harness.hosts:
        if not host.node.peers.broker_up:
            raise Broken("a node still believes that its link is down")
        if host.loop.stats["errors"]:
            raise Broken("a callback failed")
    for client in harness.clients:
        if client.connection.open:
            _check_client(world, client)


def check_ways(world: "World") -> None:
    """Raise Broken if a screen, in a quiet world or not, shows a player on another one's way."""
    for client in world.harness.clients:
        for id, known in client.model.players.items():
            ways = world.ways.get(id, ())
            rough = known.rough and any(_is_on(way, known.track) for way in ways)
            if not rough and known.track[:4] not in ways:
                raise Broken(f"a screen shows player {_short(id)} on a way that it never went")


def check_end(world: "World") -> None:
    """Raise Broken if a player without a client is left, or a computer player is missing."""
    herd = []
    for host in world.harness.hosts:
        for resident in host.node.residents.by_id.values():
            if resident.id < FIRST_PERSON_ID:
                herd.append(resident.id)
            elif resident.session is None and not resident.name.startswith("W"):
                raise Broken(f"player {_short(resident.id)} stays, and nobody plays it")
    if world.movers is None and len(set(herd)) != world.herd:
        raise Broken(f"of the herd only {sorted(herd)} are in play")


def _check_client(world: "World", client: SimulatedClient) -> None:
    harness, session = world.harness, client.session
    if session.resident is None:
        raise Broken("a client sent hello, and was neither welcomed nor refused")
    if session._arriving and client.host.loop.now() - session.opened_at <= SHOW_WITHIN_MS:
        # Another worker has just passed it on, and its squares are still to be shown.
        return
    if session.lags_since is not None:
        raise Broken("a client that reads everything still lags")
    if session.resident.session is not session:
        raise Broken("a client plays a player that another one plays too")
    if session.resident.held != client.model.held:
        raise Broken("a client holds other squares than its node believes")
    # A node that met another one in the store without hearing it trusts its link after 15 s.
    if not client.model.linked and not client.host.node.peers.split_brain:
        raise Broken("a client still believes that the link is down")
    truth, belief = true_records(client, harness.hosts), believed_records(client)
    slack = max(SLACK_RARE if world.rare or world.things else SLACK, world.longest)
    belief = allow_for_sketches(belief, truth, client.model, slack)
    for id in belief.keys() - truth.keys():
        if world.stopped.get(id, 0) > harness.clock.time:
            continue
        if _is_kept(client, id) or _is_passed_on(world, id):
            continue
        if is_untold(client, client.model.players[id].square):
            continue
        where = f"a screen of node {harness.hosts.index(client.host)}"
        raise Broken(f"a ghost: player {_short(id)} is on {where}, as {belief[id]}")
    # A square that the screen has just begun to hold is shown at most READY_AFTER ms later.
    squares = client.host.node.subscriptions.by_square
    truth = {id: real for id, real in truth.items() if squares[real[5]].view.ready or id in belief}
    # What has just happened waits for the next flush.
    untold = {square for square in squares if is_untold(client, square)}
    truth = {
        id: real
        for id, real in truth.items()
        if real[5] not in untold or (id in belief and belief[id][0] >= real[0])
    }
    for id in truth.keys() - belief.keys():
        where = f"a screen of node {harness.hosts.index(client.host)} that covers it"
        raise Broken(f"player {_short(id)} is in play as {truth[id]}, and not on {where}")
    for id, real in truth.items():
        known, now = belief[id], client.now()
        if not (records_match(real, known, now, slack) or _is_torn(world, id, real[0], known[0])):
            raise Broken(f"player {_short(id)} is {real}, and a screen shows {known}")


def is_untold(client: SimulatedClient, square: Square) -> bool:
    """Return whether something that happened in a square still waits to be published by its node,
    or to be flushed to a client."""
    hub = client.host.node.hub
    waits = square in hub._arrived or square in hub._messages or square in hub._crowds
    return waits or is_unpublished(client.harness, square)


def is_unpublished(harness: Harness, square: Square) -> bool:
    """Return whether something that happened in a square still waits to be published."""
    return any(square in host.node.outbox._batches for host in harness.hosts)


def _is_kept(client: SimulatedClient, id: int) -> bool:
    """Return whether a computer player is still shown because its node, with nobody in the square
    and silent everywhere, may be dead: until NODE_GONE_MS after the link was back, another
    node may have the player, so that it does not blink."""
    if id >= FIRST_PERSON_ID:
        return False
    heard = client.host.node.subscriptions.by_square[client.model.players[id].square]
    player = heard.replica.players.get(id)
    cursor = player and heard.cursors.get(player.node)
    if cursor is None or cursor.number:
        return False
    return cursor.last_heard > client.host.loop.now() - NODE_GONE_MS


def _is_passed_on(world: "World", id: int) -> bool:
    """Return whether a computer player has just been handed over, as happens at any time: its last
    node has not yet said that it is gone."""
    hosts = world.harness.hosts
    return id < FIRST_PERSON_ID and any(id in host.node.takeovers._released for host in hosts)


def _is_torn(world: "World", id: int, seq: int, shown: int) -> bool:
    """Return whether a player with this seq is still shown with the seq it had at a node that has
    stopped but counts as living: another node had the player too, and could not know of that."""
    on_its_way = world.stopped.get(id, 0) > world.harness.clock.time
    return on_its_way and seq <= shown <= world.torn.get(id, -1)


def _is_on(way: tuple[int, ...], sketch: tuple[int, ...]) -> bool:
    """Return whether a sketch begins near a way (x, y, dx, dy) and ends near its end, so may be of
    a player who went there."""
    x, y, dx, dy = way
    near = 512
    return (
        abs(x + dx - sketch[0] - sketch[2]) <= near
        and abs(y + dy - sketch[1] - sketch[3]) <= near
        and min(x, x + dx) - near <= sketch[0] <= max(x, x + dx) + near
        and min(y, y + dy) - near <= sketch[1] <= max(y, y + dy) + near
    )


def _short(id: int) -> str:
    return f"{id:x}"[-4:]
