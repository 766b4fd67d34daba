"""The page of a game without a page of its own."""

import re
from contextlib import closing

import pytest

from flatlands.proxy import Proxy
from tests.browser.pages import draws, wait_for
from tests.inside import inside

MAZE = """
from flatlands import Game as Engine, Me, chunks, number


def walls(seed, column, row):
    # A wall at column 3 of each piece, with a gap.
    return bytes(128 if n % 64 == 3 and n // 64 != 9 else n % 5 for n in range(4096))


class Runner(Me):
    lives = number(3, 9)


class Game(Engine):
    ground, walking, me = chunks(walls), "straight", Runner

    def begin(self):
        return (0, 0)
"""

GAME = """
from flatlands import Cells, Game as Engine, Thing, number, terrain


class Apple(Thing, reach=1):
    colour = number(0, 7)


class Game(Engine):
    ground = terrain()
    things = [Apple]
    floor = Cells()

    def plant(self, plot):
        return [Apple((3, 2), colour=5)] if plot == (0, 0) else []

    def on_step(self, me, tiles):
        self.floor[tiles] = 3
"""


def test_players_walk_and_talk_and_see_what_the_game_has(open_page, tmp_path):
    (tmp_path / "meadow.py").write_text(GAME)
    with inside("--game", str(tmp_path / "meadow.py"), STORE_URL="memory://") as server:
        url = f"http://localhost:{server.port}/"
        walker, other = open_page(url), open_page(url)
        for page in (walker, other):
            page.get_by_text("Walk with the arrow keys").wait_for()
            wait_for(page, "flatlands.players.length === 2")
        own = walker.evaluate("flatlands.id")
        x, y = walker.evaluate("[flatlands.me.x, flatlands.me.y]")
        walker.keyboard.down("ArrowRight")
        wait_for(other, f"flatlands.player({own})?.x > {x + 1.5}")
        walker.keyboard.up("ArrowRight")
        painted = f"flatlands.cells('floor').at({int(x // 1) + 1}, {int(y // 1)})"
        wait_for(other, f"{painted} === 3")
        walker.keyboard.press("Enter")
        walker.keyboard.type("hello there")
        walker.keyboard.press("Enter")
        wait_for(other, f"flatlands.player({own})?.saying === 'hello there'")
        for page in (walker, other):
            wait_for(page, "flatlands.things('Apple')[0]?.values.colour === 5")
        seq = "flatlands.replica.players.get(flatlands.id)?.seq"
        before = other.evaluate(seq)
        other.mouse.click(300, 500)
        wait_for(other, f"{seq} > {before}")
        for page in (walker, other):
            page.close()


def test_the_page_knows_the_ground_that_a_game_makes(open_page, tmp_path):
    (tmp_path / "maze.py").write_text(MAZE)
    with inside("--game", str(tmp_path / "maze.py"), STORE_URL="memory://") as server:
        page = open_page(f"http://localhost:{server.port}/")
        page.get_by_text("Walk with the arrow keys").wait_for()
        pieces = (
            "performance.getEntriesByType('resource').filter(({ name }) => /ground/.test(name))"
        )
        wait_for(page, f"{pieces}.length >= 4")
        page.keyboard.down("ArrowRight")
        # The page predicts what the server decides: the walk stops in front of the wall.
        wait_for(page, "flatlands.walk.arrived && flatlands.walk.at(2 ** 50)[0] === 3 * 1024 - 1")
        page.keyboard.up("ArrowRight")
        track = page.evaluate("flatlands.replica.players.get(flatlands.id).track")
        assert track["x"] + track["dx"] == 3 * 1024 - 1
        # Of two keys, the later one counts, and a finger leads along rows and columns.
        page.keyboard.down("ArrowLeft")
        page.keyboard.down("ArrowDown")
        wait_for(page, "flatlands.walk.at(2 ** 50)[1] > 9000")
        page.keyboard.up("ArrowLeft")
        page.keyboard.up("ArrowDown")
        wait_for(page, "flatlands.walk.arrived")
        # A click means what the last frame showed, which may be a tile behind.
        draws(page)
        x, y = page.evaluate("flatlands.walk.drawn(flatlands.clock.now())")
        page.mouse.click(640 - 28 * 2, 400 - 28 * 3)
        end = "flatlands.walk.at(2 ** 50)"
        there = f"Math.hypot({x - 2} - {end}[0] / 1024, {y - 3} - {end}[1] / 1024)"
        wait_for(page, f"flatlands.walk.arrived && {there} < 0.8")
        assert page.locator("#line").inner_text() != "you can't move that way in this game"
        page.close()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda data: data.replace(b"Upgrade: websocket\r\n", b""), "does not pass WebSockets on"),
        (lambda data: re.sub(rb"Host: \S+", b"Host: localhost:1", data), "pass the Host header on"),
    ],
    ids=["no Upgrade", "another Host"],
)
def test_a_player_is_shown_what_a_proxy_does_wrong(open_page, spoil, sentence):
    with inside() as server, closing(Proxy(server.port, spoil=spoil)) as proxy:
        page = open_page(f"http://localhost:{proxy.port}/", cut_off=True)
        page.get_by_text(sentence).wait_for()
        page.close()


YARD = """
from flatlands import Cells, Event, Game as Engine, action, number, plain


class Cheer(Event):
    loud = number(1, 3)


class Game(Engine):
    ground, page, events = plain(), "page", [Cheer]
    walls = Cells(solid=1)

    def begin(self):
        return (0, 0)

    @action(rate=50, burst=50)
    def build(self, me, x: int = number(-9, 9), y: int = number(-9, 9), kind: int = number(0, 9)):
        me.write(self.walls, (x, y), kind)

    @action(rate=9, burst=9)
    def cheer(self, me, loud: int = number(1, 3)):
        me.emit(Cheer(loud=loud))
        me.send("cheered", loud, ["much"])
"""

#: A page that draws everything itself.
OWN = """
import { join } from './game.js';

const canvas = document.querySelector('canvas'), ctx = canvas.getContext('2d');
const game = join(), heard = [];
game.on.message('cheered', (...fields) => heard.push(fields));
game.on.event('Cheer', (player, values) => heard.push([player.name, values]));
game.on.error((code) => heard.push(code));
game.open({ name: 'Ada' }, 40, 25);

function frame() {
  requestAnimationFrame(frame);
  game.advance();
  ctx.clearRect(0, 0, canvas.width, canvas.height);
  for (const { x, y, own } of game.players) {
    ctx.fillStyle = own ? 'white' : 'red';
    ctx.fillRect(200 + (x - game.me.x) * 20, 200 + (y - game.me.y) * 20, 10, 10);
  }
}

frame();
globalThis.page = { game, heard };
document.documentElement.dataset.begun = '';
"""

INDEX = """<!doctype html><html lang="en"><head><title>Own</title><!-- base --><!-- joined -->
<script type="module" src="own.js"></script><!-- joined --></head>
<body><canvas width="400" height="400"></canvas></body></html>"""


def test_a_page_that_draws_everything_itself_knows_all_and_predicts_walls(open_page, tmp_path):
    folder = tmp_path / "yard" / "page"
    folder.mkdir(parents=True)
    (folder.parent / "game.py").write_text(YARD)
    (folder / "index.html").write_text(INDEX)
    (folder / "own.js").write_text(OWN)
    with inside("--game", str(folder.parent), STORE_URL="memory://") as server:
        page = open_page(f"http://localhost:{server.port}/")
        wait_for(page, "page.game.me !== null")
        assert page.evaluate("[page.game.me.name, page.game.me.x, page.game.me.y]") == [
            "Ada",
            0.5,
            0.5,
        ]
        page.evaluate("page.game.do.cheer(2)")
        wait_for(page, "page.heard.length === 2")
        heard = page.evaluate("page.heard")
        assert [2, ["much"]] in heard and ["Ada", {"loud": 2}] in heard
        # Somebody builds a wall across the path of a walking player.
        page.evaluate("""() => {
          page.game.go({ heading: [1, 0] });
          for (let y = -4; y < 5; y++) page.game.do.build(6, y, 1);
        }""")
        wait_for(page, "page.game.walk.arrived && page.game.walk.at(2 ** 50)[0] === 6 * 1024 - 1")
        assert page.evaluate("page.game.blocked(6, 0) && page.game.cells('walls').at(6, 4)") == 1
        track = page.evaluate("page.game.replica.players.get(page.game.id).track")
        assert track["x"] + track["dx"] == 6 * 1024 - 1
        page.evaluate("page.game.do.build(6, 0, 0)")
        wait_for(page, "!page.game.blocked(6, 0)")
        page.evaluate("page.game.goTo(9.5, 0.5)")
        wait_for(page, "page.game.me.x > 9.4")
        page.close()
