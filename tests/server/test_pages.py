"""The page's files, as they are served from memory."""

import gzip
import re

import pytest
from flask import Blueprint
from werkzeug.test import Client

from flatlands.server.game.chunks import chunks
from flatlands.server.web.pages import CONTENT_POLICY, STATIC, laid_over, make_pages

FLATLANDS = STATIC.parent / "games" / "flatlands" / "page"


def served(**more):
    """Return a client of pages."""
    return Client(make_pages(lambda: {"status": "ok"}, Blueprint("none", __name__), **more))


@pytest.fixture(scope="module")
def get():
    """A function that asks for a path."""
    client = served()
    return lambda path, **headers: client.get(
        f"/{path}", headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def test_the_page_loads_all_else_in_its_own_version_to_be_cached_for_ever(get):
    page = get("")
    assert page.status_code == 200 and page.headers["Cache-Control"] == "no-cache"
    base = page.data.split(b'<base href="')[1].split(b'"')[0].decode()
    script = get(base + "page.js")
    assert script.status_code == 200 and "immutable" in script.headers["Cache-Control"]
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert get("page.js").data == script.data
    # The map for a wall screen is the same page, which looks at its own address.
    wall = get("live")
    assert (wall.data, wall.headers["Cache-Control"]) == (page.data, "no-cache")
    assert get("v/0000000000000000/page.js").status_code == 404


def test_the_page_says_when_what_lasts_is_lost(get):
    assert b'name="forgets"' not in get("").data
    for when in ("restart", "always"):
        page = served(forgets=when).get("/").data
        assert f'<meta name="forgets" content="{when}">'.encode() in page


def test_a_link_shows_a_title_a_picture_and_who_invites(tmp_path):
    (tmp_path / "index.html").write_text(
        '<title>Ring &amp; run</title><meta name="description" content="A game."><!-- base -->'
        '<!-- preview --><!-- joined --><script type="module" src="page.js"></script>'
        "<!-- joined -->"
    )

    def shown(query="", **more):
        text = served(page=tmp_path).get("/", query_string=query, **more).text
        return dict(re.findall('<meta property="og:([a-z]+)" content="([^"]*)">', text)), text

    assert shown()[0] == {}, "without a picture there is no preview"
    (tmp_path / "preview.jpg").write_bytes(b"JPEG")
    preview, text = shown(base_url="https://play.example.org:8443")
    base = re.search('<base href="([^"]+)/">', text)[1]
    assert preview == {
        "type": "website",
        "title": "Ring &amp; run",
        "description": "A game.",
        "image": f"https://play.example.org:8443/{base}/preview.jpg",
    }
    assert served(page=tmp_path).get(f"/{base}/preview.jpg").data == b"JPEG"
    # Below a path of a larger site.
    more = {"base_url": "http://a.example/games"}
    assert shown(**more)[0]["image"] == f"http://a.example/games/{base}/preview.jpg"
    # Who invites is named, if that is a name.
    for by, named in (
        ("Ada", "Ada is waiting for you in "),
        ("%3Cb%3E%22", "&lt;b&gt;&quot; is waiting for you in "),
        ("A" * 21, ""),
        ("%00", ""),
        ("%FF", "\ufffd is waiting for you in "),
    ):
        assert shown(f"near=x&by={by}")[0]["title"] == f"{named}Ring &amp; run"
    # A host that is none is no part of the document.
    strange = shown(headers={"Host": 'a"><script>'})[0]
    assert strange["image"] == f"/{base}/preview.jpg"


def test_documents_with_other_previews_are_forgotten(tmp_path):
    client = served(page=FLATLANDS)
    for n in range(200):
        page = client.get("/", query_string=f"by=A{n}")
        assert f"A{n} is waiting for you in Flatlands" in page.text
    again = client.get("/", query_string="by=A1", headers={"If-None-Match": page.headers["ETag"]})
    assert again.status_code == 200


def test_the_page_of_a_game_is_laid_over_what_all_pages_need(get, tmp_path):
    (tmp_path / "art").mkdir()
    (tmp_path / "art" / "tree.svg").write_text("<svg/>")
    (tmp_path / "look.css").write_text("body { color: red }")
    (tmp_path / "own.js").write_text("import { Net } from './net.js';\nNet;\n")
    (tmp_path / "index.html").write_text(
        '<!-- base --><!-- joined --><link rel="stylesheet" href="look.css">'
        '<script type="module" src="own.js"></script><!-- joined -->'
    )
    own = served(page=tmp_path)
    assert b"joined.js" in own.get("/").data and b"own.js" in own.get("/?debug").data
    script = own.get("/joined.js").data
    assert b"// net.js" in script and b"// own.js" in script and b"// page.js" not in script
    assert own.get("/joined.css").data == b"body { color: red }"
    assert own.get("/art/tree.svg").status_code == 200 == own.get("/net.js").status_code
    assert own.get("/").data.split(b"/v/")[0] != get("").data


def test_what_lies_beside_a_page_by_accident_is_not_served(tmp_path):
    page, outside = tmp_path / "page", tmp_path / "secret.js"
    names = ".env .git/config own.js~ #own.js# .own.js.swp own.js.orig art/.hidden.svg"
    names += " game.d.ts jsconfig.json"
    for name in (*names.split(), "own.js", "art/tree.svg", "index.html"):
        (page / name).parent.mkdir(parents=True, exist_ok=True)
        (page / name).write_text("// own")
    outside.write_text("// secret")
    (page / "link.js").symlink_to(outside)
    (page / "same.js").symlink_to(page / "own.js")
    assert set(laid_over(page)) == {"own.js", "same.js", "art/tree.svg", "index.html"}


def test_a_game_has_the_pages_of_its_parts_and_one_script_of_all_of_them(tmp_path):
    def write(name, text):
        path = tmp_path / "game" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("page/own.js", "import { PARTS } from './parts.js';\nPARTS;\nexport const OWN = 1;\n")
    write("page/day.js", "export const DAY = 1;\n")
    write(
        "page/index.html",
        '<!-- base --><!-- joined --><link rel="stylesheet" href="parts.css">'
        '<script type="module" src="own.js"></script><!-- joined -->',
    )
    write("game.py", "")
    assert served(page=tmp_path / "game" / "page").get("/joined.css").data == b""
    for part in ("owls", "new"):
        write(f"{part}/page/index.js", "import { DAY } from '../day.js';\nexport const IT = DAY;\n")
        write(f"{part}/page/{part}.css", f".{part} {{}}\n")
    write("tests/page/other.js", "")
    page = served(page=tmp_path / "game" / "page")
    assert page.get("/parts.js").data.decode() == (
        "import * as part0 from './new/index.js';\nimport * as part1 from './owls/index.js';\n"
        "export const PARTS = { 'new': part0, 'owls': part1 };\n"
    )
    script = page.get("/joined.js").data.decode()
    first, *between, last, main = re.findall("^// (.*)", script, re.M)
    assert (first, last, main) == ("day.js", "parts.js", "own.js")
    assert sorted(between) == ["new/index.js", "owls/index.js"]
    assert page.get("/joined.css").data == b".new {}\n.owls {}\n"
    assert page.get("/owls/index.js").status_code == 200
    # In a folder of several games that are files, folders are other games.
    (tmp_path / "game" / "game.py").rename(tmp_path / "game" / "meadow.py")
    meadow = served(page=tmp_path / "game" / "page")
    assert meadow.get("/owls/index.js").status_code == 404
    assert meadow.get("/parts.js").data == (STATIC / "parts.js").read_bytes()


@pytest.mark.parametrize(
    ("between", "told"),
    [
        (
            '<link href="./loook.css"><script type="module" src="./own.js">',
            "refers to loook.css, but",
        ),
        ('<script src="own.js" type="module">', "must have the line <script type="),
    ],
)
def test_the_author_of_a_page_is_told_what_is_wrong_with_it(tmp_path, between, told):
    (tmp_path / "own.js").touch()
    (tmp_path / "look.css").touch()
    page = "<!-- base --><!-- joined -->{}<!-- joined -->"
    (tmp_path / "index.html").write_text(page.format(between))
    with pytest.raises(ValueError, match=told):
        served(page=tmp_path)
    (tmp_path / "index.html").write_text(
        page.format('<link href="./look.css"><script type="module" src="./own.js">')
    )
    assert served(page=tmp_path).get("/joined.css").status_code == 200


def test_faults_are_shown_to_an_author_and_never_to_players(get):
    pages = served(faults=[("it failed", "x.py")])
    told, page = pages.get("/author").json, pages.get("/").data
    assert told["faults"] == [["it failed", "x.py"]]
    assert f"v/{told['version']}/".encode() in page and b"author.js" in page
    assert get("author").status_code == 404 and b"author.js" not in get("").data


def test_pieces_of_the_ground_are_kept_for_ever_and_only_those_of_this_ground():
    ground = chunks(lambda seed, column, row: bytes([seed, column % 128, row % 128, 0] * 1024))(7)
    pages = served(ground=ground)
    piece = pages.get(f"/v/{ground.stamp}/ground/-3/2", headers={"Accept-Encoding": "gzip"})
    assert "immutable" in piece.headers["Cache-Control"] and len(piece.data) < 200
    assert gzip.decompress(piece.data) == bytes([7, 125, 2, 0] * 1024)
    for place in ("0/x", "0", f"{2**24 + 1}/0", f"{10**8}/0"):
        assert pages.get(f"/v/{ground.stamp}/ground/{place}").status_code == 404
    assert pages.get(f"/v/{'0' * 16}/ground/0/0").status_code == 404


def test_every_answer_is_protected(get):
    for path in ("", "live", "page.js", "healthz", "nothing", "page.css", "favicon.ico"):
        headers = get(path).headers
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_files_are_compressed_for_clients_that_accept_it_and_not_sent_again(get):
    plain, packed = get("net.js"), get("net.js", Accept_Encoding="br, gzip")
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.data) < len(plain.data) / 2 and gzip.decompress(packed.data) == plain.data
    assert get("net.js", Accept_Encoding="gzip;q=0, br").data == plain.data
    assert plain.headers["ETag"] != packed.headers["ETag"]
    for known, encoding in ((plain, ""), (packed, "gzip")):
        tags = f'"x", {known.headers["ETag"]}'
        again = get("net.js", If_None_Match=tags, Accept_Encoding=encoding)
        assert (again.status_code, again.data) == (304, b"")
    assert get("net.js", If_None_Match=packed.headers["ETag"]).status_code == 200


def test_head_tells_all_but_the_file():
    pages = make_pages(lambda: {}, Blueprint("none", __name__))
    told = []
    body = pages(
        {"PATH_INFO": "/page.js", "QUERY_STRING": "", "REQUEST_METHOD": "HEAD"},
        lambda status, headers: told.append((status, dict(headers))),
    )
    assert list(body) == [] and told[0][0] == "200 OK" and int(told[0][1]["Content-Length"]) > 1000


def test_a_page_may_connect_to_the_machines_of_its_world_and_to_nobody_else():
    machines = ["https://b.example.org/game"]
    get = served(machines=lambda: machines).get
    page, script = get("/"), get("/net.js")
    policy = page.headers["Content-Security-Policy"]
    assert policy == f"{CONTENT_POLICY}; connect-src 'self' wss://b.example.org"
    assert script.headers["Content-Security-Policy"] == CONTENT_POLICY
    # A browser that has the page with another policy gets it again.
    tag = page.headers["ETag"]
    assert get("/", headers={"If-None-Match": tag}).status_code == 304
    machines.append("http://10.0.0.2:8000")
    again = get("/", headers={"If-None-Match": tag})
    assert again.status_code == 200
    assert again.headers["Content-Security-Policy"].endswith(
        "ws://10.0.0.2:8000 wss://b.example.org"
    )
    machines.clear()
    assert get("/").headers["Content-Security-Policy"] == CONTENT_POLICY
