"""A small table of patients: units, gaps, categories, codes and dates."""

import datetime as dt

import numpy as np
import polars as pl


def make_patients(n=60, seed=0):
    rng = np.random.default_rng(seed)
    health = rng.standard_normal(n)
    days = rng.integers(0, 900, n)
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            "age": 50 + 10 * health + rng.standard_normal(n),
            "crp": np.exp(health + 0.3 * rng.standard_normal(n)),
            "albumin": 40 - 3 * health + rng.standard_normal(n),
            "sex": rng.permutation(["f", "m"] * (n // 2)),
            "ward": [1, 2, 3] * (n // 3),
            "smokes": rng.random(n) < 0.4,
            "seen": [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in days],
        }
    )
    gaps = pl.Series(rng.random(n) < 0.15)
    return frame.with_columns(pl.when(gaps).then(None).otherwise(pl.col("albumin")).alias("albumin"))
