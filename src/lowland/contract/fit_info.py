"""The record of a fit: `FitInfo`, and the `Recorder` that collects it while the fit runs."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self

from ..core.cost import Plan
from ..core.errors import RankWarning
from ..core.formatting import format_bytes
from ..core.message import Message, message

_SMALL = 1_000_000  # bytes: below this the growth of a process says nothing


@dataclass(frozen=True)
class FitInfo:
    """What a fit did and how far it can be trusted; immutable, printed as a small table.

    ``residual`` is the measured relative error of the eigen- or singular pairs, ``approximation_error`` the
    measured error of an approximate algorithm, ``seconds`` the time of each stage, ``peak_bytes`` the memory
    the process grew by; ``evidence`` maps further names (share of variance, …) to values.
    """

    method: str
    algorithm: str
    solver: str = ""
    iterations: int | None = None
    residual: float | None = None
    approximate: bool = False
    approximation_error: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_bytes: int | None = None
    warnings: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", MappingProxyType(dict(self.seconds)))
        object.__setattr__(self, "evidence", MappingProxyType(dict(self.evidence)))
        object.__setattr__(self, "warnings", tuple(self.warnings))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be copied or sent to a process by itself
        return FitInfo.from_dict, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values."""
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        out.update(seconds=dict(self.seconds), evidence=dict(self.evidence), warnings=list(self.warnings))
        return out

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build the record from plain values; names it does not know are left out."""
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def rows(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs for a table."""
        out = [("method", self.method), ("algorithm", self.algorithm)]
        if self.solver:
            out.append(("solver", self.solver))
        if self.iterations is not None:
            out.append(("iterations", str(self.iterations)))
        if self.residual is not None:
            out.append(("residual", f"{self.residual:.2g}"))
        out.append(("approximate", "yes" if self.approximate else "no"))
        if self.approximation_error is not None:
            out.append(("approximation error", f"{self.approximation_error:.3g}"))
        total = sum(self.seconds.values())
        stages = ", ".join(f"{name} {value:.2g}" for name, value in self.seconds.items())
        out.append(("seconds", f"{total:.2g}" + (f" ({stages})" if stages else "")))
        if self.peak_bytes is not None:
            small = self.peak_bytes < _SMALL  # pages that the process had already are not counted
            out.append(("memory", f"less than {format_bytes(_SMALL)}" if small else format_bytes(self.peak_bytes)))
        for name, value in self.evidence.items():
            out.append((name, f"{value:.4g}" if isinstance(value, float) else str(value)))
        out.extend(("warning", text) for text in self.warnings)
        return out

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)

    def _repr_html_(self) -> str:
        from html import escape

        cells = "".join(f"<tr><th>{escape(n)}</th><td>{escape(t)}</td></tr>" for n, t in self.rows())
        return f"<table>{cells}</table>"


@dataclass
class Recorder:
    """Collects what `FitInfo` will hold while a fit runs; knows the plan that the fit follows."""

    method: str
    plan: Plan | None = None
    values: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one stage."""
        start = time.perf_counter()
        yield  # the record of a fit that fails is dropped
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def warn(self, message: str, category: type[Warning]) -> None:
        """Warn the caller and keep the message in the record."""
        self.messages.append(message)
        warnings.warn(message, category, stacklevel=level_of_the_caller())

    def warn_short(
        self,
        rank: int,
        asked: int | None,
        unseen: float = 0.0,
        remedy: str = message("{solver} does not square them", solver="svd"),
        what: str = "the data",
    ) -> None:
        """Warn that ``what`` has fewer components than ``asked``; None is all of them.

        ``unseen`` is the share of the largest singular value below which none was seen, where only squares were kept.
        """
        below = "" if asked is None else f", below the {asked} requested components"
        exist = "" if asked is None else f", so only {rank} of the {asked} requested components exist"
        text = (
            f"{what} have at least rank {rank}{below}: the rows were added up as squares, in which a singular value "
            f"below {unseen:.1g} of the largest cannot be distinguished from rounding; "
            if unseen
            else f"{what} have rank {rank}{exist}"
        )
        last = (remedy, f"; the result has {rank} components") if unseen else ()
        self.warn(Message(f"{self.method}: {text}", *last), RankWarning)

    def tell_checked(self, blocks: int | None) -> None:
        """Record that a Krylov method looked for missed eigenpairs; of several solves the first counts."""
        if blocks is not None:
            self.evidence.setdefault("missed eigenpairs", f"none found; checked (randomised) with {blocks} blocks")

    def note(self, **values: Any) -> None:
        """Set fields of the record."""
        self.values.update(values)

    def info(self, peak_bytes: int | None) -> FitInfo:
        """Close the record."""
        lists: dict[str, Any] = {"seconds": self.seconds, "warnings": self.messages, "evidence": self.evidence}
        return FitInfo(self.method, **{"algorithm": "", **self.values}, **lists, peak_bytes=peak_bytes)


def level_of_the_caller() -> int:
    """Return the stack level, seen from the calling function, of the first line that is not a library's own."""
    frame, level = inspect.currentframe(), 0
    libraries = ("lowland", "sklearn", "contextlib")
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in libraries:
        frame, level = frame.f_back, level + 1
    return level
