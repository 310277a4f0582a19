"""The ids of the tests: pytest-xdist refuses to run when two processes collect different ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_a_process_started_later_collects_the_same_ids(collected_ids, request):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    later = {line for line in run.stdout.splitlines() if "::" in line}
    assert set(collected_ids) <= later
    if request.config.args == request.config.getini("testpaths"):
        assert later == set(collected_ids)
