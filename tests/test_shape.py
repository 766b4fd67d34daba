"""How large functions, classes and constructors may be: the limits are today's, and fall."""

import ast
import re

import pytest

from tests.processes import ROOT
from tests.test_imports import sources

#: A function has many branches above this, a class many methods, a constructor many arguments.
BRANCHES, METHODS, ARGUMENTS = 12, 25, 8

#: How many there may be of each.
MANY_BRANCHES, MANY_METHODS, MANY_ARGUMENTS = 4, 0, 1


def code():
    """Yield (file, definition) for each function and class of the server and what it builds on."""
    for folder in ("server", "world", "brokers", "stores", "games"):
        for path in sources(folder):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    yield path.relative_to(ROOT).as_posix(), node


def branches(function):
    """Return how many decisions a function makes, without those of functions in it."""
    count, inside = 0, list(ast.iter_child_nodes(function))
    while inside:
        node = inside.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.If | ast.For | ast.While | ast.IfExp | ast.ExceptHandler):
            count += 1
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
        inside += ast.iter_child_nodes(node)
    return count


#: Callbacks that cannot be given to a constructor, since the objects refer to each other:
#: attribute -> the class that has it. ARCHITECTURE.md says what each is for.
CALLED_BACK = {
    "on_message": "Connection",
    "on_closing": "Connection",
    "on_close": "Connection",
    "on_drain": "Connection",
    "close": "Guest",
    "news": "Context",
    "onlooker": "Context",
    "read": "Context",
}


def called_back(one):
    """Yield the attributes of a class that hold a function, or an object of one of our protocols:
    those that its constructor annotates, or takes unchanged."""
    for made in one.body:
        if isinstance(made, ast.FunctionDef) and made.name == "__init__":
            given = [*made.args.args, *made.args.kwonlyargs]
            kinds = {it.arg: ast.unparse(it.annotation) for it in given if it.annotation}
            for node in ast.walk(made):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
                    yield node.target.attr, ast.unparse(node.annotation)
                elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                    for target in node.targets:
                        if isinstance(target, ast.Attribute):
                            yield target.attr, kinds.get(node.value.id, "")


def set_from_outside(function):
    """Yield the attributes of other objects to which a function assigns."""
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AnnAssign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) != "self":
                yield target.attr


def test_few_callbacks_are_set_after_the_constructor():
    classes = [one for _, one in code() if isinstance(one, ast.ClassDef)]
    protocols = {one.name for one in classes if "Protocol" in map(ast.unparse, one.bases)}
    # A resident's screen comes and goes with the player's connection, and is part of its state.
    kinds = "|".join(["Callable", *protocols - {"Screen"}])
    found = {
        attribute: one.name
        for one in classes
        for attribute, kind in called_back(one)
        if re.search(rf"^({kinds})\b", kind)
    }
    functions = [one for _, one in code() if isinstance(one, ast.FunctionDef)]
    outside = {name for one in functions for name in set_from_outside(one)}
    assert {name: found[name] for name in found.keys() & outside} == CALLED_BACK
    page = (ROOT / "ARCHITECTURE.md").read_text()
    assert all(f"`{one}.{name}`" in page for name, one in CALLED_BACK.items())


def methods(one):
    return sum(isinstance(node, ast.FunctionDef) for node in one.body)


def arguments(function):
    given = function.args
    return len(given.args) + len(given.kwonlyargs) - 1 if function.name == "__init__" else 0


@pytest.mark.parametrize(
    ("kind", "size", "large", "many"),
    [
        (ast.FunctionDef, branches, BRANCHES, MANY_BRANCHES),
        (ast.ClassDef, methods, METHODS, MANY_METHODS),
        (ast.FunctionDef, arguments, ARGUMENTS, MANY_ARGUMENTS),
    ],
)
def test_few_are_large(kind, size, large, many):
    sizes = [(size(node), path, node.name) for path, node in code() if isinstance(node, kind)]
    found = sorted((one for one in sizes if one[0] > large), reverse=True)
    assert len(found) <= many, found
