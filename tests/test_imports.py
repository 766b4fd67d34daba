"""The rules of what may import what, as ARCHITECTURE.md gives them."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = {"world", "brokers", "stores", "server", "games", "loadtest", "tests", "compiled"}

# In loadtest/, only the benchmarks of brokers and of work queues, in their own folders, may know
# the brokers and the stores.
MAY_IMPORT = {
    "world": {"world"},
    "brokers": {"brokers"},
    "brokers/redis": {"brokers"},
    "brokers/zeromq": {"brokers"},
    "stores": {"brokers", "stores"},
    "server": {"world", "brokers", "stores", "server", "games", "compiled"},
    "games": {"world", "stores", "server", "games"},
    "loadtest": {"loadtest"},
    "loadtest/kit": {"loadtest"},
    "loadtest/swarm": {"loadtest"},
    "loadtest/chaos": {"loadtest"},
    "loadtest/peers": {"loadtest"},
    "loadtest/idle": {"loadtest"},
    "loadtest/queues": {"brokers", "loadtest"},
    "loadtest/work": {"stores", "loadtest"},
}

# The rooms of server/, and its files outside of rooms that they may import.
ROOMS = {
    "messages": {"loop"},
    "websocket": {"limits", "logs"},
    "squares": {"messages", "websocket", "agenda", "loop"},
    "atlas": {"messages", "squares", "websocket", "loop"},
    "kept": {"messages", "squares", "agenda", "loop", "things"},
    "players": {"messages", "squares", "kept", "agenda", "limits", "logs", "loop"},
    "clients": set("messages websocket kept players play me node agenda limits logs loop".split()),
    "web": {"messages", "websocket", "kept", "players", "play", "chunks", "logs"},
    "query": set("atlas game games node messages squares loop settings".split()),
}

# Modules that would make the rules of the world depend on the time, the machine or chance.
IMPURE = {"gevent", "time", "datetime", "random", "os", "sys", "socket", "threading", "secrets"}

# The browser's modules that know neither the page nor the network.
PURE_MODULES = """
    protocol msgpack terrain track replica walk names clock state scene lying faces day
    regions landmarks ember relay places emotes footsteps atlas borders leading near keys route
    twins echoes grown blooms
""".split()
PAGE_FOLDER = ROOT / "games/flatlands/page"
PAGE = re.compile(r"\b(document|window|canvas|WebSocket|localStorage|sessionStorage)\b")


def named_modules(path):
    """Yield what a file imports, even for types only: dotted names that may be modules."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_modules(path):
    """Return what a file imports, with our own modules named without the package."""
    return [name.removeprefix("flatlands.") for name in named_modules(path)]


def imported(path):
    return {name.split(".")[0] for name in imported_modules(path)}


def circle(left):
    """Return the modules that cannot be put in an order in which each comes after all its imports:
    `left` has the imports of each."""
    while free := {name for name, found in left.items() if not found & left.keys()}:
        left = {name: found for name, found in left.items() if name not in free}
    return set(left)


def sources(folder, pattern="**/*.py"):
    """Return the Python files of a folder, except the tests of games."""
    paths = sorted((ROOT / folder).glob(pattern))
    return [path for path in paths if "tests" not in path.relative_to(ROOT).parts[1:]]


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_it_may(folder):
    paths = sources(folder, "**/*.py" if folder in ("server", "games") else "*.py")
    assert paths
    for path in paths:
        foreign = imported(path) & OURS - MAY_IMPORT[folder]
        assert not foreign, f"{path.name} imports {foreign}"


def test_random_worlds_need_no_package_of_the_swarm():
    """A user that has installed flatlands[test] alone can run flatlands simulate."""
    left, seen, packages = {"testkit.simulate"}, set(), set()
    while left:
        name = left.pop()
        for module in (name, name.rpartition(".")[0]):
            path = ROOT / "flatlands" / f"{module.replace('.', '/')}.py"
            if path.is_file() and path not in seen:
                seen.add(path)
                left.update(imported_modules(path))
                packages |= imported(path)
    assert "gevent" in packages and not packages & {"numpy", "matplotlib", "psutil", "rich"}


def test_nothing_outside_games_knows_a_game():
    """A game is loaded by its name, and knows no other game, except parts that any may have."""
    parts = {path.stem for path in ROOT.glob("games/*.py")}
    for folder in ("world", "brokers", "stores", "server", "flatlands", "loadtest"):
        for path in (ROOT / folder).glob("**/*.py"):
            known = {name for name in imported_modules(path) if name.startswith("games.")}
            assert not known and not re.search(r"flatlands\.games\.\w", path.read_text()), path
    for path in sources("games", "*/**/*.py"):
        known = {name.split(".")[1] for name in imported_modules(path) if name[:6] == "games."}
        assert known <= parts | {path.relative_to(ROOT).parts[1]}, path


@pytest.mark.parametrize(("folder", "command"), [("queues", "two_queues"), ("work", "work_queues")])
def test_nothing_else_in_loadtest_reaches_brokers_or_stores_through_a_benchmark(folder, command):
    for path in (ROOT / "loadtest").rglob("*.py"):
        if path.parent.name != folder and path.name != f"{command}.py":
            assert f"loadtest.{folder}." not in path.read_text(), path


def test_the_kit_of_loadtest_knows_nothing_of_what_is_measured():
    for path in (ROOT / "loadtest" / "kit").glob("*.py"):
        ours = [name for name in imported_modules(path) if name.startswith("loadtest.")]
        assert all(name.startswith("loadtest.kit") for name in ours), path.name


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_the_server_imports_only_those_below_it(room):
    paths = list((ROOT / "server" / room).glob("*.py"))
    assert len(paths) > 2
    for path in paths:
        parts = [name.split(".") for name in imported_modules(path)]
        others = {part[1] for part in parts if part[0] == "server"} - {room}
        assert others <= ROOMS[room], f"{path.name} imports {others - ROOMS[room]}"


def test_no_client_is_known_below_the_rooms_of_clients():
    for room in ("squares", "players"):
        for path in (ROOT / "server" / room).glob("*.py"):
            named = {name for name in imported_modules(path) if name.startswith("server.websocket")}
            # Messages to screens are framed once for all of them.
            assert named <= {"server.websocket.frames.frame"}, path.name


@pytest.mark.parametrize(("folder", "one"), [("loadtest", "swarm.bot"), ("server", "node")])
def test_no_import_leads_back_to_where_it_began(folder, one):
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in (ROOT / folder).rglob("*.py")
    }
    left = {}
    for name, path in files.items():
        # An import of a module, or of a name in it.
        found = {n if n in files else n.rpartition(".")[0] for n in imported_modules(path)}
        left[name] = found & files.keys()
    assert len(left) > 40 and left[f"{folder}.{one}"]
    assert not circle(left), "in a circle, or above one"


def test_the_world_is_pure():
    for path in (ROOT / "world").glob("*.py"):
        assert not imported(path) & IMPURE, path.name


def test_only_the_start_opens_a_broker():
    users = [p for p in (ROOT / "server").rglob("*.py") if "open_broker" in p.read_text()]
    assert {path.relative_to(ROOT / "server").as_posix() for path in users} == {
        "__main__.py",
        "query/__main__.py",
    }


@pytest.mark.parametrize("name", PURE_MODULES)
def test_a_module_of_the_browsers_that_should_not_know_the_page_does_not(name):
    code = re.sub(r"//[^\n]*", "", script(name).read_text())
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    assert not PAGE.search(code), PAGE.search(code)


def script(name):
    """Return the file of a module of Flatlands' page, which takes precedence over static/."""
    own = PAGE_FOLDER / f"{name}.js"
    return own if own.exists() else ROOT / f"static/{name}.js"


def scripts_imported(path):
    """Return the files that a module of the page imports."""
    names = re.findall(r"^(?:import|export)\b[^;]*? from '([^']+)';", path.read_text(), re.M)
    found = {(path.parent / name).resolve() for name in names}
    if PAGE_FOLDER in path.parents:
        found = {each if each.exists() else script(each.stem) for each in found}
    return found


def test_the_pages_modules_import_each_other_without_a_circle():
    paths = [*(ROOT / "static").rglob("*.js"), *PAGE_FOLDER.rglob("*.js")]
    floors = {path: scripts_imported(path) for path in paths}
    assert len(floors) > 40 and all(path.is_file() for found in floors.values() for path in found)
    assert not circle(floors)


@pytest.mark.parametrize("folder", ["view", "hud"])
def test_view_and_hud_know_only_pure_modules_and_their_own_folder(folder):
    pure = {script(name) for name in PURE_MODULES}
    paths = list((PAGE_FOLDER / folder).glob("*.js"))
    assert paths
    for path in paths:
        foreign = scripts_imported(path) - pure - set(paths)
        assert not foreign, f"{path.name} imports {sorted(each.name for each in foreign)}"


def test_nothing_is_loaded_from_another_host():
    for path in [*ROOT.glob("static/*.*"), *ROOT.glob("games/*/page/**/*.*")]:
        for url in re.findall(r"https?://[^\s'\"]+", path.read_text()):
            assert url.startswith("http://www.w3.org/"), f"{path.name}: {url}"
