"""What stores do when what they need fails: the file, the disk, the server, a consumer."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from contextlib import closing
from pathlib import Path

import gevent
import pytest

from flatlands.stores import redis, sqlite
from flatlands.stores.base import NEVER_DUE_MS, Item, StoreError
from flatlands.stores.registry import open_store
from tests.brokers import redis_servers
from tests.brokers.servers import eventually
from tests.processes import PATIENCE, ROOT, python

#: How many jobs there are.
JOBS = 3000
#: The bound of their delays, in ms.
DELAY = 900


def item(id="a", body=b"body"):
    return Item(id, 0, "", body)


@pytest.fixture
def opening():
    stores = []

    def open_one(url):
        stores.append(open_store(url, "world"))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


def broken(call, *arguments):
    """Return the sentence with which a call fails, or None."""
    try:
        call(*arguments)
    except StoreError as error:
        return str(error)
    return None


def sentence(store):
    """Return the sentence with which a store refuses an item."""
    told = broken(store.put, "q", [item(uuid.uuid4().hex)])
    assert told and "\n" not in told
    return told


def test_a_file_that_is_locked_is_waited_for_and_then_given_up(tmp_path, opening, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY", 0.2)
    store = opening(f"sqlite:///{tmp_path}/store.db")
    store.put("q", [item()])
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert sentence(store) == f"another process has kept {tmp_path}/store.db locked for 0.2 s"
    other.execute("ROLLBACK")
    other.close()
    assert store.put("q", [item("b")]) == 1


def test_calls_that_waited_for_one_that_failed_fail_with_it(tmp_path, opening):
    store = opening(f"sqlite:///{tmp_path}/store.db")
    tries = []

    def failing():
        tries.append("put")
        raise StoreError("it is locked")

    def late():
        tries.append("count")
        return 0

    store._put = lambda *_: time.sleep(2) or failing()
    store._count = lambda *_: late()
    calls = [gevent.spawn(store.put, "q", [item()]), gevent.spawn(store.count, "q")]
    gevent.joinall(calls)
    assert [str(call.exception) for call in calls] == ["it is locked"] * 2 and tries == ["put"]
    # Calls that come later are tried.
    assert store.count("q") == 0


def test_a_store_that_is_closed_does_not_answer_those_who_wait(tmp_path, opening):
    store = opening(f"sqlite:///{tmp_path}/store.db")
    store.put("q", [item()])
    begun, counted = threading.Event(), []
    count = store._count

    def slowly(*names):
        begun.set()
        while not store._closed:
            time.sleep(0.01)
        counted.append(count(*names))
        return 1

    store._count = slowly
    calls = [gevent.spawn(store.count, "q") for _ in range(50)]
    while not begun.is_set():
        gevent.sleep(0.001)
    store.close()
    gevent.joinall(calls)
    assert len(counted) == 1
    assert [call.value for call in calls][0] == 1
    assert {str(call.exception) for call in calls[1:]} == {f"{store.url} was closed"}


def test_workers_may_open_a_new_file_at_the_same_time(tmp_path, opening):
    def put(store, number):
        """Put one item, again if a busy disk keeps the file locked for too long."""
        while True:
            try:
                return store.put("q", [item(str(number))])
            except StoreError as error:
                assert "locked" in str(error)

    for turn in range(30):
        stores = [opening(f"sqlite:///{tmp_path}/{turn}.db") for _ in range(8)]
        putting = [gevent.spawn(put, one, number) for number, one in enumerate(stores)]
        assert [each.get() for each in putting] == [1] * 8


def test_a_folder_that_is_missing_or_not_a_folder_is_reported(tmp_path, opening):
    (tmp_path / "file").write_text("")
    for folder in ("none", "file"):
        told = sentence(opening(f"sqlite:///{tmp_path}/{folder}/store.db"))
        assert told == (
            f"{tmp_path}/{folder}/store.db cannot be opened: check that {tmp_path}/{folder} exists"
            " and is writable"
        )
    told = sentence(opening(f"sqlite:///{tmp_path}"))
    assert told == f"{tmp_path} is a folder: name a file in it"


def test_only_its_owner_can_read_a_file_and_what_is_beside_it(tmp_path, opening):
    before = os.umask(0)
    try:
        store = opening(f"sqlite:///{tmp_path}/store.db")
        store.put("q", [Item("a", 0, "", b"")])
        store.backup(f"{tmp_path}/backup.db")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert {"store.db", "store.db-wal", "backup.db"} <= set(modes) and set(modes.values()) == {
        0o600
    }


def test_a_path_may_have_a_question_mark(tmp_path, opening):
    (tmp_path / "why?").mkdir()
    assert opening(f"sqlite:///{tmp_path}/why?/store.db").put("q", [item()]) == 1


def test_a_file_is_one_store_under_any_of_its_names(tmp_path, opening):
    (tmp_path / "store.db").touch()
    (tmp_path / "link.db").symlink_to("store.db")
    (tmp_path / "folder").mkdir()

    def identity(name):
        store = opening(f"sqlite:///{tmp_path}/{name}")
        store.open()
        return store.identity

    assert len({identity(name) for name in ("store.db", "link.db", "folder/../store.db")}) == 1
    assert identity("other.db") != identity("store.db")


@pytest.mark.process
def test_a_file_that_may_not_be_written_is_reported():
    folder = Path(tempfile.mkdtemp())
    try:
        store = open_store(f"sqlite:///{folder}/store.db", "world")
        store.put("q", [item()])
        store.close()
        for path in (*folder.iterdir(), folder):
            path.chmod(0o555 if path.is_dir() else 0o444)
        program = (
            "import os\n"
            "import flatlands.stores.sqlite\n"
            "from flatlands.stores.base import Item, StoreError\n"
            "from flatlands.stores.registry import open_store\n"
            # Permissions do not bind root.
            "if os.geteuid() == 0: os.setuid(65534)\n"
            f"store = open_store('sqlite:///{folder}/store.db', 'world')\n"
            "try: store.put('q', [Item('b', 0, '', b'')])\n"
            "except StoreError as error: print(error)\n"
        )
        told = python("-c", program)
        assert told.stdout == (
            f"{folder}/store.db or its folder is not writable: check their owner and permissions\n"
        ), told.stderr
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def pages(store, most):
    store._thread.apply(lambda: store._connection.execute(f"PRAGMA max_page_count = {most}"))


def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path, opening):
    store = opening(f"sqlite:///{tmp_path}/store.db")
    store.put("q", [item()])
    # The database may get no more pages, which to SQLite is a full disk.
    pages(store, 16)
    put = 1
    while (told := broken(store.put, "q", [item(f"{put}", os.urandom(8000))])) is None:
        put += 1
    assert told == f"the disk with {tmp_path}/store.db is full"
    pages(store, 2**30)
    assert store.count("q") == put
    assert len(store.claim("q", 100, 1000)) == put


def test_a_file_that_is_not_a_store_is_not_touched(tmp_path, opening):
    path = tmp_path / "notes.txt"
    path.write_text("not a database at all, but a text of some length\n" * 50)
    before = path.read_bytes()
    assert sentence(opening(f"sqlite:///{path}")) == (
        f"{path} is not a store of Flatlands: name another file"
    )
    assert path.read_bytes() == before
    with closing(sqlite3.connect(tmp_path / "other.db", isolation_level=None)) as other:
        other.execute("CREATE TABLE mine (a)")
    assert sentence(opening(f"sqlite:///{tmp_path}/other.db")) == (
        f"{tmp_path}/other.db is the database of another program: name another file"
    )


def test_a_file_that_was_damaged_is_a_store_again_once_it_was_put_right(tmp_path, opening):
    path = tmp_path / "store.db"
    store = opening(f"sqlite:///{path}")
    store.put("q", [item(f"{n:04}", bytes(8000)) for n in range(500)])
    store.close()
    whole = path.read_bytes()
    store = opening(f"sqlite:///{path}")
    assert store.take("q", "0000") == bytes(8000)
    path.write_bytes(bytes(len(whole)))
    told = [broken(store.count, "q"), broken(store.scan, "q", 1000)]
    assert None not in told, told
    path.write_bytes(whole)
    assert store.count("q") >= 499


@pytest.mark.parametrize("gone", [("",), ("", "-wal", "-shm"), ("-wal",)])
def test_a_file_that_was_deleted_starts_over_and_says_so_once_to_each(tmp_path, opening, gone):
    stores = [opening(f"sqlite:///{tmp_path}/store.db") for _ in range(2)]
    assert [store.put("q", [item(str(n))]) for n, store in enumerate(stores)] == [1, 1]
    before = stores[0].identity
    for end in gone:
        (tmp_path / f"store.db{end}").unlink()
    told = f"{tmp_path}/store.db was deleted or replaced while servers used it: "
    for store in stores:
        assert broken(store.count, "q").startswith(told)
    found = 2 if gone == ("-wal",) else 0
    assert [store.count("q") for store in stores] == [found, found]
    assert stores[0].put("q", [item("new")]) == 1 and stores[1].count("q") == found + 1
    assert stores[0].identity == stores[1].identity
    assert (stores[0].identity == before) == (gone == ("-wal",))


def test_items_that_wait_for_ever_do_so_even_if_the_clock_went_back(opening, tmp_path):
    store = opening(f"sqlite:///{tmp_path}/store.db")
    store.put("q", [item()._replace(delay=NEVER_DUE_MS)])
    now = store._now
    store._now = lambda: now() - 5000
    for found in (store.scan("q", 1), store.group("q", "")):
        assert [one.delay for one in found] == [NEVER_DUE_MS]


def test_a_backup_that_replaces_a_file_in_use_is_what_it_was(tmp_path, opening):
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    stores = [opening(f"sqlite:///{path}") for _ in range(2)]
    stores[0].put("q", [item("before")])
    stores[0].backup(str(copy))
    stores[1].put("q", [item(str(n)) for n in range(500)])
    before = stores[0].identity
    copy.rename(path)
    for store in stores:
        assert "was deleted or replaced" in broken(store.count, "q")
    # Nothing in the other file's log was mistaken for its own.
    assert [store.count("q") for store in stores] == [1, 1]
    assert stores[0].identity == stores[1].identity != before


def test_a_file_of_an_older_program_gets_what_is_new_and_both_can_use_it(tmp_path, opening):
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        older.executescript(f"{sqlite._TABLES} PRAGMA user_version = {sqlite.SCHEMA}")
        older.executemany(
            "INSERT INTO score VALUES ('world', 'apples', ?, ?)", [("a", 3), ("b", 1), ("c", 1)]
        )
        store = opening(f"sqlite:///{path}")
        assert store.rank("apples", "b") == (2, 3, 1)
        older.execute(
            "INSERT INTO score VALUES ('world', 'apples', 'b', 5)"
            " ON CONFLICT DO UPDATE SET n = n + excluded.n"
        )
        older.execute("DELETE FROM score WHERE id = 'c'")
        assert [store.rank("apples", id) for id in "abc"] == [(2, 2, 3), (1, 2, 6), None]


def test_a_file_of_another_version_is_refused(tmp_path, opening):
    opening(f"sqlite:///{tmp_path}/store.db").put("q", [item()])
    with closing(sqlite3.connect(tmp_path / "store.db")) as other:
        other.execute("PRAGMA user_version = 7")
    told = sentence(opening(f"sqlite:///{tmp_path}/store.db"))
    assert "has version 7 of the store's format" in told


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite:///", "sqlite:/// must be followed by the path of a file"),
        ("sqlite:///f.db?mode=ro", "sqlite:/// is followed by the path of a file, without options"),
        ("mysql://host", "no store is called 'mysql://host': a store's URL begins with one of "),
        ("nats://user:secret@host", "no store is called 'nats://host'"),
        ("redis://:secret@host:port", "'host:port' is not a host:port for redis://: name a server"),
        ("rediscluster://", "'' is not a host:port for rediscluster://: name a server"),
        ("redis://one,two", "redis:// takes only one host; for a cluster write rediscluster://"),
    ],
)
def test_a_url_that_names_no_store_is_refused_at_once(url, told):
    with pytest.raises(ValueError) as error:
        open_store(url, "world")
    assert str(error.value).startswith(told)


def test_a_store_that_was_closed_says_so(tmp_path):
    for url in (f"sqlite:///{tmp_path}/store.db", "memory://"):
        store = open_store(url, "world")
        store.put("q", [item()])
        store.close()
        store.close()
        assert sentence(store) == f"{url} was closed"


@pytest.mark.process
def test_a_redis_that_is_killed_or_stalled_is_reported_and_used_again(opening, monkeypatch):
    monkeypatch.setattr(redis, "ANSWER_SECONDS", 0.5)
    with redis_servers.running() as server:
        store = opening(server.url)
        eventually(lambda: works(store), "a store does not work")
        server.stall()
        began = time.monotonic()
        assert sentence(store).startswith(f"Redis at {server.url} does not answer as expected: ")
        assert time.monotonic() - began < PATIENCE
        server.resume()
        eventually(lambda: works(store), "a store does not come back after a stall")
        server.kill()
        assert sentence(store).startswith(f"Redis at {server.url} does not answer as expected: ")
        server.start()
        eventually(lambda: works(store), "a store does not come back after a restart")


def works(store):
    return broken(store.put, "q", [item(uuid.uuid4().hex)]) is None


def test_a_cluster_that_is_away_gets_one_sentence(opening):
    told = sentence(opening("rediscluster://127.0.0.1:1"))
    assert told.startswith("Redis at rediscluster://127.0.0.1:1 does not answer as expected: ")


@pytest.mark.process
def test_a_cluster_with_certificates_of_its_own_is_a_store_as_it_is_a_broker(opening):
    with redis_servers.running_cluster(tls=True) as cluster:
        assert "?ssl_cert_reqs=none" in cluster.url
        assert opening(cluster.url).put("q", [item()]) == 1


@pytest.mark.process
def test_a_redis_that_has_lost_a_part_says_so_until_all_of_it_is_gone(opening):
    with redis_servers.lent() as server:
        store = opening(server.url)
        keys = [f"{{world}}/queue/q/{part}" for part in ("due", "items", "groups")]
        for lost in keys:
            store.put("q", [Item("a", 0, "here", b"body")])
            server.ask("DEL", lost)
            for ask in (
                lambda: store.put("q", [item()]),
                lambda: store.claim("q", 1, 1),
                lambda: store.take("q", "a"),
                lambda: store.group("q", "here"),
            ):
                assert broken(ask) == (
                    f"Redis at {server.url} has lost some of a queue's keys: restore them, or"
                    " delete all keys that begin with {world}/queue/q/"
                )
            server.ask("DEL", *keys)
            assert store.count("q") == 0 and store.put("q", [item()]) == 1
            assert store.take("q", "a") == b"body"


@pytest.mark.process
def test_a_redis_that_was_emptied_or_replaced_starts_over_and_says_so_once_to_each(
    opening, monkeypatch
):
    monkeypatch.setattr(redis, "CHECK_EVERY_SECONDS", 0.0)
    with redis_servers.running() as server:
        stores = [opening(server.url) for _ in range(2)]
        for n, store in enumerate(stores):
            store.put("q", [item(str(n))])
        before = stores[0].identity
        for forget in (lambda: server.ask("FLUSHALL"), lambda: (server.kill(), server.start())):
            forget()
            eventually(lambda: server.answers(), "it does not come back")
            for store in stores:
                assert broken(store.count, "q") == (
                    f"Redis at {server.url} has lost the world 'world', or is a different Redis"
                    " now: servers continue with what it has, or start afresh"
                )
            assert [store.put("q", [item("a")]) for store in stores] == [1, 0]
            assert stores[0].identity == stores[1].identity != before
            before = stores[0].identity
        # The id is no queue and no board, and is not copied.
        assert stores[0].names() == (["q"], []) and len(stores[0].sizes()) == 3


@pytest.mark.process
def test_a_redis_that_became_a_replica_is_left_for_the_one_that_has_its_address(opening):
    with redis_servers.running_pair() as pair:
        url = pair.address.url
        replica = (
            f"Redis at {url} is a replica, which accepts no writes: use the address of the"
            " primary, or let this one lead to it"
        )
        store = opening(url.replace("://", f"://{redis_servers.LOGIN}@"))
        assert store.put("q", [item()]) == 1
        pair.fail_over()
        # The first call, which is refused, or the next look finds it; and then what only reads is
        # not answered either, since nobody knows how old it is.
        eventually(lambda: broken(store.count, "q") == replica, "nobody notices")
        assert sentence(store) == replica
        # So is one that was named from the start.
        assert broken(opening(url).open) == replica
        pair.address.leads_to = pair.primary
        assert store.count("q") == 1 and works(store)


@pytest.mark.process
def test_a_redis_that_starts_later_is_waited_for_and_one_that_refuses_is_not(opening, monkeypatch):
    with redis_servers.running() as server:
        server.kill()
        monkeypatch.setattr(redis, "OPEN_SECONDS", PATIENCE)
        begins = gevent.spawn(opening(server.url).open)
        gevent.sleep(0.5)
        server.start()
        begins.get(timeout=PATIENCE)
        monkeypatch.setattr(redis, "OPEN_SECONDS", 0.5)
        server.kill()
        assert "does not answer as expected" in broken(opening(server.url).open)
    monkeypatch.setattr(redis, "OPEN_SECONDS", 3600)
    with redis_servers.lent(tls=True, login=True) as server:
        told = broken(opening(server.url.partition("?")[0]).open)
        assert told.startswith("this machine does not trust the certificate of Red")
        assert "set BROKER_TLS to 'unverified'" in told
    with redis_servers.lent(login=True) as server:
        at = f"127.0.0.1:{server.port}"
        for login in ("", ":wrong@"):
            told = broken(opening(f"redis://{login}{at}").open)
            assert told == f"Redis at redis://{at} rejects the user or the password"


@pytest.mark.process
def test_a_user_that_may_not_use_info_has_a_store_and_is_warned_of_once(opening, monkeypatch):
    warnings = []
    monkeypatch.setattr(redis.log, "warning", lambda text, where: warnings.append(text % where))
    with redis_servers.running() as server:
        rights = "~* &* +@all -@admin -@dangerous on >secret"
        server.ask("ACL", "SETUSER", "walker", *rights.split(), check=True)
        for _ in range(2):
            store = opening(f"redis://walker:secret@127.0.0.1:{server.port}")
            store.put("q", [item()])
    [warning] = warnings
    assert "may not use INFO" in warning and "secret" not in warning


@pytest.mark.process
def test_a_redis_that_forgets_what_does_not_expire_or_is_full_is_reported(opening, monkeypatch):
    monkeypatch.setattr(redis, "CHECK_EVERY_SECONDS", 0.0)
    with redis_servers.running("--maxmemory", "3mb") as server:

        def set_policy(name):
            server.ask("CONFIG", "SET", "maxmemory-policy", name, check=True)

        forgets = (
            f"Redis at {server.url} evicts keys when its memory is full (allkeys-lru): set"
            " maxmemory-policy to noeviction, or use another store"
        )
        set_policy("allkeys-lru")
        assert sentence(opening(server.url)) == forgets
        set_policy("volatile-lru")
        store = opening(server.url)
        assert store.put("q", [item()]) == 1
        # The policy changes while the store is in use.
        set_policy("allkeys-lru")
        assert sentence(store) == forgets
        set_policy("noeviction")
        while (told := broken(store.put, "q", [item(uuid.uuid4().hex, bytes(16_000))])) is None:
            pass
        assert told == f"Redis at {server.url} is out of memory: raise its maxmemory"


@pytest.mark.process
@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_items_of_a_killed_process_are_done_by_others_and_no_others_twice(kind, tmp_path):
    with redis_servers.lent() as server:
        url = server.url if kind == "redis" else f"sqlite:///{tmp_path}/store.db"
        store = open_store(url, "world")
        for first in range(0, JOBS, 1000):
            jobs = [Item(f"{n:04}", n % DELAY, "", b"") for n in range(first, first + 1000)]
            assert store.put("jobs", jobs) == 1000
        consumers = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.stores.consumer", url, "world", stop],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                text=True,
            )
            for stop in ("5", "0", "0")
        ]
        try:
            # While it works: what it has printed by then is what it held.
            killed = [consumers[0].stdout.readline() for _ in range(55)]
            consumers[0].send_signal(signal.SIGKILL)
            # Not by communicate, which forgets what readline has read ahead.
            killed += consumers[0].stdout.readlines()
            lines = list(killed)
            for consumer in consumers[1:]:
                lines += consumer.communicate(timeout=2 * PATIENCE)[0].splitlines(keepends=True)
                assert consumer.returncode == 0
        finally:
            for consumer in consumers:
                consumer.kill()
                consumer.wait()
                consumer.stdout.close()
        assert store.count("jobs") == 0
        assert store.put("jobs", [Item("0000", 0, "", b"")]) == 1
        store.close()
    claimed, done, lost = (_items(word, lines) for word in ("claimed", "done", "lost"))
    assert len(claimed) == JOBS
    # The killed one may have just finished an item: done, but not yet said so.
    assert max(done.values()) == 1 and len(done) >= JOBS - 1
    held = _items("claimed", killed) - _items("done", killed)
    again = claimed - Counter(dict.fromkeys(claimed, 1))
    # Others have what it held; and on a busy machine, what was worked on for longer than a lease.
    assert again <= held + lost and 1 <= len(held) <= len(held & again) + 1


def _items(word, lines):
    """Return how many lines say this word of each item."""
    return Counter(line.split()[1] for line in lines if line.startswith(f"{word} "))
