"""`Calls` and `WorkerSide`: functions on chosen workers of a cluster, for work that keeps something there (a process).

The result of a call stays on its worker until the caller releases it, cancels the call or ends.
`WorkerSide.wait_while_held` returns then on the worker, so that what the call keeps there is removed in each case.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

PENDING = object()  # the outcome of a call that has not ended
ARRIVING = object()  # the outcome of a call that has ended, but what it returned is still on its way
LOST = object()  # the outcome of a call that will never end, since its worker or what it takes is gone


class Calls(ABC):
    """Calls on the workers of a cluster; use it in ``with``. Faults of the cluster are raised as `ClusterError`.

    ``to`` is the address that `WorkerSide.tell` sends messages to.
    """

    to: tuple[str, ...]

    @abstractmethod
    def __enter__(self) -> Calls: ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...

    @abstractmethod
    def workers(self, besides: Collection[str] = ()) -> dict[str, int]:
        """Return the threads of the workers that are there besides some; wait for one, and raise if none comes."""

    @abstractmethod
    def require(self, workers: Collection[str]) -> None:
        """Raise if one of some workers cannot do the work, such as for another version of Lowland."""

    @abstractmethod
    def alive(self) -> dict[str, int]:
        """Return the threads of the workers that are there, perhaps of none."""

    @abstractmethod
    def send(self, value: Any) -> Any:
        """Send a value to the cluster, once; return what calls take as it: workers get it from each other."""

    @abstractmethod
    def begin(self, worker: str, function: Callable[..., Any], *values: Any) -> Any:
        """Have a worker call a function; return the call, which has ``release`` and ``add_done_callback``.

        Values are plain ones, what `send` returned, and calls on the same worker. A call ends as `LOST` or never if its
        worker is gone, which `alive` tells.
        """

    @abstractmethod
    def outcome(self, call: Any) -> Any:
        """Return what a call returned, `PENDING`, `ARRIVING` or `LOST`, within a second; raise what it raised."""

    @abstractmethod
    def listen(self, heard: Callable[[Any], None]) -> None:
        """Call a function with each message that is sent to ``to``, in another thread."""


class WorkerSide(ABC):
    """The worker that runs this call, as seen from the call."""

    address: str
    folder: Path  # where the worker keeps files; the cluster removes what is left there
    memory_limit: int | None  # bytes that the worker may take
    variables: frozenset[str]  # environment variables that suit the worker's own process, not those that it starts

    @abstractmethod
    def tell(self, to: tuple[str, ...], message: Any) -> None:
        """Send a message of plain values to the listener at an address."""

    @abstractmethod
    def wait_while_held(self) -> None:
        """Wait until the result of this call, which is about to end, is released, or the worker closes."""
