"""Thresholds: what a figure must not be, written as "p99 > 100". It never knows what is measured.

A figure that crosses one is reported in a sentence, and so is one that is not known: nobody is to
believe that it was checked.
"""

import operator
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

#: The exit code of a run in which all was right, but a threshold was crossed: that of k6.
CROSSED = 99

_CROSSED_IF = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


@dataclass(frozen=True)
class Threshold:
    """A figure's name, a key of _CROSSED_IF, and the bound."""

    figure: str
    sign: str
    bound: float

    def crossed(self, figures: Mapping[str, float | None]) -> str:
        """Return a sentence that says how figures cross it; an empty text if they do not."""
        value = figures[self.figure]
        wanted = f"{self.figure} {self.sign} {self.bound:g}"
        if value is None:
            return f"{wanted}: {self.figure} is not known"
        return f"{wanted}: {value:.4g}" if _CROSSED_IF[self.sign](value, self.bound) else ""


def all_crossed(
    limits: Iterable[Threshold], figures: Mapping[str, float | None], of: str
) -> list[str]:
    """Return sentences that say which thresholds the figures of something cross, with its name."""
    return [f"{of}: {why}" for limit in limits if (why := limit.crossed(figures))]


def threshold(known: Collection[str]) -> Callable[[str], Threshold]:
    """Return a type of option: thresholds of figures with these names."""

    def convert(text: str) -> Threshold:
        found = re.fullmatch(r"\s*(.+?)\s*(>=|<=|>|<)\s*(\d+\.?\d*)(%?)\s*", text)
        if found is None:
            raise ArgumentTypeError(f"{text!r} is not like 'p99 > 100'")
        figure, sign, number, percent = found.groups()
        if figure not in known:
            raise ArgumentTypeError(f"no figure is called {figure!r}: there are {', '.join(known)}")
        return Threshold(figure, sign, float(number) / (100 if percent else 1))

    return convert
