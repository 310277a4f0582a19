"""Maps are determined up to the signs of their axes."""

import numpy as np


def up_to_sign(A, B):
    """Return A with the signs of columns that suit B."""
    return A * np.sign((A * B).sum(axis=0))


def same_up_to_sign(A, B, **tolerance):
    """Check that two maps are the same up to signs; tolerances as in `assert_allclose`."""
    np.testing.assert_allclose(up_to_sign(A, B), B, **tolerance)
