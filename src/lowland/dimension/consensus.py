"""The linear consensus: the median of the whole numbers with which the rules take part.

A rule that finds no component above noise takes part with all dimensions: data without linear structure cannot be
reduced linearly. So does Minka's rule where it keeps all components but one, the most that it can. Without them the
flat rules decide alone: an arc of half a circle would have one dimension.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..core.measure import Measure

SILENT = "nothing above noise"
NO_NOISE = "{most} is the most it can keep"


def counting_all(found: Mapping[str, Measure], rank: int) -> dict[str, str]:
    """Return the rules that take part with all dimensions, each with the reason.

    >>> counting_all({"variance_share": Measure(4), "broken_stick": Measure(0), "minka": Measure(4)}, rank=5)
    {'broken_stick': 'nothing above noise', 'minka': '4 is the most it can keep'}
    """
    reasons = {name: SILENT for name, value in found.items() if round(value) == 0}
    if "minka" in found and found["minka"] >= rank - 1:
        reasons["minka"] = NO_NOISE.format(most=rank - 1)
    return reasons


def median(counted: Mapping[str, int]) -> Measure:
    """Return the median of counts, of an even number the lower one in the middle; its interval is their range.

    >>> median({"variance_share": 4, "largest_gap": 2, "broken_stick": 1, "minka": 3})
    2 [1, 4]
    """
    votes = sorted(counted.values())
    return Measure(votes[(len(votes) - 1) // 2], votes[0], votes[-1])
