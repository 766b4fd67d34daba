"""`python -m tests.map`: draws the packages of the server, and what each imports, as a diagram in
ARCHITECTURE.md.

An arrow is left out if others lead the same way: from `app` to `node` by `workers` and `clients`,
for example. Imports for types only count too, and those of tests do not.
"""

from collections import defaultdict
from graphlib import TopologicalSorter

import grimp

from tests.processes import ROOT

PAGE = ROOT / "ARCHITECTURE.md"

#: What comes before the diagram on the page.
BEGIN = "<!-- made by make map -->\n```mermaid\nflowchart BT\n"
#: What comes after the diagram on the page.
END = "```\n"

#: Other folders that are drawn beside the packages of server/.
OTHERS = ("world", "brokers", "stores")


def place(module: str) -> str | None:
    """Return what a module is drawn as: a folder, or a package or a file of server/; None if it is
    not drawn."""
    _, folder, *inside = [*module.split("."), ""]
    if folder == "server" and inside[0] not in ("", "__main__"):
        return inside[0]
    return folder if folder in OTHERS else None


def imports() -> dict[str, set[str]]:
    """Return what each place imports."""
    graph = grimp.build_graph("flatlands", cache_dir=None)
    found = defaultdict[str, set[str]](set)
    for module in graph.modules:
        begin = place(module)
        for imported in graph.find_modules_directly_imported_by(module) if begin else ():
            end = place(imported)
            if end is not None and end != begin:
                found[begin].add(end)
    return found


def arrows(found: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the fewest pairs of places by which each reaches all that it imports; those that are
    imported come first. Raises graphlib.CycleError."""
    sorter = TopologicalSorter({one: sorted(found[one]) for one in sorted(found)})
    order = list(sorter.static_order())
    reached: dict[str, set[str]] = {}
    for one in order:
        reached[one] = found.get(one, set()).union(*(reached[it] for it in found.get(one, ())))
    return [
        (one, to)
        for one in order
        for to in sorted(found.get(one, ()))
        if not any(to in reached[other] for other in found[one])
    ]


def drawn(page: str) -> str:
    """Return a page with the diagram as it is now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = [f"    {one} --> {to}\n" for one, to in arrows(imports())]
    return "".join((before, BEGIN, *lines, END, after))


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
