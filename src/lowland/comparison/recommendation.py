"""Which candidate to take, why, and what it is not good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..contract import registry
from ..core.errors import LowlandError
from ..core.formatting import count, format_seconds
from ..core.message import Message, Owner, Phrase, Setting
from ..quality.verdicts import DIRECT, GEODESIC, Verdict
from . import ranking
from .budget import Cause
from .candidates import EXCLUDED, Candidate
from .dataset import decides_alone
from .ranking import SIDES, WORDS, Entry, Judge

# Of candidates that tie, the simplest is taken: linear maps before nonlinear ones, networks last.
_SIMPLE = ("linear", "distance", "manifold", "kernel", "network", "embedding")
_PRINCIPAL = ("famd", "pca", "classical_mds")  # maps of principal components; the last of distances, too
_LOST = 0.15  # by how much a class must be guessed worse than in the data to be called destroyed
_LONG = 600.0  # seconds that all rows may take before that is a warning


@dataclass(frozen=True)
class Recommendation:
    """The recommended method; prints as plain sentences.

    ``verdict`` says what its map shows well and what poorly, in the words of a report, and ``space`` what it was
    measured against. ``ties`` are candidates that are statistically tied with it, ``not_good_for`` what its map does
    not show.
    """

    key: str
    method: str
    parameters: Mapping[str, Any]
    prefer: str
    verdict: str
    space: str
    reasons: tuple[str, ...]
    ties: tuple[str, ...]
    not_good_for: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        told = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        return told | {"parameters": dict(self.parameters)}

    @property
    def call(self) -> str:
        """The call that makes the model."""
        row = registry.method(self.method)
        inner = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        plugin = isinstance(row, registry.PluginMethod)
        return f"lowland.{f'registry.method({row.name!r}).load()' if plugin else row.class_name}({inner})"

    @property
    def title(self) -> str:
        """The name of the method as text has it, with settings that are not the default."""
        return Candidate(self.method, self.parameters).title

    def __str__(self) -> str:
        lines = [f"Recommended: {self.title}.", f"{self.verdict} Measured against {self.space}.", *self.reasons]
        if self.ties:
            lines.append(f"Statistically tied with: {', '.join(self.ties)}.")
        lines += [f"Not suited for: {text}" for text in self.not_good_for]
        return "\n".join(lines)


def recommend(record: Mapping[str, Any], prefer: str = "balanced") -> Recommendation:
    """Choose a candidate of a record; see `Comparison.recommend`."""
    done = [entry for entry in record["candidates"] if entry["status"] == "done"]
    if not done:
        raise LowlandError(_nothing(record["candidates"]))
    judge = Judge(done)
    if prefer not in ranking.PREFERENCES:
        raise ValueError(
            Message(Setting("prefer"), f" must be {', '.join(map(repr, ranking.PREFERENCES))}; got {prefer!r}")
        )
    if prefer == "target" and "target" not in judge.criteria:
        raise ValueError(Message(Setting("prefer", "target"), " needs a comparison with a ", Setting("target")))
    judged = [prefer] if prefer in WORDS else judge.criteria
    best = judge.ranked(done, judged)[0]
    names = criterion_names(record)
    reasons = [_first_reason(judge, best, done, judged, names)]
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
    ties = tuple(_title(e) for e in [best, *group] if e is not chosen) if group else ()
    return Recommendation(
        chosen["key"],
        chosen["method"],
        dict(chosen["parameters"]),
        prefer,
        verdict(chosen).sentence(),
        space(record),
        tuple(reasons),
        ties,
        tuple(_not_good_for(record, chosen)),
    )


def verdict(entry: Entry) -> Verdict:
    """Return what a report would call the map of the fitted rows."""
    found = {name: entry["criteria"].get(name, {}).get(SIDES[0], {}) for name in ("local", "direct", "geodesic")}
    near = found["local"]
    far = [found[name].get("value", float("nan")) for name in ("direct", "geodesic")]
    return Verdict(near["trustworthiness"], near["continuity"], *far)


def space(record: Mapping[str, Any]) -> str:
    """Say what maps are measured against."""
    kind, metric, rows = record["data"]["kind"], record["settings"]["metric"], record["rows"]
    what = {"distances": "the distances as given", "categories": "the columns as FAMD codes them"}
    steps = record["data"].get("steps")  # before the method, in words; `compare` on the command line knows them
    said = what.get(kind, "the columns as given" if steps is None else f"the columns after these steps: {steps}")
    if kind == "rows" and metric == "seuclidean":
        said = "the columns" if steps is None else said
        said += ", each divided by its standard deviation"
    elif kind != "distances":
        said = f"{said} ({metric} distances)"
    return f"{said}, on {count(rows['training'], 'row')}"


def criterion_names(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the criteria: which distances are judged depends on the data."""
    evidence = record["evidence"]
    geodesic = evidence is not None and evidence["distances"] == "geodesic"
    return {**WORDS, "global": GEODESIC if geodesic else DIRECT}


def _title(entry: Entry) -> str:
    return Candidate(entry["method"], entry["parameters"]).title


def _nothing(entries: Sequence[Entry]) -> str:
    """Say why there is nothing to recommend: what became of the first candidates."""
    begun = [e for e in entries if e["status"] != "skipped"]
    wanted = [e for e in entries if e["kind"] != EXCLUDED]
    shown = begun or wanted or entries
    told = "; ".join(f"{e['key']} {e['status']}: {e['reason']}" for e in shown[:3])
    short = any(Cause(e.get("cause", "other")).out_of_time for e in shown)  # older records have none
    return Message(
        Owner("compare"),
        "no candidate finished, so there is nothing to recommend",
        f" ({told})" if told else "",
        "; give a larger budget" if short else "",
    )


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
        took = f"estimated: {format_seconds(chosen['whole_seconds'])} for all {record['rows']['all']:,} rows"
    return chosen, f"{_title(chosen)} is the fastest ({took}) of those whose score is within {ranking.QUICK} of it."


def _first_reason(
    judge: Judge, best: Entry, done: Sequence[Entry], judged: Sequence[str], names: Mapping[str, str]
) -> str:
    *first, last = [f"{names[name]} {judge.value(best, name):.2f}" for name in judged]
    figures = f"mean of {', '.join(first)} and {last}" if first else last
    said = f"has the highest score of {len(done)} candidates:"
    if len(done) == 1:
        said = "is the only candidate that finished; its score is"
    scale = "1 is perfect; neighbours and distances are 0 by chance"
    told = f"{_title(best)} {said} {judge.score(best, judged):.3f} ({figures}; {scale})."
    if best.get("over_budget"):
        told = (
            f"The budget was too small for any candidate, so the one with the shortest estimate was run anyway. {told}"
        )
    return told


def _tie_reason(judge: Judge, chosen: Entry, best: Entry, judged: Sequence[str]) -> str:
    middle, half = judge.difference(best, chosen, judged)
    return (
        f"{_title(chosen)} is statistically tied with it (score {judge.score(chosen, judged):.3f}, difference "
        f"{middle:.3f} ± {half:.3f}; differences below {ranking.SAME} are ignored) and is the simpler method."
    )


def _cloud_reason(record: Mapping[str, Any], judge: Judge, chosen: Entry, best: Entry) -> str:
    from .crowding import GAUSSIAN

    crowding, columns = record["evidence"]["crowding"], record["evidence"].get("column_crowding")
    skewed = f" ({columns:.2f} times in data with these column distributions and rank correlations)" if columns else ""
    text = (
        f"No clusters, curves or sheets were found, so {_title(chosen)} is enough: nearest neighbours are "
        f"{crowding:.2f} times as far apart as in Gaussian data of the same covariance{skewed}; a ratio below "
        f"{GAUSSIAN} would show structure."
    )
    if best is not chosen:
        scores = f"({judge.score(best):.3f} against {judge.score(chosen):.3f})"
        text += f" {_title(best)} has a higher score {scores}, but {_why_higher(judge, chosen, best)}."
    return text


def _why_higher(judge: Judge, chosen: Entry, best: Entry) -> str:
    """Say what a higher score means in data without structure.

    Where principal components lose the neighbours, those that another map keeps are random. Where they keep them, the
    data have few dimensions, and neighbours are real.
    """
    if "neighbours" in verdict(chosen).poor:
        return "in such data the neighbours that it keeps are random"
    if judge.tied(best, chosen):
        middle, half = judge.difference(best, chosen)
        return f"the two are statistically tied (difference {middle:.3f} ± {half:.3f})"
    return f"no structure was found that {_title(chosen)} does not show"


def _rows_reasons(record: Mapping[str, Any], done: Sequence[Entry]) -> list[str]:
    """Say what the figures are of: a column that outweighs all others, and rows that are not all of them."""
    rows, out = record["rows"], list[str]()
    if record["data"]["dominant"] is not None:
        words = record["data"]["dominant"]
        out.append(Message(decides_alone(f"{words[0].upper()}{words[1:]}"), "."))
    if rows["compared"] < rows["all"]:
        out.append(f"Compared on a random sample of {rows['compared']:,} of {rows['all']:,} rows.")
    bound = [e["key"] for e in done if SIDES[1] not in e["criteria"]["local"]]
    if rows["held-out"] and bound:
        verb = "has" if len(bound) == 1 else "have"
        out.append(
            f"All candidates are judged by the {rows['training']:,} training rows alone, because {', '.join(bound)} "
            f"{verb} no transform for new rows."
        )
    return out


def _evidence(record: Mapping[str, Any], judge: Judge, chosen: Entry) -> list[str]:
    """Describe the structure of the data, and whether it supports the choice."""
    evidence, out = record["evidence"], list[str]()
    if evidence is None:
        return [
            f"The structure of the data was not examined ({record['without_evidence']}), so maps are judged by direct "
            "distances, which favours linear methods even where the data are curved."
        ]
    found = evidence["dimensions"]
    if found is not None and not (evidence["structured"] is False and _fewer(found)):  # a cloud has no such shape
        out.append(_dimensions(found, chosen))
    if evidence["strays"] and evidence["structured"] is False:  # else they decide nothing
        verb, was = ("lies", "was") if evidence["strays"] == 1 else ("lie", "were")
        out.append(
            f"{count(evidence['strays'], 'row')} {verb} far from all others and {was} left out of the search for "
            "structure; linear maps may turn towards such rows (`lowland outliers` lists them)."
        )
    if evidence["distances"] == "geodesic":
        out.append("Geodesic distances are lengths of shortest paths between neighbours.")
    if evidence["accuracy"] is not None and "target" in chosen["criteria"]:
        out.append(_class_reason(evidence, judge, chosen))
    return out


def _class_reason(evidence: Mapping[str, Any], judge: Judge, chosen: Entry) -> str:
    """Say how well neighbours guess classes in the map and in the data, beside what no map is needed for."""
    share, balanced = judge.value(chosen, "target"), chosen["criteria"]["target"]["balanced"]
    text = (
        f"Class accuracy of nearest neighbours: {100 * share:.0f} % in the map, {100 * evidence['accuracy']:.0f} % in "
        f"the data; always naming the largest class: {100 * evidence['baseline']:.0f} %. Balanced accuracy: "
        f"{100 * balanced:.0f} % in the map, {100 * evidence['balanced_accuracy']:.0f} % in the data, "
        f"{100 / len(evidence['class_accuracy']):.0f} % by chance."
    )
    if share <= evidence["baseline"] + ranking.SAME:
        text += " The map is no better at this than always naming the largest class."
    return text


def _dimensions(found: Mapping[str, Any], chosen: Entry) -> str:
    """Describe the number of dimensions, and say so if it favours another kind of method.

    Fewer dimensions than linear ones favour a nonlinear map, as many a linear one, and more neither.
    """
    text: str = found["sentence"]
    true, linear = found["nonlinear"], found["linear"]
    told = true is not None and linear is not None and _whole(true) <= _whole(linear)
    linear = _family(chosen) == "linear" or chosen["method"] in _PRINCIPAL
    if told and _fewer(found) == linear:
        return f"It is recommended although {text[0].lower()}{text[1:]}"
    return text


def _whole(dimension: float) -> int:
    return max(1, round(dimension))


def _fewer(found: Mapping[str, Any]) -> bool:
    """Tell whether fewer true dimensions than linear ones were counted."""
    true, linear = found["nonlinear"], found["linear"]
    return true is not None and linear is not None and _whole(true) < _whole(linear)


def _not_good_for(record: Mapping[str, Any], chosen: Entry) -> list[str]:
    """Say what the map does not show, from what was measured and what the method is."""
    out, found = [], verdict(chosen)
    if "neighbours" in found.poor and found.trustworthiness <= found.continuity:
        told = f"trustworthiness {found.trustworthiness:.2f}"
        out.append(f"finding neighbours: many points that are near in the map are not near in the data ({told}).")
    elif "neighbours" in found.poor:
        told = f"continuity {found.continuity:.2f}"
        out.append(f"finding neighbours: many points that are near in the data are far apart in the map ({told}).")
    if DIRECT in found.poor:
        out.append(f"comparing distances, such as those between groups (rank correlation {found.direct:.2f}).")
    if GEODESIC in found.poor:
        out.append(f"comparing geodesic distances (rank correlation {found.geodesic:.2f}).")
    out += [f"telling {text}." for text in destroyed(record, chosen)]
    row = next((row for row in registry.methods() if row.name == chosen["method"]), None)
    if row is not None and "inverse" not in row.abilities:
        back = Phrase("it has no inverse_transform.", "`lowland inverse` does not take it.")
        out.append(Message("going back from the map to the columns: ", back))
    if SIDES[1] not in chosen["criteria"]["local"] and record["rows"]["held-out"]:
        out.append(Message("new rows: ", Phrase("it has no transform.", "`lowland transform` cannot place them.")))
    return out + _at_full_size(record, chosen)


def _at_full_size(record: Mapping[str, Any], chosen: Entry) -> list[str]:
    """Say what all rows would cost, as the plan for them tells."""
    rows, seconds = record["rows"]["all"], chosen.get("whole_seconds")
    out = []
    if seconds is not None and seconds > _LONG:
        out.append(f"quick results: the estimated time for all {rows:,} rows is {format_seconds(seconds)}.")
    if chosen.get("whole_approximate", chosen["approximate"]):
        out.append(f"exact results: for {rows:,} rows it is approximate.")
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
        f"class {name} apart: accuracy {100 * evidence['class_accuracy'][name]:.0f} % in the data, "
        f"{100 * found[name]:.0f} % in the map" + (f" (it is mixed with {mixed[name]})" if name in mixed else "")
        for name in worst
    ]
