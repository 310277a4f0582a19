"""Results find what draws them through one table."""

from __future__ import annotations

import importlib

import pytest

from lowland.core.show import DRAWERS, show


@pytest.mark.parametrize("what", DRAWERS, ids=lambda name: name.replace(" ", "-"))
def test_each_drawer_is_there(what):
    module, name = DRAWERS[what]
    assert callable(getattr(importlib.import_module(module), name))


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError):
        show("a landscape")
