"""`python -m tests.budget`: how many lines each part of the project has, beside what it may have.

The budgets are in pyproject.toml. Those under `code` count the lines of Python that have code: not
blank lines, comments, docstrings, nor tests of games. Those under `lines` count all lines of text
that git tracks, but of lock files; names may be patterns, and "A without B" leaves B out. `page` is
the bytes of the library for pages, joined and packed. The exit code is 1 if a part is above its
budget.
"""

import ast
import fnmatch
import gzip
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

from flatlands.server.web.joined import join_modules

ROOT = Path(__file__).resolve().parent.parent

#: Tokens that do not make a line count as code.
_EMPTY = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(path: Path) -> int:
    """Return how many lines of a Python file contain code."""
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in _EMPTY]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return len(lines)


def text_lines(path: Path) -> int:
    """Return how many lines a file has; 0 if it is not text, or written by a package manager."""
    if path.suffix == ".lock" or path.name == "package-lock.json":
        return 0
    try:
        return len(path.read_text().splitlines())
    except UnicodeDecodeError:
        return 0


def chosen(names: list[str], parts: str) -> list[str]:
    """Return the `names`, paths from the root, that lie in `parts`: "A B without C"."""
    wanted, _, unwanted = parts.partition(" without ")

    def within(name: str, some: str) -> bool:
        return any(part == "." or fnmatch.fnmatch(f"{name}/", f"{part}/*") for part in some.split())

    return [name for name in names if within(name, wanted) and not within(name, unwanted)]


def page_bytes() -> int:
    """Return how many bytes a browser loads for static/game.js and what it needs."""
    sources = {path.name: path.read_text() for path in (ROOT / "static").glob("*.js")}
    return len(gzip.compress(join_modules(sources, "game.js").encode(), mtime=0))


def main() -> int:
    """Print what each part uses; return the exit code."""
    budgets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["flatlands"]["budget"]
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = listed.stdout.splitlines()
    names = [name for name in names if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]
    above = []
    for kind, count in (("code", code_lines), ("lines", text_lines)):
        for parts, most in budgets[kind].items():
            some = chosen(names, parts)
            if kind == "code":
                some = [
                    name for name in chosen(some, ". without games/*/tests") if name.endswith(".py")
                ]
            used = sum(count(ROOT / name) for name in some)
            what = f"{kind} of {parts.replace('.', 'all', 1) if parts.startswith('.') else parts}"
            print(f"{what:40} {used:7,} of {most:7,}")
            if used > most:
                above.append(what)
    used, most = page_bytes(), budgets["page"]["bytes"]
    print(f"{'bytes of the library for pages':40} {used:7,} of {most:7,}")
    if used > most:
        above.append("the library for pages")
    if above:
        print(f"Above its budget in pyproject.toml: {', '.join(above)}. Take something out.")
    return bool(above)


if __name__ == "__main__":
    sys.exit(main())
