"""What travels with the rows: --hover, --text and --image, to the output and to the report's map."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lowland.data import thumbnails as small


def picture(seed: int, side: int = 8) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def titles(report: str) -> list[str]:
    return re.findall(r"<title>([^<]*)</title></circle>", Path(report).read_text())


def images(report: str) -> list[str]:
    return re.findall(r'<g class="tip">.*?href="(data:image/[^"]*)"', Path(report).read_text(), re.DOTALL)


def test_columns_are_copied_and_shown_at_the_points(run: Any, table: Path, frame: pl.DataFrame) -> None:
    words = ("reduce", table, "--id", "name", "--hover", "kind,b", "-o", "y.csv", "--report", "y.html")
    done = run(*words, "--json").json
    made = pl.read_csv("y.csv")
    assert made.columns == ["name", "kind", "b", "pca0", "pca1"]
    assert made["kind"].to_list() == frame["kind"].to_list()
    assert done["columns"] == ["a", "b", "c"]  # b is shown, and still reduced
    assert titles("y.html")[4] == f"row4\nkind: green\nb: {frame['b'][4]:.6g}"
    assert "Hover over a point to see its name, kind and b." in Path("y.html").read_text()
    assert "--hover kind,b" in run(*words[:-2], "--model", "m.lowland").err
    plain = run("reduce", table, "-o", "plain.csv")
    assert plain.code == 0
    assert pl.read_csv("plain.csv")["pca0"].equals(made["pca0"])


def test_unknown_columns_to_show_are_errors(run: Any, table: Path) -> None:
    done = run("reduce", table, "--hover", "knd", "-o", "y.csv")
    assert done.code == 3
    assert "did you mean 'kind'?" in done.err
    assert not Path("y.csv").exists()
    assert run("reduce", table, "--hover", "kind", "-o", "y.npz").code == 2


def test_transform_copies_them_too(run: Any, model: Path, table: Path) -> None:
    assert run("transform", model, table, "--hover", "kind", "--text", "name", "-o", "z.csv").code == 0
    assert pl.read_csv("z.csv").columns == ["kind", "name", "pca0", "pca1", "pca2"]


def test_texts_travel_to_the_output_and_the_report(run: Any, table: Path) -> None:
    assert run("reduce", table, "--text", "name", "-o", "y.csv", "--report", "y.html").code == 0
    assert pl.read_csv("y.csv").columns == ["name", "pca0", "pca1"]
    assert titles("y.html")[7] == "name: row7"


def test_images_are_embedded_as_small_copies(run: Any, frame: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for i in range(len(frame)):
        (tmp_path / "photos" / f"{i}.png").write_bytes(picture(i, 8 if i else 200))
    (tmp_path / "photos" / "5.png").write_bytes(b"no image")
    frame.with_columns(photo=pl.Series([f"photos/{i}.png" for i in range(30)])).write_csv("t.csv")
    done = run("reduce", "t.csv", "--image", "photo", "-o", "y.csv", "--report", "y.html")
    assert done.code == 0
    assert "1 of 30 cells could not be read as images." in done.err
    page = Path("y.html").read_text()
    kinds = [uri.partition(";")[0] for uri in images("y.html")]
    assert (kinds.count("data:image/png"), kinds.count("data:image/jpeg")) == (28, 1)
    assert "Hover over a point to see its image." in page
    assert pl.read_csv("y.csv").columns == ["photo", "pca0", "pca1"]


def test_images_as_bytes_and_structs_are_not_written_to_text(run: Any, frame: pl.DataFrame) -> None:
    cells = [picture(i) for i in range(30)]
    frame.with_columns(photo=pl.Series(cells)).write_parquet("bytes.parquet")
    structs = pl.Series([{"bytes": cell, "path": None} for cell in cells])
    frame.with_columns(photo=structs).write_parquet("structs.parquet")
    pages = []
    for file in ("bytes.parquet", "structs.parquet"):
        assert run("reduce", file, "--image", "photo", "-o", "y.csv", "--report", "y.html").code == 0
        assert pl.read_csv("y.csv").columns == ["pca0", "pca1"]
        pages.append(images("y.html"))
    assert pages[0] == pages[1]
    assert len(pages[0]) == 30


def test_too_many_images_are_spread_over_the_rows_and_the_limit_is_told() -> None:
    cells = pl.Series([picture(i) for i in range(40)])
    size = max(len(uri) for uri in small.thumbnails(cells, Path()).uris)
    made = small.thumbnails(cells, Path(), max_bytes=10 * size)
    shown = [i for i, uri in enumerate(made.uris) if uri is not None]
    assert 10 <= len(shown) < 13
    assert max(np.diff(shown)) <= 8
    assert made.sentence == f"{len(shown)} of 40 images are shown: the page holds 4 MB of images."


def test_folders_of_images_show_them(run: Any, tmp_path: Path) -> None:
    (tmp_path / "faces").mkdir()
    for i in range(12):
        (tmp_path / "faces" / f"{i:02d}.png").write_bytes(picture(i))
    assert run("reduce", "faces", "-o", "y.csv", "--report", "y.html").code == 0
    assert len(images("y.html")) == 12
