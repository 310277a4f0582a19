"""What `remote` knows of a job on its way to a worker of a cluster, and of such a worker."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from .budget import Reason
from .workers import Job, Told

_LATE = 2.0  # seconds that an answer may be late: the worker ends what it began in time, and the answer travels
_SILENT = 10.0  # seconds without a message after which a job is believed to be no longer compiled
_REPEATS = 3  # times that a job may be lost on workers that live: the files that it needs were on one that died


@dataclass(eq=False)
class Order:
    """A job on its way: what is done, until when, and what was heard of it."""

    number: int
    job: Job
    told: Told
    until: float
    serial: int
    compiled: float = 0.0  # seconds of compiling in all its runs
    before: float = 0.0  # those of earlier runs, on workers that were lost
    heard: float = 0.0  # when the last message came
    stopped: bool = False  # whether its time stood still then: code was compiled, or the answer was there
    last: tuple[str, int, int | None] = ("begin", 0, None)
    lost: str = ""  # the address of the worker that died with it
    repeats: int = 0  # how often it was lost on a worker that lives, such as with the files that it needed

    @property
    def left(self) -> float:
        """The seconds that are left of its time, without those of compiling."""
        return self.until + self.compiled - time.monotonic()

    @property
    def overdue(self) -> bool:
        """Whether its time is over, and its worker is not about to say so.

        The worker counts from when it begins, which may be late; the time that the order waited there counts, too.
        """
        working = self.stopped and time.monotonic() < self.heard + _SILENT
        return self.left < -_LATE and not working

    def lost_on(self, address: str, *, died: bool) -> str:
        """Note that it was lost on a worker, which died or not; return why it has failed with that, or nothing."""
        if died:
            first, self.lost = self.lost, address
            text = f"the workers of the cluster that ran it, {first} and {address}, were lost; perhaps they had too "
            return f"{text}little memory" if first else ""
        self.repeats += 1
        text = f"the cluster lost it {self.repeats} times, the last time on the worker {address}"
        return text if self.repeats > _REPEATS else ""


@dataclass(eq=False)
class RemoteWorker:
    """A worker of the cluster, as it is known to the client."""

    address: str
    threads: int
    token: str = ""
    opened: Any = None  # the call that keeps its folder and process
    stored: Any = None  # the last call that wrote files there
    call: Any = None  # what it does: start a process, or an order
    order: Order | None = None
    up: bool = False  # whether it has a process
    reason: Reason | None = None  # why it has none
    start_until: float = 0.0  # until when its last start might take
    misses: int = 0  # starts that were lost in a row, such as for the worker that was to hand it the rows

    @property
    def idle(self) -> bool:
        """Whether it does nothing."""
        return self.call is None
