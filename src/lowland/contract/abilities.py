"""Write ``ability_table.py``: ``python -m lowland.contract.abilities src/lowland/contract/ability_table.py``.

The abilities of a method are read from its class. Those of the built-in ones are also kept in this table, because
importing all classes takes more than a second, which `lowland methods` would need. A test fails if it is out of date.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .method_table import METHODS, abilities_of


def table() -> str:
    """Return the text of ``ability_table.py``.

    >>> '"pca": "inverse partial sparse stream"' in table()
    True
    """
    head = '"""What the built-in methods can do; written by ``lowland.contract.abilities``, not by hand."""\n\n'
    rows = [f'    "{row.name}": "{" ".join(sorted(abilities_of(row.load())))}",' for row in METHODS]
    return "\n".join([f"{head}ABILITIES = {{", *rows, "}", ""])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the table of abilities, made from the classes of the methods.")
    parser.add_argument("file", type=Path, help="the file to write")
    parser.parse_args().file.write_text(table(), encoding="utf-8")
