"""Weights, tangents and Hessians of patches against the formulas written out, and the sum of patches as a matrix."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import lowland
from lowland.graph import patches
from lowland.graph.geometry import Coordinates, Square, products
from lowland.graph.graph import Graph
from lowland.graph.patches import (
    RIDGE,
    Patches,
    affine,
    barycentric,
    flatness,
    hessians,
    noise_ridge,
    several_weights,
    tangent_frames,
    tangents,
    with_center,
)
from lowland.spectral import dense


def offsets(rng, B=7, k=9, D=4):
    return rng.standard_normal((B, k, D)) * np.linspace(1.0, 0.1, D)


def gram(Z):
    return Z @ Z.transpose(0, 2, 1)


def graph_of(X, k):
    d, i = cKDTree(X).query(X, k + 1)
    return Graph.of_lists(i[:, 1:], d[:, 1:])


# -- weights ------------------------------------------------------------------------------------------------


def test_M2_weights_sum_to_one_and_do_not_see_turning_moving_scaling(rng):
    X = rng.standard_normal((60, 3))
    graph = graph_of(X, 8)
    lists = graph.indices.reshape(60, 8)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    w = barycentric(Coordinates(X).around(np.arange(60), lists))
    np.testing.assert_allclose(w.sum(axis=1), 1.0, atol=1e-13)
    moved = 250.0 * X @ Q + [3.0, -1e3, 70.0]
    np.testing.assert_allclose(barycentric(Coordinates(moved).around(np.arange(60), lists)), w, atol=1e-8)
    np.testing.assert_allclose(barycentric(Square(cdist(X, X)).around(np.arange(60), lists)), w, atol=1e-9)


def test_weights_are_the_constrained_minimum(rng):
    G = gram(offsets(rng))
    w, k = barycentric(G, 0.01), G.shape[1]
    for Gi, wi in zip(G, w, strict=True):
        A = Gi + 0.01 * np.trace(Gi) * np.eye(k)
        bordered = np.block([[A, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
        np.testing.assert_allclose(wi, np.linalg.solve(bordered, np.r_[np.zeros(k), 1.0])[:k], atol=1e-12)


def test_a_ridge_for_each_point(rng):
    G = gram(offsets(rng))
    r = np.linspace(1e-3, 1e-1, len(G))
    want = np.vstack([barycentric(G[i : i + 1], float(r[i])) for i in range(len(G))])
    np.testing.assert_array_equal(barycentric(G, r), want)


def test_distances_of_no_euclidean_space_still_give_weights(rng):
    own, among = rng.uniform(1, 3, (50, 6)), rng.uniform(0, 30, (50, 6, 6))
    among = np.triu(among.transpose(1, 2, 0), 1) if among.ndim == 2 else np.triu(among, 1)
    G = products(own, among + among.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(G)[:, 0].max() < 0
    w = barycentric(G)
    np.testing.assert_allclose(w.sum(axis=1), 1.0)
    assert np.abs(w).max() < 1 / RIDGE  # the plain solve has poles here
    values, V = np.linalg.eigh(G)
    positive = (V * values[:, None, :].clip(0)) @ V.transpose(0, 2, 1)
    load = RIDGE * np.trace(G, axis1=1, axis2=2)
    seen = load > 0
    want = np.linalg.solve(positive + load[:, None, None] * np.eye(6), np.ones((50, 6, 1)))[..., 0][seen]
    np.testing.assert_allclose(w[seen], want / want.sum(axis=1, keepdims=True), rtol=1e-6, atol=1e-9)


def test_one_row_or_many_give_the_same_bits(rng):
    G = gram(offsets(rng, B=40))
    G[::3] -= 2.0 * np.eye(G.shape[1])  # some of no Euclidean space
    for weigh in (barycentric, lambda G: affine(G, 2), lambda G: barycentric(G, noise_ridge(G, 2))):
        single = np.vstack([weigh(G[i : i + 1]) for i in range(len(G))])
        np.testing.assert_array_equal(weigh(G), single)


def test_the_noise_ridge_is_the_mean_of_the_small_eigenvalues(rng):
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    G = (Q * [4.0, 2.0, 0.3, 0.2, 0.1]) @ Q.T
    assert noise_ridge(G[None], 2)[0] == pytest.approx(0.2 / 6.6)
    assert noise_ridge(((Q * [4.0, 2.0, 0, 0, 0]) @ Q.T)[None], 2)[0] == pytest.approx(1e-4)
    assert noise_ridge(G[None], 5)[0] == RIDGE


def test_affine_weights_keep_affine_functions_of_the_tangent_coordinates(rng):
    plane = rng.standard_normal((20, 9, 2))
    x = rng.standard_normal((20, 2)) * 0.3
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0][:2]
    w = affine(gram((plane - x[:, None]) @ Q), 2)
    np.testing.assert_allclose(w.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose((w[:, None, :] @ plane)[:, 0], x, atol=1e-10)


def test_affine_weights_are_least_squares_in_the_tangent_space(rng):
    Z, y = offsets(rng), rng.standard_normal((7, 9))
    got = (affine(gram(Z), 2) * y).sum(axis=1)
    for Zi, yi, value in zip(Z, y, got, strict=True):
        mean = Zi.mean(axis=0)
        basis = np.linalg.svd(Zi - mean)[2][:2].T
        A = np.column_stack([np.ones(9), (Zi - mean) @ basis])
        assert value == pytest.approx(np.r_[1.0, -mean @ basis] @ np.linalg.lstsq(A, yi)[0])


# -- shape --------------------------------------------------------------------------------------------------


def test_tangents_are_the_leading_singular_vectors_of_the_patch(rng):
    Z = offsets(rng)
    U, values = tangents(gram(Z), 2)
    for Zi, Ui, vi in zip(Z, U, values, strict=True):
        left, s, _ = np.linalg.svd(Zi - Zi.mean(axis=0))
        np.testing.assert_allclose(vi, s[:2] ** 2, rtol=1e-10)
        np.testing.assert_allclose(Ui @ Ui.T, left[:, :2] @ left[:, :2].T, atol=1e-10)


def test_a_direction_without_extent_is_no_tangent(rng):
    t = rng.standard_normal((3, 8, 1))
    U, values = tangents(gram(t * [1.0, 2.0, -1.0]), 2)
    assert (U[:, :, 1] == 0).all()
    assert (values[:, 1] == 0).all()
    np.testing.assert_allclose((U**2).sum(axis=1)[:, 0], 1.0)
    assert (hessians(gram(t * [1.0, 2.0, -1.0]), 2)[:, :, 1:] == 0).all()  # only the second derivative along the line


def test_hessians_see_curvature_and_nothing_affine(rng):
    uv = rng.standard_normal((6, 11, 2))
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
    H = hessians(gram(uv @ Q), 2)
    np.testing.assert_allclose(H.transpose(0, 2, 1) @ H, np.broadcast_to(np.eye(3), (6, 3, 3)), atol=1e-12)
    for f in (np.ones((6, 11)), uv[:, :, 0], uv[:, :, 1]):
        np.testing.assert_allclose(np.einsum("bmh,bm->bh", H, f), 0.0, atol=1e-11)
    u, v = uv[:, :, 0], uv[:, :, 1]
    for f in (u * u, u * v, v * v):  # what is left of a quadratic function lies in H
        A = np.stack([np.ones_like(u), u, v], axis=2)
        rest = np.stack([fi - Ai @ np.linalg.lstsq(Ai, fi)[0] for Ai, fi in zip(A, f, strict=True)])
        np.testing.assert_allclose((H @ np.einsum("bmh,bm->bh", H, rest)[:, :, None])[..., 0], rest, atol=1e-9)
        assert np.linalg.norm(rest, axis=1).min() > 0.1


def test_several_weights_sum_to_one_and_make_up_the_point(rng):
    flat = rng.standard_normal((8, 9, 2)) @ np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
    W = several_weights(gram(flat), 2, eta=0.0)
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)  # all k − d columns are in use on a flat patch
    best = barycentric(gram(flat))
    size = np.linalg.norm((best[:, None, :] @ flat)[:, 0], axis=1)
    assert np.linalg.norm(W.transpose(0, 2, 1) @ flat, axis=2).max(axis=1) == pytest.approx(
        np.linalg.norm(W.transpose(0, 2, 1) @ flat, axis=2).min(axis=1)
    )
    assert (np.linalg.norm(W.transpose(0, 2, 1) @ flat, axis=2).max(axis=1) <= size * (1 + 1e-9)).all()
    assert np.linalg.matrix_rank(W[0]) == 7
    few = several_weights(gram(offsets(rng)), 2, eta=1e-9)
    used = (few != 0).any(axis=1).sum(axis=1)
    assert used.min() >= 1
    assert (used == 5).all()  # nine neighbours in four dimensions: five vectors are exact
    np.testing.assert_allclose(few.sum(axis=1)[few.any(axis=1)], 1.0, atol=1e-10)


def test_flatness(rng):
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    G = (Q * [4.0, 2.0, 0.3, 0.2, 0.1]) @ Q.T
    assert flatness(G[None], 2)[0] == pytest.approx(0.1)
    assert flatness(G[None], 5)[0] == 0.0


# -- the sum of patches ---------------------------------------------------------------------------------------


def ragged(rng, n=40):
    degrees = rng.integers(2, 6, n)
    lists = [rng.permutation(np.delete(np.arange(n), i))[:d] for i, d in enumerate(degrees)]
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    return Graph(indptr, np.concatenate(lists).astype(np.int32), np.ones(indptr[-1]))


@pytest.mark.parametrize("complement", [False, True])
def test_the_matrix_is_the_sum_of_the_patches(rng, complement):
    patches = Patches.of_graph(ragged(rng))
    F = rng.standard_normal((len(patches.members), 3))
    M = patches.matrix(F, complement)
    want = np.zeros((40, 40))
    for i in range(40):
        rows = slice(patches.indptr[i], patches.indptr[i + 1])
        members, Fi = patches.members[rows], F[rows]
        assert members[0] == i
        want[np.ix_(members, members)] += np.eye(len(Fi)) - Fi @ Fi.T if complement else Fi @ Fi.T
    np.testing.assert_allclose(M.toarray(), want, atol=1e-12)
    assert abs(M - M.T).max() == 0
    assert (np.diff(M.indices)[np.diff(np.repeat(np.arange(40), np.diff(M.indptr))) == 0] > 0).all()


def test_the_matrix_of_weights_is_that_of_LLE(rng):
    X = rng.standard_normal((300, 3))
    patches = Patches.of_graph(graph_of(X, 7))
    F = patches.over(
        Coordinates(X), lambda G: np.pad(-barycentric(G), ((0, 0), (1, 0)), constant_values=1)[..., None], 1
    )
    B = np.zeros((300, 300))
    B[np.repeat(np.arange(300), 8), patches.members] = F[:, 0]
    np.testing.assert_allclose(patches.matrix(F).toarray(), B.T @ B, atol=1e-13)


def test_patches_of_different_sizes_are_worked_on_alike(rng):
    X, graph = rng.standard_normal((40, 3)), ragged(rng)
    patches = Patches.of_graph(graph)
    F = patches.over(Coordinates(X), lambda G: tangent_frames(with_center(G), 2), 3)
    flat = patches.each(Coordinates(X), lambda G: flatness(G, 1))
    for i in range(40):
        rows = slice(patches.indptr[i], patches.indptr[i + 1])
        Z = X[patches.members[rows]]
        np.testing.assert_allclose(F[rows, 1:] @ F[rows, 1:].T, _projector(Z), atol=1e-9)
        s = np.linalg.svd(Z[1:] - X[i], compute_uv=False) ** 2
        assert flat[i] == pytest.approx(s[1:].sum() / s[0])


def _projector(Z):
    U = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)[0][:, :2]
    return U @ U.T


def test_same_bits_on_any_number_of_threads(rng):
    X = rng.standard_normal((40_000, 3))
    patches = Patches.of_graph(graph_of(X, 6))
    found = []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            F = patches.over(Coordinates(X), lambda G: hessians(with_center(G), 1), 1)
            found.append(patches.matrix(F))
    for other in found[1:]:
        assert (found[0].data == other.data).all()
        assert (found[0].indices == other.indices).all()


@pytest.mark.parametrize("columns", [40, 200_000])
def test_sparse_rows_have_the_products_of_dense_ones_without_being_filled_up(columns, rng):
    X = sp.random_array((60, columns), density=10 / columns, format="csr", rng=rng)
    few = np.unique(X.indices)
    lists = np.array([np.setdiff1d(rng.permutation(60)[:9], [i])[:8] for i in range(60)])
    dense, sparse = Coordinates(X[:, few].toarray()), Coordinates(X)
    everyone = np.arange(60)
    tracemalloc.start()
    got = sparse.around(everyone, lists)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6
    np.testing.assert_allclose(got, dense.around(everyone, lists), atol=1e-12)
    new = sparse.around_new(X, lists, np.empty(0))
    np.testing.assert_array_equal(new, got)
    for i in (0, 17):  # alone or among others
        np.testing.assert_array_equal(sparse.around_new(X[[i]], lists[[i]], np.empty(0))[0], got[i])
    assert len(list(sparse.batches(60, 8))) == 1


def test_batches_go_to_the_spectral_room(rng):
    A = rng.standard_normal((7, 5, 5))
    A = A @ A.transpose(0, 2, 1)
    values, V = dense.eigh_batch(A)
    np.testing.assert_allclose((V * values[:, None, :]) @ V.transpose(0, 2, 1), A, atol=1e-12)
    np.testing.assert_allclose(dense.eigvalsh_batch(A), values, atol=1e-12)
    source = Path(patches.__file__).read_text(encoding="utf-8")
    assert "linalg.eig" not in source


def test_tangents_of_a_patch_with_a_far_member_stay_orthogonal_to_constants(rng):
    Z = rng.standard_normal((1, 11, 3))
    Z[0, 4] *= 1e6
    G = (Z - Z[:, :1])[:, 1:] + 1e6  # seen from far away
    U = patches.tangents(G @ G.transpose(0, 2, 1), 2)[0]
    assert np.abs(U.sum(axis=1)).max() < 1e-12
    np.testing.assert_allclose((U.transpose(0, 2, 1) @ U)[0], np.eye(2), atol=1e-12)
