"""The floors of the architecture: a room imports only its own floor and those below, and nothing goes in circles.

Every import counts: those at the head of a file, those inside functions, those for type checkers, and module paths in
strings.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import lowland
from lowland.contract.method_table import METHODS

SOURCE = Path(lowland.__file__).parent

FLOORS = (
    ("core", "data"),  # the ground
    ("engines", "rows", "pairs", "spectral", "graph"),  # mathematics on plain arrays
    ("contract", "methods", "modelfile"),
    ("quality", "dimension"),  # trust
    ("comparison", "images", "ranking", "recipes", "streaming", "text"),  # uses
    ("cli", "explorer", "report", "plots"),  # surfaces
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
LOOSE = {"__init__", "__main__"}  # all that lies outside a room

# Tables of module paths, which name what stands above them so that nothing need be imported before it is used.
TABLES = {"lowland.core.show": "drawers of results"}
ENTRY_POINTS = "lowland.methods"  # a group of entry points, not the module
# Loops that a lazy import closes: blocks with text become mixed rows, scans rows of a file, and tables of an engine its
# rows, which are row sources.
LOOPS = {
    ("lowland.rows.row_source", "lowland.rows.mixed_rows"),
    ("lowland.rows.row_source", "lowland.rows.scan_rows"),
    ("lowland.rows.row_source", "lowland.rows.engine_rows"),
}


@cache
def modules() -> dict[str, Path]:
    """Every module of the package, by its name."""
    out = {}
    for path in SOURCE.rglob("*.py"):
        if "node_modules" in path.parts:  # packages of explorer/web
            continue
        parts = path.relative_to(SOURCE).with_suffix("").parts
        out[".".join(["lowland", *(parts[:-1] if parts[-1] == "__init__" else parts)])] = path
    return out


def named(node: ast.AST, package: str) -> list[str]:
    """The modules that a node of a syntax tree names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        return [f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules() else base for alias in node.names]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [] if node.value == ENTRY_POINTS else [node.value.partition(":")[0]]
    return []


@cache
def edges() -> tuple[tuple[str, str, int], ...]:
    """Who names whom, and on which line."""
    out = []
    for name, path in modules().items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for other in named(node, package):
                if other in modules() and other not in (name, "lowland"):
                    out.append((name, other, node.lineno))
    return tuple(out)


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else "__init__"


def test_every_module_is_in_a_room():
    rooms = {room(name) for name in modules()} - LOOSE
    assert rooms == set(FLOOR), "a new room belongs on a floor of FLOORS"
    assert {path.name for path in SOURCE.iterdir() if path.suffix} == {"__init__.py", "__main__.py", "py.typed"}


def test_rooms_import_only_their_own_floor_and_those_below():
    upward = [
        f"{name}:{line} → {other}"
        for name, other, line in edges()
        if room(name) not in LOOSE and name not in TABLES and FLOOR[room(name)] < FLOOR[room(other)]
    ]
    assert upward == []


@pytest.mark.parametrize("table", TABLES, ids=lambda name: name.rpartition(".")[2])
def test_tables_name_modules_that_exist(table):
    strings = {
        node.value
        for node in ast.walk(ast.parse(modules()[table].read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("lowland.")
    }
    paths = {text for text in strings if " " not in text and text != ENTRY_POINTS}
    assert len(paths) >= 4
    assert paths <= set(modules())


def test_methods_name_modules_that_exist():
    assert {row.module for row in METHODS} <= set(modules())


def circles(links: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one node (Tarjan 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(v: str) -> None:
        number[v] = low[v] = len(number)
        stack.append(v)
        for w in sorted(links.get(v, ())):
            if w not in number:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], number[w])
        if low[v] == number[v]:
            cut = stack.index(v)
            if len(stack) - cut > 1:
                found.append(sorted(stack[cut:]))
            del stack[cut:]

    for v in sorted(links):
        if v not in number:
            visit(v)
    return found


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_rooms_do_not_import_each_other_in_circles():
    links = defaultdict(set)
    for name, other, _ in edges():
        if room(name) not in LOOSE and name not in TABLES and room(name) != room(other):
            links[room(name)].add(room(other))
    assert circles(links) == []


def test_modules_do_not_import_each_other_in_circles():
    links = defaultdict(set)
    for name, other, _ in edges():
        package = modules()[name].name == "__init__.py"  # lists what its modules hold, and is loaded before them
        if name not in TABLES and not package and (name, other) not in LOOPS:
            links[name].add(other)
    assert circles(links) == []


def test_loops_that_are_allowed_are_there():
    assert {(name, other) for name, other, _ in edges()} >= LOOPS


@pytest.mark.parametrize("row", METHODS, ids=lambda row: row.name)
def test_a_method_is_at_most_three_classes(row):
    """Reducer, a family and the method: what several methods need is an object that they hold."""
    ours = [base.__name__ for base in row.load().__mro__ if base.__module__.startswith("lowland.")]
    assert ours[-1] == "Reducer"
    assert len(ours) <= 3, ours


def test_methods_lend_no_functions():
    """No class takes an unbound method of another one as its own."""
    lent = []
    for name, path in modules().items():
        if room(name) in ("methods", "contract"):
            for cls in [
                n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.ClassDef)
            ]:
                values = [n.value for n in cls.body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Attribute)]
                lent += [f"{name}.{cls.name}: {ast.unparse(v)}" for v in values if not v.attr.isupper()]
    assert lent == []
