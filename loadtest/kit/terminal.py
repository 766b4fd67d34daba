"""Prints sentences and tables to standard output, which may be a terminal."""

from rich.console import Console
from rich.table import Table

from flatlands.loadtest.kit.options import bare

#: Characters that a line may have if standard output is not a terminal.
WIDTH = 250


class Terminal:
    """Standard output, as wide as the terminal; see WIDTH."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        if not self.console.is_terminal:
            self.console.width = WIDTH

    def say(self, text: str) -> None:
        """Print a sentence, without the passwords of URLs in it."""
        self.console.print(bare(text), markup=False, soft_wrap=True)

    def print(self, table: Table) -> None:
        """Print a table."""
        self.console.print(table)
