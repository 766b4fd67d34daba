"""Copying a world from one store into another."""

import re
import subprocess
import sys

import pytest

from loadtest.kit.processes import ROOT, clean_environment
from stores import Item, Score, StoreError, open_store
from stores.copy import content, copy
from tests.brokers.redis_servers import Redis
from tests.brokers.servers import run_url
from tests.processes import PATIENCE


@pytest.fixture(scope="module")
def redis():
    with run_url(Redis) as url:
        yield url


def filled(url, world="flatlands"):
    """Return a store with 3,000 cairns, as many scores, and some of other kinds."""
    store = open_store(url, world)
    for start in range(0, 3000, 1000):
        store.put("cairn 2013-16", [
            Item(f"{n}:\u00fc", n * 1000, f"{n % 7}:1", n.to_bytes(3) + b"\0\xff")
            for n in range(start, start + 1000)
        ])  # fmt: skip
    store.put("gem 2013-16", [Item("a", 0, "", b""), Item("b", 10**6, "1:2", b"x")])
    store.claim("gem 2013-16", 1, 60_000)
    for n in range(3000):
        store.add(Score("gems", f"owner {n}", n // 3))
    store.add(Score("more", "owner", -1))
    return store


def printed(source, target):
    """Return the arguments of the line of docs/query.md, with these two stores."""
    page = (ROOT / "docs" / "query.md").read_text()
    [line] = re.findall(r"^    python -m stores\.copy (.*)$", page, re.M)
    stores = {"sqlite:///flatlands.db": source, "redis://127.0.0.1:6379": target}
    return [stores[argument] for argument in line.split()]


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "stores.copy", *arguments], cwd=ROOT,
        env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip


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
    assert back.top("gems", 2) == store.top("gems", 2)


@pytest.mark.process
def test_what_is_there_already_is_not_mixed_with_what_comes(tmp_path, redis):
    first, second = (f"sqlite:///{tmp_path / name}" for name in ("first.db", "second.db"))
    open_store(first, "w").put("q", [Item("a", 0, "", b"")])
    open_store(second, "w").add(Score("board", "Wren", 1))
    ended = run(first, second, "--world", "w")
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert "second.db keeps something of the world 'w' already: nothing was copied" in ended.stderr
    assert open_store(second, "w").names() == ([], ["board"])
    ended = run(first, "mysql://x")
    assert ended.returncode == 2 and "no store is called 'mysql://x'" in ended.stderr


def test_a_store_that_changed_meanwhile_is_another_content(tmp_path):
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
