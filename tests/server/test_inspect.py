"""/inspect: what an author sees of a game that runs, and does to it; and who may not."""

import json
import re
from contextlib import closing
from http.client import HTTPConnection

import pytest

from flatlands import Refused, action, chunks, terrain
from flatlands.server import settings
from flatlands.server.web.inspect_pages import SHOWN_USUALLY
from flatlands.server.web.inspector import (
    COLUMNS_SHOWN,
    LOOKED_AT_MS,
    ROWS_SHOWN,
    Inspector,
    Look,
    Unable,
)
from flatlands.server.web.square_events import EVENTS_AT_ONCE, MESSAGES_WAITING
from tests.bare import Game as Bare
from tests.inside import inside
from tests.processes import PATIENCE, ROOT, serving
from tests.server.harness import Harness, two_nodes
from tests.server.servers import until
from tests.socket_client import SocketClient

PAGE = ROOT / "server" / "web" / "inspect"

#: A game that has one of all that can be seen or done.
GAME = str(ROOT / "tests" / "inspected.py")


class Answer:
    """The answer to a request."""

    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def refusal(self):
        """The status, the code and the sentence of a refusal."""
        return self.status, self.json["error"], self.json["sentence"]


def ask(server, path, body=None, method=None, **headers):
    """Return the answer to a request as the page makes it, but for some headers."""
    host = f"localhost:{server.port}"
    told = {"Host": host, "Sec-Fetch-Site": "same-origin"}
    if body is not None:
        told |= {"Content-Type": "application/json", "Origin": f"http://{host}"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    sent = body if body is None or isinstance(body, str) else json.dumps(body)
    told = {name: value for name, value in told.items() if value is not None}
    with closing(HTTPConnection("localhost", server.port, timeout=PATIENCE)) as connection:
        connection.request(method or ("GET" if body is None else "POST"), path, sent, told)
        return Answer(connection.getresponse())


def state(server, **asked):
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    answer = ask(server, f"/inspect/state?{query}")
    assert answer.status == 200, answer.body
    return answer.json


@pytest.fixture(scope="module")
def server():
    with inside("--author", "1", "--game", GAME, STORE_URL="memory://") as server:
        yield server


@pytest.fixture
def ada(server):
    client = SocketClient(server.port).hello("Ada")
    yield client
    client.close()


def shown(server, client, **asked):
    """Return what is shown of the player of a client."""
    [player] = state(server, find=client.model.id, **asked)["players"]["shown"]
    return player


def looking(**asked):
    usual = {"tile": (0, 0), "follow": 0, "find": "", "order": "near", "most": SHOWN_USUALLY}
    return Look(**{**usual, "node": 0, "ground": None, **asked})


# Who may look, and act.


@pytest.mark.parametrize(
    "options", [(), ("--host", "0.0.0.0", "--author", "1"), ("--host", "0.0.0.0")]
)
def test_only_a_game_that_is_played_by_its_author_here_is_shown(options):
    with inside(*options, ADMIN_TOKEN="an-admin-token-of-tests") as server:
        for path in ("", "/page.js", "/state", "/records?kind=Purse", "/events?square=0,0"):
            token = {"Authorization": "Bearer an-admin-token-of-tests"}
            assert ask(server, f"/inspect{path}", **token).status == 404
        for what in ("action", "record", "thing"):
            assert ask(server, f"/inspect/{what}", {}).status in (404, 413)
        assert (
            "server accepts no request bodies" in ask(server, "/inspect/action", {}).body.decode()
        )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "192.0.2.1", "::"])
def test_a_game_is_inspected_by_its_author_on_a_loopback_address(host):
    local = host in ("127.0.0.1", "localhost", "::1")
    given = {"GAME": GAME, "STORE_URL": "none"}
    assert settings.read(["--host", host, "--author", "1"], given).inspected is local
    assert not settings.read(["--host", host], given).inspected


def test_the_page_is_small_and_loads_nothing_from_elsewhere(server):
    files = {path.name: path.read_text() for path in PAGE.iterdir()}
    assert sorted(files) == ["page.css", "page.html", "page.js"]
    assert sum(len(text.splitlines()) for text in files.values()) <= 600
    for path, name, kind in (
        ("/inspect", "page.html", "text/html"),
        ("/inspect/page.css", "page.css", "text/css"),
        ("/inspect/page.js", "page.js", "text/javascript"),
    ):
        answer = ask(server, path)
        assert answer.body.decode() == files[name]
        assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8"
        assert answer.headers["Cache-Control"] == "no-store"
        assert (
            "default-src 'self'; frame-ancestors 'none'"
            in answer.headers["Content-Security-Policy"]
        )
    assert ask(server, "/inspect/page.py").status == 404


def test_only_pages_of_this_server_may_look(server):
    here = f"localhost:{server.port}"
    assert ask(server, "/inspect/state", Sec_Fetch_Site=None).status == 200  # no browser
    assert ask(server, "/inspect", Sec_Fetch_Site="cross-site").status == 200  # a link leads here
    for wrong in (
        {"Host": f"evil.example:{server.port}"},
        {"Host": f"127.0.0.1.evil.example:{server.port}"},
        {"Host": "192.168.1.2"},
        {"X_Forwarded_For": "192.0.2.1"},
        {"Origin": "http://evil.example"},
        {"Origin": f"http://evil.example:{server.port}"},
        {"Origin": f"http://127.0.0.1:{server.port}"},  # not the same name
        {"Origin": "http://localhost:3000"},  # something else that is served here
        {"Origin": f"http://{here}.evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        assert ask(server, "/inspect/state", **wrong).status == 403, wrong
        assert ask(server, "/inspect/events?square=0,0", **wrong).status == 403, wrong
    for name in ("127.0.0.1", "[::1]"):
        assert ask(server, "/inspect/state", Host=f"{name}:{server.port}").status == 200


def test_a_page_of_another_name_is_refused_though_the_server_answers_to_it():
    allowed = {"ALLOWED_HOSTS": "*", "ALLOWED_ORIGINS": "*"}
    with inside("--author", "1", "--game", GAME, **allowed) as server:
        rebound = ask(server, "/inspect/state", Host=f"evil.example:{server.port}")
        assert rebound.refusal[:2] == (403, "host")
        foreign = ask(server, "/inspect/action", {}, Origin="http://evil.example")
        assert foreign.refusal[:2] == (403, "origin")


def test_only_json_from_the_page_changes_anything(server, ada):
    body = {"player": ada.model.id, "action": "paint", "fields": {}}
    before = state(server, find=ada.model.id)["players"]["shown"]
    for what in ("action", "record", "thing"):
        for wrong, status in (
            ({"Origin": None}, 403),
            ({"Origin": "http://evil.example"}, 403),
            ({"Origin": f"http://127.0.0.1:{server.port}"}, 403),
            ({"Sec_Fetch_Site": "cross-site"}, 403),
            ({"Host": f"evil.example:{server.port}"}, 403),
            # What a form, or a script without asking first, can send anywhere.
            ({"Content_Type": "text/plain"}, 415),
            ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
            ({"Content_Type": "multipart/form-data"}, 415),
            ({"Content_Type": None}, 415),
        ):
            assert ask(server, f"/inspect/{what}", body, **wrong).status == status, wrong
        asked_first = ask(
            server, f"/inspect/{what}", method="OPTIONS", Origin="http://evil.example"
        )
        assert asked_first.status == 403
        assert not any("access-control" in name.lower() for name in asked_first.headers)
        assert ask(server, f"/inspect/{what}").status in (404, 405)  # not by GET
    assert state(server, find=ada.model.id)["players"]["shown"][0]["values"] == before[0]["values"]


def test_a_body_is_an_object_and_small(server):
    for body in ("", "[]", "1", "{", '"x"'):
        assert ask(server, "/inspect/action", body).refusal == (
            400,
            "json",
            "The body must be an object in JSON.",
        )
    large = {"player": 1, "action": "paint", "fields": {"team": "x" * 70_000}}
    answer = ask(server, "/inspect/action", large)
    assert (answer.status, answer.body) == (
        413,
        b"A request body may have at most 65536 bytes here, and must say how many.\n",
    )
    chunked = {"Transfer_Encoding": "chunked"}
    assert ask(server, "/inspect/action", method="POST", **chunked).status == 413
    # Elsewhere no request has one, though the server takes some.
    assert ask(server, "/inspect/state", "{}").status == 413
    assert ask(server, "/inspect/action?x", "{}").status == 413


def test_the_body_of_a_refused_request_is_not_taken_for_the_next_request(server):
    host = {"Host": f"localhost:{server.port}"}
    hidden = "GET /inspect/page.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with closing(HTTPConnection("localhost", server.port, timeout=PATIENCE)) as connection:
        connection.request("POST", "/inspect/action", hidden, host)
        assert Answer(connection.getresponse()).status == 403
        connection.request("GET", "/inspect/state", headers=host)
        assert Answer(connection.getresponse()).json["node"]


@pytest.mark.process
def test_several_workers_say_that_each_would_show_something_else():
    with serving("--author", "1", "--workers", "2") as server:
        assert ask(server, "/inspect").status == 200
        for path in ("state", "records?kind=x", "events?square=0,0"):
            assert ask(server, f"/inspect/{path}").refusal == (
                409,
                "workers",
                "Several workers serve this game: start it without --workers.",
            )


# What there is to see.


def test_players_are_shown_with_their_fields_and_latency(server, ada):
    until(lambda: ada.pump(0.05) or shown(server, ada)["latency_ms"] is not None)
    player, (x, y) = shown(server, ada), ada.at()
    assert 0 <= player.pop("latency_ms") < PATIENCE * 1000
    assert player == {
        "id": ada.model.id,
        "name": "Ada",
        "at": [round(x / 1024, 2), round(y / 1024, 2)],
        "here": True,
        "computer": False,
        "dimmed": False,
        "owner": "",
        "values": {"colour": 0, "team": ""},
    }


def test_a_game_says_what_it_has_only_to_pages_that_do_not_know_it(server):
    first = state(server)
    about = first["about"]
    colour = {"name": "colour", "type": "number", "low": 0, "high": 7}
    assert about["player"] == [colour, {"name": "team", "type": "text", "low": 0, "high": 9}]
    assert [field["type"] for field in about["actions"]["paint"]] == ["number", "text", "flag"]
    assert [field["name"] for field in about["records"]["Purse"]] == ["gold", "_last"]
    assert (sorted(about["things"]), about["layers"]) == (
        ["Chest", "Coin", "Fish"],
        ["floor", "heat"],
    )
    assert (about["side"], about["has_store"]) == (16, True)
    again = state(server, node=first["node"], ground="0,0")
    assert not {"about", "ground"} & again.keys()
    # After a restart the game, and its ground, may be others.
    assert {"about", "ground"} <= state(server, node=1, ground="0,0").keys()
    assert (
        state(server, node=first["node"], ground="0,1")["ground"]
        == [0] * COLUMNS_SHOWN * ROWS_SHOWN
    )


def test_players_are_found_and_sorted(server):
    names = "Bea", "Cem", "beatrix"
    clients = [SocketClient(server.port).hello(name) for name in names]
    for client, colour in zip(clients, (3, 1, 2), strict=True):
        act(server, client, "paint", colour=colour, team="red" if colour < 3 else "", wide=False)

    def found(**asked):
        players = state(server, **asked)["players"]
        assert players["found"] == len(players["shown"])
        return [one["name"] for one in players["shown"] if one["name"] in names]

    assert found(find="bea", order="name") == ["Bea", "beatrix"]
    assert found(find="team=RED", order="colour") == ["Cem", "beatrix"]
    assert found(find="colour=3") == ["Bea"] and found(find="nothing=3") == []
    assert found(order="colour") == ["Cem", "beatrix", "Bea"]
    assert found(find=clients[1].model.id) == ["Cem"]
    x, y = clients[2].at()
    assert found(at=f"{x // 1024},{y // 1024}", order="near", find="b")[0] == "beatrix"
    few = state(server, most=1, order="name", find="bea")["players"]
    assert (len(few["shown"]), few["found"]) == (1, 2)
    refused = ask(server, "/inspect/state?order=height").refusal
    assert refused == (
        400,
        "order",
        "players are sorted by one of near, name, latency, colour, team, not by 'height'",
    )
    for client in clients:
        client.close()


@pytest.mark.parametrize("wrong", ["at=1", "at=x,y", "at=3000000000,0", "at=1,2,3", "ground=1"])
def test_a_place_is_a_column_and_a_row(server, wrong):
    status, error, sentence = ask(server, f"/inspect/state?{wrong}").refusal
    assert (status, error) == (400, "place")
    assert "must be a column and a row, such as 3,-2" in sentence
    assert ask(server, "/inspect/events?square=x").refusal[:2] == (400, "place")


@pytest.mark.parametrize(
    "wrong", ["most=201", "most=-1", "most=x", "follow=1e3", "node=99999999999"]
)
def test_a_number_is_in_its_range(server, wrong):
    assert ask(server, f"/inspect/state?{wrong}").refusal[:2] == (400, "number")


def test_tiles_are_shown_around_a_player_who_is_followed(server, ada):
    act(server, ada, "paint", colour=5, team="", wide=True)
    x, y = (at // 1024 for at in ada.at())

    def looked():
        return state(server, follow=ada.model.id)

    def value():
        tiles = looked()["tiles"]
        at = (y - tiles["top"]) * tiles["columns"] + x - tiles["left"]
        cells = tiles["layers"]["floor"]
        assert len(cells) == 2 * COLUMNS_SHOWN * ROWS_SHOWN == 2 * len(tiles["blocked"])
        return int(cells[2 * at : 2 * at + 2], 16)

    assert looked()["at"] == [x, y]
    until(lambda: value() == 5)
    # Somebody who is not here is not followed.
    assert state(server, follow=17, at="3,-2")["at"] == [3, -2]


@pytest.mark.parametrize(
    ("ground", "read"),
    [
        (terrain(), "kind"),
        (chunks(lambda _seed, _column, row: bytes([127 + row % 2]) * 4096), "value"),
    ],
)
def test_the_ground_is_shown_as_the_page_of_a_game_knows_it(ground, read):
    kind = type("Grounded", (Bare,), {"ground": ground})
    harness = Harness(play=kind, free=False)
    rests, there = [], harness.node.terrain
    looked = Inspector(harness.node, [], list).state(
        looking(tile=(90, 70)), lambda: rests.append(1)
    )
    left, top = looked["tiles"]["left"], looked["tiles"]["top"]
    assert (left + COLUMNS_SHOWN // 2, top + ROWS_SHOWN // 2) == (90, 70) and len(
        rests
    ) == ROWS_SHOWN
    tiles = [
        (x, y) for y in range(top, top + ROWS_SHOWN) for x in range(left, left + COLUMNS_SHOWN)
    ]
    assert looked["ground"] == [getattr(there, read)(*tile) for tile in tiles]
    assert len({*looked["ground"]}) > 1
    blocked = "".join(str(int(there.blocked(*tile))) for tile in tiles)
    assert looked["tiles"]["blocked"] == blocked and "1" in blocked


# What is done.


def act(server, client, name, **fields):
    body = {"player": client.model.id, "action": name, "fields": fields}
    answer = ask(server, "/inspect/action", body)
    assert answer.status == 200, answer.body


def test_an_action_is_done_as_a_player_however_often(server, ada):
    for colour in (2, 3, 4):  # its rate is once in 100 s
        act(server, ada, "paint", colour=colour, team="blue", wide=False)
        assert shown(server, ada)["values"] == {"colour": colour, "team": "blue"}
    [line] = re.findall(r"inspect asked='action' player=\d+ .*'colour': 4.*", server.errors())
    assert f"player={ada.model.id} action='paint'" in line


@pytest.mark.parametrize(
    ("name", "fields", "status", "error", "sentence"),
    [
        (
            "dance",
            {},
            404,
            "action",
            "the game has no action 'dance': it has leave, paint, refuse, wait",
        ),
        ("paint", {}, 400, "fields", "paint takes these fields: colour, team, wide"),
        ("leave", {"x": 1}, 400, "fields", "leave takes these fields: none"),
        (
            "paint",
            {"colour": 8, "team": "", "wide": True},
            400,
            "fields",
            "paint: colour must be a whole number from 1 to 7",
        ),
        (
            "paint",
            {"colour": True, "team": "", "wide": True},
            400,
            "fields",
            "paint: colour must be a whole number from 1 to 7",
        ),
        (
            "paint",
            {"colour": 1, "team": "\u200b", "wide": True},
            400,
            "say",
            "team must be a text from 0 to 9 characters, all of them visible",
        ),
        ("refuse", {}, 409, "poor", "You need 5 gold."),
    ],
)
def test_an_action_that_is_not_done_says_why(server, ada, name, fields, status, error, sentence):
    body = {"player": ada.model.id, "action": name, "fields": fields}
    assert ask(server, "/inspect/action", body).refusal == (status, error, sentence)


class Faulty(Bare):
    """A game that fails, and refuses."""

    @action(rate=9)
    def fail(self, me):
        return 1 / 0

    @action(rate=9)
    def refuse(self, me):
        raise Refused("poor", "You need 5 gold.")


def test_hooks_are_counted_with_the_line_at_which_they_failed_last():
    harness = Harness(play=Faulty)
    ada, inspector = harness.place("Ada", (0, 0)), Inspector(harness.node, [], list)
    inspector.state(looking())
    for name, sentence in (
        ("fail", "an error in the game prevented that"),
        ("refuse", "You need 5 gold."),
        ("fail", "an error in the game prevented that"),
    ):
        with pytest.raises(Refused, match=sentence):
            inspector.act(ada.id, name, {})
    inspector.act(ada.id, "wave", {"hand": 3})
    harness.run(1000)
    looked = inspector.state(looking())
    hooks = {hook["name"]: hook for hook in looked["hooks"]}
    fail, refuse, wave = hooks["fail"], hooks["refuse"], hooks["wave"]
    assert (fail["calls"], fail["refused"], fail["failed"]) == (2, 0, 2)
    line = Faulty.fail.__code__.co_firstlineno + 2
    where = f"{__file__}, line {line}: ZeroDivisionError: division by zero"
    assert (fail["error"], looked["now"] - fail["failed_at"]) == (where, 1000)
    assert (refuse["calls"], refuse["refused"], refuse["failed"]) == (1, 1, 0)
    assert refuse["error"] == wave["error"] == ""
    assert (wave["part"], wave["calls"]) == ("test_inspect", 1) and 0 < wave["longest_ms"] <= wave[
        "ms"
    ]
    # Once nobody looks, nothing is counted.
    harness.run(LOOKED_AT_MS + 1000)
    inspector.act(ada.id, "wave", {"hand": 3})
    hooks = {hook["name"]: hook for hook in inspector.state(looking())["hooks"]}
    assert hooks["wave"]["calls"] == 1


def test_a_player_who_has_left_does_nothing(server):
    gone = {"player": 2**40, "action": "paint", "fields": {}}
    sentence = f"no player {2**40} is at this node: it has left, or plays at another one"
    assert ask(server, "/inspect/action", gone).refusal == (404, "player", sentence)
    client = SocketClient(server.port).hello("Brief")
    body = {"player": client.model.id, "action": "leave", "fields": {}}
    assert ask(server, "/inspect/action", body).refusal[:2] == (404, "player")


def test_an_action_that_does_not_end_is_not_waited_for(server, ada, monkeypatch):
    monkeypatch.setattr("flatlands.server.web.inspector.ACTION_WITHIN_S", 0.1)
    body = {"player": ada.model.id, "action": "wait", "fields": {}}
    assert ask(server, "/inspect/action", body).refusal == (
        504,
        "late",
        "wait has not ended within 0.1 s, and goes on",
    )


def test_fields_of_a_body_have_their_types(server):
    for what, body, said in (
        ("action", {}, "player must be a whole number."),
        ("action", {"player": True}, "player must be a whole number."),
        ("action", {"player": 1, "action": 1}, "action must be a text."),
        ("action", {"player": 1, "action": "x", "fields": []}, "fields must be an object."),
        ("record", {"kind": "Purse"}, "id must be a text."),
        ("record", {"kind": "Purse", "id": "x", "before": 1}, "before must be an object."),
        ("thing", {"kind": "Coin", "tile": 1}, "tile must be an array."),
        ("thing", {"kind": "Coin", "tile": [], "values": 1}, "values must be an object."),
    ):
        assert ask(server, f"/inspect/{what}", body).refusal == (400, "json", said)


def records(server, id=""):
    told = ask(server, f"/inspect/records?kind=Purse&id={id}").json
    return {one["id"]: one["values"] for one in told["shown"]}


def change(server, id, before, after):
    body = {"kind": "Purse", "id": id, "before": before, "after": after}
    return ask(server, "/inspect/record", body)


def test_records_are_read_and_changed(server):
    poor, rich = {"gold": 1, "_last": ""}, {"gold": 9, "_last": "Ada"}
    assert change(server, "north/ada", None, poor).json == {"values": poor}
    assert change(server, "north/ben", None, poor).json == {"values": poor}
    assert change(server, "south", None, {}).json == {"values": {"gold": 0, "_last": ""}}
    assert records(server, "north") == {"north/ada": poor, "north/ben": poor}
    assert records(server, "north/b") == {"north/ben": poor}
    assert records(server).keys() >= {"north/ada", "north/ben", "south"}
    assert change(server, "north/ada", poor, rich).json == {"values": rich}
    assert records(server, "north")["north/ada"] == rich
    assert change(server, "north/ada", rich, None).json == {"values": None}
    assert records(server, "north") == {"north/ben": poor}


def test_a_record_that_has_changed_meanwhile_is_left_alone(server):
    one, two = {"gold": 1, "_last": ""}, {"gold": 2, "_last": ""}
    meanwhile = "the record has changed meanwhile: it is "
    assert change(server, "x", one, two).refusal == (409, "changed", f"{meanwhile}not there")
    change(server, "x", None, one)
    for before, after in ((None, two), (two, one), (two, None), (None, None)):
        status, error, sentence = change(server, "x", before, after).refusal
        now = "Purse('x', gold=1, _last='') now"
        assert (status, error, sentence) == (409, "changed", meanwhile + now)
    assert records(server, "x") == {"x": one}


def test_a_record_that_cannot_be_is_refused(server):
    status, error, sentence = change(server, "y", None, {"gold": 101}).refusal
    assert (status, error) == (400, "value") and "gold must be a whole number" in sentence
    for name in ("silver", "id", "self"):
        refused = change(server, "y", None, {name: 1}).refusal
        assert refused == (400, "value", f"Purse has no field {name}")
    assert change(server, "", None, {}).refusal[:2] == (400, "value")
    body = {"kind": "Coin", "id": "y", "before": None, "after": {}}
    sentence = "the game has no record of a kind 'Coin': it has Purse"
    assert ask(server, "/inspect/record", body).refusal == (404, "kind", sentence)
    assert ask(server, "/inspect/records?kind=Coin").refusal == (404, "kind", sentence)
    assert records(server, "y") == {}


def put(server, kind, tile, player=None, **values):
    body = {"kind": kind, "tile": tile, "values": values, "player": player}
    return ask(server, "/inspect/thing", body)


def test_a_thing_is_put_and_then_lies_there(server):
    assert put(server, "Coin", [201, -57], worth=7).status == 200
    assert put(server, "Coin", [205, -57], worth=1).status == 200

    def there():
        things = state(server, at="200,-50")["things"]
        return [(one["kind"], one["tile"], one["values"]) for one in things["shown"]]

    coins = [("Coin", [201, -57], {"worth": 7}), ("Coin", [205, -57], {"worth": 1})]
    until(lambda: there() == coins, "the nearest thing comes first")
    assert state(server, at="200,-500")["things"]["shown"] == []


def test_a_mover_is_spawned_and_shown_with_its_fields(server):
    assert put(server, "Fish", [300, -57], size=7).status == 200

    def found(**asked):
        players = state(server, at="300,-57", **asked)["players"]["shown"]
        return [(one["name"], one["computer"], one["values"]) for one in players]

    fish = ("Fish", True, {"size": 7})
    assert found(find="fish") == found(find="size=7") == [fish]
    assert fish in found(order="colour") and fish in found(order="near")


def test_a_thing_of_which_there_may_be_so_many_is_put_for_a_player(server):
    client = SocketClient(server.port).hello("Owner")
    assert put(server, "Chest", [8, 8]).refusal[:2] == (409, "key")
    client.send(10, "a-key-of-tests-and-nobody")
    until(lambda: client.pump(0.02) or shown(server, client)["owner"])
    assert put(server, "Chest", [8, 8], player=client.model.id, label="mine").status == 200
    refused = put(server, "Chest", [9, 8], player=client.model.id).refusal
    assert refused == (409, "most", "you already have 1 of these")
    client.close()


def test_a_thing_that_cannot_be_is_refused(server):
    assert put(server, "Coin", [0, 0], worth=10).refusal[:2] == (400, "value")
    for name in ("size", "tile", "self"):
        body = {"kind": "Coin", "tile": [0, 0], "values": {name: 1}}
        refused = ask(server, "/inspect/thing", body).refusal
        assert refused == (400, "value", f"Coin has no field {name}")
    for tile in ([0], [0, 0.5], ["0", "0"], [2**31, 0], [True, False]):
        status, error, sentence = put(server, "Coin", tile).refusal
        assert (status, error) == (400, "value") and sentence.startswith("a tile must be two whole")
    assert put(server, "Gem", [0, 0]).refusal == (
        404,
        "kind",
        "the game has no thing of a kind 'Gem': it has Coin, Chest, Fish",
    )
    assert put(server, "Chest", [0, 0], player=2**40).refusal[:2] == (404, "player")


def test_while_the_store_is_away_the_page_says_so(tmp_path):
    file = tmp_path / "store"
    with inside("--author", "1", "--game", GAME, STORE_URL=f"sqlite:///{file}") as server:
        file.unlink()
        file.mkdir()
        for answer in (
            ask(server, "/inspect/records?kind=Purse"),
            change(server, "x", None, {}),
            put(server, "Coin", [0, 0]),
        ):
            status, error, sentence = answer.refusal
            assert (status, error) == (503, "store") and "cannot reach its store." in sentence
        assert any("store" in warning for warning in state(server)["warnings"])


def test_a_game_without_a_store_is_shown_too():
    with inside("--author", "1", "--game", GAME) as server:
        assert state(server)["about"]["has_store"] is False
        assert ask(server, "/inspect/records?kind=Purse").refusal[:2] == (503, "store")


# The events of a square.


def lines_of(server, square):
    """Return a connection, and what reads one line of the events of a square from it."""
    connection = HTTPConnection("localhost", server.port, timeout=PATIENCE)
    connection.request("GET", f"/inspect/events?square={square}")
    response = connection.getresponse()
    assert response.headers["Content-Type"] == "application/x-ndjson"
    return connection, lambda: json.loads(response.readline())


def test_events_of_a_square_are_told_as_they_happen(server, ada):
    x, y = (at // 1024 for at in ada.at())
    connection, line = lines_of(server, f"{x // 16},{y // 16}")
    told = [line()]  # from here on it listens
    with closing(connection):
        ada.send(6, "hello there")
        act(server, ada, "paint", colour=6, team="gold", wide=True)
        put(server, "Coin", [x // 16 * 16, y // 16 * 16], worth=3)

        def happened():
            ada.pump(0.01)
            told.append(line())
            assert told[-1]["left_out"] == 0
            found = {one["what"]: one for each in told for one in each["events"]}
            return found if {"say", "enter", "write", "thing"} <= found.keys() else None

        until(happened)
        found = happened()
    for what, says in (
        ("say", {"text": "hello there"}),
        ("write", {"layer": "floor", "count": 1, "tiles": [[x, y, 6]]}),
    ):
        assert found[what]["says"] == says
    assert found["enter"]["says"]["team"] == "gold"
    assert (found["say"]["player"], found["say"]["name"]) == (ada.model.id, "Ada")
    assert found["thing"]["says"]["kind"] == "Coin" and found["thing"]["says"]["worth"] == 3


def test_events_end_with_the_page_and_in_time_for_an_answer(monkeypatch):
    made = []

    def make(*given):
        made.append(Inspector(*given))
        return made[-1]

    monkeypatch.setattr("flatlands.server.app.Inspector", make)
    with inside("--author", "1", "--game", GAME) as server:
        [inspector] = made
        connection, line = lines_of(server, "3,4")
        assert line() == {"events": [], "left_out": 0}
        assert list(inspector.taps._taps) == [(3, 4)]
        connection.close()
        until(lambda: not inspector.taps._taps, "the page has gone")
        monkeypatch.setattr("flatlands.server.web.inspect_pages.EVENTS_FOR_S", 0.5)
        connection, line = lines_of(server, "3,4")
        with closing(connection):
            assert line() == line()
            with pytest.raises(json.JSONDecodeError):
                line()
        assert not inspector.taps._taps
        monkeypatch.undo()
        connection, line = lines_of(server, "3,4")
        line()
    # The server has ended while somebody listened.
    connection.close()


def test_a_walk_is_told_as_moves_and_a_border_as_leaving():
    harness = Harness(play=Bare)
    harness.settle()
    ada, inspector = harness.place("Ada", (0, 0)), Inspector(harness.node, [], list)
    with inspector.taps.open((0, 0)) as tap:
        ada.walk(1, 0)
        harness.run(4000)
        events, left_out = tap.take()
    moves = [event for event in events if event["what"] == "move"]
    assert moves and moves[0]["says"]["by"][0] > 0 and not left_out
    assert all((event["player"], event["name"]) == (ada.id, "Ada") for event in events)
    assert events[-1]["what"] == "leave" and events[-1]["says"] == {"to": [1, 0]}


def test_an_event_of_the_game_is_told_with_its_fields():
    harness = Harness(play=Bare)
    ada, inspector = harness.place("Ada", (0, 0)), Inspector(harness.node, [], list)
    with inspector.taps.open((0, 0)) as tap:
        harness.node.play.emit((0, 0), ada.id, harness.game_of().events[0](hand=3))
        harness.run(100)
        ada.send(6, "bye")
        ada.connection.lose(1000)
        harness.run(100)
        told = [(event["what"], event["name"], event["says"]) for event in tap.take()[0]]
    assert told[:2] == [("Wave", "Ada", {"hand": 3}), ("say", "Ada", {"text": "bye"})]
    assert told[-1][0] == "gone"


def test_players_of_other_nodes_are_known_where_this_one_looks():
    harness, a, b = two_nodes()
    inspector = Inspector(harness.node, [], list)
    players = {one["id"]: one for one in inspector.state(looking())["players"]["shown"]}
    assert players.keys() == {a.id, b.id}
    assert players[a.id]["here"] and players[a.id]["owner"] == ""
    assert (players[b.id]["here"], players[b.id]["latency_ms"]) == (False, None)
    assert (players[b.id]["name"], players[b.id]["owner"]) == ("B", None)
    # One is followed, and told of, wherever it is; but only its own node acts for it.
    column, row = inspector.state(looking(follow=b.id))["at"]
    assert (column // 16, row // 16) == (1, 0)
    with pytest.raises(Unable, match="it has left, or plays at another one"):
        inspector.act(b.id, "wave", {"hand": 1})
    with inspector.taps.open((1, 0)) as tap:
        b.walk(-1, 0)
        harness.run(500)
        moves = [event for event in tap.take()[0] if event["what"] == "move"]
    assert moves and all((one["player"], one["name"]) == (b.id, "B") for one in moves)


def test_more_than_a_page_can_show_is_counted_and_left_out():
    harness = Harness(play=Bare)
    inspector = Inspector(harness.node, [], list)
    with inspector.taps.open((0, 0)) as tap:
        harness.run(100)
        tap.take()
        for number in range(MESSAGES_WAITING + 7):
            harness.node.bus.publish((0, 0), b"x%d" % number)
            harness.settle()
        events, left_out = tap.take()
        assert (len(events), left_out) == (EVENTS_AT_ONCE, 7)
        assert {event["what"] for event in events} == {"malformed"}
        assert tap.take() == ([], 0)


# What it costs.


def test_nothing_is_counted_or_received_while_nobody_looks():
    harness = Harness(play=Bare)
    node, squares = harness.node, harness.node.subscriptions.by_square
    usual = {hook: hook._call for _, hook in node.play.hooks}
    receivers = dict(node.bus.receivers)
    assert {hook.name for hook in usual} == {"plant", "on_touch", "wave", "scores"}
    inspector = Inspector(node, [], list)
    assert all(hook._call is call for hook, call in usual.items()) and not squares

    for _ in range(3):
        inspector.state(looking(tile=(100, 100)))
        inspector.state(looking(tile=(-100, 100)))
        assert all(hook._call is not call for hook, call in usual.items())
        assert (-7, 6) in squares and squares[-7, 6].needs == 1
        harness.run(LOOKED_AT_MS - 1000)
    harness.run(LOOKED_AT_MS + 4000)
    assert all(hook._call == call for hook, call in usual.items()) and not squares

    with inspector.taps.open((0, 0)), inspector.taps.open((0, 0)) as second:
        channel = node.channels.square((0, 0))
        assert node.bus.receivers[channel] != squares[0, 0].receive
        del second
    assert node.bus.receivers[channel] == squares[0, 0].receive
    harness.run(3000)
    assert not squares and node.bus.receivers.keys() == receivers.keys()


def test_the_tap_of_one_page_outlasts_that_of_another():
    harness = Harness(play=Bare)
    ada, inspector = harness.place("Ada", (0, 0)), Inspector(harness.node, [], list)
    first = inspector.taps.open((0, 0))
    first.__enter__()
    with inspector.taps.open((0, 0)) as second:
        first.__exit__(None, None, None)
        ada.send(6, "hello")
        harness.run(100)
        assert [event["what"] for event in second.take()[0]] == ["say"]


def test_with_a_thousand_players_little_is_sent_and_few_are_pinged(monkeypatch):
    monkeypatch.setattr("flatlands.server.web.inspector.PINGED_AT_ONCE", 5)
    harness = Harness(play=Bare)
    clients = [harness.place(f"Player {n}", (n % 5, 0)) for n in range(40)]
    for number in range(960):
        harness.node.residents.join(f"Crowd {number}", (number * 1024, 0))
    harness.run(1000)
    inspector = Inspector(harness.node, [("x" * 200, "y" * 200)] * 5, list)
    first = inspector.state(looking())
    assert (first["players"]["known"], first["players"]["found"]) == (1000, 1000)
    assert len(first["players"]["shown"]) == SHOWN_USUALLY
    shown = {one["id"] for one in first["players"]["shown"]}
    others = [client for client in clients if client.id not in shown]
    assert all(client.connection.pings for client in clients if client.id in shown)
    assert 0 < sum(client.connection.pings for client in others) <= 5 < len(others)
    later = json.dumps(inspector.state(looking(node=first["node"], ground=first["at"])))
    assert len(later) < 10_000
    most = json.dumps(inspector.state(looking(most=200)))
    assert len(most) < 60_000
    found = inspector.state(looking(find="player 1", order="name"))["players"]
    assert found["found"] == 11 and found["shown"][0]["name"] == "Player 1"
