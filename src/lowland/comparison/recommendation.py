"""Which candidate to take, why, and what it is not good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .. import registry
from ..errors import LowlandError
from ..report.facts import count
from . import ranking
from .ranking import Entry

# Of candidates that tie, the simplest is taken: straight maps before curved ones, black boxes last.
_SIMPLE = ("linear", "distance", "manifold", "kernel", "network", "embedding")
_LOST = 0.15  # by how much a class must be guessed worse than in the data to be called destroyed
_WEAK = 0.7  # a criterion below this is a warning


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
    criteria = ranking.scored(done)
    if prefer not in ranking.PREFERENCES:
        raise ValueError(f"prefer must be {', '.join(map(repr, ranking.PREFERENCES))}; got {prefer!r}")
    if prefer == "target" and "target" not in criteria:
        raise ValueError("prefer='target' needs a target: compare(X, target=…)")
    judged = [prefer] if prefer in ("local", "global", "target") else criteria
    best = ranking.ranked(done, judged)[0]
    reasons = [_first_reason(best, done, judged, record)]
    group: list[Entry] = []
    cloud = _cloud(record, done, criteria) if prefer == "balanced" else None
    if cloud is not None:
        reasons = [_cloud_reason(record, cloud, best, criteria)]
        chosen = cloud
    elif prefer == "speed":
        near = [e for e in done if ranking.score(best, judged) - ranking.score(e, judged) <= ranking.QUICK]
        chosen = min(near, key=ranking.seconds)
        reasons.append(
            f"{chosen['key']} is the fastest ({ranking.seconds(chosen):.2g} s) of those within {ranking.QUICK} of it."
        )
    else:
        group = [e for e in done if e is not best and ranking.tied(best, e, judged)]
        chosen = min([best, *group], key=lambda entry: _simplicity(entry, done))
        if chosen is not best:
            reasons.append(_tie_reason(chosen, best, judged))
    reasons += _evidence(record, chosen, done)
    ties = tuple(e["key"] for e in [best, *group] if e is not chosen) if group else ()
    weak = _not_good_for(record, chosen)
    return Recommendation(
        chosen["key"], chosen["method"], chosen["parameters"], prefer, tuple(reasons), ties, tuple(weak)
    )


def _nothing(entries: Sequence[Entry]) -> str:
    """Say why there is nothing to recommend: what became of the first candidates."""
    told = [f"{e['key']} {e['status']}: {e['reason']}" for e in entries if e["status"] != "skipped"]
    told = told or [f"{e['key']} {e['status']}: {e['reason']}" for e in entries]
    text = "compare: no candidate came to an end, so there is nothing to recommend"
    text += f" ({'; '.join(told[:3])})" if told else ""
    short = any(word in line for line in told for word in ("budget", "no time", "were left"))
    return text + ("; give a larger budget" if short else "")


def _simplicity(entry: Entry, done: Sequence[Entry]) -> tuple[int, int, int]:
    """Order candidates from simple to complicated: by family, defaults first, then in the order they ran."""
    family = _family(entry)
    place = _SIMPLE.index(family) if family in _SIMPLE else len(_SIMPLE)
    return place, int(entry["kind"] == "search"), list(done).index(entry)


def _family(entry: Entry) -> str:
    try:
        return registry.method(entry["method"]).family
    except ValueError:  # a method of another package that is not registered now
        return "other"


def _cloud(record: Mapping[str, Any], done: Sequence[Entry], criteria: Sequence[str]) -> Entry | None:
    """Return the map of principal components where the data hold no more than a covariance, and no target objects."""
    evidence = record["evidence"]
    if evidence is None or evidence["structured"] is not False:
        return None
    linear = next((e for e in done if e["method"] in ("pca", "famd") and e["kind"] != "search"), None)
    if linear is None:
        return None
    if "target" in criteria:
        best = ranking.ranked(done, ["target"])[0]
        if best is not linear and not ranking.tied(best, linear, ["target"]):
            return None
    return linear


def _named(judged: Sequence[str]) -> str:
    words = {"local": "neighbours", "global": "distances", "target": "classes"}
    *first, last = [words[name] for name in judged]
    return f"{', '.join(first)} and {last}" if first else last


def _first_reason(best: Entry, done: Sequence[Entry], judged: Sequence[str], record: Mapping[str, Any]) -> str:
    figures = ", ".join(f"{_named([name])} {ranking.value(best, name):.2f}" for name in judged)
    said = f"has the highest score for {_named(judged)} of {len(done)} candidates:"
    if len(done) == 1:
        said = "is the only candidate that came to an end; its score is"
    return f"{best['key']} {said} {ranking.score(best, judged):.3f} ({figures}; 1 is perfect)."


def _tie_reason(chosen: Entry, best: Entry, judged: Sequence[str]) -> str:
    middle, half = ranking.difference(best, chosen, judged)
    return (
        f"{chosen['key']} ties with it ({ranking.score(chosen, judged):.3f}; they differ by {middle:.3f} ± {half:.3f}, "
        f"and less than {ranking.SAME} counts for nothing) and is simpler."
    )


def _cloud_reason(record: Mapping[str, Any], chosen: Entry, best: Entry, criteria: Sequence[str]) -> str:
    crowding = record["evidence"]["crowding"]
    text = (
        f"Neighbours are {crowding:.2f} times as far apart as in a Gaussian cloud of the same covariance: the rows "
        f"hold no clusters, curves or sheets that a picture could show, and {chosen['key']} shows the covariance."
    )
    if best is not chosen:
        text += (
            f" {best['key']} scores {ranking.score(best, criteria):.3f} against {ranking.score(chosen, criteria):.3f}, "
            "but the neighbours that it keeps are the accidents of this sample."
        )
    return text


def _evidence(record: Mapping[str, Any], chosen: Entry, done: Sequence[Entry]) -> list[str]:
    """Say what the data show by themselves that speaks for the choice."""
    evidence, out = record["evidence"], list[str]()
    if evidence is None:
        return out
    found = evidence["dimensions"]
    if found is not None and not (evidence["structured"] is False and _fewer(found)):  # a cloud has no such shape
        out.append(found["sentence"])
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
        share = ranking.value(chosen, "target")
        out.append(
            f"Nearest neighbours guess {100 * share:.0f} % of the classes in the map and {100 * accuracy:.0f} % in the "
            "data."
        )
    return out


def _fewer(found: Mapping[str, Any]) -> bool:
    """Tell whether fewer true dimensions than linear ones were counted."""
    true, linear = found["nonlinear"], found["linear"]
    return true is not None and linear is not None and round(true) < round(linear)


def _not_good_for(record: Mapping[str, Any], chosen: Entry) -> list[str]:
    """Say what the map does not show, from what was measured and what the method is."""
    out = []
    local, wide = ranking.value(chosen, "local"), ranking.value(chosen, "global")
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
    if "held-out" not in chosen["criteria"]["local"] and record["rows"]["held-out"]:
        out.append("new rows: it has no transform.")
    if chosen["approximate"]:
        out.append("exact answers: at this size it is approximate.")
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
