"""What operators of real servers see and do over HTTP, and what the log says about it."""

import json
import re
import urllib.parse
import urllib.request
from collections import Counter

import pytest

from flatlands import __version__
from flatlands.server.clients import sessions
from flatlands.server.net.http_budget import TURN_KEY, TimeBudget, Turn
from flatlands.server.players.moderation import OWNER_PREFIX_CHARS
from flatlands.server.storage.boards import owner_of
from flatlands.server.web.admin import operator_pages
from flatlands.server.web.pages import make_pages
from tests.inside import inside
from tests.processes import PATIENCE, serving
from tests.server.servers import ask, stats, until
from tests.socket_client import SocketClient

ADMIN = "an-admin-token-of-tests"
ERROR = 24
INVITATION = 27
OTHERS = "/mute", "/close", "/open", "/notice", "/clear", "/undo", "/drain"


@pytest.fixture(scope="module")
def server():
    with inside(ADMIN_TOKEN=ADMIN, TRUSTED_PROXIES="127.0.0.1") as server:
        yield server


def act(server, path, **query):
    status, text = ask(
        server, f"admin/{path}?{urllib.parse.urlencode(query)}", token=ADMIN, method="POST"
    )
    assert status == 200, text
    return json.loads(text)


def lines(server, beginning):
    """Return the lines in a server's log with a beginning, once there are any."""
    line = re.compile(rf"^[\d:, -]+[A-Z]+ ({beginning}.*)$", re.M)
    until(lambda: line.search(server.errors()), beginning)
    return line.findall(server.errors())


def ready(server, **headers):
    return json.loads(ask(server, "readyz", **headers)[1])


def said_hello(server, name, token=None):
    """Return a client that has said hello, and may be refused."""
    client = SocketClient(server.port)
    client.send(1, 3, name, 40, 25, token, None, None, None)
    return client


@pytest.mark.parametrize("path", ["stats", "metrics"])
def test_numbers_are_for_this_machine_and_whoever_has_the_token(server, path):
    assert ask(server, path)[0] == 200
    for header in ("X_Forwarded_For", "X_Real_IP", "Forwarded"):
        behind = {header: "127.0.0.1"}
        for token in (None, ADMIN[:-1], "", "\u00e9"):
            assert ask(server, path, token=token, **behind)[0] == 401
        assert ask(server, path, token=ADMIN, **behind)[0] == 200


def test_a_page_of_another_name_for_this_machine_reads_no_numbers():
    with inside(ALLOWED_HOSTS="*") as server:
        for host in ("play.example.org", "example.org:80", "127.0.0.1.example.org", "[", "x:y"):
            assert ask(server, "stats", Host=host)[0] in (400, 403, 421), host
        for host in ("localhost:1", "127.0.0.1", "[::1]:80"):
            assert ask(server, "stats", Host=host)[0] == 200


def test_without_an_admin_token_nobody_moderates():
    with inside() as server:
        for token in (None, "", "None"):
            status, said = ask(server, "admin/close", token=token, method="POST")
            assert status == 403 and "set ADMIN_TOKEN" in said
        assert ask(server, "stats", X_Forwarded_For="192.0.2.1")[0] == 403
        assert stats(server)["counted"]["admin_refused"] == 4
        assert lines(server, "refused ") == ["refused how='admin' code=403 address='127.0.0.1'"] * 4
        assert ready(server)["ready"]


def test_operators_are_warned_of_a_store_that_was_taken_away(tmp_path):
    path = tmp_path / "store.db"
    with inside("--store", f"sqlite:///{path}") as server:
        path.unlink()
        told = (
            f"{path} was deleted or replaced while servers used it: they continue with what is"
            " there now, or start afresh; stop all servers before you replace the file"
        )
        until(lambda: ready(server).get("warnings") == [told])
        assert ready(server)["ready"] and stats(server)["store"] == 0
        assert "warnings" not in ready(server, X_Real_IP="192.0.2.1")
        until(lambda: not ready(server).get("warnings"))
        assert ready(server)["ready"] and path.exists()
        assert server.errors().count(told) == 1


def test_no_proxy_caches_what_operators_see(server):
    for path in ("stats", "metrics", "readyz"):
        with urllib.request.urlopen(server.url + path, timeout=PATIENCE) as answer:
            assert answer.headers["Cache-Control"] == "no-store"


def test_anybody_may_ask_whether_a_server_is_ready_but_not_why(server):
    told = ready(server)
    assert (told.pop("ready"), told.pop("reasons")) == (True, [])
    assert [*told] == ["commit", "game", "node", "version", "worker"]
    assert ready(server, X_Forwarded_For="192.0.2.1") == {"ready": True}
    # A page in a browser on this machine may have given its own name this machine's address.
    assert ready(server, Host="evil.example") == {"ready": True}
    assert ask(server, "healthz", X_Forwarded_For="192.0.2.1")[0] == 200


def test_all_that_operators_read_names_the_version_the_game_and_who_serves():
    with inside(COMMIT="0123456789abcdef" + 24 * "0", GAME="quiet") as server:
        shown = stats(server)
        about = {"version": __version__, "commit": "0123456789ab", "game": "quiet", "worker": 1}
        about["node"] = shown["node"]
        for told in (shown, ready(server), *shown["each"]):
            assert about.items() <= told.items()
        assert len(shown["each"]) == 1
        labels = ",".join(f'{name}="{about[name]}"' for name in sorted(about))
        build = re.search("^flatlands_build_info{(.*)} 1.0$", ask(server, "metrics")[1], re.M)
        assert ",".join(sorted(build[1].split(","))) == labels
        del about["worker"]  # with only one process the log has no numbers of workers
        names = ("version", "commit", "game", "node")
        [line] = lines(server, "serve ")
        assert line.startswith(f"serve {' '.join(f'{n}={about[n]!r}' for n in names)} seed=2013")


def test_the_log_says_with_what_a_server_was_started_and_no_password():
    given = {"BROKER_URL": "redis://:secret@127.0.0.1:1", "STORE_URL": "none"}
    with inside("--seed", "7", "--max-players", "9", "--max-per-address", "3", **given) as server:
        [line] = lines(server, "serve ")
        chosen = "seed=7 side=16 broker='redis://127.0.0.1:1' store='none' workers=1 players=9"
        assert line.endswith(f"{chosen} per_address=3") and "secret" not in line


def test_every_metric_has_its_own_help_line_and_times_are_in_seconds(server):
    text = ask(server, "metrics")[1]
    told = dict(re.findall(r"^# HELP (\S+) (.+)$", text, re.M))
    assert len(told) > 40 and len({*told.values()}) == len(told)
    assert not [name for name, sentence in told.items() if "What the game counts" in sentence]
    assert not re.search(r"^\w+_(ms|us)(_total)?\b", text, re.M)


OWNER_WANTED = "owner must be 16 hexadecimal digits, as /admin/undo?square= lists them."


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("kick", 400, "id must be a whole number from 0 to 9007199254740991."),
        ("kick?id=Anna", 400, "id must be a whole number"),
        ("kick?id=-1", 400, "id must be a whole number"),
        ("kick?id=9007199254740992", 400, "id must be a whole number"),
        ("kick?id=1&minutes=10081", 400, "minutes must be a whole number from 0 to 10080."),
        ("kick?id=1&minutes=x", 400, "minutes must be a whole number"),
        ("kick?owner=17", 400, OWNER_WANTED),
        ("mute?owner=0000000000000000", 400, OWNER_WANTED),
        ("undo?square=0:0&owner=Anna", 400, OWNER_WANTED),
        ("kick?address=here", 400, "address must be an IP address, such as 192.0.2.1."),
        ("notice", 400, "text must have 1 to 120 characters."),
        ("dance", 404, f"There are /admin/kick, {', '.join(OTHERS)}."),
        ("clear", 400, "square must be a column and a row, such as 3:-2; or give a name."),
        ("clear?name=%20", 400, "name must have 1 to 20 characters."),
        ("clear?square=3", 400, "square must be a column and a row"),
        ("clear?square=3:x", 400, "square must be a column and a row"),
        ("undo?square=0:0&to=3", 400, "to must be a column and a row"),
        ("undo?square=0:0&to=32:31", 400, "these are 1056 squares: name 1000 at most."),
        (
            "drain?minutes=0",
            400,
            "A drain takes no minutes: it ends when the server is restarted.\n",
        ),
    ],
)
def test_a_wrong_action_is_refused_with_a_sentence(server, path, status, said):
    answer = ask(server, f"admin/{path}", token=ADMIN, method="POST")
    assert answer[0] == status and answer[1].startswith(said)
    for token in ("wrong", None):
        assert ask(server, f"admin/{path}", token=token, method="POST")[0] == 401


def test_a_server_that_is_alone_is_not_drained(server):
    answer = ask(server, "admin/drain", token=ADMIN, method="POST")
    assert answer == (
        409,
        "No other server of this world takes players. If one has just started, try again in a "
        "second; otherwise stop this one instead.\n",
    )
    assert ready(server)["ready"]


def test_only_a_post_moderates(server):
    answer = ask(server, "admin/close", token=ADMIN)
    assert answer == (405, "Use POST: curl -X POST.\n")
    assert "door" not in ready(server)


def test_a_player_that_is_kicked_is_told_why_and_stays_out(server):
    anna = SocketClient(server.port).hello("Anna\u2019s 'x'")
    id, token = anna.model.id, [message[1] for message in anna.messages if message[0] == 17][-1]
    assert act(server, "kick", id=id) == {"action": "kick", "who": str(id), "seconds": 600}
    assert anna.until_closed() == (1008, "an operator removed you for 10 minutes")
    assert [message[1] for message in anna.messages if message[0] == ERROR] == ["kicked"]
    assert said_hello(server, "Anna", token).until_closed()[0] == 1008
    end = f"address='127.0.0.1' node={stats(server)['node']}"
    for line in (
        f"""join player={id} name="Anna\u2019s 'x'" how='new' {end}""",
        f"leave player={id} how='kicked' error='kicked' code=1008 {end}",
        f"refused how='kicked' error='kicked' code=1008 {end}",
    ):
        assert lines(server, " ".join(line.split()[:2])) == [line]
    assert f"admin: kick '{id}' for 600 s, by 127.0.0.1" in server.errors()
    assert ADMIN not in server.errors() and token not in server.errors()


def said_key(server, name, secret):
    """Return a newcomer that has shown a key, and may be refused."""
    client = SocketClient(server.port).hello(name)
    client.send(10, secret)
    return client


def test_actions_on_a_key_outlive_the_server(tmp_path):
    secret = "a-key-of-tests-and-nobody"
    owner = owner_of(secret)[:OWNER_PREFIX_CHARS]
    settings = {"ADMIN_TOKEN": ADMIN, "STORE_URL": f"sqlite:///{tmp_path / 'store.db'}"}
    with inside(**settings) as server:
        ben = said_key(server, "Ben", secret)
        # What a client sends is obeyed in order.
        ben.send(8)
        ben.until(lambda: any(message[0] == INVITATION for message in ben.messages))
        act(server, "kick", id=ben.model.id)
        line = lines(server, "moderation action='key'")[0]
        told, seconds = line.split(" seconds=")
        assert told == f"moderation action='key' who='{owner} {ben.model.id}'"
        # On a busy machine some have passed since then.
        assert 540 < int(seconds.split()[0]) <= 600
        assert ben.until_closed()[0] == 1008
        assert said_key(server, "Ben", secret).until_closed() == (
            1008,
            "an operator removed you for 10 minutes",
        )
    with inside(**settings) as server:
        until(lambda: stats(server)["actions_in_force"] == 1)
        assert said_key(server, "Ben", secret).until_closed()[0] == 1008
        told = {"action": "kick", "who": owner, "seconds": 0}
        assert act(server, "kick", owner=owner, minutes=0) == told
        ben = said_key(server, "Ben", secret)
        assert act(server, "mute", owner=owner)["who"] == owner
        ben.send(6, "hello")
        ben.until(lambda: [m[1] for m in ben.messages if m[0] == ERROR] == ["muted"])


def test_a_closed_door_is_reported_and_can_be_opened_again(server):
    act(server, "close", minutes=5)
    told = ready(server)
    assert (told["ready"], told["reasons"], told["door"]) == (True, [], "closed")
    assert said_hello(server, "Cleo").until_closed()[0] == 1013
    act(server, "open")
    SocketClient(server.port).hello("Cleo")


def test_a_notice_reaches_everybody(server):
    clients = [SocketClient(server.port).hello(name) for name in ("Dora", "Emil")]
    act(server, "notice", text="a restart in 5 minutes")
    for client in clients:
        client.until(lambda c=client: [24, "notice", "a restart in 5 minutes"] in c.messages)
    # It has no end, so the log names none.
    assert lines(server, "admin: notice 'a restart in 5 minutes', by")


def test_the_log_says_how_each_player_ends():
    with inside() as server:
        names = ("goodbye", "lost", "refused", "taken over", "sent away")
        ends = {how: SocketClient(server.port).hello(how) for how in names}
        token = [m[1] for m in ends["taken over"].messages if m[0] == 17][-1]
        # The goodbye of a client that hangs up with something unread may be lost.
        ends["goodbye"].frame((1000).to_bytes(2, "big"), 8)
        assert ends["goodbye"].until_closed()[0] == 1000
        ends["lost"].close(None)
        ends["refused"].send(99)
        second = SocketClient(server.port).hello("taken over", token=token)
        ends["refused"].until_closed()
        ends["taken over"].until_closed()
        server.terminate()
        for client in (ends["sent away"], second):
            assert client.until_closed() == (1012, "the server restarts")
        for client in (*ends.values(), second):
            client.close()
        server.stop()
        for how, client in ends.items():
            assert f"how='{how}'" in lines(server, f"leave player={client.model.id}")[0]
        assert "error='kind' code=1008" in server.errors()
        joins = lines(server, f"join player={second.model.id}")
        assert len(joins) == 2 and "how='back'" in joins[1]


def test_a_handshake_that_is_refused_is_in_the_log(server):
    assert ask(server, "ws")[0] == 426
    assert lines(server, "refused how='http'") == [
        "refused how='http' error='This address accepts only WebSocket: the header Upgrade: "
        "websocket is missing.' code=426 address='127.0.0.1'"
    ]


def test_a_client_without_hello_is_refused_once_though_it_does_not_hang_up(monkeypatch):
    monkeypatch.setattr(sessions, "HELLO_WITHIN_MS", 1000)
    with inside() as server:
        assert SocketClient(server.port).until_closed()[0] == 1013
        until(lambda: stats(server)["connections"] == 0)
        assert server.counted()["refused_hello"] == 1
        assert len(lines(server, "refused how='refused' error='hello' code=1013")) == 1


def test_each_request_has_a_line_in_the_log_if_the_operator_wants_it():
    with inside("--access-log", TRUSTED_PROXIES="127.0.0.1") as server:
        ask(server, "nothing%0a?x=1", X_Forwarded_For="192.0.2.9")
        [line] = lines(server, "request")
        begun = r"request request='GET /nothing%0a\?x=1 HTTP/1.1' status=404"
        assert re.fullmatch(rf"{begun} ms=[\d.]+ address='192.0.2.9'", line)


@pytest.mark.process
def test_a_log_for_programs_has_one_object_per_line():
    options = "--workers 2 --log-format json --broker redis://user:hunter2@127.0.0.1:1 --store none"
    with serving(*options.split()) as server:
        SocketClient(server.port).hello("Fay").close()
        until(lambda: '"leave"' in server.errors())
        told = [json.loads(line) for line in server.errors().splitlines()]
        assert all(line.keys() >= {"time", "level", "message"} for line in told)
        [join] = [line for line in told if line["message"] == "join"]
        assert join["name"] == "Fay" and join["worker"] in (1, 2)
        assert re.fullmatch(r"[\d-]{10}T[\d:]{8}\.\d{3}Z", join["time"])
        assert "hunter2" not in server.errors()


def test_while_a_drain_waits_for_the_store_other_requests_have_their_turn():
    turn, ended = Turn(TimeBudget(0.1, Counter())), []

    def drain():
        ended.append(not turn._since)
        return "Not now."

    pages = make_pages(dict, operator_pages(None, drain, None, None, ADMIN))
    turn.begin()
    answer = pages._application.test_client().post(
        "/admin/drain",
        headers={"Authorization": f"Bearer {ADMIN}"},
        environ_overrides={TURN_KEY: turn},
    )
    assert (answer.status_code, ended) == (409, [True])


@pytest.mark.parametrize(
    ("given", "answer", "logged"),
    [
        ({"square": "3:-2"}, {"squares": 1}, "clear 3:-2 to 3:-2"),
        ({"square": "3:-2", "to": "5:0"}, {"squares": 9}, "clear 3:-2 to 5:0"),
        ({"name": " Bad  Name "}, {"name": "Bad Name"}, "clear 'Bad Name'"),
    ],
)
def test_an_operator_clears_squares_and_names(server, given, answer, logged):
    assert act(server, "clear", **given) == {"action": "clear", **answer}
    assert lines(server, f"admin: {logged}, by")


def test_an_operator_is_told_that_nothing_is_cleared_while_the_store_is_away(tmp_path):
    file = tmp_path / "store"
    # Only a game with ground to write on has something to undo.
    with inside("--game", "paint", ADMIN_TOKEN=ADMIN, STORE_URL=f"sqlite:///{file}") as server:
        file.unlink()
        file.mkdir()
        for deed in ("clear?square=3:-2", "clear?name=Bad", "undo?square=3:-2"):
            status, text = ask(server, f"admin/{deed}", token=ADMIN, method="POST")
            assert status == 503 and "cannot reach its store. Repeat the request." in text


def test_an_operator_asks_who_has_written_values_and_undoes_them(server):
    for given in ({"square": "3:-2"}, {"square": "5:0", "to": "3:-2", "owner": "0f" * 8}):
        assert act(server, "undo", **given) == {"action": "undo", "tiles": {}}
    assert lines(server, "admin: undo 0f0f0f0f0f0f0f0f in 3:-2 to 5:0, by")
