"""The plugin of pytest for `flatlands test`: whether the game loads is said once, and not by each
test that plays it."""

import pytest

from flatlands.server.game import loader


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which `flatlands test` names the game."""
    parser.addoption("--flatlands-game", help="the path of the game that is tested")


def pytest_configure(config: pytest.Config) -> None:
    """Load the game. Raises UsageError, which pytest shows as one line, if it does not load."""
    try:
        loader.GameMaker(config.getoption("--flatlands-game"), None, alone=True)
    except loader.InvalidGame as unfit:
        raise pytest.UsageError(f"{unfit}: correct that first, since every test plays it") from None
