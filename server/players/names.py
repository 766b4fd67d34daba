"""Finds players of all nodes by what their names begin with or contain.

A node asks all others, and takes what has come after NAME_ANSWER_MS, so a silent one holds up
nobody. An answer has the squares of players, as the map of everybody shows them. Players that are
muted or have lost their connection, and computer players, are not found.
"""

import itertools
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import FOUND_MOST, Found, NameAnswer, NameQuery, pack
from flatlands.server.messages.texts import TEXT_LIMIT
from flatlands.server.players.moderation import Moderation
from flatlands.server.players.residents import Residents
from flatlands.server.runtime.limits import Rate, Rates
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.peers import Peers
from flatlands.world.grid import Grid

#: How long a question waits for answers.
NAME_ANSWER_MS = 300

#: How long others who ask the same question get the same answer.
NAME_KEPT_MS = 2000

#: How often a node asks all others.
NAME_ASKS = Rate("asks", 5, 10)

#: How often a node looks through its own players for another.
NAME_LOOKS = Rate("looks", 20, 40)

#: A search: a text, and the square from which the nearest come first.
_Question = tuple[str, int, int]


@lru_cache(10_000)
def folded(text: str) -> str:
    """Return a text without case and accents."""
    if text.isascii():
        return text.lower().strip()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in parts if not unicodedata.combining(each)).strip()


def matches(text: str, name: str) -> int:
    """Return 2 if a word of a name begins with a folded text, 1 if the name contains it, else 0."""
    name = folded(name)
    return 2 if f" {text}" in f" {name}" else int(text in name)


class NameSearch:
    """Searches for names on all nodes, and answers the searches of others."""

    def __init__(
        self, bus: Bus, grid: Grid, residents: Residents, peers: Peers, moderation: Moderation
    ) -> None:
        self._bus, self._grid, self._loop = bus, grid, bus.loop
        self._residents, self._peers, self._moderation = residents, peers, moderation
        self._rates = Rates()
        self._nonces = itertools.count(1)
        #: Nonce -> the question, what was found, and what is called with that.
        self._asked: dict[
            int, tuple[_Question, list[Found], list[Callable[[list[Found]], None]]]
        ] = {}
        self._overdue = TimerQueue(self._loop, lambda nonce, _due: self._done(nonce))
        #: Question -> until when its answer is valid, and the answer.
        self._answers: dict[_Question, tuple[int, list[Found]]] = {}

    def find(self, text: str, x: int, y: int, done: Callable[[list[Found]], None]) -> None:
        """Call `done` with the players whose names have a text, the nearest to the position (x, y)
        first: at once, or within NAME_ANSWER_MS."""
        # Folding may turn one letter into up to eighteen.
        question = folded(text)[:TEXT_LIMIT], *self._grid.square(x, y)
        now = self._loop.now()
        self._answers = {key: each for key, each in self._answers.items() if each[0] > now}
        if question in self._answers:
            done(self._answers[question][1])
            return
        for asked, _found, waiting in self._asked.values():
            if asked == question:
                waiting.append(done)
                return
        found = self._search(question)
        if not self._peers.peers or not self._rates.spend("asks", NAME_ASKS, now):
            done(found)
            return
        nonce = next(self._nonces)
        self._asked[nonce] = question, found, [done]
        self._overdue.put(nonce, now + NAME_ANSWER_MS)
        self._bus.to_all(pack(NameQuery(self._bus.node, nonce, *question)))

    def on_name_query(self, question: NameQuery) -> None:
        """Answer another node, unless this node was asked too often."""
        node, nonce, text, column, row = question
        if node != self._bus.node and self._rates.spend("looks", NAME_LOOKS, self._loop.now()):
            found = self._search((text, column, row))
            if found:
                self._bus.to_node(node, pack(NameAnswer(self._bus.node, node, nonce, found)))

    def on_name_answer(self, answer: NameAnswer) -> None:
        """Take the answer of a node, if it is for this one."""
        if answer.to == self._bus.node and answer.nonce in self._asked:
            self._asked[answer.nonce][1].extend(answer.found)

    def _done(self, nonce: int) -> None:
        question, found, waiting = self._asked.pop(nonce)
        best = self._best(question, found)
        self._answers[question] = self._loop.now() + NAME_KEPT_MS, best
        for done in waiting:
            done(best)

    def _search(self, question: _Question) -> list[Found]:
        """Return the players of this node that are asked for."""
        now, found = self._loop.now(), []
        for id, resident in self._residents.by_id.items():
            # Computer players have no screen, nor have those who lost their connection.
            if resident.session is not None and matches(question[0], resident.name):
                if not self._moderation.is_muted(id, resident.owner):
                    square = self._grid.square(*resident.track.at(now))
                    found.append([id, resident.name, *square])
        return self._best(question, found)

    def _best(self, question: _Question, found: list[Found]) -> list[Found]:
        text, column, row = question

        def order(one: Found) -> tuple[int, int]:
            _id, name, at, down = one
            return -matches(text, name), (at - column) ** 2 + (down - row) ** 2

        return sorted(found, key=order)[:FOUND_MOST]
