"""Every option of the server, each also an environment variable. It starts nothing."""

import os
import re
import resource
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias, TypeVar

from flatlands.brokers.base import UNVERIFIED, VERIFIED
from flatlands.brokers.registry import members_of
from flatlands.server.game import loader
from flatlands.server.messages.channels import DEFAULT_WORLD
from flatlands.server.messages.texts import is_address
from flatlands.server.net.hosts import is_local, is_origin
from flatlands.server.runtime import commit
from flatlands.server.runtime.limits import PER_ADDRESS, Proxies
from flatlands.stores.registry import REDIS_STORE, STORE_BACKENDS
from flatlands.world.grid import SIDE, SIDES

#: Descriptors that are kept for things other than players: listener, event loop, logs, broker,
#: HTTP.
SPARE_DESCRIPTORS = 64

#: How many of these no connection ever gets.
KEPT_BACK = 48

#: The limit of descriptors that is set if the system has none.
MANY_DESCRIPTORS = 2**20

#: The variables in which hosting services give a Redis; some set both, for the same server.
REDIS_URLS = ("REDIS_URL", "REDIS_TLS_URL")

#: The variable that Heroku sets in each dyno. The certificates of its Redis are self-signed, and a
#: dyno's files are lost when it restarts.
HEROKU = "DYNO"

#: The variable in which Heroku names the commit, if it is asked to (heroku labs).
SLUG_COMMIT = "HEROKU_SLUG_COMMIT"

#: The fewest characters of an admin token, so that nobody can guess it; a warning is logged if
#: SECRET_KEY has fewer.
TOKEN_CHARS_LEAST = 16

#: The variable in which systemd names the folder of the file that is the store of a world whose
#: broker keeps nothing.
STATE_VARIABLE = "STATE_DIRECTORY"

#: The word for no store at all.
NO_STORE = "none"


#: The command that the options are given to.
SERVER_COMMAND = "python -m server"

_T = TypeVar("_T")


def _read(read: Callable[[str], _T | None], fault: str) -> Callable[[str], _T]:
    """Return what reads an option as `read` does, and reports `fault` if `read` returns None or
    raises ValueError."""

    def convert(text: str) -> _T:
        try:
            value = read(text)
        except ValueError:
            value = None
        if value is None:
            raise ArgumentTypeError(f"{text!r} {fault}")
        return value

    return convert


def _if(right: Callable[[str], object], fault: str) -> Callable[[str], str]:
    """Return what reads a text for which `right` is true."""
    return _read(lambda text: text if right(text) else None, fault)


def _each(right: Callable[[str], object], fault: str) -> Callable[[str], tuple[str, ...]]:
    """Return what reads names separated by commas, for each of which `right` is true."""
    one = _if(right, fault)
    return lambda text: tuple(one(name.strip()) for name in text.split(",") if name.strip())


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return what reads a whole number within these bounds, both included."""
    return _read(
        lambda text: number if low <= (number := int(text)) <= high else None,
        f"is not a whole number from {low} to {high}",
    )


def _one_of(*words: str) -> Callable[[str], str]:
    known = {word.lower(): word for word in words}
    return _read(lambda text: known.get(text.lower()), f"is none of {', '.join(words)}")


def _switch(text: str) -> bool:
    return bool(whole(0, 1)(text))


#: Reads a number of seconds.
seconds = _read(
    lambda text: seconds if 0.1 <= (seconds := float(text)) <= 1e6 else None,
    "is not a number of seconds from 0.1 to 1e6",
)

_origins = _each(
    is_origin, "is neither an origin, such as https://example.org, nor * for all of them"
)

_address = _if(
    lambda text: text == "" or is_address(text),
    "is not the address of a machine, such as https://a.example.org",
)

_hosts = _each(
    lambda name: "/" not in name and (":" not in name or name.startswith("[")),
    "must be a name without scheme or port, such as example.org, or *",
)

_proxies = _read(
    Proxies,
    "must be addresses and networks separated by commas, such as 127.0.0.1,10.0.0.0/8, or * for "
    "every client",
)

_certificates = _if(
    lambda text: text in ("", VERIFIED, UNVERIFIED) or os.path.isfile(text),
    f"is neither {VERIFIED!r}, {UNVERIFIED!r}, nor a file with certificates",
)

_commit = _if(
    re.compile(r"[\w.+/-]{0,64}", re.ASCII).fullmatch, "is not the name of a commit or tag"
)

_world = _if(
    re.compile("[a-z0-9-]{1,32}").fullmatch,
    "is not 1 to 32 of the letters a to z, digits and hyphens",
)


def _game(text: str) -> str:
    try:
        loader.check(text)
    except loader.InvalidGame as error:
        raise ArgumentTypeError(str(error)) from None
    return text


def _admin_token(text: str) -> str:
    # The sentence does not contain the text, which is a secret.
    if 0 < len(text) < TOKEN_CHARS_LEAST or not text.isascii() or " " in text:
        raise ArgumentTypeError(
            f"an admin token must have at least {TOKEN_CHARS_LEAST} characters, ASCII and without "
            "spaces: openssl rand -hex 16 makes one"
        )
    return text


def option(
    text: str, convert: Callable[[str], object] = str, default: object = "", variable: str = ""
) -> Any:
    """Return the field of an option: its text in the help, the function that reads it, its default,
    and its environment variable, if that is not named like the field."""
    metadata = {"text": text, "convert": convert, "default": default, "variable": variable}
    return field(default=default, metadata=metadata)


def _hidden(convert: Callable[[str], object] = str) -> Any:
    """Return the field of an option that a parent process gives, without a variable."""
    return field(metadata={"hidden": convert})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values of all options; see `python -m server --help`."""

    #: Whether the store is a file on Heroku, whose dynos lose their files at each restart.
    forgets: bool
    #: Whether messages between nodes are sealed with the secret.
    sealed: bool
    #: The values of the game's own options, as its module `options` has them; None without any.
    of_game: object

    host: str = option("address to listen on; 0.0.0.0 listens on all", default="127.0.0.1")
    port: int = option("port to listen on; 0 chooses a free one", whole(0, 65535), 8000)
    broker: str = option(
        "URL of the broker that connects the nodes of a world; if it is not set, $REDIS_URL, or "
        "else memory:// for one worker, and a private ZeroMQ forwarder for several",
        variable="BROKER_URL",
    )
    broker_tls: str = option(
        "which certificates to accept from a broker over TLS: 'verified' (those that the "
        "system trusts), 'unverified' (any), or the path of a file with trusted certificates; if "
        "it is not set, 'verified', but on Heroku 'unverified' for $REDIS_URL",
        _certificates,
    )
    workers: int = option(
        "number of processes that together serve the world on one port",
        whole(1, 64),
        1,
        variable="WEB_CONCURRENCY",
    )
    game: str = option(
        f"game to serve: {', '.join(loader.shipped())}, or the path of your own, which contains a "
        "slash or ends with .py",
        _game,
        loader.DEFAULT,
    )
    world: str = option(
        "name of the world: on one broker, servers with different names ignore each other",
        _world,
        DEFAULT_WORLD,
    )
    seed: int = option(
        "number from which the world is generated: another seed makes another world",
        whole(0, 2**32 - 1),
        2013,
    )
    side: int = option("width and height of a square in tiles", whole(SIDES[0], SIDES[-1]), SIDE)
    #: The URL of the store, or None if nothing lasts.
    store: str | None = option(
        "URL of the store, which keeps the game's lasting data: sqlite:///PATH for a file that "
        "all workers of this machine share, redis:// or a variant for servers on several machines, "
        "memory:// to keep it until this process ends, or none; if it is not set, the broker if "
        f"that is a Redis, or else a file named after the game, such as "
        f"{loader.store_file(loader.DEFAULT)}, in $STATE_DIRECTORY or the working directory",
        variable="STORE_URL",
    )
    spread: int = option(
        "for load tests: number of squares around the origin in which new players begin; 0 lets "
        "them begin on the plaza",
        whole(0, 1_000_000),
        0,
    )
    spread_ring: int = option(
        "for load tests: radius, in tiles, of the circle on which the squares of --spread lie; 0 "
        "puts them side by side at the origin",
        whole(0, 100_000_000),
        0,
    )
    max_players: int = option(
        "most players that each worker accepts; 0 accepts as many as its file descriptors allow",
        whole(0, 1_000_000),
        0,
    )
    max_per_address: int = option(
        "most connections from one address; its other limits are in proportion to this one; 0 "
        "limits no address",
        whole(0, 1_000_000),
        PER_ADDRESS,
    )
    any_rate: bool = option(
        "for load tests: 1 lets each player send any number of messages", _switch, 0
    )
    flush_every: int = option(
        "least ms between two writes to a client, to save traffic: others' moves are seen up to "
        "that much later, and up to twice that if the players are at another server",
        whole(0, 1000),
        0,
    )
    http_share: int = option(
        "CPU budget of HTTP requests, including handshakes, as a percentage of each second",
        whole(1, 100),
        30,
    )
    trusted_proxies: Proxies = option(
        "addresses and networks of the reverse proxies in front of this server, which trusts "
        "their X-Forwarded-For headers for clients' addresses; * trusts every peer",
        _proxies,
    )
    address: str = option(
        "address of this machine, such as https://a.example.org, if each machine of the world has "
        "its own: players of one district then go to one machine; needs a secret",
        _address,
    )
    allowed_origins: tuple[str, ...] = option(
        "origins, such as https://example.org, whose pages may connect besides this server's "
        "own; * allows all",
        _origins,
    )
    allowed_hosts: tuple[str, ...] = option(
        "host names, without ports, to which the server answers; * allows all; if it is not set, "
        "all, or only this machine's own names if the server listens on a loopback address",
        _hosts,
    )
    secret: str | None = option(
        "key that signs players' tokens and seals the messages between nodes, the same for all "
        "servers of a world; without it, players cannot come back after a restart; other users "
        "can see a command line, so set the variable instead",
        variable="SECRET_KEY",
    )
    secret_old: str = option(
        "the key before --secret: players come back with tokens that it has signed",
        str.strip,
        variable="SECRET_KEY_OLD",
    )
    admin_token: str | None = option(
        "token that gives requests access to /admin, /metrics and /stats; other users can see a "
        "command line, so set the variable instead",
        _admin_token,
    )
    log_level: str = option(
        "DEBUG, INFO, WARNING or ERROR", _one_of("DEBUG", "INFO", "WARNING", "ERROR"), "INFO"
    )
    log_format: str = option(
        "text, or json for one object per line", _one_of("text", "json"), "text"
    )
    access_log: bool = option("1 logs every HTTP request", _switch, 0)
    author: bool = option(
        "1 shows the game's errors in everybody's page, keeps the types of its own page up to "
        "date, and serves /inspect if --host is a loopback address, for an author who plays alone "
        "(`flatlands play`)",
        _switch,
        0,
    )
    commit: str = option(
        "commit or tag of this version, which /stats, /metrics, /readyz and the log name; if it is "
        f"not set, ${SLUG_COMMIT}, or the commit that is checked out in this clone",
        _commit,
    )
    short_addresses: bool = option(
        "1 logs only the network of a client's address: its /24, or for IPv6 its /48", _switch, 0
    )
    #: Whether workers of one machine gather neighbours at one of them.
    gather: bool = option(
        "0 leaves each player at the worker that accepted its connection, even if its neighbours "
        "are at another one",
        _switch,
        1,
    )
    #: For a worker: the descriptor of its supervisor's listener; its number, from 1; the folder of
    #: all workers' reports and passages; and the ms by which their clock is ahead of the monotonic
    #: one.
    listen_fd: int | None = _hidden(int)
    worker: int | None = _hidden(int)
    reports: str | None = _hidden()
    clock: int | None = _hidden(int)
    #: For a server of `flatlands play`: the descriptor of the lock, whose file says who has it.
    lock_fd: int | None = _hidden(int)
    #: For a server of `flatlands play --lag`: the port of the proxy in front, where pages reach it.
    proxy_port: int | None = _hidden(int)
    #: For a server that `flatlands play` has started again: whether to show in pages why a game
    #: does not load, until the next start.
    show_fault: int | None = _hidden(int)

    @property
    def inspected(self) -> bool:
        """Whether its author can look into the game: only on this machine."""
        return self.author and is_local(self.host)


#: The field of an option.
_Option: TypeAlias = "Field[Any]"


def _variable(option: _Option) -> str:
    return str(option.metadata["variable"] or option.name.upper())


def _flag(option: _Option) -> str:
    return f"--{option.name.replace('_', '-')}"


_OPTIONS = [option for option in fields(Settings) if "text" in option.metadata]


def variables(game: str = loader.DEFAULT) -> list[str]:
    """Return every environment variable that the server reads if it plays this game."""
    return [
        *map(_variable, [*_OPTIONS, *_options_of(game)]),
        *REDIS_URLS,
        STATE_VARIABLE,
        SLUG_COMMIT,
    ]


def game_of(
    command: str,
    what: str,
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> str:
    """Return the game that a command's arguments or an environment name, and load the part `what`
    of it. This comes before all else is read. `arguments` are those of the process if None. Ends
    the process as `read` does."""
    parser = ArgumentParser(command, f"{command} [--help] [OPTION ...]", add_help=False)
    _add_options(parser, environment, [one for one in _OPTIONS if one.name == "game"])
    game = str(parser.parse_known_args(arguments)[0].game)
    try:
        _options_of(game)
        loader.attribute_of(game, what)
    except loader.InvalidGame as error:
        parser.error(str(error))
    return game


def where(
    command: str, arguments: Sequence[str], environment: Mapping[str, str] = os.environ
) -> tuple[str, int, list[str]]:
    """Return the host and the port that a server's arguments or an environment name, and all other
    arguments. Ends the process as `read` does."""
    parser = ArgumentParser(command, f"{command} [--help] [OPTION ...]", add_help=False)
    _add_options(parser, environment, [one for one in _OPTIONS if one.name in ("host", "port")])
    given, others = parser.parse_known_args(arguments)
    return given.host, given.port, others


def _options_of(game: str) -> list[_Option]:
    """Return the options of a game: the fields of its class Options that were made by `option`.
    Raises InvalidGame."""
    options = loader.attribute_of(game, "Options")
    if options is None:
        return []
    if not is_dataclass(options):
        raise loader.InvalidGame(f"the class Options of the game {game} is not a dataclass")
    found = [option for option in fields(options) if "text" in option.metadata]
    for option in found:
        if option.name in Settings.__dataclass_fields__:
            raise loader.InvalidGame(
                f"every server has an option {option.name!r}: rename the game's"
            )
    return found


def read(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings from a command line and an environment. The former takes precedence.

    Ends the process with a sentence on standard error and code 2 if a value is wrong.
    """
    parser = ArgumentParser(
        prog=SERVER_COMMAND,
        # argparse would list all options, and hide the sentence about the wrong one.
        usage=f"{SERVER_COMMAND} [--help] [OPTION ...]",
        description="Serve Flatlands: an endless world in which every square is a channel.",
        epilog="Each option can also be set by the environment variable in brackets; the "
        "command line takes precedence.",
    )
    game = game_of(SERVER_COMMAND, "Options", arguments, environment)
    of_game = _options_of(game)
    _add_options(parser, environment, _OPTIONS)
    _add_options(parser, environment, of_game, f"options of the game {game}")
    for option in fields(Settings):
        if "hidden" in option.metadata:
            parser.add_argument(_flag(option), type=option.metadata["hidden"], help=SUPPRESS)
    # The secret of workers may be one that their supervisor has made, which no other server has.
    parser.add_argument("--unsealed", action="store_true", help=SUPPRESS)
    given = vars(parser.parse_args(arguments))
    _resolve(given, environment)
    if fault := _disagreement(given):
        parser.error(fault)
    given["sealed"] = not given.pop("unsealed") and given["secret"] is not None
    given["forgets"] = HEROKU in environment and (given["store"] or "").startswith("sqlite:")
    given["admin_token"] = given["admin_token"] or None
    given["commit"] = commit.served(given["commit"], environment.get(SLUG_COMMIT, ""))
    values = {option.name: given.pop(option.name) for option in of_game}
    options = loader.attribute_of(game, "Options")
    given["of_game"] = None if options is None else options(**values)
    return Settings(**given)


def _disagreement(given: dict[str, Any]) -> str | None:
    """Return a sentence that says which options cannot be given together, None if all can."""
    if given["workers"] > 1 and given["broker"].startswith("memory:"):
        return "the broker memory:// is for one process only: give --workers 1 or another --broker"
    if given["workers"] > 1 and given["store"] == "memory://":
        return "the store memory:// is for one process only: give --workers 1 or another --store"
    if given["address"] and given["secret"] is None:
        return "--address needs a SECRET_KEY, the same one on all machines of the world"
    return None


def read_some(
    parser: ArgumentParser,
    names: Sequence[str],
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Namespace:
    """Return what a parser reads, with the values of some of the server's options as well.

    The names are those of the fields of Settings; `game`, `broker`, `broker_tls`, `store` and
    `secret` must be among them. `arguments` are those of the process if None.
    """
    _add_options(parser, environment, [option for option in _OPTIONS if option.name in names])
    given = parser.parse_args(arguments)
    _resolve(vars(given), environment)
    return given


def _add_options(
    parser: ArgumentParser,
    environment: Mapping[str, str],
    options: Iterable[_Option],
    title: str = "options",
) -> None:
    """Add some options to a parser, under a title in its help, with the environment's values as
    their defaults."""
    group = parser.add_argument_group(title)
    for option in options:
        variable, convert = _variable(option), option.metadata["convert"]
        default = str(option.metadata["default"])
        if value := environment.get(variable, "").strip():
            try:
                convert(value)
            except ArgumentTypeError as error:
                parser.error(f"environment variable {variable}: {error}")
        shown = f" (default {default})" if default else ""
        group.add_argument(
            _flag(option),
            default=value or default,
            type=convert,
            # --access-log alone is --access-log 1.
            nargs="?" if convert is _switch else None,
            const="1" if convert is _switch else None,
            metavar=variable,
            help=f"{option.metadata['text']}{shown} [${variable}]",
        )


def _resolve(given: dict[str, Any], environment: Mapping[str, str]) -> None:
    """Replace what was given for broker, store and secret by what it means."""
    if not given["broker"]:
        given["broker"] = next(filter(None, map(environment.get, REDIS_URLS)), "")
        if HEROKU in environment:
            # It cannot be checked there, and without the link the workers would be separated.
            given["broker_tls"] = given["broker_tls"] or UNVERIFIED
    given["broker_tls"] = given["broker_tls"] or VERIFIED
    # systemd names several folders if its unit does.
    folder = environment.get(STATE_VARIABLE, "").split(":")[0]
    file = os.path.join(folder, loader.store_file(given["game"]))
    given["store"] = _store(given["store"], given["broker"], file)
    # A worker whose arguments say "" has one from its supervisor.
    given["secret"] = given["secret"] or environment.get("SECRET_KEY") or None


def _store(url: str, broker: str, file: str) -> str | None:
    """Return the URL of the store that a world uses, or None if nothing is to last.

    `file` is the path of the one that is used if neither a store nor a broker keeps anything.
    """
    if url == NO_STORE:
        return None
    if url:
        return url
    members = members_of(broker)
    keeps = all(STORE_BACKENDS.get(member.partition(":")[0]) == REDIS_STORE for member in members)
    return broker if keeps else f"sqlite:///{file}"


def raise_descriptor_limit() -> int:
    """Raise this process's limit of file descriptors as far as it goes, and return it."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = MANY_DESCRIPTORS
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
