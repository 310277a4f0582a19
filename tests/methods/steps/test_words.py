"""Words of texts in many scripts."""

from __future__ import annotations

import random
import unicodedata

import pytest
from sklearn.feature_extraction.text import CountVectorizer

from lowland.methods.steps.words import words
from lowland.text import LatentSemanticIndex


def test_words_of_spaced_scripts_without_marks_are_those_of_scikit_learn():
    plain = CountVectorizer().build_tokenizer()
    codes = [*range(32, 0x250), *range(0x370, 0x460), *range(0x5D0, 0x5EB), *range(0xAC00, 0xAC40)]
    signs = [c for c in map(chr, codes) if c != "\xad" and not unicodedata.category(c).startswith("M")]
    signs = [c for c in signs if unicodedata.is_normalized("NFC", c)]
    draw = random.Random(0)
    for _ in range(2000):
        text = "".join(draw.choice(signs) for _ in range(40)) + " the wing_1, x 5e3"
        assert words(text) == plain(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("हिन्दी में खोज", ["हिन्दी", "में", "खोज"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("İstanbul".lower(), ["i\u0307stanbul"]),
        ("Donau\u00addampf می\u200cشود", ["Donaudampf", "میشود"]),
        ("機翼振動。機翼", ["機翼", "翼振", "振動", "機翼"]),
        ("iPhone12の価格 a 翼", ["iPhone12", "の価", "価格", "翼"]),
        ("การค้น", ["กา", "าร", "รค้", "ค้น"]),
        ("カ\u3099ス", ["ガス"]),
        ("😀 x é", []),
    ],
)
def test_words_of_other_scripts(text, found):
    assert words(text) == found


@pytest.mark.parametrize(
    ("texts", "query", "best"),
    [
        (["机翼在超音速流中的颤振", "面板和机翼的颤振", "钝头体的传热", "高超音速流中的鼻部传热"], "机翼", {0, 1}),
        (["पंख का स्पंदन", "पंख और पैनल का स्पंदन", "ऊष्मा का स्थानांतरण", "नाक पर ऊष्मा"], "पंख", {0, 1}),
        (["การสั่นของปีก", "ปีกเครื่องบินสั่น", "การถ่ายเทความร้อน", "ความร้อนที่จมูก"], "ปีก", {0, 1}),
        (["крыло и флаттер", "флаттер панели", "тепло и нос", "нос и тепло тела"], "ФЛАТТЕР", {0, 1}),
    ],
    ids=["Chinese", "Hindi", "Thai", "Russian"],
)
def test_texts_of_other_scripts_are_searched(texts, query, best):
    index = LatentSemanticIndex(2).fit(texts)
    assert {i for i, _ in index.search(query, k=2)} == best
