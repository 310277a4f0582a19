"""Process-wide settings: memory limit, threads, progress. They never change a result."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import Cancelled
from .formatting import parse_bytes
from .message import Message, Setting

ProgressCallback = Callable[[str, int, int | None], object]


@dataclass(frozen=True)
class Settings:
    """The current settings; see `config`."""

    memory_limit: int | None = None
    threads: int | None = None
    progress: ProgressCallback | None = None


_current = Settings()
_UNSET: Any = object()


class _Restore:
    """Restores the former settings at the end of ``with config(...)``; without ``with`` it does nothing."""

    def __init__(self, former: Settings) -> None:
        self._former = former

    def __enter__(self) -> Settings:
        return _current

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set(self._former)


def _set(settings: Settings) -> None:
    global _current
    _current = settings


def config(
    *,
    memory_limit: float | str | None = _UNSET,
    threads: int | None = _UNSET,
    progress: ProgressCallback | None = _UNSET,
) -> _Restore:
    """Set the memory limit, the number of threads or the progress callback for this process.

    A setting that is not passed keeps its value; ``None`` restores its default.

    Parameters
    ----------
    memory_limit : int (bytes) or str such as "8GB"; default: the environment's
        ``LOWLAND_MEMORY_LIMIT``, else 80 % of the memory that the machine or its cgroup has free.
        Work that would exceed it raises `MemoryLimitError` before it allocates.
    threads : int; default: the environment's ``LOWLAND_THREADS``, else the cores this process may use.
        Results do not depend on it.
    progress : callable ``(stage, done, total)``, called by every long loop; ``total`` is None where it
        is not known. Returning ``False`` cancels the work: `Cancelled` is raised.

    Examples
    --------
    >>> import lowland
    >>> with lowland.config(threads=1, memory_limit="2GB"):
    ...     lowland.settings.memory_limit()
    2000000000
    """
    change: dict[str, Any] = {}
    if memory_limit is not _UNSET:
        change["memory_limit"] = None if memory_limit is None else parse_bytes(memory_limit)
    if threads is not _UNSET:
        number: Any = threads
        whole = isinstance(number, numbers.Integral) and not isinstance(number, bool)
        if number is not None and (not whole or number < 1):
            raise ValueError(
                Message(Setting("threads"), f" must be a whole number of at least 1, or None; got {threads!r}")
            )
        change["threads"] = None if threads is None else int(threads)
    if progress is not _UNSET:
        if progress is not None and not callable(progress):
            raise ValueError(Message(Setting("progress"), " must be a function of (stage, done, total), or None"))
        change["progress"] = progress
    former = _current
    _set(replace(former, **change))
    return _Restore(former)


def current() -> dict[str, Any]:
    """Return the settings made by `config` as a dictionary (None: default)."""
    return {f.name: getattr(_current, f.name) for f in fields(_current)}


def memory_limit() -> int:
    """Return the current memory limit in bytes."""
    if _current.memory_limit is not None:
        return _current.memory_limit
    text = os.environ.get("LOWLAND_MEMORY_LIMIT")
    if text:
        try:
            return parse_bytes(text)
        except ValueError as error:
            raise ValueError(f"LOWLAND_MEMORY_LIMIT: {error}") from None
    return int(0.8 * free_memory())


def limit_is_given() -> bool:
    """Return whether the memory limit was set by `config` or the environment."""
    return _current.memory_limit is not None or bool(os.environ.get("LOWLAND_MEMORY_LIMIT"))


def threads() -> int:
    """Return the current number of threads."""
    if _current.threads is not None:
        return _current.threads
    text = os.environ.get("LOWLAND_THREADS")
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise ValueError(f"LOWLAND_THREADS must be a whole number of at least 1; got {text!r}")
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def report_progress(stage: str, done: int, total: int | None) -> None:
    """Call the progress callback; raise `Cancelled` if it returns ``False``."""
    if _current.progress is not None and _current.progress(stage, done, total) is False:
        raise Cancelled(f"cancelled in {stage!r} after {done} of {total if total is not None else '?'} steps")


def free_memory() -> int:
    """Return the free memory of the machine or of this process's cgroup, whichever is less, in bytes."""
    free = _machine_free()
    group = _cgroup_free(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))
    return free if group is None else min(free, group)


def _machine_free(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Return Linux's MemAvailable; on other systems half of the physical memory, or 2 GiB if it is unknown."""
    for line in meminfo.read_text().splitlines() if meminfo.exists() else ():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 2 * 2**30 if (whole := physical_memory()) is None else whole // 2


def physical_memory() -> int | None:
    """Return the memory of the machine in bytes; None if the system does not tell."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else None


def _cgroup_free(root: Path, membership: Path) -> int | None:
    """Return the least free memory of this process's cgroup and its ancestors (v1 or v2)."""
    try:
        lines = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except OSError:
        return None
    free: list[int] = []
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers == "":
            base, limit_file, used_file = root, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit_file, used_file = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        here = base / path.lstrip("/")
        for folder in (here, *here.parents):
            if base not in (folder, *folder.parents):
                break
            limit, used = _number(folder / limit_file), _number(folder / used_file)
            if limit is not None and used is not None and limit < 2**60:
                free.append(max(0, limit - used + _reclaimable(folder)))
    return min(free, default=None)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # no such controller here, or "max"
        return None


def _reclaimable(folder: Path) -> int:
    """Return the bytes of file cache that the kernel can reclaim."""
    try:
        for line in (folder / "memory.stat").read_text().splitlines():
            name, _, value = line.partition(" ")
            if name in ("inactive_file", "total_inactive_file"):
                return int(value)
    except OSError:
        return 0
    return 0
