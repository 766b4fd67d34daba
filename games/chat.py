"""The last lines of the chat, for any game: whoever comes to a square reads what was said there."""

from typing import Any

from flatlands import Me, Part, Record, Records, number, text
from flatlands.server.game.game import AnyGame
from flatlands.world.grid import Square

#: For how long a line lasts, in seconds.
LASTS_S = 7 * 24 * 3600


class LineCount(Record, lasts=LASTS_S):
    """How many lines were said in a square."""

    n = number(0, 2**52)


class Line(Record, lasts=LASTS_S):
    """Something that was said: as which line of its square, when in world time, and by whom."""

    n = number(0, 2**52)
    at = number(0, 2**52)
    name = text(0, 20)
    words = text(0, 120)


class Chat(Part[Any]):
    """A part that any game may have: it keeps the last `history` lines of each square, up to 100,
    and sends them, the oldest first, to the page of whoever comes there: message `lines`, with
    [[world time in ms, name, text], ...]. Another history: `parts = [partial(Chat, history=20)]`.
    """

    line_counts = Records(LineCount)
    lines = Records(Line)

    def __init__(self, game: AnyGame, history: int = 50) -> None:
        super().__init__(game)
        if not 0 < history <= 100:
            raise ValueError(f"history must be 1 to 100 lines, not {history}")
        self._history = history

    def on_say(self, me: Me, text: str) -> str:
        """Keep what is said."""
        column, row = me.square
        group, n = f"{column}:{row}", 0

        def counted(count: LineCount | None) -> LineCount:
            nonlocal n
            n = 1 if count is None else count.n + 1
            return LineCount(group, n=n)

        def written(before: Line | None) -> Line | None:
            # Whoever has counted later may have been faster.
            return line if before is None or before.n < line.n else None

        self.line_counts.change(group, counted)
        id, at = f"{group}/{n % self._history}", self.world_now()
        line = Line(id, n=n, at=at, name=me.name, words=text)
        self.lines.change(id, written)
        return text

    def on_join(self, me: Me, back: bool) -> None:
        """Send whoever begins what was said here."""
        self._send(me, me.square)

    def on_enter(self, me: Me, square: Square, before: Square) -> None:
        """Send whoever comes to a square what was said there."""
        self._send(me, square)

    def _send(self, me: Me, square: Square) -> None:
        lines = sorted(self.lines.all(f"{square[0]}:{square[1]}"), key=lambda line: line.n)
        me.send("lines", [[line.at, line.name, line.words] for line in lines[-self._history :]])
