"""Reads the options of a command line, and refuses bad values in one sentence without passwords.

All functions but `bare` and `option` are arguments for `type` of argparse's add_argument, or return
one.
"""

import os
import re
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Collection
from dataclasses import field, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from flatlands.loadtest.kit.thresholds import threshold

_T = TypeVar("_T")


def bare(text: str) -> str:
    """Return a URL, or a text with URLs, without users and passwords: it may be shown."""
    # All up to the last @ of a URL, since a password that is not quoted may have one in it.
    # What has no // was meant to be a URL.
    return re.sub(r"(//)((?!,[a-z+]+://)\S)*@|(?<![^\s'\"])[^\s'\"/]+:(?!//)\S*@", r"\1", text)


def option(
    flag: str,
    convert: Callable[[str], object] | None,
    default: _T,
    metavar: str,
    about: str,
    **more: object,
) -> _T:
    """Return a field of a dataclass of options, which users set by a flag.

    `convert` makes its value from a text; without one it is a switch. `more` is for add_argument().
    """
    shown = "" if not default or "(" in about else f" ({default})"
    more |= {"help": about + shown}
    more |= {"type": convert, "metavar": metavar} if convert else {"action": "store_true"}
    return field(default=default, metadata={"flag": flag, "more": more})


class Parser(ArgumentParser):
    """The parser of a program in loadtest/, which writes its figures into files."""

    def __init__(self, prog: str, description: str, epilog: str = "") -> None:
        where = "python loadtest/" if prog.partition(" ")[0].endswith(".py") else ""
        usage = f"{where}{prog} [--help] [OPTION ...]"
        super().__init__(prog, usage, description, epilog or None)
        if epilog:
            self.formatter_class = RawDescriptionHelpFormatter

    def add_options(self, options: Any) -> None:
        """Add the options that are fields of a dataclass, see option()."""
        for one in fields(options):
            # argparse would convert a default that is a text.
            self.add_argument(
                one.metadata["flag"], dest=one.name, default=SUPPRESS, **one.metadata["more"]
            )

    def add_files(self) -> None:
        """Add --json and --report."""
        self.add_argument("--json", type=file, metavar="FILE", help="write all figures to FILE")
        about = "write a page with charts into DIR"
        self.add_argument("--report", type=folder, metavar="DIR", help=about)

    def add_fail_if(self, figures: Collection[str], of: str) -> None:
        """Add --fail-if, for thresholds of these figures of a run, or of some part of it."""
        self.add_argument(
            "--fail-if",
            type=threshold(figures),
            action="append",
            default=[],
            metavar="THRESHOLD",
            help=f"such as 'p99 > 100' (ms): end with exit code 99 if that is true of {of}, or if "
            f"the figure is unknown; may be given again; figures: {', '.join(figures)}",
        )

    def error(self, message: str) -> NoReturn:
        """End the program with a sentence, without the passwords of URLs in it."""
        super().error(bare(message))


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a type of option: whole numbers from `low` to `high`."""

    def convert(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise ArgumentTypeError(f"{text!r} is not a whole number, {low} to {high}")
        return int(text)

    return convert


def amount(low: float, high: float) -> Callable[[str], float]:
    """Return a type of option: numbers from `low` to `high`."""

    def convert(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            raise ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")
        return number

    return convert


def names(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a type of option: names of series, separated by commas; "all" names all of them."""

    def convert(text: str) -> tuple[str, ...]:
        found = tuple(known if text == "all" else text.split(","))
        for name in found:
            if name not in known:
                raise ArgumentTypeError(
                    f"no series is called {name!r}: choose from {', '.join(known)}"
                )
        return found

    return convert


def endpoint(text: str) -> tuple[str, int]:
    """Return HOST and PORT of HOST:PORT, or of PORT, for which HOST is this machine's loopback."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ArgumentTypeError(f"{text!r} is not like HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def folder(text: str) -> Path:
    """Return the folder with this path, made if it does not exist. It must be writable."""
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentTypeError(f"cannot write to {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise ArgumentTypeError(f"cannot write to {path}: you have no permission")
    return path


def file(text: str) -> Path:
    """Return the path of a file to be written, and make its folder."""
    if os.path.isdir(text):
        raise ArgumentTypeError(f"{text} is a folder, not a file")
    return folder(os.path.dirname(text) or ".") / os.path.basename(text)
