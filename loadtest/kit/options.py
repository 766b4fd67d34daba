"""How command lines read their values: what makes no sense is refused in one sentence.

Each function returns what argparse takes as the `type` of an option.
"""

from argparse import ArgumentTypeError
from collections.abc import Callable


def whole(low: int, high: int) -> Callable[[str], int]:
    """Take whole numbers from `low` to `high`."""

    def convert(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise ArgumentTypeError(f"{text!r} is not a whole number, {low} to {high}")
        return int(text)

    return convert


def amount(low: float, high: float) -> Callable[[str], float]:
    """Take numbers from `low` to `high`."""

    def convert(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            raise ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")
        return number

    return convert
