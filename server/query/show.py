"""Shows an answer: as a table for a terminal, as CSV, or as JSON. It never asks anything."""

import csv
import json
import sys
from typing import TextIO
from unicodedata import combining, east_asian_width

from flatlands.server.query.ask import Answer


def as_table(answer: Answer, out: TextIO = sys.stdout) -> None:
    """Print a table, and below it how many rows it has."""
    columns = list(zip(answer.columns, *answer.rows, strict=True))
    shown = [_column(name, values) for name, *values in columns]
    for row in zip(*shown, strict=True):
        print("  ".join(row).rstrip(), file=out)
    print(count(answer), file=out)


def _column(name: str, values: list[object]) -> list[str]:
    """Return the cells of a column below its name and a line, all of one width: numbers are on the
    right."""
    cells = [name, *map(_cell, values)]
    width = max(map(_width, cells))
    numeric = bool(values) and all(isinstance(value, int | float | None) for value in values)
    gaps = [" " * (width - _width(cell)) for cell in cells]
    padded = [gap + cell if numeric else cell + gap for cell, gap in zip(cells, gaps, strict=True)]
    return [padded[0], "-" * width, *padded[1:]]


def _width(text: str) -> int:
    """Return how many places of a terminal a text takes."""
    return sum(0 if combining(one) else 1 + (east_asian_width(one) in "WF") for one in text)


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
    """Print one object for each row, one per line."""
    for row in answer.rows:
        fields = dict(zip(answer.columns, row, strict=True))
        print(json.dumps(fields, ensure_ascii=False, default=_bytes), file=out)


def _bytes(value: object) -> str:
    assert isinstance(value, bytes)
    return value.hex()
