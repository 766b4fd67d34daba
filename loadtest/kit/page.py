"""Writes the results of a measurement: as JSON, and as a page that needs no other file.

Headings, cells and parts of a page are given as HTML; names and values of facts as plain text.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
 body {{ font: 16px/1.5 system-ui, sans-serif; color: #2b2b28; background: #fdfcf9;
        max-width: 84rem; margin: 2rem auto; padding: 0 1rem; }}
 p {{ max-width: 62rem; }}
 h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.2rem; margin-top: 3rem; }}
 code {{ background: #f1efe8; padding: .1rem .3rem; border-radius: 3px;
        overflow-wrap: anywhere; }}
 svg {{ max-width: 100%; height: auto; display: block; margin: 1rem 0; }}
 @media (min-width: 70rem) {{ svg {{ display: inline-block; width: 49.5%; vertical-align: top; }} }}
 .wide {{ overflow-x: auto; }} .note {{ color: #6d6d66; }}
 table {{ border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }}
 th, td {{ padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #e7e5de;
          vertical-align: bottom; }}
 td {{ white-space: nowrap; }}
 th:first-child, td:first-child {{ text-align: left; padding-left: 0; }}
 .bad {{ color: #b3261e; font-weight: 600; }} .good {{ color: #3f6b26; font-weight: 600; }}
 dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }}
 dd {{ margin: 0; }}
</style></head><body>
<h1>{title}</h1>
{parts}
</body></html>
"""


def page(title: str, command: str, parts: Iterable[str], machine: Mapping[str, object]) -> str:
    """Return a page as HTML: the command that made it, its parts, and the machine."""
    facts = (f"<dt>{escape(name)}</dt><dd>{escape(str(n))}</dd>" for name, n in machine.items())
    shown = f"<p><code>{escape(command)}</code></p>", *parts, "<h2>Made on</h2>"
    every = "\n".join([*shown, f"<dl>{''.join(facts)}</dl>"])
    return _PAGE.format(title=escape(title), parts=every)


def table(headings: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table. All columns except the first hold numbers."""
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'


def write_json(path: Path, found: object) -> None:
    """Write a value to a file as JSON."""
    path.write_text(json.dumps(found, indent=1) + "\n")
