"""Costs of work before it is done: `Plan`, rough seconds, and the one memory limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from . import settings
from .errors import MemoryLimitError
from .formatting import format_bytes, format_seconds
from .message import Configuration, Message

# Arithmetic of one modest core, for the rough seconds of a plan (64-bit; 32-bit counts double).
FLOPS_PER_CORE = 2.5e10
SPARSE_FLOPS_PER_CORE = 1.0e9
_TRIFLE = 1 << 16  # bytes so few that asking the system what is free costs more; thousands of small pieces do


@dataclass(frozen=True)
class DataShape:
    """What a plan needs to know of the data. ``n_rows`` is None where a stream does not say its length."""

    n_rows: int | None
    n_features: int
    dtype: np.dtype[Any]
    density: float = 1.0
    sparse: bool = False
    reiterable: bool = True
    copied: int = 0  # bytes that were or will be taken to turn the input into an array
    blocks: bool = False  # rows come in blocks, so that one array of them is a copy

    @property
    def entries(self) -> int:
        """Stored entries of the table."""
        return int((self.n_rows or 0) * self.n_features * self.density)

    @property
    def gathered(self) -> int:
        """Bytes that one array of all rows takes beyond the data: none where they are one already."""
        return self.entries * (self.dtype.itemsize + (4 if self.sparse else 0)) if self.blocks else 0


@dataclass(frozen=True)
class Plan:
    """The cost of a fit, before it is run.

    ``bytes`` is the peak of memory that the fit takes beyond the data it is given, ``model_bytes`` what the
    fitted model keeps, ``seconds`` a rough guess for this machine's number of threads; ``parts`` names the
    largest pieces of memory.
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

    def require(self, limit: int | None = None) -> None:
        """Raise `MemoryLimitError` if the plan passes the limit (default: the one in force)."""
        limit = settings.memory_limit() if limit is None else limit
        if self.bytes > limit:
            largest = max(self.parts, key=lambda name: self.parts[name], default="")
            most = f" (most of it for {largest}: {format_bytes(self.parts[largest])})" if largest else ""
            raise MemoryLimitError(
                Message(
                    f"{self.method} by {self.algorithm} would take {format_bytes(self.bytes)}{most}, and the limit is "
                    f"{format_bytes(limit)}. To go on: ",
                    self.remedy,
                    ", or ",
                    *_raise_limit(self.bytes),
                    ".",
                )
            )

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be copied or sent to a process by itself
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
    """Raise `MemoryLimitError` if a single allocation would exceed the memory limit.

    Plans are checked before a fit begins. This check comes before each large allocation: the size of streamed data is
    known only while they are read, and a plan may be too low. ``remedy`` may be empty.
    """
    if nbytes <= _TRIFLE and not settings.limit_is_given():
        return
    limit = settings.memory_limit()
    if nbytes > limit:
        much = f"{what} would take {format_bytes(nbytes)}, and the limit is {format_bytes(limit)}. To go on: "
        raise MemoryLimitError(Message(much, remedy, ", or " if remedy else "", *_raise_limit(nbytes), "."))


def _raise_limit(nbytes: int) -> tuple[str | Configuration, ...]:
    return "raise the limit with ", Configuration("memory_limit", f"{math.ceil(nbytes / 1e9)}GB")


def largest(*stages: Mapping[str, int]) -> dict[str, int]:
    """Return the stage that takes most memory, of stages that follow one another; pieces of no size are left out.

    >>> largest({"pairs": 5}, {"rows": 4, "copy": 3, "weights": 0})
    {'rows': 4, 'copy': 3}
    """
    most = max(stages, key=lambda parts: sum(parts.values()))
    return {name: size for name, size in most.items() if size}


def dense_seconds(flops: float, dtype: np.dtype[Any]) -> float:
    """Turn dense arithmetic into rough seconds."""
    return flops / (FLOPS_PER_CORE * settings.threads() * (8 // dtype.itemsize))


def sparse_seconds(flops: float) -> float:
    """Turn sparse arithmetic into rough seconds."""
    return flops / (SPARSE_FLOPS_PER_CORE * settings.threads())
