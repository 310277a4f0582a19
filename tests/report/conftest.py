"""Reports are read here without the interactive map, built or not; tests/explorer opens them in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def static_pages() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lowland.explorer.fragment._read", lambda name: None)
        yield
