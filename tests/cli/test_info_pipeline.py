"""`lowland info` of a model file that holds a Pipeline."""

import json

import lowland
from lowland.cli import main
from modelfile_forging import forge
from patients import make_patients


def test_steps_of_a_recipe(tmp_path, capsys):
    path, table = tmp_path / "map.lowland", make_patients()
    model = lowland.recipe(
        lowland.Isomap(2, n_neighbors=12), drop=["id"], missing="ppca", categories="one-hot", scale="standard"
    ).fit(table)
    lowland.save(model, path)
    assert main(["info", str(path)]) == 0
    out = "".join(capsys.readouterr())
    for words in ("Pipeline (isomap)", "step scale", "ScaleColumns(method=standard)", "60 training rows", "8 columns"):
        assert words in out, out
    assert main(["info", str(path), "--json"]) == 0
    contents = json.loads(capsys.readouterr().out)["contents"]
    assert [step["class"] for step in contents["steps"]][-1] == "Isomap"
    lowland.save(model[:-1], path)
    assert main(["info", str(path)]) == 0
    assert "Pipeline" in capsys.readouterr().out


def test_damaged_diagnostics_are_an_error_with_the_file(tmp_path, capsys):
    path = tmp_path / "map.lowland"
    lowland.save(
        lowland.recipe(lowland.PCA(2), drop=["id"], missing="mean", categories="drop", scale="standard").fit(
            make_patients()
        ),
        path,
    )
    kept = path.read_bytes()
    for told in (
        {"algorithm": "direct"},
        {"method": "PCA", "algorithm": ["x"]},
        {"method": "PCA", "algorithm": "x", "seconds": {"a": "b"}},
    ):
        path.write_bytes(kept)
        forge(path, lambda record, told=told: record["parameters"]["steps"][-1][1]["$model"].update(fit_info=told))
        assert main(["info", str(path)]) == 3
        assert "map.lowland: its fit_info c" in capsys.readouterr().err
