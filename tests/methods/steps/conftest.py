"""The table of patients for every test."""

import pytest

from patients import make_patients


@pytest.fixture
def patients():
    return make_patients()
