"""Turns rows into objects of a Redis server, and such objects into rows.

    hash KEY            a hash for each row, whose fields are the columns
    list KEY            all values of the first column, in the order of the rows
    set KEY             the same as a set
    zset KEY            the first column with the second one as its score

KEY may have columns in braces, such as player:{id}: rows with other keys go into other objects.
This module never replaces an object that is there.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from redis import Redis
from redis.exceptions import RedisError

from flatlands.brokers.base import bare
from flatlands.server.query.ask import Answer

#: How long a call waits for its answer.
CALL_TIMEOUT_S = 5.0

#: How many commands are sent at a time.
COMMANDS_AT_ONCE = 500

#: The columns of the table that Redis objects become, by the kind of objects. Hashes get a column
#: for each field instead.
OBJECT_COLUMNS = {
    "hash": (),
    "list": ("position", "value"),
    "set": ("member",),
    "zset": ("member", "score"),
}

#: The first column of that table.
KEY_COLUMN = "object_key"

#: The command that reads an object, and its arguments after the key.
READ: dict[str, tuple[Any, ...]] = {
    "hash": ("hgetall",),
    "list": ("lrange", 0, -1),
    "set": ("smembers",),
    "zset": ("zrange", 0, -1, False, True),
}

Row = tuple[Any, ...]


class ConversionError(Exception):
    """Rows or objects cannot be turned into what is wanted; the text is a sentence."""


class ObjectForm(NamedTuple):
    """The form of the objects that are made or read: their kind, and their keys, with columns in
    braces or with * for any text."""

    kind: str
    key: str


def form(text: str) -> ObjectForm:
    """Return what "hash player:{id}" means. Raises ConversionError."""
    kind, _, key = text.partition(" ")
    if kind not in OBJECT_COLUMNS or not key.strip():
        kinds = ", ".join(OBJECT_COLUMNS)
        raise ConversionError(
            f"{text!r} must be a kind ({kinds}) and a key, such as 'hash player:{{id}}'"
        )
    return ObjectForm(kind, key.strip())


def to_redis(url: str, what: ObjectForm, answer: Answer) -> int:
    """Make objects of all rows, and return how many there are. Raises ConversionError.

    If there is any object with one of their keys already, nothing is written.
    """
    if answer.cut:
        raise ConversionError("the answer has more rows than --rows allows: nothing was written")
    objects = _objects(what, answer)
    with _redis(url) as redis:
        for key, there in zip(objects, _each(redis, "exists", objects), strict=True):
            if there:
                raise ConversionError(f"{key} already exists at {bare(url)}: nothing was written")
        for some in _slices(list(objects.items())):
            pipe = redis.pipeline(transaction=False)
            for key, rows in some:
                _write(pipe, what.kind, key, answer.columns, rows)
            pipe.execute()
    return len(objects)


def _objects(what: ObjectForm, answer: Answer) -> dict[str, list[Row]]:
    """Return the rows of each object, by its key. Raises ConversionError."""
    wanted = set(re.findall(r"\{(\w+)\}", what.key))
    for column in wanted - set(answer.columns):
        raise ConversionError(
            f"there is no column {column} for the key: {', '.join(answer.columns)}"
        )
    if what.kind == "zset" and len(answer.columns) < 2:
        raise ConversionError("a zset needs two columns: the member and its score")
    objects: dict[str, list[Row]] = {}
    members: set[tuple[str, str]] = set()
    for row in answer.rows:
        key = what.key
        for column in wanted:
            key = key.replace(f"{{{column}}}", _text(row[answer.columns.index(column)]))
        member = key, _text(row[0])
        if what.kind == "hash" and key in objects:
            raise ConversionError(
                f"two rows would become the hash {key}: put a column into the key"
            )
        if what.kind == "zset" and not isinstance(row[1], int | float):
            raise ConversionError(f"{row[1]!r} is not a score: the second column must be a number")
        if what.kind == "zset" and member in members:
            raise ConversionError(
                f"two rows would become the member {member[1]!r} of {key}: group them"
            )
        members.add(member)
        objects.setdefault(key, []).append(row)
    return objects


def _write(pipe: Any, kind: str, key: str, columns: list[str], rows: list[Row]) -> None:
    """Let a pipeline make an object of rows."""
    values = [_text(row[0]) for row in rows]
    if kind == "hash":
        # A hash has no field for what is not known.
        fields = zip(columns, rows[0], strict=True)
        pipe.hset(key, mapping={name: _text(v) for name, v in fields if v is not None})
    elif kind == "list":
        pipe.rpush(key, *values)
    elif kind == "set":
        pipe.sadd(key, *values)
    else:
        pipe.zadd(key, {value: row[1] for value, row in zip(values, rows, strict=True)})


def from_redis(url: str, what: ObjectForm) -> Answer:
    """Return all objects of a form as rows, the first column being the key. Raises
    ConversionError."""
    if "{" in what.key:
        raise ConversionError(
            "to read objects, write * where their keys differ, as in 'hash player:*'"
        )
    with _redis(url) as redis:
        found = redis.scan_iter(match=what.key, count=1000, _type=what.kind)
        keys = sorted(key.decode("utf-8", "replace") for key in found)
        command, *more = READ[what.kind]
        objects = dict(zip(keys, _each(redis, command, keys, *more), strict=True))
    if what.kind == "hash":
        return _hashes(objects)
    rows: list[Row] = []
    for key, values in objects.items():
        for position, value in enumerate(values):
            if what.kind == "zset":
                rows.append((key, _value(value[0]), value[1]))
            elif what.kind == "list":
                rows.append((key, position, _value(value)))
            else:
                rows.append((key, _value(value)))
    return Answer([KEY_COLUMN, *OBJECT_COLUMNS[what.kind]], rows, cut=False)


def _hashes(objects: dict[str, dict[bytes, bytes]]) -> Answer:
    """Return hashes as rows, with a column for each field that any of them has."""
    fields = list(dict.fromkeys(field for fields in objects.values() for field in fields))
    rows = [
        (key, *(_value(one[field]) if field in one else None for field in fields))
        for key, one in objects.items()
    ]
    return Answer([KEY_COLUMN, *(str(_value(field)) for field in fields)], rows, cut=False)


@contextmanager
def _redis(url: str) -> Iterator[Any]:
    """Yield a connection whose errors are sentences. Raises ConversionError."""
    try:
        redis = Redis.from_url(
            url, socket_timeout=CALL_TIMEOUT_S, socket_connect_timeout=CALL_TIMEOUT_S
        )
    except ValueError as error:
        raise ConversionError(f"{bare(url)}: {error}") from None
    try:
        yield redis
    except RedisError as error:
        raise ConversionError(
            f"Redis at {bare(url)} does not answer as expected: {error}"
        ) from None
    finally:
        redis.close()


def _each(redis: Any, command: str, keys: Iterable[str], *more: Any) -> Iterator[Any]:
    """Yield the answer to a command with each key, many at a time."""
    for some in _slices(list(keys)):
        pipe = redis.pipeline(transaction=False)
        for key in some:
            getattr(pipe, command)(key, *more)
        yield from pipe.execute()


def _slices(some: list[Any]) -> Iterator[list[Any]]:
    return (some[at : at + COMMANDS_AT_ONCE] for at in range(0, len(some), COMMANDS_AT_ONCE))


def _text(value: Any) -> str:
    return "" if value is None else value.hex() if isinstance(value, bytes) else str(value)


def _value(raw: bytes) -> Any:
    """Return what Redis keeps as bytes as the number or text that it is."""
    text = raw.decode("utf-8", "replace")
    for number in (int, float):
        try:
            value = number(text)
        except ValueError:
            continue
        # Only what Python would write the same: 007 stays a text, as do numbers too big for SQL.
        if str(value) == text and not (number is int and abs(value) >= 2**63):
            return value
    return text
