"""Warnings of methods by eigenvectors about coordinates that say little."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...contract.fit_info import Recorder
from ...core.errors import DegenerateWarning, LowlandWarning
from ...core.message import Message, message

Array = Any

_CONCENTRATED_SHARE, _CONCENTRATED_POINTS = 0.01, 4  # a coordinate on fewer of the points, and at least, is reported
_COORDINATES_SHOWN = 3  # those of pictures; the last of very many are concentrated by nature


def warn_cut(name: str, k: int, whole: int | None, record: Recorder) -> None:
    """Warn that eigenvalues k and k + 1 are equal; ``whole`` components hold their eigenspace (None: not known)."""
    cut = message(
        f"{name}: eigenvalues {k} and {k + 1} are equal, so the axes are arbitrary: {{n_components}} cuts an "
        "eigenspace, all of whose directions are equally good; ",
        n_components=k,
    )
    remedy = ("{n_components} includes all of it", whole) if whole is not None else ("use another {n_components}", ...)
    record.warn(Message(cut, message(remedy[0], n_components=remedy[1])), DegenerateWarning)


def warn_concentrated(name: str, V: Array, remedy: str, record: Recorder) -> None:
    """Warn of a coordinate that is large for a few points and near zero for the others."""
    V = V[:, :_COORDINATES_SHOWN] - V[:, :_COORDINATES_SHOWN].mean(axis=0)
    # 1/Σv⁴ of a centred unit vector counts those few: it is n/1.8 for even coordinates.
    few = (V**2).sum(axis=0) ** 2 / np.maximum((V**4).sum(axis=0), np.finfo(np.float64).tiny)
    worst = int(few.argmin())
    if few[worst] < max(_CONCENTRATED_SHARE * len(V), min(_CONCENTRATED_POINTS, len(V) / 10)):
        points = f"about {max(1, round(float(few[worst])))} of {len(V)} points"
        text = f"coordinate {worst + 1} mainly separates {points} that are weakly connected to the rest; "
        record.warn(Message(f"{name}: {text}", remedy), LowlandWarning)
