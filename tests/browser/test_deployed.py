"""As a host runs it: the Procfile by honcho, several workers on a Redis, behind nginx with TLS."""

import gzip
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from itertools import takewhile
from pathlib import Path

import psutil
import pytest

from loadtest.kit.processes import children
from tests.brokers.redis_servers import certify, eventually, free_port, running
from tests.browser.conftest import wait_for
from tests.processes import PATIENCE, ROOT, clean_environment


def in_words(beginning):
    """Return a block that docs/operations.md shows, from the line that begins so."""
    lines = (ROOT / "docs/operations.md").read_text().splitlines()
    [first] = [at for at, line in enumerate(lines) if line.startswith(f"    {beginning}")]
    return "\n".join(takewhile(lambda line: line.startswith("    "), lines[first:]))


def nginx_configuration(folder, upstream, plain, secure):
    """Return deploy/nginx.conf with the ports and paths of a test, in what a machine has around."""
    key, certificate = certify()
    text = (ROOT / "deploy/nginx.conf").read_text()
    for found, put in (
        ("server 127.0.0.1:8000;", f"server 127.0.0.1:{upstream};"),
        ("    listen [::]:80;\n", ""),
        ("    listen [::]:443 ssl http2;\n", ""),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl http2;", f"listen 127.0.0.1:{secure} ssl http2;"),
        ("flatlands.example.org;", "localhost;"),
        ("/etc/letsencrypt/live/flatlands.example.org/fullchain.pem", str(certificate)),
        ("/etc/letsencrypt/live/flatlands.example.org/privkey.pem", str(key)),
        ("/var/lib/nginx/flatlands", f"{folder}/cache"),
        ("    location = /ws {", f"{in_words('location /games/')}\n    location = /ws {{"),
    ):
        assert found in text, found
        text = text.replace(found, put)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"{'user root;' if os.getuid() == 0 else ''} daemon off; pid {folder}/pid;\n"
        f"events {{}} http {{ access_log off; {temporary}\n"
        f"{in_words('map $http_upgrade')}\n{text} }}"
    )


class Deployed:
    """The running programs, and where they are found."""

    def __init__(self, folder: Path, redis_port: int) -> None:
        self.plain, self.secure, port = free_port(), free_port(), free_port()
        self.url = f"https://localhost:{self.secure}/"
        self._output = tempfile.TemporaryFile("a+")
        environment = {
            **clean_environment(),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin",
            "PORT": str(port),
            "REDIS_URL": f"redis://127.0.0.1:{redis_port}",
            "WEB_CONCURRENCY": "2",
            "SECRET_KEY": "s" * 32,
            "TRUSTED_PROXIES": "127.0.0.1",
        }
        self.honcho = self._run(["honcho", "start"], environment)
        configuration = folder / "nginx.conf"
        configuration.write_text(nginx_configuration(folder, port, self.plain, self.secure))
        program = shutil.which("nginx", path=environment["PATH"])
        assert program, "this test needs nginx: run it with make test"
        self.nginx = self._run([program, "-c", configuration, "-e", "stderr"], environment)

    def _run(self, command, environment):
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=self._output, stderr=self._output
        )

    def output(self) -> str:
        """Return what all of them have written."""
        self._output.seek(0)
        return self._output.read()

    def get(self, path: str, **headers: str):
        """Return the answer to GET, over TLS with a certificate that is checked."""
        context = ssl.create_default_context(cafile=str(certify()[1]))
        request = urllib.request.Request(self.url + path, headers=headers)
        return urllib.request.urlopen(request, timeout=PATIENCE, context=context)

    def ready(self) -> bool:
        assert self.honcho.poll() is None and self.nginx.poll() is None, self.output()
        try:
            return self.get("readyz").status == 200
        except OSError:
            return False

    def terminate(self) -> None:
        """End the server as a host does: SIGTERM to all of its processes at once."""
        for process, command in children(psutil.Process(self.honcho.pid)).items():
            if {"server", "brokers.zeromq"} & set(command):
                process.terminate()

    def close(self) -> None:
        """End what still runs."""
        if self.honcho.poll() is None:
            self.honcho.terminate()
        self.nginx.terminate()
        for process in (self.honcho, self.nginx):
            process.wait(PATIENCE)
        self._output.close()


@pytest.fixture
def deployed(tmp_path):
    with running() as redis:
        deployed = Deployed(tmp_path, redis.port)
        try:
            eventually(deployed.ready, "the server behind nginx never got ready")
            yield deployed
        finally:
            deployed.close()


def invitation(page):
    page.keyboard.press("i")
    # At an address of this machine the link is shown and not copied.
    field = page.get_by_label("Invite link")
    field.wait_for()
    link = field.input_value()
    page.keyboard.press("Escape")
    return link


def test_the_procfile_behind_a_proxy_with_tls(deployed, play):
    def enter(name, url):
        return play(
            # At the end nobody answers any more.
            name, url=url, ignore_https_errors=True, cut_off=True,
        )  # fmt: skip

    anna = enter("Anna", deployed.url)
    assert invitation(anna).startswith(f"{deployed.url}?near=")
    # The same world under a path of a larger site, by way of an invitation.
    ben = enter("Ben", f"{deployed.url}games/flat/")
    link = invitation(ben)
    assert link.startswith(f"{deployed.url}games/flat/?near=")
    carl = enter("Carl", link)
    for page in (anna, ben, carl):
        wait_for(page, "flatlands.state.names.size === 3")

    with pytest.raises(urllib.error.HTTPError) as moved:
        # The port of a site is 443, and of this one it is not: only the answer is looked at.
        opener = urllib.request.build_opener(NoRedirect)
        opener.open(f"http://localhost:{deployed.plain}/?near=1", timeout=PATIENCE)
    assert moved.value.code == 308
    assert moved.value.headers["Location"] == "https://localhost/?near=1"
    packed = deployed.get("style.css", **{"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.read()) == (ROOT / "static/style.css").read_bytes()
    assert "default-src 'self'" in packed.headers["Content-Security-Policy"]

    deployed.terminate()
    deadline = time.monotonic() + PATIENCE
    while deployed.honcho.poll() is None:
        assert time.monotonic() < deadline, deployed.output()
        anna.wait_for_timeout(50)
    assert "Traceback" not in deployed.output()
    assert "is killed" not in deployed.output()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves it at the answer."""

    def redirect_request(self, *_):
        return None
