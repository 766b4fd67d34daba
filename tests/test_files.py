"""The files from which others build and start the project, and what these find on a machine."""

import http.client
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from importlib import metadata

import pytest
from packaging.requirements import Requirement

import flatlands
from flatlands.loadtest.kit.processes import PASSED_ON
from flatlands.server import settings
from flatlands.server.game.loader import DEFAULT, shipped
from tests.brokers.redis_servers import free_port
from tests.inside import inside
from tests.processes import PATIENCE, ROOT, clean_environment, python, serving
from tests.socket_client import SocketClient

#: The variables that servers read, whatever they play.
VARIABLES = {name for game in shipped() for name in settings.variables(game)}


def name_of(text):
    return re.sub("[-_.]+", "-", text).lower()


def pins(name):
    """Return the exact versions in a requirements file; every line must have one."""
    lines = (line.strip() for line in (ROOT / name).read_text().splitlines())
    found = [Requirement(line) for line in lines if line and line[0] not in "#-"]
    assert all(str(each.specifier).startswith("==") for each in found), name
    return {name_of(each.name): (str(each.specifier), each.extras) for each in found}


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements-loadtest.txt", "requirements-dev.txt"]
)
def test_the_lock_has_every_package_that_is_asked_for_and_what_it_needs(name):
    lock, asked = pins("requirements.lock"), pins(name)
    assert asked
    for package, (version, _) in asked.items():
        assert lock.get(package, ("nothing",))[0] == version, f"{package}: run make lock"
    waiting = [(package, extras) for package, (_, extras) in asked.items()]
    seen = set()
    while waiting:
        package, extras = waiting.pop()
        assert package in lock, f"{package} is not in requirements.lock: run make lock"
        for text in metadata.requires(package) or []:
            needed = Requirement(text)
            wanted = needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in {"", *extras}
            )
            key = name_of(needed.name), frozenset(needed.extras)
            if wanted and key not in seen:
                seen.add(key)
                waiting.append(key)


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("-m server", "play"),
        ("-m brokers.zeromq", "play"),
        ("loadtest/bots.py", "swarm"),
        ("loadtest/two_queues.py", "swarm"),
        ("loadtest/work_queues.py", "swarm"),
        ("-m loadtest.chaos", "swarm"),
        ("-m loadtest.studies growth", "swarm"),
        ("-m bench", "swarm"),
        ("-m bench.server", "swarm"),
        ("-m tests.simulate", "test"),
        ("-m tests.fuzz", "test"),
        ("-m tests.loadtest.truth", "test"),
    ],
)
def test_a_command_without_its_packages_says_in_a_sentence_what_to_do(command, target):
    # Without -S, Python would find the packages.
    ended = python("-S", *command.split(), env=clean_environment())
    assert ended.returncode == 1
    assert re.fullmatch(
        rf"flatlands: the package \w+ is not installed for .*: run make {target} once, "
        r".*\.venv/bin/activate.*\n",
        ended.stderr,
    ), ended.stderr


@pytest.mark.process
def test_the_files_that_the_dockerfile_copies_are_enough_to_serve(tmp_path):
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    steps = [line.partition(" ")[::2] for line in lines if line and line[0] != "#"]
    for instruction, rest in steps:
        if instruction == "COPY" and not rest.startswith("--from="):
            *sources, goal = rest.split()
            for source in sources:
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, tmp_path / goal, symlinks=True)
                else:
                    shutil.copy(ROOT / source, tmp_path / goal)
                # What is sent to the build at all.
                assert f"!{source}" in (ROOT / ".dockerignore").read_text().splitlines()
    [command], [check] = (
        [rest for instruction, rest in steps if instruction == wanted]
        for wanted in ("CMD", "HEALTHCHECK")
    )
    # No commit was named with --build-arg.
    named = [rest.replace("$COMMIT", "") for instruction, rest in steps if instruction == "ENV"]
    environment = {
        **clean_environment(),
        **dict(word.split("=") for word in shlex.split(" ".join(named))),
        "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
        "HOST": "127.0.0.1",
        "PORT": str(free_port()),
    }
    environment.pop("PYTHONPATH", None)
    server = subprocess.Popen(
        json.loads(command), cwd=tmp_path, env=environment, stdout=subprocess.PIPE
    )
    try:
        assert environment["PORT"].encode() in server.stdout.readline()
        checked = json.loads(check.partition("CMD ")[2])
        assert subprocess.run(checked, env=environment, timeout=PATIENCE).returncode == 0
        client = SocketClient(int(environment["PORT"])).hello("Boxed")
        with urllib.request.urlopen(f"http://localhost:{environment['PORT']}/") as page:
            assert b"<title>" in page.read()

        def company():
            with urllib.request.urlopen(f"http://localhost:{environment['PORT']}/stats") as stats:
                return json.load(stats)["computer_players"]

        # Who comes first is not alone for long.
        client.until(lambda: company() == 28)
        client.close()
        server.terminate()
        assert server.wait(PATIENCE) == 0
        checked = subprocess.run(checked, env=environment, timeout=PATIENCE, capture_output=True)
        assert checked.returncode == 1
    finally:
        server.kill()
        server.wait(PATIENCE)
        server.stdout.close()


@pytest.mark.process
def test_the_unit_serves_behind_its_proxy_with_the_variables_that_the_docs_give_it():
    text = (ROOT / "docs/operations.md").read_text()
    block = re.search(r"<<END\n(.*?)\n    END\n", text, re.S)[1]
    variables = dict(line.strip().split("=", 1) for line in block.splitlines())
    made = {name for name, value in variables.items() if value == "$(openssl rand -hex 32)"}
    assert made == {"SECRET_KEY", "ADMIN_TOKEN"}
    variables |= dict.fromkeys(made, "0123456789abcdef" * 4)
    unit = (ROOT / "deploy/flatlands.service").read_text()
    assert "EnvironmentFile=/etc/flatlands.env\n" in unit
    assert "ExecStart=/opt/flatlands/.venv/bin/python -m server\n" in unit
    with serving(**variables) as server:
        for host, status in ((variables["ALLOWED_HOSTS"], 200), ("elsewhere.example", 403)):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, PATIENCE)
            connection.request("GET", "/", headers={"Host": host, "X-Forwarded-For": "192.0.2.1"})
            assert connection.getresponse().status == status
            connection.close()


def test_the_store_outlasts_a_container_and_a_dyno():
    dockerfile, page = (ROOT / "Dockerfile").read_text(), ROOT / "docs/operations.md"
    [volume] = re.findall(r"^VOLUME (\S+)$", dockerfile, re.M)
    runs = re.findall(r"docker run (?:.*\\\n)*.*", dockerfile + page.read_text())
    assert len(runs) == 2
    for run in runs:
        assert " --name flatlands " in run and f" -v flatlands:{volume} " in run
    services = re.findall(r"^volumes:\n((?:  .*\n)+)", (ROOT / "compose.yaml").read_text(), re.M)
    assert services == ["  redis:\n"]
    addons = json.loads((ROOT / "app.json").read_text())["addons"]
    assert [name.partition(":")[0] for name in addons] == ["heroku-redis"]


@pytest.mark.parametrize("name", ["compose.yaml", "app.json", "docs/operations.md"])
def test_variables_that_a_deployment_sets_are_known_to_the_server(name):
    named = set(re.findall(r"^ *\"?([A-Z][A-Z_]{3,})\"?[:=]", (ROOT / name).read_text(), re.M))
    assert named and named <= VARIABLES, named - VARIABLES


def test_a_server_that_is_started_here_has_no_options_but_those_it_is_given():
    assert not set(PASSED_ON) & {*VARIABLES, settings.HEROKU}


@pytest.mark.process
def test_all_programs_that_the_tests_lack_are_named_at_once(tmp_path):
    # A machine with next to no programs, where nothing can be installed.
    for program in ("grep", "id"):
        (tmp_path / program).symlink_to(shutil.which(program))
    for program, version in (
        ("go", "go version go1.18 linux/amd64"),
        ("cargo", "cargo 1.62.1"),
        ("g++", "9"),
    ):
        (tmp_path / program).write_text(f"#!/bin/sh\necho {version}\n")
        (tmp_path / program).chmod(0o755)
    bare = {"PATH": str(tmp_path)}
    for more in ([], ["studies"]):
        command = [shutil.which("sh"), "tests/need.sh", *more]
        ended = subprocess.run(command, cwd=ROOT, env=bare, capture_output=True, text=True)
        assert ended.returncode == 1 and ended.stdout == ""
        for named in ("Chromium", "redis-server", "openssl"):
            assert named in ended.stderr
        # Only studies have programs in these languages, and these versions are too old.
        for language in ("Go", "Rust", "GCC"):
            assert (f"{language}, version" in ended.stderr) == bool(more)
        assert "make check" in ended.stderr


def first_sentences():
    """Return the path of each module from the root, and the first sentence of what it says of
    itself; those called __init__.py are left out, since they are about a folder."""
    folders = "world brokers stores server games static flatlands loadtest bench".split()
    found = {}
    for path in sorted(each for folder in folders for each in (ROOT / folder).rglob("*.[jp][sy]")):
        if not {"servers", "node_modules", "tests", "__init__.py"} & {*path.parts}:
            said = re.match(r'(?:"""|// )(.+?)(?:\.\s|\n\n|\.?""")', path.read_text(), re.S)
            found[path.relative_to(ROOT).as_posix()] = said and re.sub(r"\s+(// )?", " ", said[1])
    return found


def test_each_module_begins_with_a_sentence_that_says_what_it_is_for():
    modules = first_sentences()
    assert len(modules) > 250
    assert not [path for path, said in modules.items() if not re.match(r"[`A-Z].{14,}", said or "")]
    assert modules["world/events.py"].startswith("The events of a square,")


def test_the_package_the_changelog_and_stats_have_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "flatlands.__version__"
    newest = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert newest == flatlands.__version__
    with inside(GAME="quiet") as server:
        assert json.loads(server.get("stats"))["version"] == newest


def is_there(path):
    """Return whether there is a file that a page names; the folder of Flatlands may be left out."""
    game = ROOT / "games" / DEFAULT
    return path.exists() or (not game.exists() and game in path.resolve().parents)


def test_each_file_where_something_is_decided_has_the_names_that_the_page_gives():
    text = (ROOT / "ARCHITECTURE.md").read_text().split("## Where is it decided?\n")[1]
    rows = re.findall(r"^\| .*\? \| (.*) \|$", text.split("\n## ")[0], re.M)
    assert len(rows) > 30
    for row in rows:
        for names, path in re.findall(r"((?:`[A-Z]\w+`(?:, )?)+) in `([\w/]+\.\w+)`", row):
            there = "/" in path and (ROOT / path).exists()
            content = (ROOT / path).read_text() if there else None
            for name in re.findall(r"`(\w+)`", names):
                assert content is None or re.search(rf"\b{name}\b", content), (name, path)
        for path in re.findall(r"`(\w+/[\w/]+\.\w+)`", row):
            assert is_there(ROOT / path), path


def test_the_tests_of_the_engine_need_nothing_of_flatlands():
    """What they play is tests/bare.py: without the folder of Flatlands they pass as well."""
    for path in (ROOT / "tests").rglob("*.py"):
        assert not re.search(r"\bgames\.flatlands\b", path.read_text()), path


def test_nothing_is_loaded_from_another_host():
    files = [*ROOT.glob("static/*.*"), *ROOT.glob("games/**/page/**/*.*")]
    for path in (path for path in files if path.suffix not in (".jpg", ".png")):
        for url in re.findall(r"https?://[^\s'\"]+", path.read_text()):
            assert url.startswith("http://www.w3.org/"), f"{path.name}: {url}"


def pages():
    """Return all pages of the docs."""
    folders = "docs", "examples", "games"
    return [
        *ROOT.glob("*.md"),
        *(page for name in folders for page in ROOT.glob(f"{name}/**/*.md")),
    ]


#: Programs without options.
PLAIN = re.compile(
    r"flatlands\.compiled|examples\.|\.snake\.bot|\.connections\.report|pip|pydoc|pytest|venv"
)


def commands():
    """Return the programs that pages name, each with the options that they name with it."""
    found = {}
    for page in pages():
        text = page.read_text().replace("\\\n", "") if page.name != "CHANGELOG.md" else ""
        for program, options in re.findall(
            r"python3? ((?:-m loadtest\.studies [a-z]+|-m [\w.]*\w"
            r"|loadtest/\w+\.py(?: (?:compare|join))?))\b([^`|#;&\n]*)",
            text,
        ):
            if not PLAIN.search(program):
                found.setdefault(program, set()).update(re.findall(r"(?<= )--[a-z-]+", options))
    return found


def test_pages_name_commands():
    found = commands()
    assert len(found) > 15 and "--compare" in found["loadtest/bots.py"]


@pytest.mark.process
@pytest.mark.parametrize(("program", "options"), commands().items(), ids=commands())
def test_a_command_that_a_page_names_begins_and_has_the_options_named_there(program, options):
    ended = python(*program.split(), "--help")
    assert ended.returncode == 0, ended.stderr
    assert options <= set(re.findall(r"--[a-z-]+", ended.stdout))


def test_only_the_two_programs_of_the_server_open_a_broker_and_a_store():
    for name in ("open_broker", "open_store"):
        files = (ROOT / "server").rglob("*.py")
        users = {str(file.relative_to(ROOT)) for file in files if name in file.read_text()}
        assert users == {"server/__main__.py", "server/query/__main__.py"}


def test_all_links_between_pages_lead_somewhere():
    assert len(pages()) > 40
    for page in pages():
        links = re.findall(r"\]\((?!https?:)([^)#\s]+)[^)]*\)", page.read_text())
        assert [link for link in links if not is_there(page.parent / link)] == [], page
