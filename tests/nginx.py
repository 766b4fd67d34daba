"""nginx with deploy/nginx.conf and what docs/operations.md adds to it, on a test's ports."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

from flatlands.loadtest.kit.processes import find
from tests.brokers.redis_servers import certify, eventually, free_port
from tests.processes import ROOT

CONFIGURATION = (ROOT / "deploy/nginx.conf").read_text()


def in_words(beginning: str) -> str:
    """Return the block in docs/operations.md whose first line starts with `beginning`."""
    lines = (ROOT / "docs/operations.md").read_text().splitlines()
    [first] = [at for at, line in enumerate(lines) if line.startswith(f"    {beginning}")]
    return "\n".join(takewhile(lambda line: line.startswith("    "), lines[first:]))


class Nginx:
    """A running nginx: it redirects at the port `plain`, and serves with TLS at `secure`."""

    def __init__(self, process: subprocess.Popen[bytes], plain: int, secure: int) -> None:
        self.process, self.plain, self.secure = process, plain, secure
        self.url = f"https://localhost:{secure}/"


@contextmanager
def nginx(folder: Path, *servers: int, output: int | None = None) -> Iterator[Nginx]:
    """Run nginx in front of servers at these ports. It writes its errors to `output`."""
    plain, secure = free_port(), free_port()
    (folder / "nginx.conf").write_text(_configuration(folder, servers, plain, secure))
    command = [find("nginx", "nginx"), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    process = subprocess.Popen(command, stderr=output)
    try:
        eventually(lambda: _listens(plain), "nginx never listened")
        yield Nginx(process, plain, secure)
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _configuration(folder: Path, servers: tuple[int, ...], plain: int, secure: int) -> str:
    key, certificate = certify()
    text = CONFIGURATION
    line = "    server 127.0.0.1:8000 max_fails=0;\n"
    for found, put in (
        (line, "".join(line.replace("8000", str(port)) for port in servers)),
        ("    listen [::]:80;\n", ""),
        ("    listen [::]:443 ssl http2;\n", ""),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl http2;", f"listen 127.0.0.1:{secure} ssl http2;"),
        ("flatlands.example.org;", "localhost;"),
        ("/etc/letsencrypt/live/flatlands.example.org/fullchain.pem", str(certificate)),
        ("/etc/letsencrypt/live/flatlands.example.org/privkey.pem", str(key)),
        ("/var/lib/nginx/flatlands", f"{folder}/cache"),
        ("    location = /ws {", f"{in_words('location ^~ /games/')}\n    location = /ws {{"),
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
