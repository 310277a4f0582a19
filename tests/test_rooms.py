"""Methods stand on the rooms, and no room on a method."""

from __future__ import annotations

import ast
from pathlib import Path

import lowland

SOURCE = Path(lowland.__file__).parent
SERVE = ("__init__.py", "registry.py", "methods", "cli")  # what lists or serves the methods knows them


def imported(node: ast.AST) -> set[str]:
    """The words of what a line imports."""
    if isinstance(node, ast.ImportFrom):
        return {*(node.module or "").split("."), *(alias.name for alias in node.names)}
    return {word for alias in node.names for word in alias.name.split(".")} if isinstance(node, ast.Import) else set()


def test_no_room_imports_a_method():
    files = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in SERVE]
    assert len(files) > 70
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if "methods" in imported(node)
    ]
    assert found == []
