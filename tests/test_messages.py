"""Messages of the library name parameters, functions and methods as parts, so that the shell can word them.

The check reads the source: a text that looks like Python, such as ``metric='cosine'``, and is no part of a message.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lowland

SOURCE = Path(lowland.__file__).parent
WORDED = ("cli", "explorer")  # the shell's own messages, and JavaScript and notebooks
ROOMS = ("comparison", "data", "dimension", "images", "plots", "quality", "ranking", "recipes", "spectral", "text")
PARTS = ("Phrase", "Code", "Setting", "Owner", "Configuration")  # their arguments are worded by each surface
# Texts that only users of Python can meet, by file and a piece of the text, and why:
EXCEPTIONS = {
    ("contract/plan.py", "shape=(rows, columns)"): "`lowland plan` always has the data",
    ("contract/plugin_class.py", "components=…"): "of lowland.register",
    ("contract/plugin_class.py", "defaults="): "of lowland.register",
    ("contract/plugins.py", "components=None"): "of lowland.register",
    ("data/scans/binary.py", "dtype="): "raw numbers are scanned by lowland.data.scan only",
    ("engines/dask_table.py", "X.drop(columns="): "of a dask data frame",
    ("graph/neighbors.py", "metric=lambda"): "objects that are not rows of numbers",
    ("modelfile/values.py", "random_state=0"): "a random generator as a parameter",
    ("plots/component_bars.py", "axes=("): "axes of matplotlib",
    ("plots/component_bars.py", "kind='map'"): "figures are drawn from fitted models in the shell",
    ("plots/quality_map.py", "trust="): "numbers instead of the data",
    ("quality/rank_curves.py", "largest="): "of coranking",
    ("report/comparison.py", "lowland.compare("): "the call for Python, beside the command",
    ("report/comparison.py", "target=…"): "the call for Python, beside the command",
    ("rows/row_source.py", "n_rows="): "blocks with a declared number of rows",
    ("spectral/operators.py", "symmetric=True"): "operators are made in Python only",
    ("spectral/solve.py", "symmetric=True"): "operators are made in Python only",
    ("spectral/variances.py", "n_columns="): "of the eigenvalues alone",
}


def _names() -> tuple[set[str], set[str]]:
    """Return the names of parameters of the public classes and functions, and the names of those functions."""
    parameters: set[str] = set()
    functions: set[str] = set()
    for module in (lowland, *(importlib.import_module(f"lowland.{room}") for room in ROOMS)):
        for name in module.__all__:
            found = getattr(module, name)
            if not callable(found) or (inspect.isclass(found) and issubclass(found, BaseException)):
                continue
            functions |= set() if inspect.isclass(found) else {name}
            methods = [own for key, own in vars(found).items() if key[0] != "_" and inspect.isfunction(own)]
            for one in (found, *(methods if inspect.isclass(found) else ())):
                parameters |= set(inspect.signature(one).parameters)
    return {name for name in parameters if len(name) > 1} - {"self", "args", "kwargs"}, functions


PARAMETERS, FUNCTIONS = _names()
LOOKS_LIKE_PYTHON = re.compile(
    rf"(?<![\w.<-])(?:{'|'.join(PARAMETERS)})=(?!=)"  # a value of a parameter
    rf"|^(?:(?:{'|'.join(FUNCTIONS)})(?:\(\))?: |(?:{'|'.join(PARAMETERS)}) must be\b)"  # an owner, or a parameter
)
AS_SKLEARN = re.compile(r"^Found array with 0 ")  # the words that scikit-learn's checks look for


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines and texts of literals that are not documentation and not the wording of a part."""
    tree = ast.parse(source)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        for statement in getattr(node, "body", None) or [] if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if isinstance(statement, ast.Expr):
                skipped.add(id(statement.value))  # docstrings
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(value) for value in node.values}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PARTS:
            skipped |= {id(value) for value in (*node.args, *(keyword.value for keyword in node.keywords))}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            pieces = [value.value if isinstance(value, ast.Constant) else "{}" for value in node.values]
            yield node.lineno, "".join(pieces)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def python_in(source: str) -> list[tuple[int, str]]:
    """Return the texts of several words that look like Python."""
    return [
        (line, text)
        for line, text in texts_of(source)
        if " " in text and text.lstrip()[:1] not in ("<", "-") and not AS_SKLEARN.match(text)
        if LOOKS_LIKE_PYTHON.search(text)
    ]


def files() -> list[str]:
    """Return the files of the library that do not word messages for the shell themselves."""
    found = (path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
    return sorted(path.as_posix() for path in found if path.parts[0] not in WORDED)


@pytest.mark.parametrize("room", sorted({file.partition("/")[0] for file in files()}))
def test_texts_name_parameters_and_functions_as_parts(room: str) -> None:
    met = []
    for file in files():
        if file.partition("/")[0] == room:
            allowed = [piece for where, piece in EXCEPTIONS if where == file]
            found = python_in((SOURCE / file).read_text(encoding="utf-8"))
            met += [f"{file}:{line}: {text}" for line, text in found if not any(piece in text for piece in allowed)]
    assert not met, "use message(), Setting, Owner or Phrase of lowland.core.message:\n" + "\n".join(met)


@pytest.mark.parametrize(("file", "piece"), EXCEPTIONS)
def test_exceptions_are_still_needed(file: str, piece: str) -> None:
    assert any(piece in text for _, text in python_in((SOURCE / file).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("raise ValueError(f'{owner}: use n_neighbors=5 or less')", True),
        ("raise ValueError('downstream: the target is numeric')", True),
        ("raise ValueError('n_components must be positive')", True),
        ("raise ValueError(message('{n_components} must be positive', n_components=0))", False),
        ("raise ValueError(Message(Owner('downstream'), Phrase('use scale=True please', 'use --scale')))", False),
        ("def f():\n    'Use scale=True here.'", False),
    ],
)
def test_the_check_finds_python_outside_parts(source: str, found: bool) -> None:
    assert bool(python_in(source)) == found
