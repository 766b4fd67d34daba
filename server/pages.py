"""The pages: the game's files, and what tells an operator how the server is. Plain Flask.

It knows the server only by the two functions it is given.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask, Response, jsonify, send_from_directory

STATIC = Path(__file__).resolve().parent.parent / "static"

#: Nothing is loaded from, and nothing sent to, any other host.
CONTENT_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


def make_pages(
    health: Callable[[], dict[str, Any]],
    readiness: Callable[[], list[str]],
    stats: Callable[[], dict[str, Any]],
) -> Flask:
    """Return the WSGI application for everything but /ws.

    `health` and `stats` return what /healthz and /stats show, as JSON; `readiness` why /readyz
    should say no.
    """
    app = Flask("flatlands", static_folder=str(STATIC), static_url_path="")
    # The browser asks each time whether a file has changed: a deploy never mixes two versions.
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = None

    @app.get("/")
    def index() -> Response:
        return send_from_directory(STATIC, "index.html")

    @app.get("/favicon.ico")
    def icon() -> Response:
        return send_from_directory(STATIC, "icon.svg")

    @app.get("/healthz")
    def healthz() -> Response:
        return jsonify(health())

    @app.get("/readyz")
    def readyz() -> tuple[Response, int]:
        reasons = readiness()
        return jsonify({"ready": not reasons, "reasons": reasons}), 503 if reasons else 200

    @app.get("/stats")
    def show_stats() -> Response:
        return jsonify(stats())

    @app.after_request
    def protect(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = CONTENT_POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    return app
