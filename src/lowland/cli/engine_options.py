"""Options for work on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from .answer import UsageError

if TYPE_CHECKING:
    from ..data.scans.table_scan import TableScan

CLUSTERS = Group("Clusters", sort_key=12)


@Parameter(name="*", group=CLUSTERS)
@dataclass(frozen=True)
class EngineOptions:
    """Where the work is done."""

    engine: Annotated[
        Literal["local", "dask"],
        Parameter(
            help="Where the work is done: local (this machine), or dask (workers of Dask; the documentation lists the "
            "results that differ by rounding)."
        ),
    ] = "local"
    scheduler: Annotated[
        str | None,
        Parameter(
            help="With --engine dask: address of the Dask scheduler, such as tcp://host:8786. For reduce and transform "
            "its workers must see the table under the same path. Default: processes on this machine."
        ),
    ] = None
    workers: Annotated[
        int | None,
        Parameter(
            help="With --engine dask and no --scheduler: number of processes. Default: the number of threads that "
            "Lowland uses."
        ),
    ] = None

    def check(self) -> None:
        """Raise `UsageError` for options that do not belong together."""
        for name, value in (("--scheduler", self.scheduler), ("--workers", self.workers)):
            if self.engine == "local" and value is not None:
                raise UsageError(f"{name} needs --engine dask")
        if self.scheduler is not None and self.workers is not None:
            raise UsageError("--workers starts processes on this machine, and --scheduler has its own: remove one")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"--workers {self.workers}: must be at least 1")

    @property
    def uses_cluster(self) -> bool:
        """Whether the work is done elsewhere."""
        return self.engine != "local"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Connect to the cluster, or start one, for the time of the block."""
        if not self.uses_cluster:
            yield
            return
        from ..engines import connected

        with connected(self.scheduler, self.workers):
            yield

    def rows(self, table: TableScan) -> Any:
        """Return a scanned table as rows that the workers read; here, the table itself."""
        if not self.uses_cluster:
            return table
        from ..rows.shared_scan import SharedScan

        return SharedScan(table, self.engine)


LOCAL = EngineOptions()
