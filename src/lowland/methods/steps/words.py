"""The words of a text, in any script."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

_ASCII_WORDS = re.compile(r"\w\w+")
_INVISIBLE = dict.fromkeys((0xAD, 0x200C, 0x200D))  # soft hyphen and joiners, inside of words
_LAST_MARK = 0x1FFFF  # of letters; selectors of variants follow
# Scripts without spaces between words: Thai and Lao, Burmese, Khmer, kana, Chinese characters
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


def words(text: str) -> list[str]:
    """Return the words of two or more letters or digits of a text in lower case, as scikit-learn's vectorizers do.

    Vowel signs and accents that are characters of their own belong to the letter before. Where words are not separated
    by spaces, as in Chinese and Thai, pairs of neighbouring letters stand for words (Nie & Ren, Information Processing
    & Management 35, 1999); a single letter between other signs stands for itself.

    >>> words("the x of wing_1, 5e3"), words("हिन्दी में")
    (['the', 'of', 'wing_1', '5e3'], ['हिन्दी', 'में'])
    >>> words("機翼振動 of 翼"), words("ปีก")
    (['機翼', '翼振', '振動', 'of', '翼'], ['ปีก'])
    """
    if text.isascii():
        return _ASCII_WORDS.findall(text)
    whole, unspaced, parts, letters = _patterns()
    text = unicodedata.normalize("NFC", text.translate(_INVISIBLE))
    found = []
    for word in whole.findall(text):
        if word.isascii() or not unspaced.search(word):
            if len(word) > 1:
                found.append(word)
            continue
        for part in parts.findall(word):
            single = letters.findall(part)
            if not unspaced.match(part):
                found += [part] if len(part) > 1 else []
            else:
                found += [a + b for a, b in pairwise(single)] or [part]
    return found


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Return patterns of words with marks, a letter of a script without spaces, runs of either kind, and letters."""
    marks = "".join(chr(c) for c in range(0x300, _LAST_MARK) if unicodedata.category(chr(c)).startswith("M"))
    one = rf"(?:[{_UNSPACED}][{marks}]*)"
    return (
        re.compile(rf"\w[\w{marks}]*"),
        re.compile(rf"[{_UNSPACED}]"),
        re.compile(rf"{one}+|[^{_UNSPACED}]+"),
        re.compile(rf"\w[{marks}]*"),
    )
