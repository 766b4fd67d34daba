"""Compares what a client believes of players with the truth."""

from collections.abc import Iterable
from typing import NamedTuple

from flatlands.model import Model
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.host import Host
from flatlands.world.grid import Rect
from flatlands.world.track import Track


class PlayerState(NamedTuple):
    """What is known of a player. `track` is as `Track.numbers` has it, by the clock of the node of
    the client that knows it."""

    seq: int
    ack: int
    name: str
    dimmed: bool
    track: tuple[int, ...]
    square: tuple[int, int]
    look: int
    pace: int
    values: list[object]


def true_records(client: SimulatedClient, hosts: Iterable[Host]) -> dict[int, PlayerState]:
    """Return what a client should believe, by ids: all residents in the squares that it holds."""
    assert client.model.held is not None
    rect = Rect(*client.model.held)
    truth = {}
    for host in hosts:
        ahead = client.host.loop.skew - host.loop.skew
        for r in host.node.residents.by_id.values():
            if rect.holds(r.square):
                x, y, dx, dy, start, duration = r.track.numbers()
                track = x, y, dx, dy, start + ahead, duration
                state = r.seq, r.ack, r.name, r.dimmed
                truth[r.id] = PlayerState(*state, track, r.square, r.look, r.pace, list(r.values))
    return truth


def believed_records(client: SimulatedClient) -> dict[int, PlayerState]:
    """Return what a client believes, in the same form."""
    return {
        p.id: PlayerState(
            *(p.seq, p.ack, p.name, p.dimmed, tuple(p.track), p.square),
            *(p.look, p.pace, p.values),
        )
        for p in client.model.players.values()
    }


def allow_for_sketches(
    belief: dict[int, PlayerState],
    truth: dict[int, PlayerState],
    model: Model,
    slack: int = 0,
) -> dict[int, PlayerState]:
    """Return a belief in which true tracks replace those that are from sketches and as close as
    docs/protocol.md promises, if the clocks of nodes are known to within `slack` ms."""
    exact = dict(belief)
    for id, known in model.players.items():
        if known.rough and id in truth:
            x, y, dx, dy, start, lasts = truth[id].track
            # How far along the real way the sketch is, and so when the player would be there.
            ahead = (known.track[0] - x) * dx + (known.track[1] - y) * dy
            late = known.track[4] - start - ahead * lasts // (dx * dx + dy * dy or 1)
            late = max(-slack, min(late, slack))
            shifted = x, y, dx, dy, start + late, lasts
            if _is_close(truth[id].track, known.track) or _is_close(shifted, known.track):
                exact[id] = belief[id]._replace(track=truth[id].track)
    return exact


def _is_close(real: tuple[int, ...], sketch: tuple[int, ...]) -> bool:
    """Return whether a sketch was right to 1/32 tile when it was made, and to half a tile later."""
    real_track, sketched, begun = Track(*real), Track(*sketch), sketch[4]
    return all(
        abs(p - q) <= (33 if t == begun else 512)
        for t in (begun, sketched.end, max(sketched.end, real_track.end))
        for p, q in zip(real_track.at(t), sketched.at(t), strict=True)
    )


def records_match(real: PlayerState, believed: PlayerState, now: int, slack: int) -> bool:
    """Return whether two records of a player are the same.

    The starts of tracks may differ by `slack` ms, or by any time if both tracks are over.
    """
    track, other = real.track, believed.track
    if real._replace(track=other) != believed or track[:4] != other[:4]:
        return False
    over = track[4] + track[5] <= now and other[4] + other[5] <= now
    return over or bool(abs(track[4] - other[4]) <= slack)
