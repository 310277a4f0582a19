"""Which candidate to take, why, and what it is not good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .. import registry
from ..errors import LowlandError
from ..report.facts import count
from ..settings import format_seconds
from . import ranking
from .budget import OUT_OF_TIME
from .candidates import EXCLUDED
from .ranking import SIDES, WORDS, Entry, Judge

# Of candidates that tie, the simplest is taken: straight maps before curved ones, black boxes last.
_SIMPLE = ("linear", "distance", "manifold", "kernel", "network", "embedding")
_PRINCIPAL = ("famd", "pca", "classical_mds")  # maps of principal components; the last of distances, too
_LOST = 0.15  # by how much a class must be guessed worse than in the data to be called destroyed
_WEAK = 0.7  # a criterion below this is a warning
_LONG = 600.0  # seconds that all rows may take before that is a warning


@dataclass(frozen=True)
class Recommendation:
    """The method to take; prints as plain sentences.

    ``ties`` are candidates that cannot be told apart from it, ``not_good_for`` what its map does not show.
    """

    key: str
    method: str
    parameters: Mapping[str, Any]
    prefer: str
    reasons: tuple[str, ...]
    ties: tuple[str, ...]
    not_good_for: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be copied or sent to a process by itself
        return _restored, tuple(self.to_dict().values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "key": self.key,
            "method": self.method,
            "parameters": dict(self.parameters),
            "prefer": self.prefer,
            "reasons": list(self.reasons),
            "ties": list(self.ties),
            "not_good_for": list(self.not_good_for),
        }

    @property
    def call(self) -> str:
        """The call that makes the model."""
        row = registry.method(self.method)
        inner = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return (
            f"lowland.registry.method({row.name!r}).load()({inner})"
            if _guest(row)
            else f"lowland.{row.class_name}({inner})"
        )

    def __str__(self) -> str:
        lines = [f"Take {self.key}.", *self.reasons]
        if self.ties:
            lines.append(f"Not told apart from it: {', '.join(self.ties)}.")
        lines += [f"Not good for: {text}" for text in self.not_good_for]
        return "\n".join(lines)


def _restored(*values: Any) -> Recommendation:
    plain: list[Any] = [tuple(value) if isinstance(value, list) else value for value in values]
    return Recommendation(*plain)


def _guest(row: registry.Method) -> bool:
    return isinstance(row, registry.Guest)


def recommend(record: Mapping[str, Any], prefer: str = "balanced") -> Recommendation:
    """Choose a candidate of a record; see `Comparison.recommend`."""
    done = [entry for entry in record["candidates"] if entry["status"] == "done"]
    if not done:
        raise LowlandError(_nothing(record["candidates"]))
    judge = Judge(done)
    if prefer not in ranking.PREFERENCES:
        raise ValueError(f"prefer must be {', '.join(map(repr, ranking.PREFERENCES))}; got {prefer!r}")
    if prefer == "target" and "target" not in judge.criteria:
        raise ValueError("prefer='target' needs a target: compare(X, target=…)")
    judged = [prefer] if prefer in WORDS else judge.criteria
    best = judge.ranked(done, judged)[0]
    reasons = [_first_reason(judge, best, done, judged)]
    group: list[Entry] = []
    cloud = _cloud(record, done, judge) if prefer == "balanced" else None
    if cloud is not None:
        reasons = [_cloud_reason(record, judge, cloud, best)]
        chosen = cloud
    elif prefer == "speed":
        chosen, told = _fastest(record, judge, done, best)
        reasons.append(told)
    else:
        group = [e for e in done if e is not best and judge.tied(best, e, judged)]
        chosen = min([best, *group], key=lambda entry: _simplicity(entry, done))
        if chosen is not best:
            reasons.append(_tie_reason(judge, chosen, best, judged))
    reasons += [*_evidence(record, judge, chosen), *_rows_reasons(record, done)]
    ties = tuple(e["key"] for e in [best, *group] if e is not chosen) if group else ()
    weak = _not_good_for(record, judge, chosen)
    return Recommendation(
        chosen["key"], chosen["method"], chosen["parameters"], prefer, tuple(reasons), ties, tuple(weak)
    )


def _nothing(entries: Sequence[Entry]) -> str:
    """Say why there is nothing to recommend: what became of the first candidates."""
    begun = [e for e in entries if e["status"] != "skipped"]
    wanted = [e for e in entries if e["kind"] != EXCLUDED]
    told = [f"{e['key']} {e['status']}: {e['reason']}" for e in begun or wanted or entries]
    text = "compare: no candidate finished, so there is nothing to recommend"
    text += f" ({'; '.join(told[:3])})" if told else ""
    short = any(word in line for line in told for word in OUT_OF_TIME)
    return text + ("; give a larger budget" if short else "")


def _simplicity(entry: Entry, done: Sequence[Entry]) -> tuple[int, int, int, int]:
    """Order candidates from simple to complicated: by family, defaults first, then in the order they ran."""
    family = _family(entry)
    place = _SIMPLE.index(family) if family in _SIMPLE else len(_SIMPLE)
    searched, coded = int(entry["kind"] == "search"), int(entry["method"] != "famd")  # it takes text by itself
    return place, searched, coded, list(done).index(entry)


def _family(entry: Entry) -> str:
    try:
        return registry.method(entry["method"]).family
    except ValueError:  # a method of another package that is not registered now
        return "other"


def _cloud(record: Mapping[str, Any], done: Sequence[Entry], judge: Judge) -> Entry | None:
    """Return the map of principal components where the data hold no more than a covariance, and no target objects."""
    evidence = record["evidence"]
    if evidence is None or evidence["structured"] is not False:
        return None
    plain = [e for e in done if e["kind"] != "search"]
    linear = next((e for name in _PRINCIPAL for e in plain if e["method"] == name), None)
    if linear is None:
        return None
    if "target" in judge.criteria:
        best = judge.ranked(done, ["target"])[0]
        if best is not linear and not judge.tied(best, linear, ["target"]):
            return None
    return linear


def _fastest(record: Mapping[str, Any], judge: Judge, done: Sequence[Entry], best: Entry) -> tuple[Entry, str]:
    """Return the fastest of those near the best, and say so: by their plans for all rows where all have one.

    A measured time is that of the compared rows, which may be few of all.
    """
    near = [e for e in done if judge.score(best) - judge.score(e) <= ranking.QUICK]
    planned = all(e.get("whole_seconds") is not None for e in near)
    chosen = min(near, key=lambda e: e["whole_seconds"] if planned else ranking.seconds(e))
    took = f"{ranking.seconds(chosen):.2g} s"
    if planned:
        took = f"{format_seconds(chosen['whole_seconds'])} for all {record['rows']['all']:,} rows, as its plan says"
    return chosen, f"{chosen['key']} is the fastest ({took}) of those within {ranking.QUICK} of it."


def _named(judged: Sequence[str]) -> str:
    *first, last = [WORDS[name] for name in judged]
    return f"{', '.join(first)} and {last}" if first else last


def _first_reason(judge: Judge, best: Entry, done: Sequence[Entry], judged: Sequence[str]) -> str:
    figures = ", ".join(f"{WORDS[name]} {judge.value(best, name):.2f}" for name in judged)
    said = f"has the highest score for {_named(judged)} of {len(done)} candidates:"
    if len(done) == 1:
        said = "is the only candidate that finished; its score is"
    told = f"{best['key']} {said} {judge.score(best, judged):.3f} ({figures}; 1 is perfect)."
    if best.get("over_budget"):
        told = f"The budget was too small for any candidate, so the fastest by its plan was run anyway. {told}"
    return told


def _tie_reason(judge: Judge, chosen: Entry, best: Entry, judged: Sequence[str]) -> str:
    middle, half = judge.difference(best, chosen, judged)
    return (
        f"{chosen['key']} ties with it ({judge.score(chosen, judged):.3f}; they differ by {middle:.3f} ± {half:.3f}, "
        f"and less than {ranking.SAME} counts for nothing) and is simpler."
    )


def _cloud_reason(record: Mapping[str, Any], judge: Judge, chosen: Entry, best: Entry) -> str:
    crowding, columns = record["evidence"]["crowding"], record["evidence"].get("column_crowding")
    skewed = f", {columns:.2f} times as in a cloud whose columns are distributed as theirs" if columns else ""
    text = (
        f"Neighbours are {crowding:.2f} times as far apart as in a Gaussian cloud of the same covariance{skewed}: the "
        f"rows hold no clusters, curves or sheets that a picture could show, and {chosen['key']} shows the covariance."
    )
    if best is not chosen:
        text += (
            f" {best['key']} scores {judge.score(best):.3f} against {judge.score(chosen):.3f}, "
            "but the neighbours that it keeps are the accidents of this sample."
        )
    return text


def _rows_reasons(record: Mapping[str, Any], done: Sequence[Entry]) -> list[str]:
    """Say what the figures are of: a column that outweighs all others, and rows that are not all of them."""
    rows, out = record["rows"], list[str]()
    if record["data"]["dominant"] is not None:
        out.append(f"But {record['data']['dominant']}.")
    if rows["compared"] < rows["all"]:
        out.append(f"Compared on {rows['compared']:,} of {rows['all']:,} rows, drawn at random.")
    bound = [e["key"] for e in done if SIDES[1] not in e["criteria"]["local"]]
    if rows["held-out"] and bound:
        verb = "places" if len(bound) == 1 else "place"
        out.append(
            f"All are judged by the {rows['training']:,} fitted rows alone, for {', '.join(bound)} {verb} no new rows."
        )
    return out


def _evidence(record: Mapping[str, Any], judge: Judge, chosen: Entry) -> list[str]:
    """Say what the data show by themselves, and whether it speaks for the choice."""
    evidence, out = record["evidence"], list[str]()
    if evidence is None:
        return [
            f"There was no look at the data themselves ({record['without_evidence']}): distances are judged as "
            "straight lines, which speak for straight maps even where the data are curved."
        ]
    found = evidence["dimensions"]
    if found is not None and not (evidence["structured"] is False and _fewer(found)):  # a cloud has no such shape
        out.append(_dimensions(found, chosen))
    if evidence["strays"] and evidence["structured"] is False:  # else they decide nothing
        verb = "lies" if evidence["strays"] == 1 else "lie"
        out.append(
            f"{count(evidence['strays'], 'row')} {verb} far from all others, and did not count when structure was "
            "looked for; linear maps may turn towards such rows (`lowland outliers` names them)."
        )
    if evidence["distances"] == "along":
        out.append("Distances are judged along the data, by shortest paths between neighbours.")
    accuracy = evidence["accuracy"]
    if accuracy is not None and "target" in chosen["criteria"]:
        share = judge.value(chosen, "target")
        out.append(
            f"Nearest neighbours guess {100 * share:.0f} % of the classes in the map and {100 * accuracy:.0f} % in the "
            "data."
        )
    return out


def _dimensions(found: Mapping[str, Any], chosen: Entry) -> str:
    """Return what the count of dimensions says; where it speaks for another kind of method, that is said, too.

    Fewer dimensions than linear ones speak for a curved map, as many for a straight one; more speak for neither.
    """
    text: str = found["sentence"]
    true, linear = found["nonlinear"], found["linear"]
    told = true is not None and linear is not None and _whole(true) <= _whole(linear)
    straight = _family(chosen) == "linear" or chosen["method"] in _PRINCIPAL
    if told and _fewer(found) == straight:
        return f"It is taken although {text[0].lower()}{text[1:]}"
    return text


def _whole(dimension: float) -> int:
    return max(1, round(dimension))


def _fewer(found: Mapping[str, Any]) -> bool:
    """Tell whether fewer true dimensions than linear ones were counted."""
    true, linear = found["nonlinear"], found["linear"]
    return true is not None and linear is not None and _whole(true) < _whole(linear)


def _not_good_for(record: Mapping[str, Any], judge: Judge, chosen: Entry) -> list[str]:
    """Say what the map does not show, from what was measured and what the method is."""
    out = []
    local = judge.value(chosen, "local")
    wide = judge.value(chosen, "global") if "global" in judge.criteria else 1.0
    if local < _WEAK:
        out.append(
            f"who is whose neighbour: many neighbours in the map are strangers in the data (neighbours {local:.2f})."
        )
    if wide < _WEAK:
        out.append(f"distances between groups: their order in the map says little (distances {wide:.2f}).")
    out += [f"telling {text}." for text in destroyed(record, chosen)]
    row = next((row for row in registry.methods() if row.name == chosen["method"]), None)
    if row is not None and "inverse" not in row.abilities:
        out.append("going back from the map to the columns: it has no inverse.")
    if SIDES[1] not in chosen["criteria"]["local"] and record["rows"]["held-out"]:
        out.append("new rows: it has no transform.")
    return out + _at_full_size(record, chosen)


def _at_full_size(record: Mapping[str, Any], chosen: Entry) -> list[str]:
    """Say what all rows would cost, as the plan for them tells."""
    rows, seconds = record["rows"]["all"], chosen.get("whole_seconds")
    out = []
    if seconds is not None and seconds > _LONG:
        out.append(f"a quick answer: all {rows:,} rows take {format_seconds(seconds)}, as its plan says.")
    if chosen.get("whole_approximate", chosen["approximate"]):
        out.append(f"exact answers: for {rows:,} rows it is approximate.")
    return out


def destroyed(record: Mapping[str, Any], entry: Entry) -> list[str]:
    """Return the classes that the data tell apart and a map mixes, with figures."""
    evidence = record["evidence"]
    if evidence is None or not evidence["class_accuracy"] or "target" not in entry["criteria"]:
        return []
    found, mixed = entry["criteria"]["target"]["classes"], entry["criteria"]["target"]["confused"]
    lost = {
        name: share - found[name]
        for name, share in evidence["class_accuracy"].items()
        if name in found and share - found[name] > _LOST
    }
    worst = sorted(lost, key=lambda name: -lost[name])[:3]
    return [
        f"class {name} apart: {100 * evidence['class_accuracy'][name]:.0f} % are guessed in the data, "
        f"{100 * found[name]:.0f} % in the map" + (f" (it is mixed with {mixed[name]})" if name in mixed else "")
        for name in worst
    ]
