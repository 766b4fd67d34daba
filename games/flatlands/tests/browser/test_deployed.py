"""Run as a host does: the Procfile by honcho, several workers on a Redis, behind nginx with TLS."""

import gzip
import os
import re
import ssl
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from flatlands.bot import Bot
from flatlands.loadtest.kit.processes import Program, children
from games.flatlands.tests.servers import serving
from tests.brokers.redis_servers import certify, free_port, running
from tests.browser.pages import eventually, use_tool, wait_for
from tests.nginx import nginx
from tests.processes import PATIENCE, ROOT

pytestmark = pytest.mark.outside


class Deployed:
    """The running programs, and the address at which they are reached."""

    def __init__(self, folder: Path, redis_port: int, ending: ExitStack) -> None:
        port = free_port()
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PORT": str(port),
            "REDIS_URL": f"redis://127.0.0.1:{redis_port}",
            "WEB_CONCURRENCY": "2",
            "SECRET_KEY": "s" * 32,
            "TRUSTED_PROXIES": "127.0.0.1",
            "WALKERS": "0",
            "DEER": "0",
        }
        # All of them write to the standard error.
        command = ["sh", "-c", "exec honcho start >&2"]
        self.honcho = ending.enter_context(Program(command, "honcho", environment=environment))
        self.nginx = ending.enter_context(nginx(folder, port))

    def get(self, path: str, **headers: str):
        """Return the answer to GET, over TLS with a certificate that is checked."""
        context = ssl.create_default_context(cafile=str(certify()[1]))
        request = urllib.request.Request(self.nginx.url + path, headers=headers)
        return urllib.request.urlopen(request, timeout=PATIENCE, context=context)

    def ready(self) -> bool:
        for process in (self.honcho.process, self.nginx.process):
            assert process.poll() is None, self.honcho.errors()
        try:
            with self.get("readyz") as answer:
                return answer.status == 200
        except urllib.error.HTTPError as refused:
            refused.close()
            return False
        except OSError:
            return False

    def terminate(self) -> None:
        """End the server as a host does: send SIGTERM to all of its processes at once."""
        for process, command in children(self.honcho.process).items():
            if {"server", "flatlands.server", "flatlands.brokers.zeromq"} & set(command):
                process.terminate()


@pytest.fixture
def deployed(tmp_path):
    with running() as redis, ExitStack() as ending:
        deployed = Deployed(tmp_path, redis.port, ending)
        eventually(deployed.ready, "the server behind nginx gets ready", PATIENCE)
        yield deployed


def invitation(page):
    page.keyboard.press("i")
    # At an address of this machine the link is shown and not copied.
    field = page.get_by_label("Invite link")
    field.wait_for()
    link = field.input_value()
    page.keyboard.press("Escape")
    return link


def test_the_procfile_behind_a_proxy_with_tls(deployed, play, monkeypatch):
    def enter(name, url):
        # At the end no server answers any more.
        return play(name, url=url, ignore_https_errors=True, cut_off=True)

    anna = enter("Anna", deployed.nginx.url)
    assert invitation(anna).startswith(f"{deployed.nginx.url}?near=")
    # The same world under a path of a larger site, by way of an invitation.
    ben = enter("Ben", f"{deployed.nginx.url}games/flat/")
    link = invitation(ben)
    assert link.startswith(f"{deployed.nginx.url}games/flat/?near=")
    carl = enter("Carl", link)
    for page in (anna, ben, carl):
        wait_for(page, "flatlands.state.names.size === 3")

    with pytest.raises(ssl.SSLCertVerificationError):
        Bot(deployed.nginx.url, "Dora")
    monkeypatch.setenv("SSL_CERT_FILE", str(certify()[1]))
    dora = Bot(deployed.nginx.url, "Dora")
    assert dora.wait(lambda: {"Anna", "Ben"} <= {one.name for one in dora.players.values()})
    dora.leave()

    with pytest.raises(urllib.error.HTTPError) as moved:
        # A real site's port is 443, unlike this one's, so only the redirect itself is checked.
        opener = urllib.request.build_opener(NoRedirect)
        opener.open(f"http://localhost:{deployed.nginx.plain}/?near=1", timeout=PATIENCE)
    assert moved.value.code == 308
    assert moved.value.headers["Location"] == "https://localhost/?near=1"
    moved.value.close()
    packed = deployed.get("style.css", **{"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.read()) == (ROOT / "games/flatlands/page/style.css").read_bytes()
    assert "default-src 'self'" in packed.headers["Content-Security-Policy"]

    deployed.terminate()
    assert deployed.honcho.wait(PATIENCE), deployed.honcho.errors()
    assert not re.search("Traceback|killing", deployed.honcho.errors())


def test_a_server_on_heroku_without_redis_says_what_it_forgets(tmp_path, play):
    store = f"sqlite:///{tmp_path}/flatlands.db"
    for more, forgets in (({}, False), ({"DYNO": "web.1"}, True)):
        with serving("--workers", "2", STORE_URL=store, **more) as server:
            page = play("Anna", url=server.url, cut_off=True)
            use_tool(page, "Help")
            page.get_by_role("dialog", name="Help").wait_for()
            assert page.get_by_text("This server restarts").is_visible() == forgets
            assert (
                server.errors().count("WARNING the next restart of this dyno deletes its files")
                == forgets
            )


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Does not follow a redirect."""

    def redirect_request(self, *_):
        return None
