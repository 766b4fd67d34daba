"""nginx as deploy/nginx.conf and docs/operations.md set it up: what it caches, whom it lets in."""

import http.client
import re
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from flatlands.server.runtime.limits import PER_ADDRESS, REQUESTS
from flatlands.server.web.admin import operator_pages
from flatlands.server.web.pages import PAGES, STATIC, laid_over, make_pages
from tests.brokers.redis_servers import certify
from tests.nginx import CONFIGURATION, nginx
from tests.processes import PATIENCE, ROOT

pytestmark = pytest.mark.outside

OPERATIONS = (ROOT / "docs/operations.md").read_text()

#: The modifier, the path or expression, and the content of each location that is served with TLS.
LOCATIONS = re.findall(
    r"^    location (?:(=|\^~|~) )?(\S+) {\n(.*?)^    }$",
    CONFIGURATION.partition("listen 443")[2],
    re.M | re.S,
)


def location_of(path):
    """Return the content of the location that nginx chooses for a path."""
    exact = [content for kind, name, content in LOCATIONS if kind == "=" and name == path]
    if exact:
        return exact[0]
    prefixes = [one for one in LOCATIONS if one[0] in ("", "^~") and path.startswith(one[1])]
    kind, _, content = max(prefixes, key=lambda one: len(one[1]))
    matching = [one[2] for one in LOCATIONS if one[0] == "~" and re.search(one[1], path)]
    return matching[0] if matching and kind != "^~" else content


def operators():
    """Return one path for each page that is not a file."""
    pages = make_pages(dict, operator_pages(None, None, None, None, None))
    rules = [rule.rule for rule in pages._application.url_map.iter_rules()]
    assert {"/healthz", "/stats"} < set(rules)
    return {re.sub("<.*>", "kick", rule) for rule in rules}


def test_nginx_gives_the_page_to_all_and_all_else_to_this_machine_and_keeps_only_named_versions():
    pages = [laid_over(STATIC, page) for page in (ROOT / "games").glob("*/page")]
    files = sorted({f"/{name}" for page in pages for name in page} - {"/index.html"})
    assert len(files) > 3
    versions = [f"/v/0123456789abcdef{name}" for name in files]
    health = {"/healthz", "/readyz"}
    for path in (*PAGES, *files, *versions, *health, "/favicon.ico", "/ws"):
        assert "deny" not in location_of(path), path
    for path in (*operators() - health, "/ask", "/tomorrow", "/live/x", "/lively"):
        assert location_of(path).split("proxy_pass")[0].endswith("deny all;\n        "), path
    keeping = [name for _, name, content in LOCATIONS if "proxy_cache " in content]
    assert keeping == ["/v/"]
    # The server says what may be kept, and for how long.
    assert "proxy_ignore_headers" not in CONFIGURATION
    assert "proxy_cache_valid" not in CONFIGURATION


class Upstream(BaseHTTPRequestHandler):
    """Says for whom an answer is, and that anybody may cache it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((self.path, self.headers["X-Forwarded-Proto"]))
        who = self.headers.get("Authorization", "a stranger").encode()
        self.send_response(200)
        self.send_header("Cache-Control", "public, max-age=60")
        self.send_header("Content-Length", str(len(who)))
        self.end_headers()
        self.wfile.write(who)

    def log_message(self, *_):
        pass


def get(front, path, host="127.0.0.1", **headers):
    """Return the status and the text of nginx's answer to a client on a loopback address."""
    connection = http.client.HTTPSConnection(
        "localhost",
        front.secure,
        timeout=PATIENCE,
        source_address=(host, 0),
        context=ssl.create_default_context(cafile=str(certify()[1])),
    )
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.mark.process
def test_nginx_gives_nobody_else_what_it_gave_an_operator(tmp_path):
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    upstream.asked = []
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    private = [*operators() - {"/healthz", "/readyz"}, "/ask?sql=1", "/tomorrow"]
    try:
        with nginx(tmp_path, upstream.server_port) as front:
            for path in (*private, "/", "/main.js", "/v/1/main.js"):
                assert get(front, path, Authorization="the operator") == (200, "the operator")
                assert get(front, path) == (200, "a stranger"), path
            for path in private:
                assert get(front, path, "127.0.0.2")[0] == 403, path
            assert get(front, "/ws")[0] == 200
            # Whoever watches the server from outside, and whoever issues its certificate.
            assert get(front, "/readyz", "127.0.0.2")[0] == 200
            for path, status in (("/.well-known/acme-challenge/x", 404), ("/x", 308)):
                plain = http.client.HTTPConnection("localhost", front.plain, timeout=PATIENCE)
                plain.request("GET", path)
                assert plain.getresponse().status == status
                plain.close()
            assert all(scheme == "https" for _, scheme in upstream.asked)
            asked = len(upstream.asked)
            # This answer is cached for strangers; an operator gets its own.
            assert get(front, "/v/1/main.js", "127.0.0.2") == (200, "a stranger")
            assert len(upstream.asked) == asked
            assert get(front, "/v/1/main.js", Authorization="x") == (200, "x")
    finally:
        upstream.shutdown()
        upstream.server_close()


def test_nginx_does_not_shut_out_a_server_that_has_just_restarted():
    blocks = re.findall(r"upstream flatlands {(.*?)}", CONFIGURATION + OPERATIONS, re.S)
    servers = [line for block in blocks for line in re.findall(r"server [\d.:]+[^;]*;", block)]
    assert len(blocks) == 2 and len(servers) >= 3
    assert all(line.endswith(" max_fails=0;") for line in servers), servers
    # A server that is drained answers 503.
    assert "proxy_next_upstream error timeout http_503;" in location_of("/ws")


def test_nginx_lets_a_school_in_for_which_the_limits_were_raised():
    advice = r"For a school of a thousand raise\s+`MAX_PER_ADDRESS` to (\d+)"
    most = int(re.search(advice, OPERATIONS)[1])
    times = most / PER_ADDRESS
    [connections] = re.findall(r"limit_conn \w+ (\d+);", CONFIGURATION)
    [rate] = re.findall(r"rate=(\d+)r/s", CONFIGURATION)
    [burst] = re.findall(r"burst=(\d+)", CONFIGURATION)
    assert int(connections) >= most
    assert int(rate) >= REQUESTS.rate * times and int(burst) >= REQUESTS.burst * times
