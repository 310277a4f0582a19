"""Reports are read here without the interactive map, built or not; tests/explorer opens them in a browser."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def static_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowland.explorer.fragment._read", lambda name: None)
