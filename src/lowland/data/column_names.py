"""What the name of a column says: identifiers and labels."""

from __future__ import annotations

import re

MAX_LABELS = 20  # distinct values of a text label: as many as plots have colours
MAX_NAMED_LABELS = 100  # distinct values of a column named label or class; plots draw the smaller groups in one colour
MAX_INTEGER_LABELS = 12  # with more distinct integers plots use a colour scale
_IDENTIFIER = {
    *("id", "ids", "uid", "uuid", "guid", "nr", "no", "num", "number", "index", "idx", "key", "rownames", "mrn", "pid"),
    *("barcode", "accession", "nummer", "kennung", "kennziffer", "fallnr", "fallnummer", "patnr", "patientennummer"),
    *("patientennr", "probennr", "probennummer", "subjid", "patid", "sampleid", "patientid", "subjectid"),
}
_IDENTIFIED = {  # what a row stands for: identifiers if nothing else is in the name
    *("subject", "patient", "sample", "case", "record", "participant", "person", "specimen", "individual"),
    *("probe", "fall", "proband", "datensatz", "sujet", "échantillon", "paciente", "muestra"),
}
_LABEL = {
    *("label", "labels", "class", "classes", "species", "target", "type", "group", "diagnosis", "category", "kind"),
    *("outcome", "cluster", "variety", "cultivar", "genus", "genre", "subtype", "digit", "letter", "segment", "y"),
    *("diagnose", "klasse", "gruppe", "diagnostic", "classe", "groupe", "clase", "grupo", "gruppo"),
}
_TIME = {
    *("year", "quarter", "month", "week", "day", "weekday", "hour", "minute", "second"),
    *("jahr", "quartal", "monat", "woche", "tag", "wochentag", "stunde", "année", "mois", "jour", "heure"),
}
_TRAIT = {"sex", "gender", "geschlecht", "sexe", "sexo", "sesso"}  # in most tables an attribute, not what is studied


def last_word(name: str) -> str:
    """Return the last word of a column's name in lower case.

    >>> [last_word(name) for name in ("patient_id", "PatientID", "Customer No.", "grid")]
    ['id', 'id', 'no', 'grid']
    """
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())
    return words[-1] if words else ""


def called_identifier(name: str) -> bool:
    """Return whether a column has the name of an identifier: id, patient_id, index, number, MRN; or patient alone.

    >>> [called_identifier(name) for name in ("patient_id", "MRN", "Fall", "samples", "cost per case", "time")]
    [True, True, True, False, False, False]
    """
    return last_word(name) in _IDENTIFIER or is_row_name(name)


def is_row_name(name: str) -> bool:
    """Return whether the whole name of a column is what a row stands for: patient, sample."""
    return name.strip().lower() in _IDENTIFIED


def called_label(name: str) -> bool:
    """Return whether a column has the name of a label: class, species, blood_type, diagnosis."""
    return last_word(name) in _LABEL


def is_label(name: str) -> bool:
    """Return whether the whole name of a column is that of a label: class, but not class_size or blood_type."""
    return name.strip().lower() in _LABEL


def called_time(name: str) -> bool:
    """Return whether a column has the name of a part of a date or time: month, dep_hour.

    >>> called_time("month"), called_time("months_since_diagnosis")
    (True, False)
    """
    return last_word(name) in _TIME


def called_trait(name: str) -> bool:
    """Return whether a column has the name of an attribute that is rarely the label of a study: sex, gender."""
    return last_word(name) in _TRAIT
