"""Maps of the LLE family by scikit-learn, and how far two maps differ."""

import numpy as np
from sklearn.manifold import LocallyLinearEmbedding


def span_angle(A, B):
    """Return the sine of the largest angle between the columns' spans."""
    A, B = np.linalg.qr(A)[0], np.linalg.qr(B)[0]
    return float(np.linalg.norm(A - B @ (B.T @ A), 2))


def theirs(method, X, **options):
    """Return scikit-learn's map, of 12 neighbours, by its dense solver."""
    model = LocallyLinearEmbedding(n_neighbors=12, method=method, eigen_solver="dense", **options)
    return model.fit(X).embedding_
