"""Every option of the server, each also an environment variable. It starts nothing."""

import argparse
import os
import re
import resource
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flatlands.brokers.base import UNVERIFIED, VERIFIED
from flatlands.brokers.registry import members_of
from flatlands.server.limits import PER_ADDRESS, Proxies
from flatlands.server.messages.channels import WORLD
from flatlands.server.websocket.hosts import is_origin
from flatlands.stores.registry import BACKENDS, REDIS_STORE
from flatlands.world.grid import SIDE, SIDES

#: Descriptors that are kept for other things than players: listener, event loop, logs, broker,
#: HTTP; and how many of them no connection ever gets.
SPARE_DESCRIPTORS, KEPT_BACK = 64, 48

#: The limit of descriptors that is set if the system has none.
MANY_DESCRIPTORS = 2**20

#: The variables in which hosting services give a Redis; some set both, for the same server.
REDIS_URLS = ("REDIS_URL", "REDIS_TLS_URL")

#: The variable that Heroku sets in each dyno. The certificates of its Redis are self-signed, and a
#: dyno's files are lost when it restarts.
HEROKU = "DYNO"

#: The least number of characters of an admin token, so that nobody can guess it; a warning is
#: logged if SECRET_KEY has fewer.
TOKEN_LENGTH = 16

#: The file that is the store of a world whose broker keeps nothing, and the variable in which
#: systemd names the folder that it is in. The word for no store at all.
STORE_FILE, STATE, NO_STORE = "flatlands.db", "STATE_DIRECTORY", "none"


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of all options; see `python -m server --help`."""

    host: str
    port: int
    broker: str
    broker_tls: str
    workers: int
    world: str
    seed: int
    side: int
    walkers: int
    deer: int
    #: The URL of the store, or None if nothing lasts.
    store: str | None
    gems: int
    gem_pause: float
    spread: int
    spread_ring: int
    max_players: int
    max_per_address: int
    any_rate: bool
    http_share: int
    trusted_proxies: Proxies
    allowed_origins: tuple[str, ...]
    allowed_hosts: tuple[str, ...]
    secret: str | None
    admin_token: str | None
    log_level: str
    log_format: str
    access_log: bool
    short_addresses: bool
    #: Whether workers of one machine gather neighbours at one of them.
    gather: bool
    #: Whether the store is a file on Heroku, whose dynos lose their files at each restart.
    forgets: bool
    listen_fd: int | None
    #: Whether messages between nodes are sealed with the secret.
    sealed: bool
    worker: int | None
    reports: str | None
    clock: int | None


def _port(text: str) -> int:
    return _whole(text, 0, 65535)


def _herd(text: str) -> int:
    return _whole(text, 0, 10_000)


def _spread(text: str) -> int:
    return _whole(text, 0, 1_000_000)


def _ring(text: str) -> int:
    return _whole(text, 0, 100_000_000)


def _players(text: str) -> int:
    return _whole(text, 0, 1_000_000)


def _workers(text: str) -> int:
    return _whole(text, 1, 64)


def _seed(text: str) -> int:
    return _whole(text, 0, 2**32 - 1)


def _side(text: str) -> int:
    return _whole(text, SIDES[0], SIDES[-1])


def _gems(text: str) -> int:
    return _whole(text, 0, 100)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0.1 <= seconds <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0.1 to 1e6")
    return seconds


def _per_address(text: str) -> int:
    return _whole(text, 0, 1_000_000)


def _percent(text: str) -> int:
    return _whole(text, 1, 100)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _origins(text: str) -> tuple[str, ...]:
    for name in _names(text):
        if not is_origin(name):
            raise argparse.ArgumentTypeError(
                f"{name!r} is no origin such as https://example.org, nor * for all of them"
            )
    return _names(text)


def _hosts(text: str) -> tuple[str, ...]:
    for name in _names(text):
        if "/" in name or (":" in name and not name.startswith("[")):
            raise argparse.ArgumentTypeError(
                f"{name!r} must be a name without scheme and port, such as example.org, or *"
            )
    return _names(text)


def _proxies(text: str) -> Proxies:
    try:
        return Proxies(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be addresses and networks with commas between them, such as "
            "127.0.0.1,10.0.0.0/8, or * for whoever connects"
        ) from None


def _certificates(text: str) -> str:
    if text not in ("", VERIFIED, UNVERIFIED) and not os.path.isfile(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither {VERIFIED!r}, {UNVERIFIED!r}, nor a file with certificates"
        )
    return text


def _world(text: str) -> str:
    if not re.fullmatch("[a-z0-9-]{1,32}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not 1 to 32 of the letters a to z, digits and hyphens"
        )
    return text


def _admin_token(text: str) -> str:
    # The sentence does not contain the text, which is a secret.
    if 0 < len(text) < TOKEN_LENGTH or not text.isascii() or " " in text:
        raise argparse.ArgumentTypeError(
            f"an admin token has at least {TOKEN_LENGTH} characters, all of them ASCII and no "
            "space: openssl rand -hex 16 makes one"
        )
    return text


def _switch(text: str) -> bool:
    return bool(_whole(text, 0, 1))


def _whole(text: str, low: int, high: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = low - 1
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
    return number


#: Option, environment variable, default, the function that reads it, its text in the help.
_OPTIONS: tuple[tuple[str, str, str, Any, str], ...] = (
    ("--host", "HOST", "127.0.0.1", str, "address to listen on; 0.0.0.0 listens on all"),
    ("--port", "PORT", "8000", _port, "port to listen on; 0 chooses a free one"),
    (
        "--broker",
        "BROKER_URL",
        "",
        str,
        "URL of the broker that connects the nodes of a world; without one, $REDIS_URL, or else "
        "memory:// for one worker and a ZeroMQ forwarder of its own for several",
    ),
    (
        "--broker-tls",
        "BROKER_TLS",
        "",
        _certificates,
        "which certificates to accept from a broker over TLS: 'verified' (those that the system "
        "trusts), 'unverified' (any), or the path of a file with those to trust; without it, "
        "'verified', but on Heroku 'unverified' for $REDIS_URL",
    ),
    (
        "--workers",
        "WEB_CONCURRENCY",
        "1",
        _workers,
        "number of processes that serve the world together on one port",
    ),
    (
        "--world",
        "WORLD",
        WORLD,
        _world,
        "name of the world: servers with different names on one broker do not hear each other",
    ),
    (
        "--seed",
        "SEED",
        "2013",
        _seed,
        "number that the world is generated from: another seed makes another world",
    ),
    ("--side", "SIDE", str(SIDE), _side, "width and height of a square in tiles"),
    (
        "--walkers",
        "WALKERS",
        "20",
        _herd,
        "number of computer players that wander near the plaza, in the whole world: the same for "
        "all its servers; 0 for load tests",
    ),
    (
        "--deer",
        "DEER",
        "8",
        _herd,
        "number of deer that graze near the plaza and flee from players, in the whole world",
    ),
    (
        "--store",
        "STORE_URL",
        "",
        str,
        "URL of what keeps gems, scores, cairns and the herd: sqlite:///PATH for a file that all "
        "workers of this machine share, redis:// and its kinds for servers on several machines, "
        "memory:// until this process ends, or none; without one, the broker if that is a Redis, "
        f"or else the file {STORE_FILE} in $STATE_DIRECTORY or the working directory",
    ),
    (
        "--gems",
        "GEMS",
        "4",
        _gems,
        "number of gems in each part of the world, of 64 x 64 tiles, that somebody came near",
    ),
    (
        "--gem-pause",
        "GEM_PAUSE",
        "120",
        _seconds,
        "seconds until a gem that was taken lies somewhere else: half of it to half as much again",
    ),
    (
        "--spread",
        "SPREAD",
        "0",
        _spread,
        "for load tests: number of squares around the origin over which newcomers are spread; 0 "
        "puts them on the plaza",
    ),
    (
        "--spread-ring",
        "SPREAD_RING",
        "0",
        _ring,
        "for load tests: these squares lie on a circle of so many tiles around the origin; 0 puts "
        "them side by side at the origin",
    ),
    (
        "--max-players",
        "MAX_PLAYERS",
        "0",
        _players,
        "number of players that each worker accepts; 0 allows as many as it has file "
        "descriptors for",
    ),
    (
        "--max-per-address",
        "MAX_PER_ADDRESS",
        str(PER_ADDRESS),
        _per_address,
        "number of connections that one address may have; the other limits of an address are in "
        "proportion to it; 0 limits no address",
    ),
    (
        "--any-rate",
        "ANY_RATE",
        "0",
        _switch,
        "for load tests: 1 lets each player send as many messages as it likes",
    ),
    (
        "--http-share",
        "HTTP_SHARE",
        "30",
        _percent,
        "percentage of each second that HTTP requests, handshakes included, may take from "
        "the players",
    ),
    (
        "--trusted-proxies",
        "TRUSTED_PROXIES",
        "",
        _proxies,
        "addresses and networks of the reverse proxies in front of this server: it believes what "
        "their header X-Forwarded-For says of the client's address; * believes every peer",
    ),
    (
        "--allowed-origins",
        "ALLOWED_ORIGINS",
        "",
        _origins,
        "origins, such as https://example.org, whose pages may connect in addition to this "
        "server's own; * allows all",
    ),
    (
        "--allowed-hosts",
        "ALLOWED_HOSTS",
        "",
        _hosts,
        "host names, without ports, that the server answers to; * allows all; without it, all, or "
        "only this machine's own names if the server listens on a loopback address",
    ),
    (
        "--secret",
        "SECRET_KEY",
        "",
        str,
        "key that signs the tokens of players and seals the messages between nodes, the same for "
        "all servers of a world; without one, tokens are valid for one run; other users can see a "
        "command line, so set the variable instead",
    ),
    (
        "--admin-token",
        "ADMIN_TOKEN",
        "",
        _admin_token,
        "token that opens /admin, /metrics and /stats to requests that carry it; other users can "
        "see a command line, so set the variable instead",
    ),
    ("--log-level", "LOG_LEVEL", "INFO", str.upper, "DEBUG, INFO, WARNING or ERROR"),
    ("--log-format", "LOG_FORMAT", "text", str.lower, "text, or json for one object per line"),
    ("--access-log", "ACCESS_LOG", "0", _switch, "1 logs a line for every HTTP request"),
    (
        "--short-addresses",
        "SHORT_ADDRESSES",
        "0",
        _switch,
        "1 logs only the network of a client's address, its /24 or for IPv6 its /48",
    ),
    (
        "--gather",
        "GATHER",
        "1",
        _switch,
        "0 lets each player stay at the worker that its connection came to, however far from its "
        "neighbours",
    ),
)

#: Every environment variable that the server reads.
VARIABLES = (*(variable for _, variable, *_ in _OPTIONS), *REDIS_URLS, STATE)


def read(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings from a command line and an environment. The former takes precedence.

    Ends the process with a sentence on standard error and code 2 if a value is wrong.
    """
    parser = argparse.ArgumentParser(
        prog="python -m server",
        # argparse would list all options, and hide the sentence about the wrong one.
        usage="python -m server [--help] [OPTION ...]",
        description="Serve Flatlands: an endless world in which every square is a channel.",
        epilog="Each option can also be set by the environment variable in brackets; the "
        "command line takes precedence.",
    )
    _add_options(parser, environment, [name for name, *_ in _OPTIONS])
    # These are for the workers of a supervisor: the descriptor of its listener,
    parser.add_argument("--listen-fd", type=int, help=argparse.SUPPRESS)
    # that their secret is one that the supervisor made, which no other server has,
    parser.add_argument("--unsealed", action="store_true", help=argparse.SUPPRESS)
    # the worker's number, from 1, the folder of all workers' reports and passages, and what the
    # clock of all of them is ahead of the monotonic one.
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--reports", help=argparse.SUPPRESS)
    parser.add_argument("--clock", type=int, help=argparse.SUPPRESS)
    given = vars(parser.parse_args(arguments))
    _resolve(given, environment)
    if given["workers"] > 1 and given["broker"].startswith("memory:"):
        parser.error("memory:// joins nobody but one process: give --workers 1 or another broker")
    if given["workers"] > 1 and given["store"] == "memory://":
        parser.error(
            "the store memory:// is for one process only: give --workers 1 or another --store"
        )
    given["sealed"] = not given.pop("unsealed") and given["secret"] is not None
    given["forgets"] = HEROKU in environment and (given["store"] or "").startswith("sqlite:")
    given["admin_token"] = given["admin_token"] or None
    if given["log_format"] not in ("text", "json"):
        parser.error(f"--log-format {given['log_format']} is neither text nor json")
    if given["log_level"] not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        parser.error(f"--log-level {given['log_level']} is not DEBUG, INFO, WARNING or ERROR")
    return Settings(**given)


def read_some(
    parser: argparse.ArgumentParser,
    names: Sequence[str],
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> argparse.Namespace:
    """Return what a parser reads, and of the server's options those with these names as well.

    The names are those of the fields of Settings; `broker`, `broker_tls`, `store` and `secret` must
    be among them. `arguments` are those of the process if None.
    """
    _add_options(parser, environment, [f"--{name.replace('_', '-')}" for name in names])
    given = parser.parse_args(arguments)
    _resolve(vars(given), environment)
    return given


def _add_options(
    parser: argparse.ArgumentParser, environment: Mapping[str, str], names: Collection[str]
) -> None:
    """Add some options to a parser, with the environment's values as their defaults."""
    for option, variable, default, convert, text in _OPTIONS:
        if option not in names:
            continue
        value = environment.get(variable, "").strip() or default
        shown = f" (default {default})" if default else ""
        try:
            convert(value)
        except argparse.ArgumentTypeError as error:
            parser.error(f"environment variable {variable}: {error}")
        parser.add_argument(
            option,
            default=value,
            type=convert,
            # --access-log alone is --access-log 1.
            nargs="?" if convert is _switch else None,
            const="1" if convert is _switch else None,
            metavar=variable,
            help=f"{text}{shown} [${variable}]",
        )


def _resolve(given: dict[str, Any], environment: Mapping[str, str]) -> None:
    """Replace what was given for broker, store and secret by what is meant."""
    if not given["broker"]:
        given["broker"] = next(filter(None, map(environment.get, REDIS_URLS)), "")
        if HEROKU in environment:
            # It cannot be checked there, and without the link a dyno's workers would be separated.
            given["broker_tls"] = given["broker_tls"] or UNVERIFIED
    given["broker_tls"] = given["broker_tls"] or VERIFIED
    given["store"] = _store(given["store"], given["broker"], environment.get(STATE, ""))
    given["secret"] = given["secret"] or None


def _store(url: str, broker: str, folder: str) -> str | None:
    """Return the URL of the store that a world uses, or None if nothing is to last.

    `folder` is where files are kept; "" is the working directory.
    """
    if url == NO_STORE:
        return None
    if url:
        return url
    members = members_of(broker)
    keeps = all(BACKENDS.get(member.partition(":")[0]) == REDIS_STORE for member in members)
    return broker if keeps else f"sqlite:///{os.path.join(folder, STORE_FILE)}"


def raise_descriptor_limit() -> int:
    """Raise this process's limit of file descriptors as far as it goes, and return it."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = MANY_DESCRIPTORS
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
