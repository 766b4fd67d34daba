"""The package: one name for all of it wherever it is installed, and no module with two names."""

import ast
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from zipfile import ZipFile

import pytest

import flatlands
from flatlands.loadtest.kit.processes import Program
from tests.processes import PATIENCE, ROOT, ServerProcess, python, serving
from tests.socket_client import SocketClient

#: The folders that are parts of the package.
PARTS = ("brokers", "docs", "games", "loadtest", "server", "static", "stores", "world")

#: Python runs this in each process whose path has it. It notes, at the end, what was loaded.
LOADED = """
import atexit, json, os, sys

def tell():
    files = [(name, getattr(module, "__file__", None)) for name, module in sys.modules.items()]
    with open(f"{os.environ['TOLD']}/{os.getpid()}.json", "w") as file:
        json.dump([(name, os.path.realpath(path)) for name, path in files if path], file)

atexit.register(tell)
"""


def test_each_part_is_a_folder_beside_the_package_and_has_a_link_in_it():
    links = {path.name: path for path in (ROOT / "flatlands").iterdir() if path.is_symlink()}
    assert set(links) == set(PARTS)
    assert {str(path.readlink()) for path in links.values()} == {f"../{name}" for name in PARTS}


@pytest.mark.parametrize("part", PARTS)
def test_an_init_that_a_command_may_load_under_another_name_has_only_a_docstring(part):
    # `python -m server` also loads the folder server/ itself, by its own name.
    paths = [path.relative_to(ROOT) for path in (ROOT / part).rglob("__init__.py")]
    for path in (ROOT / path for path in paths if "tests" not in path.parts):
        [docstring] = ast.parse(path.read_text()).body
        assert isinstance(docstring.value, ast.Constant), path


@pytest.mark.process
def test_importing_the_package_patches_opens_and_starts_nothing():
    code = "import sys; before = {*sys.modules}; import flatlands; print(*{*sys.modules} - before)"
    assert python("-c", code, check=True).stdout.split() == ["flatlands"]


@pytest.fixture
def watched(tmp_path):
    """The path of processes that note what they have loaded, and the folder with these notes."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(LOADED)
    (tmp_path / "told").mkdir()
    return tmp_path / "path", tmp_path / "told"


def told(folder):
    """Return what each process has loaded: a list of (name, file) for each."""
    return [json.loads(path.read_text()) for path in folder.iterdir()]


@pytest.mark.process
def test_no_process_of_a_server_loads_a_module_under_two_names(watched):
    path, folder = watched
    server = ServerProcess("--workers", "2", PYTHONPATH=str(path), TOLD=str(folder))
    server.stop()
    server.close()
    processes = told(folder)
    # The supervisor, a forwarder, and the workers.
    assert len(processes) == 4
    for loaded in processes:
        names = {}
        for name, file in loaded:
            part = file.removeprefix(f"{ROOT}/").partition("/")[0]
            if part in PARTS and not file.endswith("/__init__.py"):
                names.setdefault(file, []).append(name)
        assert names
        assert [some for some in names.values() if len(some) > 1] == []


@pytest.mark.process
def test_a_server_loads_no_module_of_a_game_but_the_one_it_plays(watched):
    path, folder = watched
    server = ServerProcess("--game", "quiet", PYTHONPATH=str(path), TOLD=str(folder))
    client = SocketClient(server.port).hello("Alone")
    client.close()
    server.stop()
    server.close()
    [loaded] = told(folder)
    played = {name for name, _ in loaded if name.startswith("flatlands.games.")}
    assert played == {"flatlands.games.quiet", "flatlands.games.quiet.game"}


def copy_source(to):
    """Copy the package, its parts, and the links to these."""
    for name in ("flatlands", *PARTS):
        unused = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / name, to / name, symlinks=True, ignore=unused)


@pytest.mark.process
@pytest.mark.parametrize("left", ["text files", "nothing"])
def test_a_copy_that_has_lost_its_links_serves(left, tmp_path, watched):
    path, folder = watched
    copy = tmp_path / "copy"
    copy_source(copy)
    for link in (copy / "flatlands" / name for name in PARTS):
        leads = str(link.readlink())
        link.unlink()
        if left == "text files":
            # So do git on Windows, and some archives.
            link.write_text(leads)
    with serving(
        *("--workers", "2"), module="server", folder=copy, PYTHONPATH=str(path), TOLD=str(folder)
    ) as server:
        SocketClient(server.port).hello("Copy").close()
        assert b"<title>" in server.get("")
    for loaded in told(folder):
        files = [file for name, file in loaded if name.partition(".")[0] == "flatlands"]
        assert files and all(file.startswith(str(copy)) for file in files)


PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this clone."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    copy_source(source)
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, source)
    built = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source]
    subprocess.run([*PIP, *built], check=True, timeout=PATIENCE)
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.mark.outside
@pytest.mark.process
@pytest.mark.parametrize("tool", ["uvx --from", "pipx run --spec"])
def test_a_game_is_made_and_played_without_installing_flatlands(tool, wheel, tmp_path):
    name, *options = tool.split()
    package = {"uvx": "uv", "pipx": "pipx"}[name]
    subprocess.run([*PIP, "install", "--target", tmp_path / "tool", package], check=True)
    command = [str(tmp_path / "tool" / "bin" / name), *options, str(wheel), "flatlands"]
    # Nothing of this clone's environment, and no folder of the person who runs the tests.
    bare = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin",
        "PYTHONPATH": str(tmp_path / "tool"),
        **{name: value for name, value in os.environ.items() if "CERT" in name},
    }

    def run(*arguments):
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env=bare,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        return done.stdout

    assert run("--version") == f"flatlands {flatlands.__version__}\n"
    run("new", "mygame")
    play = [*command, "play", "mygame", "--port", "0"]
    with Program(play, "play", folder=tmp_path, environment=bare) as program:
        url = program.ready(r"http://localhost:\d+", PATIENCE)[0]
        with urllib.request.urlopen(url, timeout=PATIENCE) as page:
            assert b"<title>mygame" in page.read()


@pytest.mark.outside
@pytest.mark.process
def test_the_wheel_serves_in_a_folder_that_has_modules_of_the_same_names(tmp_path, watched, wheel):
    path, folder = watched
    own = tmp_path / "own"
    subprocess.run([*PIP, "install", "--no-deps", "--target", path, wheel], check=True)
    assert (next(path.glob("*.dist-info")) / "top_level.txt").read_text().split() == ["flatlands"]
    for name in ("server.py", "brokers.py", "world/__init__.py", "tests/__init__.py"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text("raise SystemExit('this is not Flatlands')\n")
    server = ServerProcess(
        *("--workers", "2"),
        module="flatlands.server",
        folder=own,
        PYTHONPATH=str(path),
        TOLD=str(folder),
    )
    try:
        client = SocketClient(server.port).hello("Wheel")
        assert b"<title>" in server.get("")
        client.close()
        server.stop()
    finally:
        server.close()
    for loaded in told(folder):
        files = [file for name, file in loaded if name.partition(".")[0] == "flatlands"]
        assert files and all(file.startswith(str(path)) for file in files)
    for command in ("new", "types"):
        line = [sys.executable, "-m", "flatlands", command, "mygame"]
        subprocess.run(line, cwd=own, env={**os.environ, "PYTHONPATH": str(path)}, check=True)
    game = own / "mygame"
    for more in (["--text"], ["--into", "site"]):
        line = [sys.executable, "-m", "flatlands", "docs", *more]
        subprocess.run(line, cwd=own, env={**os.environ, "PYTHONPATH": str(path)}, check=True)
    assert (own / "site" / "reference.html").exists()
    assert "export function join(" in (game / "page" / "game.d.ts").read_text()
    # The template has tests of its own, which are copied.
    names = [name for name in ZipFile(wheel).namelist() if "/template/" not in name]
    assert "flatlands/loadtest/studies/study.py" in names
    assert [name for name in names if "/tests/" in name] == []
    with ZipFile(wheel) as one, ZipFile(game / "wheels" / wheel.name) as other:
        contents = [{name: zip.read(name) for name in zip.namelist()} for zip in (one, other)]
    records = [some.pop(f"{one.namelist()[-1]}").split() for some in contents]
    assert contents[0] == contents[1] and set(records[0]) == set(records[1])
    assert f"./wheels/{wheel.name}[fast]" in (game / "requirements.txt").read_text().splitlines()
    web = (game / "Procfile").read_text().split()
    assert web[:4] == ["web:", "python", "-m", "flatlands.server"]
    server = ServerProcess(*web[6:], module=web[3], folder=game, PYTHONPATH=str(path))
    try:
        assert json.loads(server.get("stats"))["game"] == "mygame"
    finally:
        server.close()
