"""ARCHITECTURE.md: the diagram of the server's packages (make map), and the names of code."""

import ast
import re
from collections import defaultdict
from graphlib import CycleError

import pytest

from tests.map import PAGE, arrows, drawn, imports
from tests.processes import ROOT

#: The folders whose names of code the page uses.
FOLDERS = ("world", "brokers", "stores", "server", "games", "flatlands")


def test_the_diagram_shows_what_is_imported_now():
    assert drawn(PAGE.read_text()) == PAGE.read_text(), "make map draws it anew"


def test_an_arrow_is_left_out_only_if_others_lead_the_same_way():
    assert arrows({"c": {"a", "b"}, "b": {"a"}}) == [("b", "a"), ("c", "b")]
    assert arrows({"c": {"a", "b"}}) == [("c", "a"), ("c", "b")]
    with pytest.raises(CycleError):
        arrows({"a": {"b"}, "b": {"a"}})


def test_imports_of_every_folder_are_found():
    found = imports()
    assert {"world", "brokers"} <= found["squares"] and "stores" in found["storage"]
    assert "__main__" not in found


def names_in_code():
    """Return class -> its attributes and methods, and the constants of all modules."""
    classes, constants = defaultdict(set), set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(path.read_text())
            constants |= {
                node.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            for kind in ast.walk(tree):
                if isinstance(kind, ast.ClassDef):
                    # Attributes of objects are set in methods, or are fields.
                    for node in ast.walk(kind):
                        if isinstance(node, ast.FunctionDef | ast.ClassDef):
                            classes[kind.name].add(node.name)
                        elif isinstance(node, ast.Attribute):
                            classes[kind.name].add(node.attr)
                        elif isinstance(node, ast.Name):
                            classes[kind.name].add(node.id)
    for folder in ("static", "games"):
        for path in (ROOT / folder).rglob("*.js"):
            constants |= set(re.findall(r"[A-Z][A-Z0-9_]+", path.read_text()))
    return classes, constants


def test_the_names_of_code_on_the_page_are_in_the_code():
    classes, constants = names_in_code()
    page = re.sub(r"```.*?```", "", PAGE.read_text(), flags=re.S)
    quoted = re.findall(r"`([^`]+)`", page)
    methods = [name.split(".") for name in quoted if re.fullmatch(r"[A-Z][a-z]\w*\.\w+", name)]
    upper = [name for name in quoted if re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", name)]
    assert len(methods) > 10 and len(upper) > 30
    wrong = [f"{kind}.{name}" for kind, name in methods if name not in classes[kind]]
    assert wrong + [name for name in upper if name not in constants] == []
