"""/inspect in a browser, beside the page of somebody who plays."""

import re

import pytest

from tests.brokers.redis_servers import free_port
from tests.browser.pages import eventually
from tests.inside import inside
from tests.processes import ROOT

GAME = str(ROOT / "tests" / "inspected.py")


@pytest.fixture
def server():
    with inside("--author", "1", "--game", GAME, STORE_URL="memory://") as server:
        yield server


def section(page, title):
    return page.get_by_role("region", name=re.compile(f"^{title}"))


def rows(table):
    return [row.inner_text().split("\t") for row in table.locator("tbody tr").all()]


def test_an_author_sees_the_game_and_acts_in_it(open_page, server):
    player = open_page()
    # A browser complains of each request that is refused.
    size = {"width": 1440, "height": 900}
    page = open_page(f"{server.url}inspect", cut_off=True, viewport=size)

    # Somebody comes, is looked at, and walks.
    players, chosen = section(page, "Players"), section(page, "Chosen player")
    eventually(lambda: len(rows(players)) == 1, "the player is listed")
    [[name, place, _latency, colour, team]] = rows(players)
    assert (colour, team) == ("0", "") and chosen.get_by_text(name).is_visible()
    eventually(lambda: rows(players)[0][2].endswith(" ms"), "the latency is known")
    assert page.get_by_label("Look at where this player is").is_checked()
    player.keyboard.press("ArrowRight", delay=600)
    eventually(lambda: rows(players)[0][1] != place, "the player has walked")

    # Its events flow.
    events = section(page, "Events").get_by_role("listitem")
    eventually(lambda: events.filter(has_text=f"move {name}").count(), "a move is told")

    # An action as that player.
    chosen.get_by_label("Do, as this player,").select_option("paint")
    chosen.get_by_label("colour").fill("5")
    chosen.get_by_label("team").fill("red")
    chosen.get_by_role("button", name="Do it").click()
    page.get_by_text(f"paint was done as {name}.").wait_for()
    eventually(lambda: rows(players)[0][3:] == ["5", "red"], "the fields have changed")
    eventually(lambda: events.filter(has_text="team red").count(), "the change is told")
    hooks = section(page, "Hooks")
    eventually(lambda: [row[1] for row in rows(hooks)] == ["1"], "the hook was counted")
    assert rows(hooks)[0][0] == "inspected paint"

    # One that the game refuses.
    chosen.get_by_label("Do, as this player,").select_option("refuse")
    chosen.get_by_role("button", name="Do it").click()
    page.get_by_text("You need 5 gold.").wait_for()

    # A thing on a tile.
    tiles = page.get_by_label("Tiles: choose one")
    tiles.click(position={"x": 30, "y": 30})
    things = section(page, "Things")
    things.get_by_label("Put on the chosen tile").select_option("Coin")
    things.get_by_label("worth").fill("7")
    things.get_by_role("button", name="Put it there").click()
    eventually(lambda: ["Coin", "worth 7"] in [row[::2] for row in rows(things)], "it lies there")
    eventually(lambda: "Coin" in section(page, "Tiles").inner_text(), "its tile says so")

    # A record is added, and changed by somebody else before it is changed here.
    records = section(page, "Records")
    records.get_by_label("Change, or add, the record with the id").fill("north/ada")
    records.get_by_label("gold").fill("3")
    records.get_by_role("button", name="Save").click()
    page.get_by_text("The record north/ada was saved.").wait_for()
    assert rows(records) == [["north/ada", "_last , gold 3"]]
    other = open_page(f"{server.url}inspect")
    elsewhere = section(other, "Records")
    for where, gold, said in (
        (elsewhere, "4", "The record north/ada was saved."),
        (records, "5", "the record has changed meanwhile: it is Purse('north/ada', gold=4"),
    ):
        if where is elsewhere:
            where.get_by_role("button", name="north/ada").click()
        where.get_by_label("gold").fill(gold)
        where.get_by_role("button", name="Save").click()
        where.page.get_by_text(said).wait_for()

    # The player's connection is lost.
    player.close()
    eventually(lambda: rows(players)[0][2] == "lost", "it is lost")


def test_a_page_goes_on_when_the_server_is_back(open_page):
    port = free_port()
    options = ("--author", "1", "--port", str(port), "--game")
    with inside(*options, GAME, STORE_URL="none") as server:
        page = open_page(f"{server.url}inspect", cut_off=True)
        page.get_by_role("heading", name="Inside inspected").wait_for()
        node = page.locator("#node").inner_text()
        assert "without a store" in node and not section(page, "Records").is_visible()
    page.get_by_text("The server does not answer.").wait_for()
    # Its game is another one now.
    with inside(*options, "paint", STORE_URL="memory://"):
        page.get_by_role("heading", name="Inside paint").wait_for()
        page.get_by_text("The server does not answer.").wait_for(state="hidden")
        assert section(page, "Things").is_visible()
        assert page.get_by_label("Cells").locator("option").all_inner_texts() == ["floor"]
        page.close()
