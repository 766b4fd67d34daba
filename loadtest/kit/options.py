"""How command lines read their values: what makes no sense is refused in one sentence.

Each function is what argparse takes as the `type` of an option, or returns it.
"""

import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path


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


def folder(text: str) -> Path:
    """Take a folder into which something is to be written, and make it."""
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentTypeError(f"nothing can be written to {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise ArgumentTypeError(f"nothing can be written to {path}: it is not yours")
    return path


def file(text: str) -> Path:
    """Take a file that is to be written, and make its folder."""
    if os.path.isdir(text):
        raise ArgumentTypeError(f"{text} is a folder, and no file")
    return folder(os.path.dirname(text) or ".") / os.path.basename(text)
