"""How large functions, classes and constructors may be: the numbers are what there is, and fall."""

import ast

import pytest

from tests.processes import ROOT

#: A function has many branches above this, a class many methods, a constructor many arguments.
BRANCHES, METHODS, ARGUMENTS = 12, 25, 8

#: How many there may be of each.
MANY_BRANCHES, MANY_METHODS, MANY_ARGUMENTS = 4, 3, 2


def code():
    """Yield (file, definition) for each function and class of the server and what it stands on."""
    for folder in ("server", "world", "brokers", "stores"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    yield path.relative_to(ROOT).as_posix(), node


def branches(function):
    """Return how many decisions a function takes, without those of functions in it."""
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
