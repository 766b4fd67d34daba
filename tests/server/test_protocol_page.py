"""Tables and numbers of docs/protocol.md and docs/nodes.md agree with the source."""

import ast
import inspect
import re
from pathlib import Path

import msgpack
import pytest

from flatlands import model, wire
from flatlands.server.clients import screen, session, sessions, tokens
from flatlands.server.messages import peer_batches, peer_protocol, protocol, texts
from flatlands.server.messages.protocol import CLIENT_MESSAGES
from flatlands.server.net import frames
from flatlands.server.players import movement, residents
from flatlands.server.squares import crowds, outbox, peers, subscription, subscriptions, sync
from flatlands.server.storage import items, upkeep
from flatlands.world import batches, events, sketches
from flatlands.world.batches import BatchContent, SquareCoordinates
from flatlands.world.events import Player
from flatlands.world.grid import HEIGHTS, WIDTHS
from flatlands.world.track import REACH, UNIT, Track
from tests.server.client_frames import client_frame

ROOT = Path(__file__).parents[2]


def section(which):
    """Return the text of the section of docs/protocol.md with a number."""
    text = (ROOT / "docs" / "protocol.md").read_text()
    return text.split(f"## {which}.")[1].split(f"## {which + 1}.")[0]


def table(which):
    """Yield the cells of each row of a section's table whose first one is a number."""
    for row in re.findall(r"^\| (\d+ \|.*)\|$", section(which), re.M):
        yield [cell.strip() for cell in row.split("|")]


def names(row):
    """Return the names of a message's fields, as the tables give them."""
    return ", ".join(field.name for field in row.fields)


def often(rate):
    each = f"{rate.rate:g}/s" if rate.rate >= 1 else f"1 in {1 / rate.rate:g} s"
    return f"{each}, {rate.burst:g} at once"


def test_the_table_of_what_a_client_sends():
    rows = {
        kind: [row.name, names(row), "once" if row.name == "hello" else often(row)]
        for kind, row in CLIENT_MESSAGES.items()
    }
    assert {int(kind): cells[:3] for kind, *cells in table(2)} == rows


#: Parameters that stand for more than one field in the functions that pack a message.
TOGETHER = {
    "square": ["column", "row"],
    "rect": ["c0", "r0", "c1", "r1"],
    "welcome": protocol.Welcome._fields,
    "body": ["tracks", "others", "replaced", "wide"],
    "players": ["people", "computers"],
    "ground": ["seed", "side"],
    "walked": ["names", "walked"],
}


def fields_of(pack):
    """Return the names of the fields that a function packs, as its parameters give them."""
    names = inspect.signature(pack).parameters
    return [field for name in names for field in TOGETHER.get(name, [name])]


def test_the_table_of_what_the_server_sends():
    for _, name, fields, _ in table(3):
        assert fields.split(", ") == (fields_of(getattr(protocol, name)) or [""]), name


def test_the_table_of_events():
    rows = {
        number: ", ".join(kind.make._fields[1:]) for number, kind in peer_batches.EVENTS.items()
    }
    assert {int(cells[0]): cells[2] for cells in table(4)} == rows


def test_the_items_of_a_batch():
    items, crowd = re.findall(r"^    (column, .*)$", section(4), re.M)
    assert items.split(", ") == fields_of(protocol.batch)
    # What a game wrote is told in a separate message.
    assert items.split(", ")[4:] + ["writes"] == list(BatchContent._fields)
    assert crowd.split(", ")[:3] == fields_of(protocol.crowd)[:3]


def example(which):
    """Return the bytes of a block of section 11, and the text beside them."""
    block = re.findall(r"(?:^    .*\n)+", section(11), re.M)[which]
    hexadecimal, comments = "", ""
    for line in block.splitlines():
        digits, comment = re.fullmatch(r"    ((?:[0-9a-f]{2} )+|)\s*(.*)", line).groups()
        hexadecimal += digits
        comments += comment + "\n"
    return bytes.fromhex(hexadecimal), comments


def test_the_example_of_what_a_client_sends():
    sent, beside = example(0)
    unpacker = msgpack.Unpacker()
    unpacker.feed(sent)
    messages = list(unpacker)
    told = [ast.literal_eval(line.replace("nil", "None")) for line in beside.split("\n") if line]
    assert messages == told
    packed = [msgpack.packb(message) for message in messages]
    assert b"".join(packed) == sent
    for message, payload in zip(messages, packed, strict=True):
        assert protocol.read(payload) == message
        assert wire.message_frame(*message) == client_frame(
            wire.BINARY, payload, key=wire._masks.key
        )
    assert messages[0][1] == protocol.VERSION


def test_the_example_of_what_comes_back():
    shown, sent = example(1)[0], example(2)[0]
    t = 1_760_936_230_912
    begun = SquareCoordinates((0, 0), 16 * UNIT, t + 38)
    walker = Player(1, 70000, 2, 1, "Wren", False, Track(512, 512, REACH, 0, t, 6400))
    walker.slot = 5
    batch = protocol.batch((0, 0), 0, 12, protocol.body(BatchContent(begun.record(walker))))
    assert sent == protocol.flush(7, t + 50, [batch])
    known = model.Model(held=(0, 0, 0, 0))
    known.apply(msgpack.unpackb(shown), t)
    known.apply(msgpack.unpackb(sent), t + 60)
    assert known.players[70000].track == walker.track.numbers()
    assert (known.players[70000].seq, known.players[70000].ack) == (2, 1)


def test_the_table_of_what_nodes_tell_each_other():
    text = (ROOT / "docs" / "nodes.md").read_text()
    found = re.findall(r"^\| (\d+) ([a-z ]+) \| [^|]+ \| ([^(|]+?) (?:\([^|]*)?\|$", text, re.M)
    rows = {kind: (row.name, names(row)) for kind, row in peer_protocol.MESSAGE_ROWS.items()}
    assert {int(kind): (name, fields) for kind, name, fields in found} == rows
    for kind, (name, _) in rows.items():
        assert getattr(peer_protocol, name.upper().replace(" ", "_")) == kind


def test_kinds_that_earlier_versions_used_stay_unused():
    nodes = (ROOT / "docs" / "nodes.md").read_text()
    [to_clients] = re.findall(r"The kinds ([\d, and]+) were used", section(3))
    [between] = re.findall(r"used the kinds? ([\d, and]+), which stay", nodes)
    for some, used in (
        (to_clients, {int(kind) for kind, *_ in table(3)}),
        (between, peer_protocol.MESSAGE_ROWS.keys()),
    ):
        unused = set(map(int, re.findall(r"\d+", some)))
        assert unused and not unused & used


@pytest.mark.parametrize("number", [2, 3, 4])
def test_kinds_have_one_number_on_the_page_on_the_server_in_the_browser_and_in_the_swarm(number):
    script = (ROOT / "static" / "protocol.js").read_text()
    browser = {name: int(value) for name, value in re.findall(r"([A-Z_]+) = (\d+)", script)}
    module, before = (events, "EVENT_") if number == 4 else (protocol, "")
    for kind, name, *_ in table(number):
        in_browser = before + name.upper()
        # In Python only a message is called SAY.
        name = {"EVENT_SAY": "SAID"}.get(in_browser, name.upper())
        here = getattr(module, name)
        # The swarm has its own protocol module, with what bots say and need.
        swarm = getattr(wire, name, here)
        assert int(kind) == here == browser[in_browser] == swarm, name


def seconds(ms):
    return f"{ms / 1000:g} s"


def from_to(seconds):
    """Return the range of a time that is checked once in a round, and so up to a round later."""
    return f"{seconds} to {seconds + sessions.ROUND_S} s"


#: What each page says, as a part of a sentence with the number from the source.
NUMBERS = {
    "protocol": [
        f"some {crowds.CROWD_FROM} players",
        f"at most {crowds.SKETCH_RATE // 1000} KB of them a second",
        f"adds more than {sketches.RISE_MOST},",
        f"{sketches.NEAR_STEPS} + (|sx| - {sketches.NEAR_STEPS}) × {sketches.COARSE_STEPS})"
        f" × {sketches.STEP_UNITS}",
        f"lagged for {from_to(session.STUCK_AFTER_MS // 1000)}",
        f"is silent for {from_to(sessions.PING_AFTER_S)}",
        f"stays silent for {from_to(sessions.DEAD_AFTER_S)}",
        f"A message from a client has at most {protocol.MESSAGE_LIMIT} bytes",
        f"a `hello` within {sessions.HELLO_WITHIN_MS // 1000} seconds",
        f"1 to {texts.PLAYER_NAME_LIMIT} characters",
        f"1 to {texts.TEXT_LIMIT} characters",
        f"up to {protocol.TOKEN_LIMIT} characters",
        f"to {WIDTHS[0]}–{WIDTHS[1]} and {HEIGHTS[0]}–{HEIGHTS[1]}",
        f"not more than {movement.INTENT_AGE_MS} ms ago",
        f"(id, the highest seq) for {seconds(model.REMOVED_MS)}",
        f"names nobody else until {seconds(batches.SLOT_RESTS)} after",
        f"adds 0 or more than {batches.SEQ_STEP_MOST} the record",
        f"`tracks` has {batches.RECORD.size} bytes",
        f"from {batches.NARROW} on, has {batches.WIDE.size}.",
        f"each within ±{REACH:,} units",
        f"legs of at most {REACH:,} units",
        f"is over {seconds(screen.LAGGING_AFTER_MS)} old when the next is due",
        f"leaves {screen.LAGGING_BYTES // 1024} KiB unacknowledged",
        f"stays in the world for {seconds(residents.DIMMED_FOR_MS)}",
        f"Tokens are valid for {tokens.TOKEN_VALID_S // 86400} days",
        f"happens more than {session.PATIENCE.burst:g} times ({session.PATIENCE.rate:g} are",
    ],
    "nodes": [
        f"due {items.UNUSED_QUOTA_MS // 60_000} minutes after it was taken",
        f"{seconds(items.QUOTA_CHECK_MS)} after a thing",
        f"lease ends after {seconds(upkeep.GROW_CLAIMED_MS)}",
        f"lets go {seconds(subscriptions.LINGER)} after the last",
        f"at most once in {sync.FULL_STATE_EVERY_MS} ms",
        f"see the square {subscription.SYNC_ANSWER_MS} ms after the first request",
        f"not within {subscription.SYNC_ANSWER_MS // 2} ms after it has come back",
        f"if no other node lives; or after {subscriptions.READY_AFTER} ms",
        f"{seconds(outbox.KEEPALIVE_WAITS[0])} after that one",
        f"{seconds(outbox.KEEPALIVE_WAITS[1])} later",
        f"every {seconds(outbox.KEEPALIVE_WAITS[2])}; each of these times may be a quarter shorter",
        f"has come in a square for {seconds(subscription.SILENT_AFTER)} though it has players",
        f"says nothing within {seconds(subscription.LOST_AFTER)} after that has come back",
        f"the others have {seconds(subscription.FORGIVEN)} more",
        f"handed it over in the last {seconds(residents.HANDED_OVER_MS)}",
        f"A node listens to {peers.NODES_LIMIT} others at most",
        f"not come back within {subscription.ECHO_WITHIN} ms",
        f"nothing has come for {seconds(peers.NODE_DEAD_MS)}, no heartbeat and nothing in a square",
        f"received nothing within {seconds(peers.LINK_FRESH_MS)} of what it sends to itself",
        f"Where there are more than {peers.HEARTBEATS_HEARD} nodes",
        f"its residents are kept for {seconds(peers.NODE_GONE_MS)}",
        f"over {seconds(peers.CLOCK_WINDOW_MS)} of a node's heartbeats",
        f"rests for {seconds(batches.SLOT_RESTS)} before",
        f"less than {seconds(batches.SLOT_RESTS)} after the last",
    ],
}


@pytest.mark.parametrize(
    ("name", "sentence"), [(page, said) for page, some in NUMBERS.items() for said in some]
)
def test_numbers_on_the_pages_are_those_of_the_source(name, sentence):
    text = (ROOT / "docs" / f"{name}.md").read_text()
    assert sentence in " ".join(text.split())


def page():
    """Return the rows of section 9's table as (close code, error codes)."""
    for code, _when, errors in table(9):
        yield int(code), set(re.findall(r"`(\w+)`", errors))


def calls(name, folder=ROOT / "server"):
    """Yield (arguments, keywords) of each call in a folder of a function or method of that name."""
    for path in sorted(folder.rglob("*.py")):
        for found in ast.walk(ast.parse(path.read_text())):
            if isinstance(found, ast.Call):
                called = getattr(found.func, "id", getattr(found.func, "attr", None))
                if called == name:
                    yield found.args, {word.arg: word.value for word in found.keywords}


def codes(node):
    """Return the close codes that an expression may be; none if it is not a constant."""
    if isinstance(node, ast.IfExp):
        return codes(node.body) | codes(node.orelse)
    if isinstance(node, ast.Constant):
        return {node.value}
    name = getattr(node, "attr", getattr(node, "id", ""))
    for module in (protocol, frames):
        if name.isupper() and hasattr(module, name):
            return {getattr(module, name)}
    return set()


def refusals(folder=ROOT / "server", always=protocol.POLICY):
    """Yield (error code, close codes) of each Refused in a folder, None being no close at all."""
    for arguments, words in calls("Refused", folder):
        close = words.get("close", arguments[2] if len(arguments) > 2 else None)
        assert isinstance(arguments[0], ast.Constant), "an error code is written where it is sent"
        yield arguments[0].value, {always} if close is None else codes(close)


def test_the_error_codes_of_the_page_are_those_of_the_source():
    told = {(close, code) for close, some in page() for code in some}
    sent = {(close, code) for code, closes in refusals() for close in closes if close}
    assert sent == told


def test_the_close_codes_of_the_page_are_those_of_the_source():
    sent = {close for _, closes in refusals() for close in closes if close}
    for arguments, _ in calls("close"):
        sent |= codes(arguments[0]) if arguments else set()
    # Violations of RFC 6455 are found while frames are read; a client's own goodbye is repeated.
    sent |= {frames.PROTOCOL_ERROR, frames.INVALID_DATA, frames.TOO_BIG, frames.NORMAL}
    assert {close for close, _ in page()} == sent


def test_only_what_comes_too_fast_or_cannot_be_done_now_leaves_the_connection_open():
    open_ones = {code for code, closes in refusals() if None in closes}
    always = "flood fields walk game failed crowded muted name say key keys movers".split()
    of_the_store = "store full most room busy exists".split()
    assert open_ones == {*always, *of_the_store}
