"""The build hook: when it builds, what it asks for, and that a build without npm succeeds."""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest

from .conftest import ROOT, hook

pytestmark = pytest.mark.skipif(not (ROOT / "hatch_build.py").is_file(), reason="a copy of the tests without the hook")

build = hook()


@pytest.fixture
def root(tmp_path):
    """A copy of the sources of the script, without packages and without the script."""
    shutil.copytree(ROOT / build.WEB, tmp_path / build.WEB, ignore=shutil.ignore_patterns("node_modules"))
    return tmp_path


def built(root):
    (root / build.STATIC).mkdir(parents=True)
    for name in build.BUILT:
        (root / build.STATIC / name).write_text("built")
    (root / build.STATIC / build.STAMP).write_text(build.source_hash(root))


def programs(folder, monkeypatch, *, node, npm):
    """Put a node and an npm that only say and return something on the PATH, and nothing else."""
    folder.mkdir()
    for name, line in (("node", f"echo {node}"), ("npm", npm)):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin{os.pathsep}/usr/bin")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        *(("v18.20.0", False), ("v20.18.9", False), ("v21.9.0", False), ("v22.11.0", False)),
        *(("v20.19.0", True), ("v22.12.0", True), ("v24.0.0", True)),
    ],
)
def test_node_versions(version, expected):
    assert build.is_new_enough(version) is expected


def test_the_script_is_current_until_a_source_changes(root):
    assert not build.is_current(root)
    built(root)
    assert build.is_current(root)
    file = root / build.WEB / "src/colors.ts"
    file.write_text(file.read_text() + "\n// changed\n")
    assert not build.is_current(root)


def test_nothing_is_asked_for_where_the_script_is(root, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert build.requirements(root) == [build.NODE]
    built(root)
    assert build.requirements(root) == []
    assert build.build_or_reason(root) is None
    assert (root / build.STATIC / "page.js").read_text() == "built"


def test_node_on_the_path_is_used(root, monkeypatch, tmp_path):
    programs(tmp_path / "bin", monkeypatch, node="v22.12.0", npm="exit 1")
    assert build.requirements(root) == []


def test_old_node_is_not_used(root, monkeypatch, tmp_path):
    programs(tmp_path / "bin", monkeypatch, node="v18.0.0", npm="exit 1")
    assert build.requirements(root) == [build.NODE]


def test_a_registry_that_cannot_be_reached_is_a_reason_not_an_error(root, monkeypatch, tmp_path):
    programs(tmp_path / "bin", monkeypatch, node="v22.12.0", npm="echo 'npm error network' >&2; exit 1")
    assert build.build_or_reason(root) == "npm failed: npm error network"
    assert not build.is_current(root)


def test_the_script_can_be_left_out(root, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("LOWLAND_NO_WEB", "1")
    assert build.requirements(root) == []
    assert build.build_or_reason(root) is None


def test_lock_file_names_no_registry():
    text = (ROOT / build.WEB / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert "omit-lockfile-registry-resolved=true" in (ROOT / build.WEB / ".npmrc").read_text()
    assert all(entry.get("integrity") for path, entry in json.loads(text)["packages"].items() if path)


def test_the_script_is_inside_of_packages_and_not_committed():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'artifacts = ["src/lowland/explorer/static/*"]' in project
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8")
    assert "src/lowland/explorer/static/" in ignored


def test_bundle_contains_the_notices_and_no_eval(bundle):
    head = bundle[: bundle.index("*/")]
    for name in ("regl-scatterplot", "regl", "pub-sub-es", "dom-2d-camera", "gl-matrix"):
        assert re.search(rf"^{name} \d[\d.]* \(MIT\)", head, flags=re.M), name
    assert head.count("Permission is hereby granted") >= 5
    assert "</script" not in bundle.lower()
    assert "<!--" not in bundle
    assert "Function.apply" not in bundle
    assert "__lowlandCompile" in bundle
