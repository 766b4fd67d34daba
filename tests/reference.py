"""`python -m tests.reference`: write the reference of all that games, their tests and their bots
may use, from the docstrings, as pages into build/reference/.
"""

import sys

import flatlands
from tests.processes import ROOT

FOLDER = ROOT / "build" / "reference"

#: The modules that are described, and no others below them.
PUBLIC = ("flatlands", "flatlands.bot", "flatlands.testkit")


def main() -> None:
    """Write the pages, and print where they are."""
    import pdoc

    # What a module loads when it is asked for is loaded before it is looked at.
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
        "!flatlands.testkit.(harness|model|ground|search)",
        output_directory=FOLDER,
    )
    print(f"The reference is at {FOLDER / 'flatlands.html'}.")


if __name__ == "__main__":
    sys.exit(main())
