"""Estimated cost of work: `Plan`, rough seconds, and the check against the memory limit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from . import settings
from .errors import MemoryLimitError
from .formatting import format_bytes, format_seconds
from .memory import release
from .message import Configuration, Message

# Operations per second of one modest core, in float64; float32 is twice as fast.
FLOPS_PER_CORE = 2.5e10
SPARSE_FLOPS_PER_CORE = 1.0e9
_LARGE_ALLOCATION = 1 << 25  # bytes from which the C library asks the system for memory, whatever was freed
_held: ContextVar[int] = ContextVar("held", default=0)  # bytes that the fit has allocated already (`holding`)
_MIN_CHECKED_BYTES = 1 << 16  # smaller allocations are frequent, and reading the free memory costs more than they do


@dataclass(frozen=True)
class DataShape:
    """Shape, type and storage of the data, as a plan needs them; ``n_rows`` is None for a stream of unknown length."""

    n_rows: int | None
    n_features: int
    dtype: np.dtype[Any]
    density: float = 1.0
    sparse: bool = False
    reiterable: bool = True
    copied: int = 0  # bytes needed to convert the input to an array
    blocks: bool = False  # rows come in blocks: one array of all of them is a copy

    @property
    def entries(self) -> int:
        """Stored entries of the table."""
        return int((self.n_rows or 0) * self.n_features * self.density)

    @property
    def gathered(self) -> int:
        """Bytes of one array of all rows; 0 if the data are one array already."""
        return self.entries * (self.dtype.itemsize + (4 if self.sparse else 0)) if self.blocks else 0


@dataclass(frozen=True)
class Plan:
    """The cost of a fit, before it is run.

    ``bytes`` is the peak memory of the fit in addition to the data, ``model_bytes`` the memory of the fitted model,
    ``seconds`` a rough estimate for this machine's number of threads; ``parts`` lists the largest allocations.
    """

    method: str
    algorithm: str
    bytes: int
    seconds: float
    approximate: bool = False
    model_bytes: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)
    remedy: str = "reduce fewer rows or columns"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))

    @classmethod
    def of(
        cls,
        method: str,
        algorithm: str,
        shape: DataShape,
        parts: Mapping[str, int],
        seconds: float,
        *,
        gathers: bool = False,
        **more: Any,
    ) -> Plan:
        """Return the plan of a fit whose memory is its parts and what converting the input takes.

        ``gathers``: rows that come in blocks are held in one array, as neighbour searches and stress need them. Methods
        that read blocks one by one do not, and those that name this array among their parts must not count it twice.

        >>> shape = DataShape(1000, 10, np.dtype(float), blocks=True)
        >>> [Plan.of("M", "all pairs", shape, {"pairs": 8000}, 0.1, gathers=gathers).bytes for gathers in (False, True)]
        [8000, 88000]
        """
        size = sum(parts.values()) + shape.copied + (shape.gathered if gathers else 0)
        return cls(method, algorithm, size, seconds, parts=parts, **more)

    def require(self, limit: int | None = None) -> None:
        """Raise `MemoryLimitError` if the plan exceeds the limit (default: the current one)."""
        limit = settings.memory_limit() if limit is None else limit
        if self.bytes > limit:
            largest = max(self.parts, key=lambda name: self.parts[name], default="")
            most = f" (largest part: {largest}, {format_bytes(self.parts[largest])})" if largest else ""
            size = f"{self.method} by {self.algorithm} would take {format_bytes(self.bytes)}{most}"
            raise _over_limit(size, limit, self.remedy, self.bytes)

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be pickled
        return Plan, tuple(dict(self.parts) if f.name == "parts" else getattr(self, f.name) for f in fields(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {
            "method": self.method,
            "algorithm": self.algorithm,
            "bytes": self.bytes,
            "model_bytes": self.model_bytes,
            "seconds": self.seconds,
            "approximate": self.approximate,
            "parts": dict(self.parts),
        }

    def __str__(self) -> str:
        rows = [
            ("method", self.method),
            ("algorithm", self.algorithm),
            ("memory", format_bytes(self.bytes)),
            *((f"  {name}", format_bytes(size)) for name, size in self.parts.items()),
            ("model", format_bytes(self.model_bytes)),
            ("time", format_seconds(self.seconds)),
            ("approximate", "yes" if self.approximate else "no"),
        ]
        if self.bytes > (limit := settings.memory_limit()):
            rows.append(("does not fit", f"the memory limit is {format_bytes(limit)}: {self.remedy}"))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def check_allocation(nbytes: int, what: str, remedy: str) -> None:
    """Raise `MemoryLimitError` if an allocation, with what the fit holds already, would exceed the limit.

    Plans are checked before a fit begins. This check precedes each large allocation: the size of a stream is not known
    in advance, and a plan can be wrong. ``remedy`` may be empty. A limit that was not given is a share of the free
    memory, from which what is held is missing already. Freed memory returns to the system before a large allocation.
    """
    given = settings.limit_is_given()
    if nbytes <= _MIN_CHECKED_BYTES and not given:
        return
    limit, held = settings.memory_limit(), _held.get() if given else 0
    if nbytes + held > limit:
        size = f"{what} would take {format_bytes(nbytes)}"
        if held:
            size += f", in addition to {format_bytes(held)} that the fit holds already"
        raise _over_limit(size, limit, remedy, nbytes + held)
    if nbytes >= _LARGE_ALLOCATION:
        release()


@contextmanager
def holding(*parts: Any) -> Iterator[None]:
    """Count arrays, dense or sparse, as held by the fit while the block runs; other objects count as nothing.

    >>> with settings.config(memory_limit=10_000), holding(np.zeros(1000)):
    ...     check_allocation(5000, "another array", "use fewer rows")
    Traceback (most recent call last):
    lowland.core.errors.MemoryLimitError: another array would take 5 kB, in addition to 8 kB that the fit holds ...
    """
    token = _held.set(_held.get() + sum(map(_stored, parts)))
    try:
        yield
    finally:
        _held.reset(token)


def _stored(part: Any) -> int:
    """Return the bytes of an array, or of the arrays that make up a sparse one."""
    names = ("data", "indices", "indptr") if hasattr(part, "indptr") else ()
    return sum(int(getattr(part, name).nbytes) for name in names) or int(getattr(part, "nbytes", 0))


def _over_limit(size: str, limit: int, remedy: str, needed: int) -> MemoryLimitError:
    """Return the error of work of a size in words, with the remedy (may be empty) and the limit that would do."""
    reason = f"{size}; the memory limit is {format_bytes(limit)}"
    raised = Message("raise the limit with ", Configuration("memory_limit", f"{math.ceil(needed / 1e9)}GB"), ".")
    return MemoryLimitError(
        Message(reason, ". To continue: ", remedy, ", or " if remedy else "", raised), reason=reason
    )


def largest(*stages: Mapping[str, int]) -> dict[str, int]:
    """Return the one of several successive stages that needs the most memory, without its empty parts.

    >>> largest({"pairs": 5}, {"rows": 4, "copy": 3, "weights": 0})
    {'rows': 4, 'copy': 3}
    """
    most = max(stages, key=lambda parts: sum(parts.values()))
    return {name: size for name, size in most.items() if size}


def dense_seconds(flops: float, dtype: np.dtype[Any]) -> float:
    """Return the rough seconds of dense arithmetic."""
    return flops / (FLOPS_PER_CORE * settings.threads() * (8 // dtype.itemsize))


def sparse_seconds(flops: float) -> float:
    """Return the rough seconds of sparse arithmetic."""
    return flops / (SPARSE_FLOPS_PER_CORE * settings.threads())
