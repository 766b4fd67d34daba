"""What a square has heard of another node: its numbers, and the pages of a full state.

It only keeps what heard.py has found, and never decides what follows from it.
"""

from flatlands.world.events import EnterEvent


class Voice:
    """Another node, as it is heard in one square.

    Everything up to `number`, of its batches and full states here, has come; `last` is the number
    of the last one that came. `sure` is the time, by the node's clock, before which nothing of it
    is missing. `heard` is when it said anything here last, by this node's clock. Times are in ms.
    """

    __slots__ = ("number", "last", "sure", "heard", "_begun", "_pages")

    def __init__(self, now: int) -> None:
        self.number = 0
        self.last = 0
        self.sure = 0
        self.heard = now
        #: The number of the full state whose pages come, and page -> its entries.
        self._begun = 0
        self._pages: dict[int, list[EnterEvent]] = {}

    def complete(self, number: int, sent: int) -> None:
        """Note that nothing is missing up to a number, and to the node's time `sent`."""
        self.number = self.last = number
        self.sure = sent

    def add_page(
        self, number: int, page: int, pages: int, entries: list[EnterEvent]
    ) -> list[EnterEvent] | None:
        """Keep a page of the full state with this number.

        Returns all its entries once all pages have come, until then None.
        """
        if number != self._begun:
            self._begun, self._pages = number, {}
        self._pages[page] = entries
        if len(self._pages) < pages:
            return None
        everything = [entry for some in self._pages.values() for entry in some]
        self._pages = {}
        return everything
