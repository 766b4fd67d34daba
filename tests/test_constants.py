"""Constants: each has a line of its own, and in what others build on, each name has one value; and
no two classes have one name."""

import ast
import re

import pytest

from tests.processes import ROOT


def assignments(folder):
    """Yield (where, targets, value) for each assignment in a module or class of a folder."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        waiting = [ast.parse(path.read_text())]
        while waiting:
            for node in waiting.pop().body:
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                if isinstance(node, ast.ClassDef):
                    waiting.append(node)
                elif isinstance(node, ast.Assign):
                    yield where, node.targets, node.value
                elif isinstance(node, ast.AnnAssign) and node.value:
                    yield where, [node.target], node.value


@pytest.mark.parametrize(
    "folder", ["bench", "brokers", "flatlands", "games", "loadtest", "server", "stores", "world"]
)
def test_each_constant_has_a_line_of_its_own(folder):
    lines = {where: isinstance(targets[0], ast.Tuple) for where, targets, _ in assignments(folder)}
    assert lines and [where for where, several in lines.items() if several] == []


def test_constants_of_one_name_have_one_value():
    known = {}
    for folder in ("brokers", "flatlands", "server", "stores", "world"):
        for where, [target, *_], value in assignments(folder):
            # A name that begins with _ is known in its module only.
            if isinstance(target, ast.Name) and re.fullmatch("[A-Z][A-Z0-9_]*", target.id):
                # These kinds of messages between nodes have the names of other things.
                is_kind = where.startswith("server/messages/peer_protocol.py")
                if is_kind and target.id in ("NEWS", "WATCH"):
                    continue
                value = ast.unparse(value)
                before, there = known.setdefault(target.id, (value, where))
                assert value == before, f"{target.id} in {where} and in {there}"
    assert len(known) > 200


#: Names that authors of games and of bots use, each in its own program; and the game that
#: `flatlands new` copies.
SHARED_CLASS_NAMES = {"Refused", "Player", "Thing", "Game"}


def test_no_two_classes_share_a_name():
    """Neither within the server nor with what stands beside it."""
    known = {}
    for folder in ("brokers", "flatlands", "server", "stores", "world"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and node.name not in SHARED_CLASS_NAMES:
                    where = f"{path.relative_to(ROOT)}:{node.lineno}"
                    there = known.setdefault(node.name, where)
                    assert there == where, f"the class {node.name} is in {there} and in {where}"
    assert len(known) > 200
