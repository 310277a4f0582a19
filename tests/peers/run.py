"""Run other projects' tests against Lowland and compare the failures with the tables of differences.

    python tests/peers/run.py              # all files
    python tests/peers/run.py -k isomap    # some cases, by any options of pytest; looks for new failures only

Exit status 1: a case failed that its table does not list, a table lists a case that does not exist, or too few passed.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

# What scikit-learn's tests read from the environment; SciPy reads the first when it is imported.
os.environ.update(
    SCIPY_ARRAY_API="1",
    SKLEARN_RUN_FLOAT32_TESTS="1",
    SKLEARN_SKIP_NETWORK_TESTS="1",
    SKLEARN_TESTS_GLOBAL_RANDOM_SEED="42",
)

import adapter
import numpy as np
import pytest
import sklearn
import table

HERE = Path(__file__).resolve().parent
SEED = 0  # of NumPy's global generator, which some tests draw from
NEEDED = ("array_api_strict", "pyamg")  # without them, cases skip themselves
# Parameters of test_pca.py that name other devices: without the device, such a case skips itself and tests nothing.
DEVICES = ("-cupy-", "-dpnp-", "-torch-cuda-", "-torch-mps-", "-torch-xpu-")


@dataclass(frozen=True)
class Suite:
    """The tests of one project: where they are, our names in them, the share that must pass."""

    folder: Path
    files: tuple[str, ...]
    importer: Callable[..., Any]
    differences: str
    least: float


SUITES = {
    "scikit-learn": Suite(
        Path(sklearn.__file__).resolve().parent,
        (
            *(f"decomposition/tests/test_{name}.py" for name in ("fastica", "incremental_pca", "kernel_pca", "pca")),
            "decomposition/tests/test_truncated_svd.py",
            *(f"manifold/tests/test_{name}.py" for name in ("classical_mds", "isomap", "locally_linear", "mds")),
            *(f"manifold/tests/test_{name}.py" for name in ("spectral_embedding", "t_sne")),
            "tests/test_random_projection.py",
        ),
        adapter.importer(adapter.SCIKIT_LEARN),
        "differences.toml",
        0.88,
    ),
    "openTSNE": Suite(
        HERE.parents[1] / "build" / "peers" / "opentsne" / "tests",  # `make peers` unpacks the source distribution
        ("test_correctness.py", "test_different_usages.py", "test_sklearn_wrapper.py"),
        adapter.importer(adapter.OPENTSNE_NAMES),
        "differences_opentsne.toml",
        0.0,
    ),
}


class PeerModule(pytest.Module):
    """A test module of another project, run from its source with our names in its imports."""

    def _getobj(self) -> ModuleType:
        suite = suite_of(self.path)
        module = ModuleType(self.path.stem)
        module.__file__ = str(self.path)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": suite.importer}
        sys.modules[module.__name__] = module  # unittest looks a class's module up there
        exec(compile(self.path.read_text(encoding="utf-8"), self.path, "exec"), module.__dict__)
        return module


def suite_of(path: Path) -> Suite:
    """Return the suite that a file belongs to."""
    return next(suite for suite in SUITES.values() if path.is_relative_to(suite.folder))


class Plugin:
    """Collects the modules, seeds each case and keeps its outcome."""

    def __init__(self) -> None:
        self.outcomes: dict[str, dict[str, table.Outcome]] = {name: {} for name in SUITES}
        self.calls = 0

    def pytest_pycollect_makemodule(self, module_path: Path, parent: Any) -> Any:
        return PeerModule.from_parent(parent, path=module_path)

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        elsewhere = [item for item in items if any(device in item.nodeid for device in DEVICES)]
        items[:] = [item for item in items if item not in elsewhere]
        config.hook.pytest_deselected(items=elsewhere)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        np.random.seed(SEED)  # noqa: NPY002
        self.calls = adapter.Calls.count
        return (yield)

    def pytest_runtest_logreport(self, report: Any) -> None:
        file = Path(report.nodeid.partition("::")[0]).name
        suite = next(name for name, suite in SUITES.items() if file in (Path(f).name for f in suite.files))
        outcomes, name = self.outcomes[suite], table.case_id(report.nodeid)
        if not report.passed:
            outcomes[name] = table.Outcome("failed", message_of(report))
        elif report.when == "call":
            word = "passed" if adapter.Calls.count > self.calls else "apart"
            outcomes[name] = table.Outcome(word)


def message_of(report: Any) -> str:
    """Return one line that says why a case failed."""
    if hasattr(report, "wasxfail"):
        return f"xfail: {report.wasxfail}"
    if report.skipped:
        return f"skip: {report.longrepr[2]}"
    crash = getattr(report.longrepr, "reprcrash", None)
    return " ".join((crash.message if crash else str(report.longrepr)).split())[:300]


def main(options: list[str]) -> int:
    """Run the tests and judge the outcomes."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing or not SUITES["openTSNE"].folder.is_dir():
        print(f"missing: {', '.join(missing) or SUITES['openTSNE'].folder}; `make peers` installs it", file=sys.stderr)
        return 2
    plugin = Plugin()
    root = os.path.commonpath([suite.folder for suite in SUITES.values()])
    fixed = ["-c", os.devnull, "--rootdir", root, "--confcutdir", str(SUITES["scikit-learn"].folder)]
    fixed += ["-p", "no:cacheprovider", "-q", "--tb=no"]
    fixed += ["-W", "ignore", "--disable-warnings", "--no-header", "-r", "N"]
    files = [str(suite.folder / name) for suite in SUITES.values() for name in suite.files]
    status = pytest.main([*fixed, *options, *files], plugins=[plugin])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return int(status)
    good = True
    for name, suite in SUITES.items():
        if plugin.outcomes[name]:
            differences = table.read(HERE / suite.differences)
            agrees, lines = table.judge(plugin.outcomes[name], differences, suite.least, whole=not options)
            print(f"\n{name}", *lines, sep="\n")
            good = good and agrees
    return int(not good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
