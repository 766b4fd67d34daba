"""`flatlands docs`: the docs as a site, which MkDocs makes of the Markdown, and as one text."""

import argparse
import os
import re
import shutil
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from flatlands.needs import packages
from flatlands.reference import DOCS, markdown

#: A link to a file, with an exclamation mark if it is a picture: the text, the path, and what
#: follows a #.
MARKDOWN_LINK = re.compile(r"(!?)\[([^]]*)\]\((?![a-z]+:)([^)#\s]*)#?([^)\s]*)\)")

DIGIT = re.compile(r"^(?=\d)")

#: What is added to each page: the colours of code in the light and in the dark, under the names by
#: which the theme chooses one of them. Wide tables are scrolled on small screens.
HEAD = """{% extends "base.html" %}
{% block styles %}
{{ super() }}
<link id="hljs-light" rel="stylesheet" href="{{ 'light.css'|url }}">
<link id="hljs-dark" rel="stylesheet" href="{{ 'dark.css'|url }}">
<style>@media (max-width: 768px) { table { display: block; overflow-x: auto; } }</style>
{% endblock %}
"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: object) -> None:
        pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Obey a command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="flatlands docs",
        description="Open the docs in a browser, with search, without a network. Ctrl-C ends it.",
    )
    parser.add_argument(
        "--text",
        action="store_true",
        help="print all names that games may use, and all guarantees, as one text",
    )
    parser.add_argument("--into", metavar="FOLDER", help="write the site into a folder instead")
    given = parser.parse_args(arguments)
    if given.text:
        print(markdown(), end="")
    elif given.into is not None:
        build(into := Path(given.into).resolve())
        print(f"The docs are at {into / 'index.html'}.")
    else:
        with TemporaryDirectory() as folder:
            build(Path(folder))
            show(folder)
    return 0


def show(folder: str) -> None:
    """Serve the site in a folder to this machine, and open it in a browser, until Ctrl-C."""
    # Over file:// browsers let no page search.
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        print(f"The docs are at {url} until you press Ctrl-C.", flush=True)
        Thread(target=_open, args=[url], daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def _open(url: str) -> None:
    """Open an address in a browser. One that has no window may run until it is left."""
    if not webbrowser.open(url):
        print(f"flatlands: no browser can be opened here: open {url} in one", file=sys.stderr)


def build(into: Path) -> None:
    """Write the site into a folder, which has an absolute path. Raises mkdocs.exceptions.Abort if a
    link leads nowhere."""
    with packages("docs"):
        import yaml
        from markdown.extensions.toc import slugify
        from mkdocs.commands import build as mkdocs
        from mkdocs.config import load_config
        from pygments.formatters import HtmlFormatter
    with TemporaryDirectory() as folder:
        source, config, theme = (Path(folder, name) for name in ("docs", "mkdocs.yml", "theme"))
        shutil.copy(DOCS / "site.yml", config)
        theme.mkdir()
        (theme / "main.html").write_text(HEAD)
        pages = [*_pages(yaml.safe_load(config.read_text())["nav"])]
        for page in pages:
            text = markdown() if page == "reference.md" else (DOCS / page).read_text()
            (source / page).parent.mkdir(parents=True, exist_ok=True)
            (source / page).write_text(_linked(page, text, pages, source))
        for name, style in (("light", "default"), ("dark", "github-dark")):
            colours = HtmlFormatter(style=style).get_style_defs(".codehilite")
            (source / f"{name}.css").write_text(colours)
        settings = load_config(str(config), docs_dir=str(source), site_dir=str(into))
        # The scripts of the theme fail on a page with a title whose name begins with a digit.
        settings.mdx_configs["toc"] = {"slugify": lambda *title: DIGIT.sub("s-", slugify(*title))}
        mkdocs.build(settings)


def _pages(nav: Any) -> Iterator[str]:
    """Yield the paths of all pages of a navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from _pages(each)


def _linked(page: str, text: str, pages: Sequence[str], source: Path) -> str:
    """Return the text of a page, with the names of files of the source instead of links to them.
    Copy its pictures."""

    def link(found: re.Match[str]) -> str:
        picture, text, path, anchor = found.groups()
        leads = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if picture:
            (source / leads).parent.mkdir(exist_ok=True)
            shutil.copy(DOCS / leads, source / leads)
        if picture or leads in pages:
            return f"{picture}[{text}]({path}{'#' * bool(anchor)}{DIGIT.sub('s-', anchor)})"
        name = os.path.normpath(os.path.join("docs", leads))
        return f"`{name}`" if text.strip("`") in (path, name, f"{name}/") else f"{text} (`{name}`)"

    return MARKDOWN_LINK.sub(link, text)


if __name__ == "__main__":
    sys.exit(main())
