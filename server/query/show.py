"""Shows an answer: as a table for a terminal, as CSV, or as JSON. It never asks anything."""

import csv
import json
import sys
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table

from flatlands.server.query.ask import Answer


def as_table(answer: Answer, out: TextIO = sys.stdout) -> None:
    """Print a table, and below it how many rows it has."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, name in enumerate(answer.columns):
        numeric = all(isinstance(row[number], int | float | None) for row in answer.rows)
        table.add_column(name, justify="right" if numeric and answer.rows else "left")
    for row in answer.rows:
        # Names and texts are the players': they must not be taken for markup.
        table.add_row(*(_cell(value).replace("[", r"\[") for value in row))
    console = Console(file=out, highlight=False)
    if not console.is_terminal:
        # What is piped into another program is not broken to some width.
        console.width = 1000
    console.print(table)
    console.print(count(answer), style="dim")


def count(answer: Answer) -> str:
    """Return how many rows there are, in words."""
    number = len(answer.rows)
    if answer.cut:
        return f"the first {number} rows: --rows shows more"
    return "1 row" if number == 1 else f"{number} rows"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def as_csv(answer: Answer, out: TextIO = sys.stdout) -> None:
    """Print a line with the names of the columns, and a line for each row (RFC 4180)."""
    writer = csv.writer(out)
    writer.writerow(answer.columns)
    writer.writerows(answer.rows)


def as_json(answer: Answer, out: TextIO = sys.stdout) -> None:
    """Print one object for each row, each on a line of its own."""
    for row in answer.rows:
        fields = dict(zip(answer.columns, row, strict=True))
        print(json.dumps(fields, ensure_ascii=False, default=_bytes), file=out)


def _bytes(value: object) -> str:
    assert isinstance(value, bytes)
    return value.hex()
