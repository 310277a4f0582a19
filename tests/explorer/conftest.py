"""A browser for pages, and the script of the interactive map; without them tests are skipped, and say why."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from opened_page import Opened

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
]


def hook():
    """Return the module of the build hook; None in a copy of the tests without it."""
    path = ROOT / "hatch_build.py"
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("hatch_build", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def skip(reason):
    """Skip with the reason in the summary; LOWLAND_REQUIRE_BROWSER=1 makes it a failure."""
    if os.environ.get("LOWLAND_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(f"PAGES ARE NOT TESTED: {reason}")


@pytest.fixture(scope="session")
def bundle(tmp_path_factory):
    """The script of the interactive map, built from the present sources."""
    from lowland.explorer import script
    from lowland.explorer.fragment import _read

    build = hook()
    if build is not None and not build.is_current(ROOT):
        from filelock import FileLock

        with FileLock(tmp_path_factory.getbasetemp().parent / "bundle.lock"):  # one of the parallel processes builds
            try:
                if not build.is_current(ROOT):
                    build.build(ROOT)
            except (build.BuildError, OSError) as error:
                skip(f"the script of the interactive map cannot be built ({error}): run `make web`")
        _read.cache_clear()
    code = script()
    if code is None:
        skip("this installation has no script of the interactive map: run `make web`")
    return code


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        skip("there is no Chromium: run `make browser` as root, or install it")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip('playwright is not installed: pip install "lowland[test]"')
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser, tmp_path):
    contexts = []

    def opener(text, **options):
        file = tmp_path / "page.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(viewport={"width": 1280, "height": 1000}, offline=True, **options)
        contexts.append(context)
        return Opened(context.new_page(), file)

    yield opener
    for context in contexts:
        context.close()
