"""Which characters a browser shows as nothing, and what names may contain."""

import json

from flatlands.server.messages.texts import PLAYER_NAME_LIMIT, clean


def test_characters_that_the_browser_shows_as_nothing_are_refused_in_names(open_page):
    hidden = open_page("about:blank").evaluate(
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
    shown = {code for code in hidden if clean(f"a{chr(code)}", PLAYER_NAME_LIMIT) is not None}
    # Characters that join letters, or choose between text and emoji.
    assert shown == {0x200C, 0x200D, 0xFE0E, 0xFE0F}
