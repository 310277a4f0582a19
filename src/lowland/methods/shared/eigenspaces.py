"""What methods by eigenvectors say where ``n_components`` takes only a part of an eigenspace."""

from __future__ import annotations

from ...contract.reducer import Recorder
from ...core.errors import DegenerateWarning


def warn_cut(name: str, k: int, whole: int | None, record: Recorder) -> None:
    """Warn that eigenvalues k and k + 1 are equal; ``whole`` components hold their eigenspace (None: not known)."""
    remedy = f"n_components={whole} takes all of it" if whole is not None else "take another n_components"
    record.warn(
        f"{name}: eigenvalues {k} and {k + 1} are equal, so the axes are arbitrary: n_components={k} "
        f"cuts an eigenspace, all of whose directions are as good as these; {remedy}",
        DegenerateWarning,
    )
