"""The diagram of the server's packages (make map)."""

from graphlib import CycleError

import pytest

from tests.map import PAGE, arrows, drawn, imports


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
