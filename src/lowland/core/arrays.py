"""Namespaces, devices and dtypes of NumPy, torch and CuPy arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

Array = Any


def is_foreign(x: Any) -> bool:
    """Return whether x is a torch or CuPy array, without importing either library."""
    for name, kind in (("torch", "Tensor"), ("cupy", "ndarray")):
        module = sys.modules.get(name)
        if module is not None and isinstance(x, getattr(module, kind)):
            return True
    return False


def is_standard(x: Any) -> bool:
    """Return whether x is an array of the array API standard, of a library other than NumPy, torch and CuPy."""
    return hasattr(x, "__array_namespace__") and not isinstance(x, np.ndarray | np.generic) and not is_foreign(x)


def dispatched(x: Any) -> bool:
    """Return whether results follow x: scikit-learn's ``array_api_dispatch`` is on, and x is not NumPy's."""
    sklearn = sys.modules.get("sklearn")
    on = sklearn is not None and sklearn.get_config()["array_api_dispatch"]
    return bool(on) and (is_foreign(x) or is_standard(x))


def namespace(*arrays: Array) -> Any:
    """Return the array namespace of the arguments: ``numpy``, or array-api-compat's wrapper of another library."""
    if not any(is_foreign(a) for a in arrays):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(*[a for a in arrays if is_foreign(a)])


def dtype_of(x: Array) -> np.dtype[Any]:
    """Return the dtype of an array of any library as a NumPy dtype."""
    return np.dtype(str(x.dtype).rpartition(".")[2])


def to_numpy(x: Array) -> np.ndarray[Any, Any]:
    """Return an array as a NumPy array, copied from the device if needed."""
    if is_standard(x) and hasattr(x, "__dlpack__"):
        return np.from_dlpack(x, device="cpu")
    if not is_foreign(x):
        return np.asarray(x)
    if hasattr(x, "get"):  # CuPy
        return np.asarray(x.get())
    return np.asarray(x.detach().cpu().numpy())


def detached(x: Array) -> Array:
    """Return a tensor detached from its gradients; any other array unchanged."""
    return x.detach() if hasattr(x, "detach") else x


def like(x: Any, reference: Array, dtype: Any = None) -> Array:
    """Return x as an array of the reference's library and device; ``dtype=None`` keeps the dtype of x."""
    if not is_foreign(reference):
        return np.asarray(to_numpy(x), dtype=dtype)
    xp = namespace(reference)
    import array_api_compat

    device = array_api_compat.device(reference)
    target = getattr(xp, np.dtype(dtype).name) if dtype is not None else None
    if is_foreign(x):
        x = array_api_compat.to_device(x, device)
        return x if target is None else xp.astype(x, target, copy=False)
    host = np.ascontiguousarray(x)
    if not host.flags.writeable or min(host.strides, default=0) < 0:  # torch accepts neither
        host = host.copy()
    return xp.asarray(host, dtype=target, device=device)


def back(x: Any, home: Array) -> Array:
    """Return a NumPy array in the library and on the device of ``home``, which may be any of the array API standard."""
    if is_standard(home):
        return home.__array_namespace__().asarray(np.ascontiguousarray(x), device=home.device)
    return like(x, home)


def cast(x: Array, dtype: Any) -> Array:
    """Return x in another dtype; no copy if it already has it."""
    if not is_foreign(x):
        return x.astype(dtype, copy=False)
    xp = namespace(x)
    return xp.astype(x, getattr(xp, np.dtype(dtype).name), copy=False)


def less(x: Array, shift: Array) -> Array:
    """Return x − shift in float64; for NumPy without a float64 copy of x.

    >>> less(np.array([3.0], dtype=np.float32), np.array([1.0]))
    array([2.])
    """
    shift = like(shift, x, np.float64)
    return cast(x, np.float64) - shift if is_foreign(x) else np.subtract(x, shift, dtype=np.float64)


def t(x: Array) -> Array:
    """Transpose a matrix."""
    return x.mT


def column_norms(x: Array) -> Array:
    """Return the lengths of the columns of a real matrix; NumPy's norm stores the squares and takes 3 times as long.

    >>> column_norms(np.array([[3.0, 0.0], [4.0, 2.0]])).tolist()
    [5.0, 2.0]
    """
    if isinstance(x, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->j", x, x))
    return namespace(x).linalg.vector_norm(x, axis=0)


def eps(x: Array) -> float:
    """Return the machine precision of the array's dtype."""
    return float(np.finfo(dtype_of(x)).eps)
