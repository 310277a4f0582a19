"""Command lines that Lowland suggests to a user."""

import re
import shlex
from pathlib import PurePath


def command_line(command: str, /, *files: object, **options: object) -> str:
    """Return a Lowland command, quoted for the shell.

    None and False omit an option, True writes it without a value, a list or tuple repeats it for each item.

    >>> command_line("reduce", "my data.csv", method="pca", scale=True, set=["tol=0", "eps=1"], id=None)
    "lowland reduce 'my data.csv' --method pca --scale --set tol=0 --set eps=1"
    """
    words = ["lowland", *command.split(), *map(str, files)]
    for name, value in options.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is not None and each is not False:
                words += [f"--{name.replace('_', '-')}", *([] if each is True else [str(each)])]
    return shlex.join(words)


def stem_of(path: object) -> str:
    """Return the name of a file without its suffixes, for the names of files made from it.

    >>> stem_of("data/wine.csv.gz"), stem_of("-"), stem_of("part-*.csv")
    ('wine', 'table', 'part')
    """
    stem = PurePath(str(path)).name.split(".")[0]
    if any(mark in stem for mark in "*?["):
        stem = re.sub(r"\[[^]]*\]|[*?\[\]]", "", stem).strip("-_ ")
    return stem if any(letter.isalnum() for letter in stem) else "table"


def name_after(path: object, word: str, suffix: str) -> str:
    """Return a name for a file made from another: its stem and a word, which the stem may end in already.

    >>> name_after("wine.csv", "map", ".png"), name_after("wine-map.csv", "map", ".png")
    ('wine-map.png', 'wine-map.png')
    >>> name_after("wine-map.csv", "quality_map", ".png"), name_after("wine-map.csv", "map", ".csv")
    ('wine-quality_map.png', 'wine-map-2.csv')
    """
    stem = stem_of(path)
    before, mark, last = stem.rpartition("-")
    if last in word.split("_"):
        stem = before if mark else ""
    name = f"{stem}-{word}{suffix}" if stem else f"{word}{suffix}"
    return name if name != PurePath(str(path)).name else f"{name.removesuffix(suffix)}-2{suffix}"
