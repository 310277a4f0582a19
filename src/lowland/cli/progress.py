"""Progress bars with the time left on stderr, only on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..core.settings import config
from .answer import stderr

if TYPE_CHECKING:
    from rich.progress import TaskID


@contextmanager
def progress_bar() -> Iterator[None]:
    """Show a progress bar for each stage if stderr is a terminal."""
    console = stderr()
    if not console.is_terminal:
        yield
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    tasks: dict[str, TaskID] = {}
    elapsed, left = TimeElapsedColumn(), TimeRemainingColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), elapsed, TextColumn("left"), left)
    with Progress(*columns, console=console, transient=True) as bars:

        def advance(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        with config(progress=advance):
            yield
