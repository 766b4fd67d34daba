"""The small changes that are made to functions, like slips of their authors.

It changes syntax trees only, never code outside of functions, and knows nothing of tests.
"""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType
from typing import NamedTuple

#: Operator -> the one that replaces it.
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}

#: Name -> the one that replaces it.
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}

#: The kinds of statements that are left out. Assignments to local names are not, since without them
#: a function would just fail.
LEFT_OUT = (ast.Expr, ast.AugAssign, ast.Delete)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Mutant(NamedTuple):
    """A change: its file and line, a description, and the code of the changed function."""

    path: Path
    line: int
    words: str
    code: CodeType


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file. The functions that run must come from the same path."""
    tree = ast.parse(path.read_text())
    for function in _outermost(tree):
        for parent, node, other, change, restore in _changes(function):
            # The description shows a changed statement, or what the changed node is in.
            before = _words(node if isinstance(node, ast.stmt) else parent)
            line = node.lineno if hasattr(node, "lineno") else parent.lineno
            change()
            after = _words(other if isinstance(node, ast.stmt) else parent)
            ast.fix_missing_locations(tree)
            code = _code_of(compile(tree, str(path), "exec"), function)
            restore()
            yield Mutant(path, line, f"{before} -> {after}", code)


def _outermost(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the functions and methods that are not inside another function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, FUNCTIONS):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _outermost(node)


def _code_of(code: CodeType, function: ast.AST) -> CodeType:
    """Return the code of a function, found in the code of its module."""
    line = min(node.lineno for node in [function, *function.decorator_list])
    waiting = [code]
    while waiting:
        found = waiting.pop()
        if (found.co_name, found.co_firstlineno) == (function.name, line):
            return found
        waiting += [const for const in found.co_consts if isinstance(const, CodeType)]
    raise LookupError(f"there is no code of {function.name}, line {line}")


#: (Parent of a node, the node, its replacement, a function that replaces it, one that undoes that.)
Change = tuple[ast.AST, ast.AST, ast.AST, Callable[[], None], Callable[[], None]]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, without annotations, defaults and decorators."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.arguments):
                yield from _walk(child)


def _changes(function: ast.AST) -> Iterator[Change]:
    """Yield each change in a function."""
    for parent in _walk(function):
        for field, value in ast.iter_fields(parent):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            # In a list, each place may be changed; otherwise the field.
            holder, places = (
                (value, range(len(value)))
                if isinstance(value, list)
                else (parent.__dict__, [field])
            )
            for place in places:
                node = holder[place]
                for other in _others(field, node):
                    change = partial(holder.__setitem__, place, other)
                    restore = partial(holder.__setitem__, place, node)
                    yield parent, node, other, change, restore


def _others(field: str, node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that may replace a node in this field of its parent."""
    if type(node) in OPERATORS:
        yield OPERATORS[type(node)]()
    elif isinstance(node, ast.Constant):
        if node.value is True or node.value is False:
            yield ast.copy_location(ast.Constant(not node.value), node)
        elif isinstance(node.value, int):
            yield ast.copy_location(ast.Constant(node.value + 1), node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield ast.copy_location(ast.Name(NAMES[node.id], ast.Load()), node)
    elif isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield ast.copy_location(ast.Return(ast.Constant(None)), node)
    elif isinstance(node, ast.Break):
        yield ast.copy_location(ast.Continue(), node)
    elif isinstance(node, ast.Continue):
        yield ast.copy_location(ast.Break(), node)
    elif isinstance(node, LEFT_OUT) or _assigns_beyond(node):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield ast.copy_location(ast.Pass(), node)
    if field == "test" and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield ast.copy_location(ast.UnaryOp(ast.Not(), node), node)


def _assigns_beyond(node: ast.AST) -> bool:
    """Say whether a statement assigns to something that outlives the function."""
    return isinstance(node, ast.Assign) and all(
        isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets
    )


def _words(node: ast.AST) -> str:
    """Return the first line of a node's source, shortened."""
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= 60 else f"{text[:57]}..."
