"""Small changes to a function, each one a mistake that somebody could make: for testing tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

OTHER = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add,
}  # fmt: skip
SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Break, ast.Continue)


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Each mutant of a program: what was changed, and the whole program."""
    count = len(list(_places(ast.parse(source))))
    for number in range(count):
        tree = ast.parse(source)
        what, change = list(_places(tree))[number]
        change()
        yield what, ast.unparse(ast.fix_missing_locations(tree))


def _places(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Every change that is possible: its name, and a function that makes it in this tree."""
    kept = {id(node) for node in _kept(tree)}
    for node in ast.walk(tree):
        if id(node) in kept:
            continue
        line = getattr(node, "lineno", 0)
        before = ast.unparse(node) if isinstance(node, (ast.expr, ast.stmt)) else ""
        for what, change in _changes(node):
            yield f"{line}: {' '.join(before.split())[:50]} -> {what}", change


def _kept(tree: ast.Module) -> Iterator[ast.AST]:
    """What isn't changed: imports, docstrings, annotations, defaults' types."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ast.walk(node)
        if isinstance(node, ast.FunctionDef):
            if ast.get_docstring(node) is not None:
                yield from ast.walk(node.body[0])
            hints = [node.returns, *(arg.annotation for arg in node.args.args)]
            for hint in filter(None, hints):
                yield from ast.walk(hint)
        if isinstance(node, ast.AnnAssign):
            yield from ast.walk(node.annotation)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Compare):
        yield "another comparison", lambda: node.ops.__setitem__(0, OTHER[type(node.ops[0])]())
    elif isinstance(node, (ast.BoolOp, ast.BinOp)) and type(node.op) in OTHER:
        yield "another operator", lambda: setattr(node, "op", OTHER[type(node.op)]())
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "not it", lambda: setattr(node, "value", not node.value)
        elif isinstance(node.value, int):
            yield "one more", lambda: setattr(node, "value", node.value + 1)
        elif isinstance(node.value, str):
            yield "another text", lambda: setattr(node, "value", node.value + "X")
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield "not the condition", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.Return) and ast.unparse(node) not in ("return", "return None"):
        yield "return None", lambda: setattr(node, "value", ast.Constant(None))
    if isinstance(node, ast.Slice):
        for bound in ("lower", "upper"):
            if getattr(node, bound) is not None:
                yield f"without its {bound} bound", lambda b=bound: setattr(node, b, None)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            for n, statement in enumerate(block):
                if isinstance(statement, SIMPLE) and not _is_docstring(statement, n):
                    what = f"without {ast.unparse(statement)!r}"
                    yield what, lambda b=block, i=n: b.__setitem__(i, ast.Pass())


def _is_docstring(statement: ast.stmt, n: int) -> bool:
    return (
        n == 0
        and isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
