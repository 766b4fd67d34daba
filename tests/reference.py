"""`python -m tests.reference`: write the reference of everything that games, their tests and bots
may use, from the docstrings, as pages into build/reference/, and the list of all modules there.
"""

import re
import sys
from collections.abc import Iterator

import flatlands
from tests.processes import ROOT

FOLDER = ROOT / "build" / "reference"

#: The modules that are described, without those below them.
PUBLIC = ("flatlands", "flatlands.bot", "flatlands.testkit")

#: The folders whose modules are listed.
FOLDERS = "world brokers stores server games static flatlands loadtest bench".split()


def modules() -> Iterator[tuple[str, str]]:
    """Yield the path of each module from the root, and the first sentence of what it says of
    itself. Leave out __init__.py, which is about a folder."""
    for path in sorted(each for folder in FOLDERS for each in (ROOT / folder).rglob("*.[jp][sy]")):
        if not {"servers", "node_modules", "tests", "__init__.py"} & {*path.parts}:
            said = re.match(r'(?:"""|// )(.+?)(?:\.\s|\n\n|\.?""")', path.read_text(), re.S)
            assert said, f"{path} does not say what it is for"
            yield path.relative_to(ROOT).as_posix(), re.sub(r"\s+(// )?", " ", said[1])


def main() -> None:
    """Write the pages, and print where they are."""
    import pdoc

    # Names that a module loads on demand are loaded before the module is described.
    for name in flatlands.__all__:
        setattr(flatlands, name, getattr(flatlands, name))
    pdoc.render.configure(
        show_source=False,
        search=False,
        docformat="markdown",
        footer_text=f"Flatlands {flatlands.__version__}",
    )
    first, *rest = PUBLIC
    pdoc.pdoc(
        first,
        "!flatlands.",
        *rest,
        "!flatlands.testkit.(?!simulate)",
        output_directory=FOLDER,
    )
    rows = [f"| `{path}` | {sentence} |" for path, sentence in modules()]
    (FOLDER / "modules.md").write_text("\n".join(["| module | |", "|---|---|", *rows, ""]))
    print(f"The reference is at {FOLDER / 'flatlands.html'}.")


if __name__ == "__main__":
    sys.exit(main())
