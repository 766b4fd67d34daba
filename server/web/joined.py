"""Joins the page's modules to one script when the server starts.

A browser then asks for one file, and not for a hundred. Each module becomes a function that returns
what the module exports, so its scope stays its own, and nothing in it needs another name. Comments
that begin a line are left out, and those that two spaces set apart from code before them. So is
what lines are indented by.

This knows lines and not JavaScript. It is right for modules that tests/js/eslint.config.js accepts:
they import and export by name, export only what never changes, wait for nothing while they are
loaded, and have no text that spans lines.
"""

import re
from collections.abc import Mapping
from graphlib import TopologicalSorter
from posixpath import dirname, join, normpath

#: A comment after code stays if it has a quote or a slash: what looks like one may be a part of a
#: text or a pattern, which ends on its line by one of these.
_COMMENT = re.compile(
    r"^[ \t]*(?://[^\n]*|/\*.*?\*/)[ \t]*\n?|(?<=[;,{}()\[\]])[ \t]{2,}//[^\n/'\"`]*$",
    re.M | re.S,
)
#: What begins a line and means nothing.
_INDENT = re.compile(r"^[ \t]+", re.M)
_IMPORT = re.compile(
    r"""^import (?:\{([^}]*)\}|\* as (\w+))\s+from (?:'([^'\n]+)'|"([^"\n]+)");?""", re.M
)
_EXPORT = re.compile(r"^export (?=const ([^;]+)|(?:async )?(?:function\*?|class) (\w+))", re.M)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.M)
#: A name in a declaration of constants.
_CONSTANT = re.compile(r"(?:^|,\s+)(\w+) = ")


class _Module:
    """A module of the page, read from its source."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        code = _INDENT.sub("", _COMMENT.sub("", source))
        #: The paths of other modules, and the names that are imported from them.
        self.imports = {
            self._beside(found): re.findall(r"(\w+)(?: as \w+)?,?", found[1] or "")
            for found in _IMPORT.finditer(code)
        }
        self.exports: list[str] = []
        for constants, name in _EXPORT.findall(code):
            self.exports += [name] if name else _CONSTANT.findall(constants)
        self._code = _EXPORT.sub("", _IMPORT.sub(self._imported, code))
        if strange := _LEFT.search(self._code):
            raise ValueError(
                f"{path} has a line that the server cannot join: {strange[0]} Write import "
                "{ name } from './other.js' or import * as name from './other.js', and export "
                "before const, function and class"
            )

    def _beside(self, found: re.Match[str]) -> str:
        """Return the path of the module that an import names."""
        return normpath(join(dirname(self.path), found[3] or found[4]))

    def _imported(self, found: re.Match[str]) -> str:
        names = found[2] or "{" + found[1].replace(" as ", ": ") + "}"
        return f"const {names} = $modules['{self._beside(found)}'];"

    def function(self) -> str:
        """Return this module's part of the script."""
        return (
            f"// {self.path}\n$modules['{self.path}'] = (() => {{\n{self._code}\n"
            f"return {{ {', '.join(self.exports)} }};\n}})();\n"
        )


def join_modules(sources: Mapping[str, str], main: str) -> str:
    """Return a script that does what the module `main` does, with all modules that it needs.

    `sources` has the modules by their paths. Raises ValueError if an imported module or name does
    not exist, or if modules import each other in a circle.
    """
    modules: dict[str, _Module] = {}
    needed = [main]
    while needed:
        path = needed.pop()
        if path not in modules:
            if path not in sources:
                raise ValueError(f"the page imports {path}, which does not exist")
            modules[path] = _Module(path, sources[path])
            needed += modules[path].imports
    for module in modules.values():
        for path, names in module.imports.items():
            if missing := set(names) - set(modules[path].exports):
                raise ValueError(
                    f"{module.path} imports {missing} from {path}, which does not export it"
                )
    order = TopologicalSorter({path: modules[path].imports for path in modules}).static_order()
    return "const $modules = {};\n" + "".join(modules[path].function() for path in order)
