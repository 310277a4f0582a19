"""Memory limit, threads, progress: how they are set, read and restored."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.core import settings
from lowland.core.errors import Cancelled
from lowland.core.formatting import format_bytes, format_seconds, parse_bytes
from lowland.core.settings import _cgroup_free, _machine_free, config, report_progress

GB = 10**9


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    monkeypatch.delenv("LOWLAND_MEMORY_LIMIT", raising=False)
    monkeypatch.delenv("LOWLAND_THREADS", raising=False)
    with config(memory_limit=None, threads=None, progress=None):
        yield


# -- sizes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8GB", 8 * GB),
        ("8 gb", 8 * GB),
        ("512MiB", 512 * 2**20),
        ("1.5 GiB", 3 * 2**29),
        ("2T", 2 * 10**12),
        (" 100 ", 100),
        ("1e9", GB),
        (".5k", 500),
        (4096, 4096),
        (8e9, 8 * GB),
        (np.int64(7), 7),
    ],
)
def test_sizes_are_read(text, value):
    assert parse_bytes(text) == value


@pytest.mark.parametrize("text", ["", "lots", "8 XB", "-1GB", "8iB", "1.2.3GB", "GB", "nan", "1e999", None, True])
def test_a_size_that_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError, match="cannot read"):
        parse_bytes(text)


@pytest.mark.parametrize("text", [0, -5, "0", "0.5", 0.2])
def test_a_size_must_be_positive(text):
    with pytest.raises(ValueError, match="must be positive"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1_230_000, "1.23 MB"),
        (5 * 10**13, "50 TB"),
        (-2000, "-2 kB"),
    ],
)
def test_sizes_are_written_as_people_read_them(n, text):
    assert format_bytes(n) == text


@pytest.mark.parametrize("n", [999_499, 999_500, 999_999, 999_999_999, 999_999_999_999, 3 * 10**15])
def test_sizes_never_come_in_powers_of_ten(n):
    assert "e+" not in format_bytes(n)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "< 0.01 s"),
        (5.4e-7, "< 0.01 s"),
        (0.0101, "about 0.01 s"),
        (12.345, "about 12 s"),
        (99.4, "about 99 s"),
        (99.6, "about 1.7 min"),
        (3 * 3600, "about 3 h"),
        (10 * 86_400, "about 10 days"),
        (1e12, "about 11,574,074 days"),
    ],
)
def test_times_are_written_as_people_read_them(seconds, text):
    assert format_seconds(seconds) == text


# -- config --------------------------------------------------------------------------------------------------


def test_config_is_kept_until_changed_and_restored_by_with():
    config(threads=3)
    with config(memory_limit="2GB"):
        assert (settings.memory_limit(), settings.threads()) == (2 * GB, 3)
        with config(threads=1, memory_limit=None):
            assert settings.threads() == 1
            assert settings.current()["memory_limit"] is None
        assert (settings.memory_limit(), settings.threads()) == (2 * GB, 3)
    assert settings.current() == {"memory_limit": None, "threads": 3, "progress": None}


def test_with_restores_after_an_error():
    with pytest.raises(KeyError), config(threads=5):
        raise KeyError
    assert settings.current()["threads"] is None


def test_a_refused_value_changes_nothing():
    config(threads=2)
    with pytest.raises(ValueError, match="whole number"):
        config(memory_limit="1GB", threads=0)
    assert settings.current() == {"memory_limit": None, "threads": 2, "progress": None}


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True])
def test_threads_must_be_a_whole_number(bad):
    with pytest.raises(ValueError, match="threads must be a whole number of at least 1"):
        config(threads=bad)


def test_numpy_integers_are_whole_numbers():
    with config(threads=np.int64(2)):
        assert settings.threads() == 2


def test_progress_must_be_callable():
    with pytest.raises(ValueError, match="progress must be a function"):
        config(progress=3)


def test_environment_gives_defaults_and_config_wins(monkeypatch):
    monkeypatch.setenv("LOWLAND_MEMORY_LIMIT", "3GiB")
    monkeypatch.setenv("LOWLAND_THREADS", "7")
    assert (settings.memory_limit(), settings.threads()) == (3 * 2**30, 7)
    with config(memory_limit="1GB", threads=2):
        assert (settings.memory_limit(), settings.threads()) == (GB, 2)


@pytest.mark.parametrize("text", ["0", "two", "-1", "1.5", "²"])
def test_a_bad_number_of_threads_in_the_environment_is_named(monkeypatch, text):
    monkeypatch.setenv("LOWLAND_THREADS", text)
    with pytest.raises(ValueError, match="LOWLAND_THREADS must be a whole number"):
        settings.threads()


def test_a_bad_limit_in_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("LOWLAND_MEMORY_LIMIT", "much")
    with pytest.raises(ValueError, match=r"LOWLAND_MEMORY_LIMIT.*'much'"):
        settings.memory_limit()


def test_default_limit_is_four_fifths_of_what_is_free(monkeypatch):
    monkeypatch.setattr(settings, "free_memory", lambda: 1000)
    assert settings.memory_limit() == 800


def test_free_memory_is_the_smaller_of_machine_and_group(monkeypatch):
    monkeypatch.setattr(settings, "_machine_free", lambda: 700)
    for group, expected in ((500, 500), (900, 700), (None, 700)):
        monkeypatch.setattr(settings, "_cgroup_free", lambda root, membership, g=group: g)
        assert settings.free_memory() == expected


def test_the_machine_tells_what_is_free_or_half_of_it_is_assumed(tmp_path):
    meminfo = tmp_path / "meminfo"
    half = _machine_free(meminfo)
    assert half > 2**20
    meminfo.write_text("MemTotal: 100 kB\nMemFree: 7 kB\nMemAvailable: 42 kB\n")
    assert _machine_free(meminfo) == 42 * 1024
    meminfo.write_text("MemTotal: 100 kB\n")  # an old kernel
    assert _machine_free(meminfo) == half


# -- cgroups -------------------------------------------------------------------------------------------------


def group(root, membership, **files):
    """Write a fake tree of control groups: ``files`` maps "folder|file" to text."""
    for place, text in files.items():
        path = root / place.replace("|", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    where = root / "membership"
    where.write_text(membership)
    return _cgroup_free(root, where)


def test_v2_limit_less_use_plus_cache(tmp_path):
    found = group(
        tmp_path,
        "0::/a/b\n",
        **{
            "a/b|memory.max": "1000\n",
            "a/b|memory.current": "600\n",
            "a/b|memory.stat": "anon 5\ninactive_file 100\n",
        },
    )
    assert found == 500


def test_v2_the_tightest_ancestor_counts(tmp_path):
    files = {
        "a/b|memory.max": "max\n",
        "a/b|memory.current": "10\n",
        "a|memory.max": "300",
        "a|memory.current": "50",
    }
    assert group(tmp_path, "0::/a/b\n", **files) == 250


def test_v2_max_everywhere_is_no_limit(tmp_path):
    assert group(tmp_path, "0::/a\n", **{"a|memory.max": "max\n", "a|memory.current": "10\n"}) is None


def test_v2_above_its_limit_leaves_nothing(tmp_path):
    assert group(tmp_path, "0::/\n", **{"memory.max": "100", "memory.current": "120"}) == 0


def test_v1_reads_the_memory_controller_only(tmp_path):
    files = {
        "memory/job|memory.limit_in_bytes": "2000",
        "memory/job|memory.usage_in_bytes": "500",
        "cpu/job|memory.limit_in_bytes": "1",
        "cpu/job|memory.usage_in_bytes": "0",
    }
    assert group(tmp_path, "5:cpu,cpuacct:/job\n4:memory:/job\n", **files) == 1500


def test_v1_unlimited_is_a_huge_number(tmp_path):
    files = {"memory|memory.limit_in_bytes": "9223372036854771712", "memory|memory.usage_in_bytes": "500"}
    assert group(tmp_path, "4:memory:/\n", **files) is None


def test_v1_a_path_of_the_host_falls_back_to_what_the_container_sees(tmp_path):
    files = {"memory|memory.limit_in_bytes": "900", "memory|memory.usage_in_bytes": "100"}
    assert group(tmp_path, "4:memory:/docker/1234\n", **files) == 800


def test_no_cgroups_at_all(tmp_path):
    assert _cgroup_free(tmp_path, tmp_path / "absent") is None
    assert group(tmp_path, "garbage\n") is None


# -- progress ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [None, True, 0, ""])
def test_only_false_cancels(answer):
    seen = []
    with config(progress=lambda *what: seen.append(what) or answer):
        report_progress("stage", 1, None)
    assert seen == [("stage", 1, None)]


@pytest.mark.parametrize(("total", "text"), [(9, "after 3 of 9"), (None, r"after 3 of \?")])
def test_false_cancels_and_says_where(total, text):
    with config(progress=lambda *what: False), pytest.raises(Cancelled, match=f"'Gram' {text}"):
        report_progress("Gram", 3, total)


def test_an_error_of_the_callback_reaches_the_caller_and_leaves_no_model(rng):
    def broken(stage, done, total):
        raise RuntimeError("the bar broke")

    model = lowland.PCA(1)
    with config(progress=broken), pytest.raises(RuntimeError, match="the bar broke"):
        model.fit(rng.standard_normal((20, 3)))
    assert not hasattr(model, "components_")
