"""The codes of docs/protocol.md, section 9, are those that the server's source can send."""

import ast
import re
from pathlib import Path

from server import frames, protocol

ROOT = Path(__file__).parents[2]



def page():
    """Return the rows of section 9's table as (close code, error codes)."""
    text = (ROOT / "docs" / "protocol.md").read_text()
    section = text.split("## 9.")[1].split("## 10.")[0]
    for row in re.findall(r"^\| (\d{4}) \|.*\|(.*)\|$", section, re.M):
        yield int(row[0]), set(re.findall(r"`(\w+)`", row[1]))


def calls(name):
    """Yield (arguments, keywords) of each call in server/ of a function or method of that name."""
    for path in sorted((ROOT / "server").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", None))
                if called == name:
                    yield node.args, {word.arg: word.value for word in node.keywords}


def codes(node):
    """Return the close codes that an expression may be; nothing where it is no constant."""
    if isinstance(node, ast.IfExp):
        return codes(node.body) | codes(node.orelse)
    if isinstance(node, ast.Constant):
        return {node.value}
    name = getattr(node, "attr", getattr(node, "id", ""))
    for module in (protocol, frames):
        if name.isupper() and hasattr(module, name):
            return {getattr(module, name)}
    return set()


def refusals():
    """Yield (error code, close codes) of each Refused in the source, None being no close at all."""
    for arguments, words in calls("Refused"):
        close = words.get("close", arguments[2] if len(arguments) > 2 else None)
        assert isinstance(arguments[0], ast.Constant), "an error code is written where it is sent"
        yield arguments[0].value, {protocol.POLICY} if close is None else codes(close)


def test_the_error_codes_of_the_page_are_those_of_the_source():
    told = {(close, code) for close, some in page() for code in some}
    sent = {(close, code) for code, closes in refusals() for close in closes if close}
    assert sent == told


def test_the_close_codes_of_the_page_are_those_of_the_source():
    sent = {close for _, closes in refusals() for close in closes if close}
    for arguments, _ in calls("close"):
        sent |= codes(arguments[0]) if arguments else set()
    # What breaks RFC 6455 is found while frames are read; a client's own goodbye is repeated.
    sent |= {frames.PROTOCOL_ERROR, frames.INVALID_DATA, frames.TOO_BIG, frames.NORMAL}
    assert {close for close, _ in page()} == sent


def test_only_a_flood_and_being_muted_leave_the_connection_open():
    assert {code for code, closes in refusals() if None in closes} == {"flood", "muted"}
