"""Modules that cannot be joined to one script end the start of a server, with a sentence.

The tests of a game's page join its own modules.
"""

import gzip
import re

import pytest

from flatlands.server.web.joined import join_modules
from tests.processes import ROOT

GOOD = {
    "main.js": "import { SMALL as least,\n  half } from './far/maths.js';\nhalf(least);\n",
    "far/maths.js": "import * as all from '../list.js';\nexport function half(x) {}\n"
    "export const SMALL = 1, LARGE = 2;\n",
    "list.js": "export class List {}\n",
}
#: The same as other people write it.
OTHERS = {**GOOD, "main.js": GOOD["main.js"].replace("'", '"').replace(";", "", 1)}


@pytest.mark.parametrize("good", [GOOD, OTHERS])
def test_modules_stand_in_the_order_in_which_they_need_each_other(good):
    script = join_modules({**good, "unused.js": ""}, "main.js")
    assert re.findall(r"^// (.*)", script, re.M) == ["list.js", "far/maths.js", "main.js"]
    assert "const all = $modules['list.js'];" in script
    assert "const { SMALL: least,\nhalf } = $modules['far/maths.js'];" in script
    assert "return { half, SMALL, LARGE };" in script


def test_comments_are_left_out_and_texts_and_patterns_that_look_like_them_are_not():
    kept = "const a = 'x,  // y', b = `{  // ${a}`, c = /[,  // z]/;"
    script = join_modules(
        {"main.js": f"/** Why. */\n{kept}\n// When.\na(b,  // How.\n  c);\n"}, "main.js"
    )
    assert kept in script and "a(b,\nc);" in script
    assert not re.search("Why|When|How", script)


def test_a_comment_may_end_a_file_without_a_line_break():
    source = "export const A = 1;  // it's one"
    script = join_modules({"main.js": source}, "main.js")
    assert "it's one\nreturn { A };\n" in script


@pytest.mark.parametrize(
    ("path", "source", "told"),
    [
        ("list.js", "export class Other {}\nimport { tiny } from './far/maths.js';", "tiny"),
        ("list.js", "import { half } from './far/maths.js';", "cycle"),
        (
            "list.js",
            "import { half } from './near/maths.js';",
            "the page imports near/maths.js, which",
        ),
        (
            "list.js",
            "export default class {}",
            "list.js has a line that the server cannot join.*export default class",
        ),
        (
            "list.js",
            "export let count = 0;",
            "list.js has a line that the server cannot join.*export let count",
        ),
        ("list.js", "import './main.js';", "Write import { name } from './other.js'"),
    ],
)
def test_a_module_that_cannot_be_joined_is_named(path, source, told):
    with pytest.raises(ValueError, match=told):
        join_modules({**GOOD, path: source}, "main.js")


def test_the_library_for_pages_is_small():
    sources = {path.name: path.read_text() for path in (ROOT / "static").glob("*.js")}
    script = join_modules(sources, "game.js").encode()
    assert 20 * 1024 < len(gzip.compress(script, mtime=0)) <= 30 * 1024
