"""The pages: the game's files, served from memory, and /healthz.

The files are read once, at the start. A request for one costs the players next to nothing, and the
files on disk may change without harm. The other pages are plain Flask.
"""

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Callable, Collection, Iterable
from html import escape, unescape
from pathlib import Path
from posixpath import normpath
from urllib.parse import parse_qsl
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Blueprint, Flask, Response, jsonify

from flatlands.server.game.chunks import Chunks, PieceFailed
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT, clean
from flatlands.server.net.hosts import origin_of
from flatlands.server.web.joined import join_modules

STATIC = Path(__file__).resolve().parent.parent.parent / "static"

#: The paths of the page: the game, and the map of everybody for a wall. It is one document, which
#: looks at its own address.
PAGES = ("/", "/live")

#: Where the server puts its base into the document.
BASE_MARK = b"<!-- base -->"

#: The marks before and after the files that the server joins, in the document.
JOINED_MARK = b"<!-- joined -->"

#: The document's text in place of these files once they are joined.
LINKS = b"""<link rel="stylesheet" href="joined.css">
  <script type="module" src="joined.js"></script>"""

#: Where the server puts what messengers show of a link, in the document.
PREVIEW_MARK = b"<!-- preview -->"

#: What messengers show of a link: a title, a description, and a picture. They want to know where it
#: is on the internet, so it has the address under which the page was asked for.
PREVIEW = """<meta property="og:type" content="website">
  <meta property="og:title" content="{title}">
  <meta property="og:description" content="{about}">
  <meta property="og:image" content="{origin}{prefix}/{base}/{picture}">
  <meta name="twitter:card" content="summary_large_image">"""

#: The picture's names in the page's folder.
PICTURES = ("preview.jpg", "preview.png")

#: How many documents with different previews are kept.
PREVIEWS_KEPT = 64

#: Tells the page when the server loses its store.
FORGETS = '\n  <meta name="forgets" content="{}">'

#: The ends of the names of files that are for editors only.
NOT_SERVED = ("~", ".orig", ".rej", ".d.ts", "jsconfig.json")

#: The document's part that shows a game's faults to its author.
AUTHOR = '\n  <script src="author.js"></script>'

#: The page may load nothing from another host, and send nothing there, except that it may connect
#: to other machines of this world.
CONTENT_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'none'"

#: The headers of every answer.
PROTECTION = (
    ("Content-Security-Policy", CONTENT_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
)

#: The caching of files that may change.
CACHE_ASK_AGAIN = "no-cache"

#: The caching of files whose paths name their version.
CACHE_FOR_EVER = "public, max-age=31536000, immutable"

#: A host, and perhaps a port, as previews have it.
_HOST = re.compile(r"[A-Za-z0-9.-]+(:\d{1,5})?")

#: The path of a piece of the ground: its stamp, column and row, as far as there are squares.
_PIECE = re.compile(r"/v/([0-9a-z]+)/ground/(-?\d{1,8})/(-?\d{1,8})")

#: Returns the addresses of the machines of this world, to which a page may connect.
Machines = Callable[[], Collection[str]]


def laid_over(*folders: Path) -> dict[str, Path]:
    """Return the files of some folders by their paths there; those of later folders replace those
    of earlier ones with the same paths. Everybody may read them, so what lies there by accident is
    left out: hidden files and folders, copies that editors keep, and links out of the folder. So is
    what only editors read: no page changes by that."""
    return {
        path.relative_to(folder).as_posix(): path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _is_public(path, folder)
    }


def _is_public(path: Path, folder: Path) -> bool:
    names = path.relative_to(folder).parts
    if any(name.startswith((".", "#")) or name.endswith(NOT_SERVED) for name in names):
        return False
    return path.resolve().is_relative_to(folder.resolve())


def parts_beside(page: Path) -> dict[str, Path]:
    """Return the folders with the page's modules of a game's parts, by the names of the parts: a
    part is a folder beside that of the page, and has page/index.js. A game that is no folder has
    none: other games may be beside it."""
    if not (page.parent / "game.py").is_file():
        return {}
    found = sorted(page.parent.glob("*/page/index.js"))
    return {index.parent.parent.name: index.parent for index in found}


def _contents(folder: Path, page: Path | None) -> dict[str, bytes]:
    """Return all files by their paths, such as /index.html: those of a folder, those of a game's
    page laid over them, and those of its parts, with the names of the parts before theirs; and two
    that are made of the parts: /parts.js has their modules, and /parts.css all their style sheets.
    """
    folders = [folder] if page is None else [folder, page]
    contents = {f"/{name}": path.read_bytes() for name, path in laid_over(*folders).items()}
    parts = {} if page is None else parts_beside(page)
    contents |= {
        f"/{part}/{name}": path.read_bytes()
        for part, beside in parts.items()
        for name, path in laid_over(beside).items()
    }
    if parts:
        # A name may be a word of JavaScript's own.
        imports = [f"import * as part{n} from './{one}/index.js';\n" for n, one in enumerate(parts)]
        named = ", ".join(f"'{one}': part{n}" for n, one in enumerate(parts))
        script = "".join([*imports, f"export const PARTS = {{ {named} }};\n"])
        contents["/parts.js"] = script.encode()
    contents["/parts.css"] = b"".join(
        content
        for name, content in contents.items()
        if name.endswith(".css") and name.split("/")[1] in parts
    )
    return contents


def _named(joined: str, contents: Collection[str]) -> tuple[str, list[str]]:
    """Return the module and the style sheets that a page names between its marks. Raises
    ValueError, with a sentence for its author, if they are not among its `contents`."""
    modules = re.findall(r'<script type="module" src="([^"]+\.js)">', joined)
    if len(modules) != 1:
        raise ValueError(
            "between its two marks index.html must have the line "
            '<script type="module" src="main.js"></script>'
        )
    main, *sheets = map(normpath, [*modules, *re.findall(r'href="([^"]+\.css)"', joined)])
    if missing := [name for name in sheets if f"/{name}" not in contents]:
        raise ValueError(f"index.html refers to {missing[0]}, but the page has no such file")
    return main, sheets


class StaticFiles:
    """A WSGI application that serves the files of a folder; another one gets all other requests.

    All files together have a version, a hash of their contents. They are served below /v/VERSION/,
    where browsers may keep them for ever, and the page says that its files are to be loaded from
    there. So a page never consists of two versions, whichever server answers. Each file is also
    served by its plain name; browsers ask again for it each time.

    The page's modules and style sheets are joined to one file each. With `?debug` in its address it
    loads them one by one. `forgets` says when what lasts of the game is lost: at each "restart",
    which is once a day at least, "always", since there is no store, or never (""). The files of a
    game's `page` replace those with the same names, and each part of the game that has a page of
    its own is served below its name: see docs/games/page.md. Pieces of the `ground` are served
    below /v/STAMP/ground/. With `author` the page shows what /author tells and what fails in it,
    and always loads its files one by one. It may connect to these `machines`.
    """

    def __init__(
        self,
        folder: Path,
        application: WSGIApplication,
        *,
        forgets: str = "",
        page: Path | None = None,
        ground: Chunks | None = None,
        author: bool = False,
        machines: Machines = tuple,
    ) -> None:
        self._application = application
        self._machines = machines
        self._ground = ground
        contents = _contents(folder, page)
        before, single, after = contents["/index.html"].split(JOINED_MARK)
        modules = {n[1:]: c.decode() for n, c in contents.items() if n.endswith(".js")}
        main, sheets = _named(single.decode(), contents)
        contents["/joined.js"] = join_modules(modules, main).encode()
        contents["/joined.css"] = b"".join(contents[f"/{name}"] for name in sheets)
        together = hashlib.sha256()
        for name, content in contents.items():
            together.update(f"{name} {len(content)} ".encode() + content)
        self.version = together.hexdigest()[:16]
        base = f"v/{self.version}"
        extra = (FORGETS.format(forgets) if forgets else "") + (AUTHOR if author else "")

        picture = next((name for name in PICTURES if f"/{name}" in contents), "")

        def document(files: bytes) -> _Document:
            # The base is relative, since the page may be served below a path of a larger site.
            text = (before + files + after).replace(
                BASE_MARK, f'<base href="{base}/">{extra}'.encode()
            )
            return _Document(text, base, picture)

        self._single = document(single)
        # An author reads the lines of the files as they are.
        joined = self._single if author else document(LINKS)
        del contents["/index.html"]
        #: Path -> what is there, and the header Cache-Control.
        self._documents = dict.fromkeys(PAGES, joined)
        self._files: dict[str, tuple[_File, str]] = {}
        for name, content in contents.items():
            file = _File(mimetypes.guess_type(name)[0], content)
            self._files[name] = file, CACHE_ASK_AGAIN
            self._files[f"/{base}{name}"] = file, CACHE_FOR_EVER
        self._files["/favicon.ico"] = self._files["/icon.svg"]

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        file, caching = self._files.get(path, (None, ""))
        if path in PAGES:
            debug = "debug" in environ["QUERY_STRING"].split("&")
            document = self._single if debug else self._documents[path]
            file, caching = document.file(environ), CACHE_ASK_AGAIN
        if file is None and (found := _PIECE.fullmatch(path)):
            file, caching = self._piece(*found.groups()), CACHE_FOR_EVER
        if file is None or environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return self._application(environ, start)
        return file.answer(environ, start, caching, self._policy() if path in PAGES else "")

    def _policy(self) -> str:
        """Return what the policy adds for connections of a page to machines, if there are any."""
        sockets = [origin_of(at).replace("http", "ws", 1) for at in sorted(self._machines())]
        return " ".join(["; connect-src 'self'", *sockets]) if sockets else ""

    def _piece(self, stamp: str, column: str, row: str) -> "_File | None":
        """Return a piece of the ground; None if this server has another ground or none so far away,
        or if the game fails to make the piece: then it is asked for again."""
        if self._ground is None or stamp != self._ground.stamp:
            return None
        try:
            return _File(None, self._ground.piece(int(column), int(row)))
        except (PieceFailed, ValueError):
            return None


class _Document:
    """The document of a page: a file for each preview of it. `base` is the path of the page's files
    and `picture` the name of the preview's picture there, or ""."""

    def __init__(self, text: bytes, base: str, picture: str) -> None:
        self._text, self._base, self._picture = text, base, picture
        self._has_preview = PREVIEW_MARK in text and bool(picture)
        self._title, self._about = (
            unescape(found[1].decode()) if (found := re.search(pattern, text)) else ""
            for pattern in (rb"<title>(.*?)</title>", rb'<meta name="description" content="(.*?)"')
        )
        self._files: dict[tuple[str, ...], _File] = {}

    def file(self, environ: WSGIEnvironment) -> "_File":
        """Return the document as it is asked for: at this address, and by whose invitation."""
        key: tuple[str, ...] = ()
        if self._has_preview:
            host = environ.get("HTTP_HOST", "")
            origin = f"{environ['wsgi.url_scheme']}://{host}" if _HOST.fullmatch(host) else ""
            prefix = environ.get("SCRIPT_NAME", "").rstrip("/")
            key = origin, prefix, _inviter(environ.get("QUERY_STRING", ""))
        if key not in self._files:
            if len(self._files) >= PREVIEWS_KEPT:
                self._files.clear()
            self._files[key] = _File("text/html", self._text_for(*key))
        return self._files[key]

    def _text_for(self, origin: str = "", prefix: str = "", by: str = "") -> bytes:
        if not self._has_preview:
            return self._text
        title = f"{by} is waiting for you in {self._title}" if by else self._title
        named = {"title": title, "about": self._about, "origin": origin, "prefix": prefix}
        escaped = {name: escape(text) for name, text in named.items()}
        preview = PREVIEW.format(**escaped, base=self._base, picture=self._picture)
        return self._text.replace(PREVIEW_MARK, preview.encode())


def _inviter(query: str) -> str:
    """Return the name of who invites, as an invite link has it (`by`), or "". Anybody may have
    written it there."""
    by = next((value for name, value in parse_qsl(query) if name == "by"), "")
    return clean(by, PLAYER_NAME_LIMIT) or ""


class _File:
    """A file in memory, plain, and compressed if that is shorter."""

    def __init__(self, kind: str | None, content: bytes) -> None:
        kind = kind or "application/octet-stream"
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        tag = hashlib.sha256(content).hexdigest()[:16]
        headers: tuple[tuple[str, str], ...] = (
            ("Content-Type", kind),
            ("Vary", "Accept-Encoding"),
            *PROTECTION,
        )
        self._plain = content, f'"{tag}"', headers
        packed = gzip.compress(content, mtime=0)
        smaller = len(packed) < len(content)
        zipped = packed, f'"{tag}-gzip"', (*headers, ("Content-Encoding", "gzip"))
        self._packed = zipped if smaller else self._plain

    def answer(
        self, environ: WSGIEnvironment, start: StartResponse, caching: str, policy: str
    ) -> list[bytes]:
        packed = _takes_gzip(environ.get("HTTP_ACCEPT_ENCODING", ""))
        content, tag, headers = self._packed if packed else self._plain
        if policy:
            # A browser that has the page with another policy must get it anew.
            tag = f'{tag[:-1]}-{hashlib.sha256(policy.encode()).hexdigest()[:8]}"'
            headers = tuple([(n, v + policy if v == CONTENT_POLICY else v) for n, v in headers])
        all_headers = [*headers, ("Cache-Control", caching), ("ETag", tag)]
        known = environ.get("HTTP_IF_NONE_MATCH", "")
        if known == "*" or tag in known:
            start("304 Not Modified", all_headers)
            return []
        start("200 OK", [*all_headers, ("Content-Length", str(len(content)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [content]


def _takes_gzip(accepted: str) -> bool:
    for item in accepted.split(","):
        coding, _, quality = item.replace(" ", "").lower().partition(";q=")
        if coding == "gzip":
            return quality.strip("0.") != "" or not quality
    return False


def make_pages(
    health: Callable[[], dict[str, object]],
    *operators: Blueprint,
    forgets: str = "",
    page: Path | None = None,
    ground: Chunks | None = None,
    faults: Collection[tuple[str, str]] | None = None,
    machines: Machines = tuple,
) -> WSGIApplication:
    """Return the WSGI application for all paths except /ws.

    `health` returns what /healthz shows as JSON. `operators` are the pages of server/web/admin.py,
    and those of server/web/inspect_pages.py where there are any.
    `page` is the folder of the game's own page, and `ground` a Chunks (server/game/chunks.py) whose
    pieces browsers ask for, or None. `faults` are shown to the game's author, each as what has
    failed and where; None: the page is for players. `forgets` and `machines` are as in StaticFiles.
    """
    app = Flask("flatlands", static_folder=None)

    @app.get("/healthz")
    def healthz() -> Response:
        return jsonify(health())

    for blueprint in operators:
        app.register_blueprint(blueprint)

    @app.after_request
    def protect(response: Response) -> Response:
        response.headers.extend(PROTECTION)
        return response

    files = StaticFiles(
        STATIC,
        app,
        forgets=forgets,
        page=page,
        ground=ground,
        author=faults is not None,
        machines=machines,
    )
    if faults is not None:

        @app.get("/author")
        def author() -> Response:
            return jsonify(version=files.version, faults=list(faults))

    return files
