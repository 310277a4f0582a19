"""The loops that place rows among fixed anchors, compiled when first imported and kept on disk.

See `placement` for what they do. Anchors come as k × m, so that the innermost loops run along memory. Numbers are
copied one by one: an assignment to a slice would add a second and a half of compilation.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ...core.jit import FAST_SUMS
from .stress_loops import FIXED, LINE, PLANE, TINY


@nb.njit(nb.float64(FIXED, LINE, LINE, LINE, PLANE, LINE, PLANE), **FAST_SUMS)
def terms(Z, target, weight, y, work, g, H):  # type: ignore[no-untyped-def]
    """Return f = Σw(d − t)², and half of its gradient g and Hessian H at y."""
    k, m = Z.shape
    f, free = 0.0, 0.0
    pull, bend = work[0], work[1]
    pull[:] = 0.0
    for c in range(k):
        x, z = y[c], Z[c]
        for j in range(m):
            pull[j] += (x - z[j]) ** 2
    for j in range(m):
        d = np.sqrt(pull[j])
        e = d - target[j]
        f += weight[j] * e * e
        inverse = 1.0 / (d + TINY)
        r = weight[j] * target[j] * inverse
        pull[j] = weight[j] - r
        bend[j] = r * inverse * inverse
        free += weight[j] - r
    for c in range(k):
        x, z, total = y[c], Z[c], 0.0
        for j in range(m):
            total += pull[j] * (x - z[j])
        g[c] = total
        for b in range(c + 1):
            x2, z2, total = y[b], Z[b], 0.0
            for j in range(m):
                total += bend[j] * (x - z[j]) * (x2 - z2[j])
            H[c, b] = total
        H[c, c] += free
    return f


@nb.njit(nb.boolean(PLANE, LINE, LINE, nb.float64), **FAST_SUMS)
def newton(H, g, step, least):  # type: ignore[no-untyped-def]
    """Solve H step = −g by Cholesky, in place; False if H is not clearly positive definite."""
    k = len(g)
    for c in range(k):
        for b in range(c + 1):
            s = H[c, b]
            for a in range(b):
                s -= H[c, a] * H[b, a]
            if b < c:
                H[c, b] = s / H[b, b]
            elif s > least:
                H[c, c] = np.sqrt(s)
            else:
                return False
    for c in range(k):
        s = -g[c]
        for a in range(c):
            s -= H[c, a] * step[a]
        step[c] = s / H[c, c]
    for c in range(k - 1, -1, -1):
        s = step[c]
        for a in range(c + 1, k):
            s -= H[a, c] * step[a]
        step[c] = s / H[c, c]
    return True


@nb.njit(nb.float64(FIXED, LINE, LINE, nb.float64, LINE, PLANE, PLANE, PLANE, nb.float64, LINE), **FAST_SUMS)
def descend(Z, target, weight, total, y, vectors, H, work, scale, seen):  # type: ignore[no-untyped-def]
    """Move y to a minimum of f and return f: Newton's step where it goes down, else Guttman's, which must.

    Gives up, and returns infinity, where it comes near the minimum ``seen`` before.
    """
    k = len(y)
    g, step, trial, back = vectors[0], vectors[1], vectors[2], vectors[3]
    f, length, curved, first = np.inf, np.inf, False, True
    for c in range(k):
        trial[c] = y[c]
    for _ in range(400):
        f_new = terms(Z, target, weight, trial, work, g, H)  # the one place: it is compiled into the loop
        if f_new <= f:
            f = f_new
            apart = 0.0
            for c in range(k):
                y[c], back[c] = trial[c], g[c]
                apart = max(apart, abs(y[c] - seen[c]))
            if apart <= 0.01 * scale:
                return np.inf
            if not first and length <= 1e-13 * scale:
                return f
            curved = newton(H, g, step, 1e-6 * total)
            if not curved:
                for c in range(k):
                    step[c] = -2.0 * g[c] / total
        elif length <= 1e-13 * scale:
            return f
        else:
            curved = False
            for c in range(k):
                step[c] = -back[c] / total
        first, length = False, 0.0
        for c in range(k):
            length = max(length, abs(step[c]))
            trial[c] = y[c] + step[c]
        if curved and length <= 1e-7 * scale:  # what remains is the square of this
            for c in range(k):
                y[c] = trial[c]
            return f
    return f


@nb.njit(nb.void(FIXED, LINE, LINE, LINE, LINE), **FAST_SUMS)
def pick(Z, delta, target, weight, y):  # type: ignore[no-untyped-def]
    """Set y to the anchor at distance 0; of several to the one that the other distances suit best."""
    k, m = Z.shape
    best = np.inf
    for a in range(m):
        if delta[a] != 0.0:
            continue
        f = 0.0
        for j in range(m):
            d2 = 0.0
            for c in range(k):
                d2 += (Z[c, a] - Z[c, j]) ** 2
            f += weight[j] * (np.sqrt(d2) - target[j]) ** 2
        if f < best * (1.0 - 1e-9):
            best = f
            for c in range(k):
                y[c] = Z[c, a]


_SIGNATURE = nb.void(FIXED, FIXED, FIXED, PLANE, PLANE, nb.int64, nb.float64, nb.float64, LINE, PLANE)


@nb.njit(_SIGNATURE, **FAST_SUMS)
def place(Z, P, norms, delta, target, power, scale, closest, offset, out):  # type: ignore[no-untyped-def]
    """Place each row among the anchors Z (k × m); ``target`` is written over where a distance is not known."""
    k, m = Z.shape
    weight, work = np.empty(m), np.empty((2, m))
    vectors, H, starts, seen = np.empty((4, k)), np.empty((k, k)), np.empty((3, k)), np.empty(k)
    for r in range(len(out)):
        total, known, nearest = 0.0, 0, -1
        for j in range(m):
            weight[j] = 0.0
            if np.isnan(delta[r, j]):
                target[r, j] = 0.0
                continue
            known += 1
            base = max(delta[r, j], closest)
            if power == 0:
                weight[j] = 1.0
            elif base > 0.0:  # at distance 0 the row is an anchor, whatever its weight
                weight[j] = 1.0 / base if power == 1 else 1.0 / (base * base)
            total += weight[j]
            if nearest < 0 or delta[r, j] < delta[r, nearest]:
                nearest = j
        if known == 0:
            for c in range(k):
                out[r, c] = np.nan
            continue
        if delta[r, nearest] == 0.0:
            pick(Z, delta[r], target[r], weight, out[r])
            continue
        for c in range(k):
            starts[0, c], starts[1, c], seen[c] = offset[c], Z[c, nearest], np.inf
            if known < m:
                starts[0, c] = starts[1, c]
            else:  # squared distances are linear in y, but for a constant
                for j in range(m):
                    starts[0, c] += P[c, j] * (target[r, j] ** 2 - norms[0, j])
        best = np.inf
        for s in range(3):
            if s == 2:  # across the centre from the best so far
                for c in range(k):
                    starts[2, c] = 2.0 * offset[c] - out[r, c]
            f = descend(Z, target[r], weight, total, starts[s], vectors, H, work, scale, seen)
            if f < best * (1.0 - 1e-9):
                best = f
                for c in range(k):
                    out[r, c] = seen[c] = starts[s, c]
