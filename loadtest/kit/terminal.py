"""What is said in a terminal, or in whatever standard output is."""

from rich.console import Console
from rich.table import Table

#: Characters of a line, off a terminal: a file is as wide as it needs to be.
WIDTH = 250


class Terminal:
    """Standard output."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        if not self.console.is_terminal:
            self.console.width = WIDTH

    def say(self, text: str) -> None:
        """Print a sentence."""
        self.console.print(text, markup=False, soft_wrap=True)

    def print(self, table: Table) -> None:
        """Print a table."""
        self.console.print(table)
