"""Where candidates run: workers that run one job at a time and return its result or its error.

The schedule (`schedule.Run`) knows `Workers` alone. One process of this machine is `OneProcess`;
`remote.RemoteWorkers` are processes on the workers of a cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from .budget import Reason

Told = Callable[[str, int, int | None], None]
Job = dict[str, Any]
Answer = dict[str, Any]


class Workers(ABC):
    """Workers of a comparison. A job is begun on a free one; answers come in the order in which jobs end."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of workers, busy ones included."""

    @property
    @abstractmethod
    def busy(self) -> int:
        """The number of jobs that were begun and not answered."""

    @property
    def start_seconds(self) -> float | None:
        """The longest time that a process took to start; None where `ready` waits for nothing else."""
        return None

    @abstractmethod
    def ready(self, seconds: float, told: Told) -> Reason | None:
        """Have a process ready on a free worker within some seconds; return why there is none, or None."""

    @abstractmethod
    def begin(self, number: int, job: Job, seconds: float, told: Told) -> None:
        """Begin a numbered job, which may take some seconds, on a free worker whose process is ready."""

    @abstractmethod
    def next(self) -> tuple[int, Answer]:
        """Wait for the next answer; return it with the number of its job."""

    def ask(self, job: Job, seconds: float, told: Told) -> Answer:
        """Have a job done while there is no other one."""
        self.begin(-1, job, seconds, told)
        return self.next()[1]


class OneProcess(Workers):
    """One worker that is asked in this thread: a job that was begun is done when its answer is waited for."""

    size = 1

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._begun: tuple[int, Job, float, Told] | None = None

    @property
    def busy(self) -> int:
        """The number of jobs that were begun and not answered."""
        return int(self._begun is not None)

    def ready(self, seconds: float, told: Told) -> Reason | None:
        """Have the process ready within some seconds; return why it is not, or None."""
        reason: Reason | None = self._worker.ready(seconds, told)
        return reason

    def begin(self, number: int, job: Job, seconds: float, told: Told) -> None:
        """Note a job."""
        assert self._begun is None
        self._begun = number, job, seconds, told

    def next(self) -> tuple[int, Answer]:
        """Have the job done; return the answer with its number."""
        assert self._begun is not None
        (number, *order), self._begun = self._begun, None
        return number, self._worker.ask(*order)
