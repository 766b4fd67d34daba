"""The page's modules agree with Python's to the last digit, in the browser that runs them."""

import json

import pytest

from flatlands.server.messages.texts import NAME_LIMIT, clean
from tests.processes import ROOT
from tests.vectors import make


@pytest.fixture(scope="module")
def modules(blank, server):
    """A page that also finds the files that are not served: tests/js, and the modules beside it."""
    for folder in ("static", "tests"):
        blank.route(
            f"{server.url}{folder}/**",
            lambda route: route.fulfill(path=ROOT / route.request.url.removeprefix(server.url)),
        )
    return blank


@pytest.mark.parametrize("name", make.VECTORS)
def test_vectors(modules, name):
    wrong = modules.evaluate(
        """async (name) => {
          const checks = await import('/tests/js/checks.js');
          return checks[name](await (await fetch(`/tests/vectors/${name}.json`)).json());
        }""",
        name,
    )
    assert wrong == []


def test_what_the_browser_knows_to_show_nothing_is_refused_in_names(modules):
    hidden = modules.evaluate(
        """() => {
          const found = [];
          for (let code = 0; code < 0x110000; code++) {
            const character = String.fromCodePoint(code);
            if (/[\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\p{Cc}\\p{Co}]/u
              .test(character)) found.push(code);
          }
          // As a text: a list of so many numbers is passed on one by one.
          return JSON.stringify(found);
        }"""
    )
    hidden = json.loads(hidden)
    assert len(hidden) > 130_000
    shown = {code for code in hidden if clean(f"a{chr(code)}", NAME_LIMIT) is not None}
    # What joins letters, and chooses between text and emoji.
    assert shown == {0x200C, 0x200D, 0xFE0E, 0xFE0F}
