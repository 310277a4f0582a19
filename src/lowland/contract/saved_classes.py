"""The classes beside methods that a model file can hold: Lowland's steps and a few of scikit-learn's.

A class is imported when a file names it. Of scikit-learn's classes the learned attributes are listed; no others are
written or read.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SavedClass:
    """A class by name, its module, and for scikit-learn's its learned attributes."""

    class_name: str
    module: str
    state: tuple[str, ...] = ()

    @property
    def is_step(self) -> bool:
        """Whether it is one of Lowland's own, which declares its learned attributes."""
        return self.module.startswith("lowland.")

    def load(self) -> Any:
        """Import and return the class."""
        return getattr(importlib.import_module(self.module), self.class_name)


def _step(class_name: str, file: str) -> SavedClass:
    return SavedClass(class_name, f"lowland.methods.steps.{file}")


def _use(class_name: str, place: str) -> SavedClass:
    """Return the row of an estimator of a higher layer: a path as data, imported when a file names the class."""
    return SavedClass(class_name, f"lowland.{place}")


_SCALED = ("scale_", "n_samples_seen_")
_LEVELS = ("categories_", "_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings")

SAVED: tuple[SavedClass, ...] = (
    _step("SelectColumns", "select_columns"),
    _step("EncodeDates", "encode_dates"),
    _step("TransformColumns", "transform_columns"),
    _step("ImputeMissing", "impute_missing"),
    _step("EncodeCategories", "encode_categories"),
    _step("EncodeTexts", "encode_texts"),
    _step("ScaleColumns", "scale_columns"),
    _step("NormalizeRows", "normalize_rows"),
    _step("AlignMap", "align_map"),
    _use("Eigenfaces", "images.eigenfaces"),
    _use("LatentSemanticIndex", "text.index"),
    SavedClass("Pipeline", "sklearn.pipeline"),
    SavedClass("ColumnTransformer", "sklearn.compose", (
        *("transformers_", "_columns", "_transformer_to_input_indices", "_remainder", "sparse_output_"),
        *("output_indices_", "_transformers_feature_names_out", "_n_features"),
    )),
    SavedClass("StandardScaler", "sklearn.preprocessing", ("mean_", "var_", *_SCALED)),
    SavedClass("RobustScaler", "sklearn.preprocessing", ("center_", "scale_")),
    SavedClass("MinMaxScaler", "sklearn.preprocessing", ("min_", "data_min_", "data_max_", "data_range_", *_SCALED)),
    SavedClass("SimpleImputer", "sklearn.impute", ("statistics_", "indicator_", "_fit_dtype", "_fill_dtype")),
    SavedClass("MissingIndicator", "sklearn.impute", ("features_", "_n_features", "_precomputed")),
    SavedClass("OneHotEncoder", "sklearn.preprocessing", (
        *_LEVELS, "drop_idx_", "_drop_idx_after_grouping", "_n_features_outs", "_missing_indices",
    )),
    SavedClass("OrdinalEncoder", "sklearn.preprocessing", (*_LEVELS, "_missing_indices")),
    SavedClass("FunctionTransformer", "sklearn.preprocessing"),
)  # fmt: skip


def saved_class(class_name: str) -> SavedClass | None:
    """Find a class by its exact name, or None.

    >>> saved_class("StandardScaler").module, saved_class("GridSearchCV")
    ('sklearn.preprocessing', None)
    """
    return next((row for row in SAVED if row.class_name == class_name), None)
