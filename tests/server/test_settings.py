"""Options and environment variables, and how the program answers to bad ones."""

import re
import signal
import socket
import urllib.request

import pytest

from flatlands.server import settings
from flatlands.server.game import loader
from flatlands.server.runtime import commit
from tests.processes import BARE, PATIENCE, ROOT, ServerProcess, limited, python, serving


def read(arguments, environment):
    """Return the settings of a server that plays the bare game unless it is given another one."""
    return settings.read(arguments, {"GAME": BARE, **environment})


def test_without_any_option_there_are_the_defaults():
    found = read([], {})
    assert (found.host, found.port, found.broker) == ("127.0.0.1", 8000, "")
    assert (found.of_game.apples, found.of_game.pause) == (0, 120)
    assert (found.seed, found.side, found.secret) == (2013, 16, None)


def test_the_environment_sets_what_the_command_line_does_not():
    environment = {"PORT": "9", "APPLES": " 3 ", "SECRET_KEY": "s", "HOST": ""}
    found = read(["--port", "10"], environment)
    assert (found.port, found.secret, found.host) == (10, "s", "127.0.0.1")
    assert found.of_game.apples == 3


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["--port", "http"], {}, "'http' is not a whole number from 0 to 65535"),
        ([], {"PORT": "70000"}, "environment variable PORT: '70000' is not a whole number"),
        (["--side", "7"], {}, "'7' is not a whole number from 8 to 64"),
        ([], {"APPLES": "61"}, "variable APPLES: '61' is not a whole number from 0 to 60"),
        (["--seed", "-1"], {}, "'-1' is not a whole number"),
        (["--apples", "nan"], {}, "'nan' is not a whole number"),
        (["--log-level", "loud"], {}, "'loud' is none of DEBUG, INFO, WARNING, ERROR"),
        (["--trusted-proxies", "nginx"], {}, "'nginx' must be addresses and networks"),
        ([], {"TRUSTED_PROXIES": "10.0.0.0/40"}, "environment variable TRUSTED_PROXIES"),
        ([], {"WORLD": "My World"}, "'My World' is not 1 to 32 of the letters a to z"),
        (["--world", "a" * 33], {}, "is not 1 to 32 of the letters"),
        ([], {"BROKER_TLS": "none"}, "'none' is neither 'verified', 'unverified', nor a file"),
        (["--pause", "nan"], {}, "'nan' is not a number of seconds from 0.1 to 1e6"),
        (["--store", "memory://", "--workers", "2"], {}, "memory:// is for one process only"),
        (
            ["--broker", "memory://", "--workers", "2"],
            {},
            "the broker memory:// is for one process only",
        ),
        (["--game", "chess"], {}, f"no game 'chess': there are {', '.join(loader.shipped())}"),
        ([], {"GAME": "chess"}, "environment variable GAME: there is no game 'chess'"),
        (["--game", "./docs"], {}, "it has no game.py"),
        (
            ["--game", "./README.md"],
            {},
            "README.md is not a game: a game is a folder with a game.py",
        ),
        (["--address", "https://a.example.org"], {}, "--address needs a SECRET_KEY"),
        ([], {"ADDRESS": "https://a;b", "SECRET_KEY": "s"}, "is not the address of a machine"),
        (["--commit", "a b"], {}, "'a b' is not the name of a commit or tag"),
        (["--wings"], {}, "unrecognized arguments: --wings"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_sentence(capsys, arguments, environment, said):
    with pytest.raises(SystemExit) as ended:
        read(arguments, environment)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_another_game_is_played_where_the_one_that_nobody_needs_to_name_was_left_out(
    monkeypatch, capsys
):
    monkeypatch.setattr(loader, "shipped", lambda: ["paint"])
    assert settings.read(["--game", "paint"], {}).game == "paint"
    with pytest.raises(SystemExit):
        settings.read([], {})
    assert (
        "argument --game: there is no game 'flatlands': there are paint" in capsys.readouterr().err
    )


def test_an_empty_secret_is_that_of_the_environment():
    for given in ([], ["--secret", ""]):
        assert read(given, {"SECRET_KEY": "kept"}).secret == "kept"
        assert read(given, {}).secret is None


def test_the_commit_is_that_of_the_clone_in_which_the_server_is():
    assert commit.CLONE == ROOT


def test_the_commit_is_named_or_that_of_the_clone(tmp_path):
    named = {"COMMIT": "v0.4.0", "HEROKU_SLUG_COMMIT": "b" * 40}
    assert read([], named).commit == "v0.4.0"
    assert read([], {**named, "COMMIT": ""}).commit == "b" * 12
    assert commit.of_clone(tmp_path) == ""
    (tmp_path / ".git/refs/heads").mkdir(parents=True)
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert commit.of_clone(tmp_path) == ""
    (tmp_path / ".git/packed-refs").write_text(f"# pack-refs\n{'c' * 40} refs/heads/main\n")
    assert commit.of_clone(tmp_path) == "c" * 40
    (tmp_path / ".git/refs/heads/main").write_text(f"{'d' * 40}\n")
    assert commit.of_clone(tmp_path) == "d" * 40
    (tmp_path / ".git/HEAD").write_text(f"{'e' * 40}\n")
    assert commit.of_clone(tmp_path) == "e" * 40


def test_a_hosts_redis_is_the_broker_unless_another_one_is_named():
    assert read([], {"REDIS_URL": "redis://r"}).broker == "redis://r"
    both = {"REDIS_URL": "redis://r", "BROKER_URL": "null://"}
    assert read([], both).broker == "null://"
    # Some hosts name the same server twice, and older ones name it only over TLS.
    secure = {"REDIS_TLS_URL": "rediss://s", "REDIS_URL": ""}
    assert read([], secure).broker == "rediss://s"
    assert read([], {**secure, "REDIS_URL": "redis://r"}).broker == "redis://r"


@pytest.mark.parametrize(
    ("environment", "tls"),
    [
        ({"REDIS_URL": "rediss://r"}, "verified"),
        ({"REDIS_URL": "rediss://r", "DYNO": "web.1"}, "unverified"),
        ({"REDIS_URL": "rediss://r", "DYNO": "web.1", "BROKER_TLS": "verified"}, "verified"),
        ({"BROKER_URL": "rediss://r", "DYNO": "web.1"}, "verified"),
    ],
)
def test_only_herokus_own_redis_may_have_any_certificate_unless_told(environment, tls):
    assert read([], environment).broker_tls == tls


def test_messages_are_sealed_with_a_secret_unless_a_supervisor_has_made_it():
    assert not read([], {}).sealed
    assert read([], {"SECRET_KEY": "s"}).sealed
    assert not read(["--unsealed"], {"SECRET_KEY": "s"}).sealed


def run(*arguments, descriptors=None):
    bare = "--game", BARE, "--store", "none"
    return python("-m", "server", *bare, *arguments, preexec_fn=limited(descriptors))


@pytest.mark.process
def test_a_supervisor_has_nothing_of_a_node_in_its_memory():
    start = "import flatlands.server.__main__, flatlands.server.workers.supervisor, sys"
    loaded = python("-c", f"{start}\nprint(*sys.modules)", check=True).stdout.split()
    assert "flatlands.server.workers.supervisor" in loaded
    of_a_node = {f"flatlands.server.{name}" for name in ("app", "node", "squares.hub")} | {"flask"}
    assert not of_a_node & set(loaded)


def test_help_lists_every_option_with_its_variable(capsys):
    with pytest.raises(SystemExit):
        read(["--help"], {})
    shown = capsys.readouterr().out
    for variable in settings.variables(BARE):
        assert f"${variable}" in shown or variable == "REDIS_TLS_URL"
    assert shown.count("\n  --") > 25


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({}, "sqlite:///bare.db"),
        ({"STATE_DIRECTORY": "/var/lib/x"}, "sqlite:////var/lib/x/bare.db"),
        ({"STATE_DIRECTORY": "/var/lib/x:/var/lib/y"}, "sqlite:////var/lib/x/bare.db"),
        ({"STATE_DIRECTORY": "/var/lib/why?"}, "sqlite:////var/lib/why?/bare.db"),
        ({"GAME": "paint", "STATE_DIRECTORY": "/var/lib/x"}, "sqlite:////var/lib/x/paint.db"),
        ({"GAME": "./games/snake"}, "sqlite:///snake.db"),
        ({"GAME": "games/quiet/game.py"}, "sqlite:///game.db"),
        ({"BROKER_URL": "nats://n"}, "sqlite:///bare.db"),
        ({"BROKER_URL": "redis://a"}, "redis://a"),
        ({"BROKER_URL": "valkey://a"}, "valkey://a"),
        ({"REDIS_URL": "rediss://a"}, "rediss://a"),
        ({"BROKER_URL": "redis://a,redis://b"}, "redis://a,redis://b"),
        ({"BROKER_URL": "rediscluster://a,b"}, "rediscluster://a,b"),
        ({"BROKER_URL": "redis://a", "STORE_URL": "sqlite:///x.db"}, "sqlite:///x.db"),
        ({"BROKER_URL": "redis://a", "STORE_URL": "none"}, None),
    ],
)
def test_a_broker_that_keeps_what_it_is_given_is_the_store_or_else_a_file_is(environment, url):
    assert read([], environment).store == url


@pytest.mark.parametrize(
    ("environment", "forgets"),
    [
        ({}, True),
        ({"STORE_URL": "sqlite:///x.db"}, True),
        ({"REDIS_URL": "rediss://a"}, False),
        ({"STORE_URL": "none"}, False),
    ],
)
def test_a_file_on_heroku_is_known_to_be_lost(environment, forgets):
    assert read([], {**environment, "DYNO": "web.1"}).forgets == forgets
    assert not read([], environment).forgets


@pytest.fixture(scope="module")
def taken():
    """A port that is in use."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield str(listener.getsockname()[1])


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--store", "mysql://x"), 2, "no store is called 'mysql://x'"),
        (("--broker", "amqp://x"), 2, "no broker is called 'amqp://x'"),
        (("--host", "256.1.2.3"), 1, "cannot listen on 256.1.2.3 port 0"),
        (("--max-players", "1000"), 2, "1000 players need 1064 file descriptors"),
        (("--port", "TAKEN"), 1, "port TAKEN is taken: stop what uses it, or choose another"),
    ],
)
def test_a_server_that_cannot_be_started_says_why(taken, options, code, said):
    options = [option.replace("TAKEN", taken) for option in options]
    ended = run("--port", "0", *options, descriptors=500)
    assert ended.returncode == code and "Traceback" not in ended.stderr
    assert ended.stderr.startswith("flatlands: ") and said.replace("TAKEN", taken) in ended.stderr


@pytest.mark.process
@pytest.mark.parametrize("descriptors", [48, 64])
def test_a_server_that_has_descriptors_for_nobody_does_not_start(descriptors):
    ended = run("--port", "0", descriptors=descriptors)
    assert ended.returncode == 2 and "Traceback" not in ended.stderr
    assert "1 players need 65 file descriptors" in ended.stderr


@pytest.mark.process
def test_a_failure_of_a_file_is_not_blamed_on_the_port():
    code = (
        "import sys\nfrom flatlands.server.__main__ import main\nsys.executable = '/not/there'\n"
        f"sys.argv[1:] = '--port', '0', '--workers', '2', '--store', 'none', '--game', {BARE!r}\n"
        "sys.exit(main())"
    )
    ended = python("-c", code)
    assert ended.returncode == 1 and "port" not in ended.stderr and "/not/there" in ended.stderr


@pytest.mark.process
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_store_that_cannot_be_opened_ends_the_start_with_one_sentence(tmp_path, workers):
    path = tmp_path / "none" / "store.db"
    ended = run("--store", f"sqlite:///{path}", "--port", "0", "--workers", workers)
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr.splitlines()[-1] == (
        f"flatlands: {path} cannot be opened: check that {path.parent} exists and is writable"
    )
    assert ended.stderr.count(str(path)) == 1 and "Traceback" not in ended.stderr


@pytest.mark.process
@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "localhost"), ("0.0.0.0", "localhost"), ("::", "localhost"), ("::1", "[::1]")],
)
def test_the_addresses_that_are_shown_are_for_a_browser_here_and_for_others(host, shown):
    with serving(HOST=host) as server:
        assert server.shown == f"http://{shown}:{server.port}"
        addresses = [server.shown]
        if host == "0.0.0.0":
            line = server.ready(r"Other machines in your network reach it at (http://(\S+):\d+)$")
            assert line[1].endswith(f":{server.port}") and not line[2].startswith("127.")
            addresses.append(line[1])
        for address in addresses:
            with urllib.request.urlopen(address, timeout=PATIENCE) as page:
                assert b"<title>" in page.read()


@pytest.mark.process
@pytest.mark.parametrize(("variables", "lines"), [({}, 1), ({"PORT": "8000"}, 0)])
def test_a_hosting_service_is_told_no_address_for_others(variables, lines):
    server = ServerProcess(HOST="0.0.0.0", **variables)
    try:
        server.stop()
        said = [line for line in iter(server.line, None) if "in your network" in line]
        assert len(said) == lines
    finally:
        server.close()


@pytest.mark.process
@pytest.mark.parametrize(
    ("number", "secret", "said"),
    [
        (signal.SIGTERM, "16 characters ..", ""),
        (signal.SIGINT, "15 characters .", r".* WARNING SECRET_KEY has fewer than 16 .*\n"),
    ],
)
def test_a_signal_ends_the_server_well_and_a_guessable_secret_is_reported(number, secret, said):
    server = ServerProcess(SECRET_KEY=secret)
    try:
        server.process.send_signal(number)
        assert server.process.wait(PATIENCE) == 0
        assert re.fullmatch(rf".* INFO serve .*\n{said}", server.errors())
    finally:
        server.close()
