"""What a server of `flatlands play` serves in place of a game that does not load: why."""

import json
from collections.abc import Iterable
from contextlib import suppress
from html import escape
from typing import Final
from wsgiref.types import StartResponse, WSGIEnvironment

from gevent.pywsgi import WSGIServer

from flatlands.server.runtime.port import listen

#: What an author reads below the reason.
_NEXT: Final = "The game is loaded again as soon as one of its files changes."

#: It asks each second, and is loaded again only once a server says something else: while none
#: answers, a browser would show a page of its own, and ask no more.
_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>The game does not load</title>
<pre role="alert" style="white-space: pre-wrap">WHY</pre>
<p>NEXT</p>
<script>
const shown = document.querySelector('pre').textContent;
setInterval(async () => {
  const answer = await fetch('/author').then((each) => each.json()).catch(() => null);
  if (answer === null || (answer.version === null && answer.faults[0][0] === shown)) return;
  location.reload();
}, 1000);
</script>
</html>
"""


def serve(why: str, host: str, port: int) -> None:
    """Serve the sentence that says why a game does not load, to new pages and to those that are
    open (static/author.js), until the process is ended. Raises OSError."""

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/author":
            status, kind = "200 OK", "application/json"
            text = json.dumps({"version": None, "faults": [(why, _NEXT)]})
        else:
            status, kind = "503 Service Unavailable", "text/html; charset=utf-8"
            text = _PAGE.replace("NEXT", _NEXT).replace("WHY", escape(why))
        start(status, [("Content-Type", kind), ("Cache-Control", "no-store")])
        return [text.encode()]

    # Without SERVER_NAME, pywsgi would look up its own name when it starts.
    names = {"SERVER_NAME": "localhost"}
    with suppress(KeyboardInterrupt):
        WSGIServer(listen(host, port), answer, log=None, environ=names).serve_forever()
