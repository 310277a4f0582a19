"""Texts of terms that the training texts do not have."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.quality import novelty

TOPIC = [f"topic{i}" for i in range(300)]


def texts(n: int, seed: int, foreign: float = 0.0) -> list[str]:
    rng = np.random.default_rng(seed)
    words = rng.zipf(1.4, (n, 40)).clip(1, 300) - 1
    return [
        " ".join(f"foreign{rng.integers(500)}" if rng.random() < foreign else TOPIC[word] for word in row)
        for row in words
    ]


@pytest.mark.parametrize("features", ["tfidf", "log-entropy", "counts"])
def test_texts_of_the_topic_are_not_flagged_and_others_are(features: str) -> None:
    step = lowland.steps.EncodeTexts(features)
    model = lowland.recipe(lowland.TruncatedSVD(5), texts=step).fit(texts(300, 0))
    assert novelty(model, texts(1000, 1), level=0.99).novel.mean() <= 0.02
    found = novelty(model, texts(100, 2, foreign=0.7), level=0.99)
    assert set(found.limits) == {"terms"}
    assert found.novel.mean() > 0.98
    odd = found.unusual[0][0]
    assert (odd.column, odd.measure) == ("x0", "terms")
    assert "terms unknown" in str(odd)


def test_a_text_is_judged_by_itself() -> None:
    model = lowland.recipe(lowland.TruncatedSVD(5), texts="tfidf").fit(texts(100, 0))
    new = texts(20, 1, foreign=0.3)
    whole = novelty(model, new)
    assert [float(novelty(model, [text]).terms[0]) for text in new] == whole.terms.tolist()


def test_few_texts_are_not_summarised() -> None:
    assert not hasattr(lowland.steps.EncodeTexts(min_df=1).fit(texts(10, 0)), "unfamiliar_")
