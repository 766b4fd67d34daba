"""Copying a world from one store into another."""

import re
import subprocess
import sys
from contextlib import closing

import gevent
import pytest

from flatlands.loadtest.kit.processes import ROOT, clean_environment
from flatlands.stores.base import Item, Score, StoreError
from flatlands.stores.copy import content, copy
from flatlands.stores.registry import open_store
from tests.brokers.redis_servers import lent
from tests.processes import PATIENCE, python


@pytest.fixture
def redis():
    with lent() as server:
        yield server.url


def filled(url, world="flatlands"):
    """Return a store with 3,000 cairns, as many scores, and some items of other kinds."""
    store = open_store(url, world)
    for start in range(0, 3000, 1000):
        store.put(
            "cairn 2013-16",
            [
                Item(f"{n}:\u00fc", n * 1000, f"{n % 7}:1", n.to_bytes(3) + b"\0\xff")
                for n in range(start, start + 1000)
            ],
        )
    store.put("gem 2013-16", [Item("a", 0, "", b""), Item("b", 10**6, "1:2", b"x")])
    store.claim("gem 2013-16", 1, 60_000)
    for n in range(3000):
        store.add(Score("apples", f"owner {n}", n // 3))
    store.add(Score("more", "owner", -1))
    return store


def printed(source, target):
    """Return the arguments of the command in docs/query.md, with these two stores."""
    page = (ROOT / "docs" / "query.md").read_text()
    [line] = re.findall(r"^    python -m stores\.copy (.*)$", page, re.M)
    stores = {"sqlite:///flatlands.db": source, "redis://127.0.0.1:6379": target}
    return [stores[argument] for argument in line.split()]


def run(*arguments, **environment):
    env = clean_environment() | environment
    return python("-W", "error", "-m", "stores.copy", *arguments, env=env)


@pytest.mark.process
def test_a_world_goes_from_a_file_to_redis_and_back_without_a_difference(tmp_path, redis):
    first, second = (f"sqlite:///{tmp_path / name}" for name in ("first.db", "second.db"))
    store = filled(first)
    before = content(store)
    assert before[:4] == (2, 3002, 2, 3001)
    for source, target in ((first, redis), (redis, second)):
        ended = run(*printed(source, target))
        assert ended.returncode == 0, ended.stderr
        for same in (before.hash, "3002", "3001"):
            assert ended.stdout.count(same) == 2
    back = open_store(second, "flatlands")
    assert content(back) == before
    assert back.claim("gem 2013-16", 9, 1000) == []
    [late] = back.group("gem 2013-16", "1:2")
    assert 10**6 - PATIENCE * 1000 < late.delay <= 10**6
    assert back.top("apples", 2) == store.top("apples", 2)


def recipe(path, kept):
    """Return the shell commands of "Backup" in docs/operations.md, the one that makes a backup and
    the one that puts it back, with these two files."""
    page = (ROOT / "docs" / "operations.md").read_text()
    begin = page.index("**Backup.**")
    text = page[begin : page.index("\n**", begin)]
    lines = re.findall(r"^    (.*)$", text.replace("\\\n", ""), re.M)
    assert len(lines) == 2
    for name, file in {"backup.db": kept, "flatlands.db": path}.items():
        lines = [line.replace(name, str(file)) for line in lines]
    lines = [re.sub(r"\bnew\.db|\bbefore\b", rf"{path.parent}/\g<0>", line) for line in lines]
    return [line.replace("python", f"{sys.executable} -W error", 1) for line in lines]


def shell(line):
    told = {"capture_output": True, "text": True, "timeout": PATIENCE}
    return subprocess.run(line, shell=True, cwd=ROOT, env=clean_environment(), **told)


@pytest.mark.process
def test_the_lines_of_the_page_make_a_backup_and_put_it_back(tmp_path):
    path, kept = tmp_path / "store.db", tmp_path / "kept.db"
    make, put_back = recipe(path, kept)
    store = filled(f"sqlite:///{path}")
    other = filled(f"sqlite:///{path}", "another world")
    before = content(store)
    ended = shell(make)
    assert ended.returncode == 0 and ended.stdout.startswith(f"{kept} is complete, and has ")
    assert list(tmp_path.glob("kept.db*")) == [kept]
    store.put("q", [Item("later", 0, "", b"")])
    ended = shell(make)
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert ended.stderr.endswith(" already exists: nothing was copied\n")
    store.close()
    other.close()
    # Without a backup, the existing file stays.
    kept.rename(tmp_path / "elsewhere")
    assert shell(put_back).returncode == 1 and path.exists()
    (tmp_path / "elsewhere").rename(kept)
    assert shell(put_back).returncode == 0
    assert content(open_store(f"sqlite:///{path}", "flatlands")) == before
    assert content(open_store(f"sqlite:///{path}", "another world")) == before


@pytest.mark.process
def test_a_copy_that_cannot_be_made_gets_a_sentence(tmp_path, redis):
    file, other, none = (f"sqlite:///{tmp_path / name}" for name in ("a.db", "b.db", "none/c.db"))

    def refused(*arguments):
        ended = run(*arguments)
        assert ended.stderr.count("\n") == 1, ended.stderr
        return ended.returncode, ended.stderr

    for (source, target), code, why in (
        ((file, none), 1, f"{tmp_path}/a.db does not exist: nothing was copied"),
        ((redis, file), 2, "Redis makes its own backups"),
        (("memory://", file), 2, "'memory://' is neither"),
    ):
        status, told = refused("--backup", source, target)
        assert status == code and why in told and list(tmp_path.iterdir()) == []
    open_store(file, "w").put("q", [Item("a", 0, "", b"")])
    _, told = refused("--backup", file, none)
    assert told.endswith("/none/c.db cannot be made: No such file or directory\n")
    status, told = refused(file, "mysql://x")
    assert status == 2 and "no store is called 'mysql://x'" in told
    status, told = refused(none, other)
    assert status == 1 and "c.db does not exist" in told
    status, told = refused(file, other)
    assert status == 1 and "has no data of the world 'flatlands': nothing was copied" in told
    assert run(file, other, WORLD="w").returncode == 0
    (tmp_path / "b.db").unlink()
    # Nothing is mixed into a world that is there already.
    open_store(other, "w").add(Score("board", "Wren", 1))
    status, told = refused(file, other, "--world", "w")
    assert status == 1 and "already has data of the world 'w': nothing was copied" in told
    assert open_store(other, "w").names() == ([], ["board"])


def test_a_backup_shows_one_moment_even_while_others_write(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'a.db'}", "w")
    ids = [f"{n:04}" for n in range(1000)]
    store.put("one", [Item(id, 0, "", bytes(5000)) for id in ids])
    moved = []

    def move():
        for id in ids:
            store.take("one", id, [("other", Item(id, 0, "", bytes(5000)))])
            moved.append(id)

    writer, other = gevent.spawn(move), open_store(store.url, "w")
    while len(moved) < 10:
        gevent.sleep(0.001)
    before = len(moved)
    other.backup(str(tmp_path / "b.db"))
    after = len(moved)
    writer.get()
    copy = open_store(f"sqlite:///{tmp_path / 'b.db'}", "w")
    assert copy.count("one") + copy.count("other") == 1000
    assert before <= copy.count("other") <= after + 1
    for each in (store, other, copy):
        each.close()


def test_a_damaged_file_is_no_backup(tmp_path):
    path, kept = tmp_path / "a.db", tmp_path / "b.db"
    filled(f"sqlite:///{path}").close()
    with path.open("r+b") as file:
        file.seek(100_000)
        file.write(bytes(50_000))
    with (
        closing(open_store(f"sqlite:///{path}", "flatlands")) as store,
        pytest.raises(StoreError, match=r"nothing was copied to .*damaged"),
    ):
        store.backup(str(kept))
    assert not kept.exists()


@pytest.mark.process
def test_certificates_are_checked_as_the_servers_variable_says(tmp_path):
    with lent(tls=True, login=True) as server:
        url = server.url.partition("?")[0]
        filled(f"sqlite:///{tmp_path / 'a.db'}", "flatlands").close()
        ended = run(f"sqlite:///{tmp_path / 'a.db'}", url)
        assert ended.returncode == 1 and "set BROKER_TLS to 'unverified'" in ended.stderr
        ended = run(f"sqlite:///{tmp_path / 'a.db'}", url, BROKER_TLS="unverified")
        assert ended.returncode == 0, ended.stderr


def test_a_store_that_changed_meanwhile_has_another_content(tmp_path):
    one, other = (open_store(f"sqlite:///{tmp_path / name}", "w") for name in ("a.db", "b.db"))
    one.put("q", [Item("a", 5, "g", b"1")])
    one.add(Score("board", "Wren", 1))
    copy(one, other)
    assert content(one) == content(other)
    with pytest.raises(StoreError, match="already"):
        copy(one, other)
    for change in (
        lambda: one.add(Score("board", "Wren", 1)),
        lambda: other.put("q", [Item("b", 5, "g", b"1")]),
        lambda: one.take("q", "a", [("q", Item("a", 5, "g", b"2"))]),
    ):
        change()
        assert content(one) != content(other)
    for each in (one, other):
        each.close()
