"""The engine of Dask: work goes to the workers of the current client, or runs on Dask's own scheduler.

A pass over the rows submits the tasks of a few chunks at a time and takes their results in row order, so that neither
the graph nor the results of the whole table are ever in flight. The work is sent once for each pass, as bytes: the
scheduler needs no Lowland. Tasks of chunks that share an input (a chunk that was cut, a mean of all rows) keep it
alive until the next one is submitted.
"""

from __future__ import annotations

import itertools
import operator
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import cloudpickle

from ..core import settings, thread_pool
from ..core.errors import ClusterError, MissingExtraError
from .dask_cluster import cluster_errors, own_version, require_workers
from .engine import Engine, Piece, State

try:
    import dask
    import dask.array
    import dask.highlevelgraph
    from dask._task_spec import DataNode, Task, TaskRef
    from dask.base import get_scheduler
    from dask.core import get_dependencies
except ImportError as error:  # a collection of Dask without one of the packages that its parts need
    raise MissingExtraError(f"Dask needs the extra of this name: pip install 'lowland[dask]' ({error})") from error

_AHEAD = 4  # chunks in flight for each thread of the workers
_AHEAD_LARGE = 1  # the same where results are as large as the rows
_GATHERED = 64  # small results that are fetched at once


class ChunkName(NamedTuple):
    """The rows of a piece: a key of a graph."""

    graph: TaskGraph
    key: Any


class TaskGraph:
    """The tasks of a collection, and which of them a chunk needs."""

    def __init__(self, tasks: dict[Any, Any], name: str) -> None:
        self.tasks, self.name = tasks, name

    @classmethod
    def of(cls, array: Any) -> TaskGraph:
        """Return the graph of an array, optimised."""
        (lean,) = dask.optimize(array)
        return cls(dict(lean.__dask_graph__()), lean.name)

    def needed(self, key: Any) -> dict[Any, Any]:
        """Return the tasks that lead to a key."""
        found: dict[Any, Any] = {}
        open_keys = [key]
        while open_keys:
            name = open_keys.pop()
            if name not in found:
                found[name] = self.tasks[name]
                open_keys += get_dependencies(self.tasks, name)
        return found

    def shared(self, one: dict[Any, Any], other: dict[Any, Any]) -> list[Any]:
        """Return the keys of results of ``one`` that ``other`` takes as they are."""
        common = one.keys() & other.keys()
        taken: set[Any] = set()
        for key in other.keys() - common:
            taken |= common & get_dependencies(self.tasks, key)
        return [key for key in taken if not isinstance(self.tasks[key], DataNode)]


# -- what runs on a worker -----------------------------------------------------------------------------------------


class OnWorker:
    """One step of a fold."""

    def __init__(self, step: Callable[[Any, Piece], Any], first: Any) -> None:
        self._step, self._first = step, first

    def __call__(self, state: Any, rows: Any, *more: Any) -> Any:
        """Return the next state, from the rows of a task."""
        with thread_pool.serial():  # Dask has a thread of its own for each task
            start, *others = more
            return self._step(self._first if state is None else state, Piece(start, rows, *others))


class _Packed:
    """Work on its way to a worker; a worker with another version of Lowland refuses it."""

    def __init__(self, work: Any) -> None:
        self._work = work

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (own_version(), cloudpickle.dumps(self._work))


def _unpacked(sender: str, work: bytes) -> Any:
    if sender != own_version():
        raise ClusterError(
            f"a worker has Lowland {own_version()} and the client {sender}: install the same version on all of them"
        )
    return cloudpickle.loads(work)


def packed(work: Any) -> bytes:
    """Return work as bytes that `cloudpickle.loads` turns back into it."""
    sent: bytes = cloudpickle.dumps(_Packed(work))
    return sent


# -- the engine ----------------------------------------------------------------------------------------------------


class DaskEngine(Engine):
    """Runs work on the current client of ``distributed``, else on the scheduler that Dask is set to."""

    def fold(
        self, step: Callable[[State, Any], State], start: State, groups: Iterable[Sequence[Any]], *, large: bool = False
    ) -> Generator[State, None, None]:
        """Fold each group by a chain of tasks; yield the states in order."""
        work, get = OnWorker(step, start), get_scheduler()
        client = getattr(get, "__self__", None)
        if client is None:
            return _on_scheduler(get or dask.threaded.get, work, groups, large)
        return _on_cluster(client, work, groups, large)


def _tasks(group: Sequence[Piece], work: Any) -> tuple[Any, dict[Any, Any]]:
    """Return the key of the result of a group, and the tasks of its chain, without those of the rows."""
    token, state, tasks = uuid.uuid4().hex, None, dict[Any, Any]()
    for number, piece in enumerate(group):
        key = f"lowland-block-{token}-{number}"
        start, rows, *others = piece
        tasks[key] = Task(key, operator.call, work, state, TaskRef(rows.key), start, *others)
        state = TaskRef(key)
    return key, tasks


def _needed(group: Sequence[Piece]) -> dict[Any, Any]:
    """Return the tasks that lead to the rows of a group."""
    found: dict[Any, Any] = {}
    for piece in group:
        found |= piece.rows.graph.needed(piece.rows.key)
    return found


def _on_scheduler(get: Any, work: Any, groups: Iterable[Sequence[Piece]], large: bool) -> Generator[Any, None, None]:
    """Run on a scheduler that returns when all tasks are done: a few groups at a time."""
    threads = dask.config.get("num_workers", None) or settings.threads()
    sent, source = f"lowland-work-{uuid.uuid4().hex}", iter(groups)
    while batch := list(itertools.islice(source, (_AHEAD_LARGE if large else _AHEAD) * threads)):
        tasks: dict[Any, Any] = {sent: DataNode(sent, work)}
        keys = []
        for group in batch:
            key, chain = _tasks(group, TaskRef(sent))
            tasks |= _needed(group) | chain
            keys.append(key)
        yield from get(tasks, keys)


def _on_cluster(client: Any, work: Any, groups: Iterable[Sequence[Piece]], large: bool) -> Generator[Any, None, None]:
    """Run on the workers of a client; results are taken in order, and the tasks that follow are already submitted."""
    with cluster_errors(client):
        threads = require_workers(client, own_version())
        sent = client.submit(cloudpickle.loads, packed(work), key=f"lowland-work-{uuid.uuid4().hex}")
    ahead, at_once = (_AHEAD_LARGE if large else _AHEAD) * threads, 1 if large else threads
    source, waiting, bridge = _with_shared(groups), deque[Any](), list[Any]()
    try:
        while batch := list(itertools.islice(source, at_once)):
            keys, tasks = list[Any](), dict[Any, Any]()
            for group, needed, _ in batch:
                key, chain = _tasks(group, sent)
                keys.append(key)
                tasks |= needed | chain
            shared = batch[-1][2]
            with cluster_errors(client), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
                found = client.get(tasks, [*keys, *shared], sync=False)
            waiting.extend(found[: len(keys)])
            bridge = found[len(keys) :]
            while len(waiting) >= ahead:
                yield from _ready(client, waiting, 1 if large else _GATHERED)
        while waiting:
            yield from _ready(client, waiting, 1 if large else _GATHERED)
    finally:
        for future in (*waiting, *bridge, sent):
            future.release()


def _with_shared(groups: Iterable[Sequence[Piece]]) -> Iterator[tuple[Sequence[Piece], dict[Any, Any], list[Any]]]:
    """Yield each group, the tasks of its rows, and the keys that the next group takes as well."""
    before: tuple[Sequence[Piece], dict[Any, Any]] | None = None
    for group in groups:
        tasks = _needed(group)
        if before is not None:
            yield *before, group[0].rows.graph.shared(before[1], tasks)
        before = group, tasks
    if before is not None:
        yield *before, []


def _ready(client: Any, waiting: deque[Any], most: int) -> list[Any]:
    """Return the first result, and those after it that are done already."""
    count = 1
    while count < min(most, len(waiting)) and waiting[count].status == "finished":
        count += 1
    with cluster_errors(client):
        found: list[Any] = client.gather([waiting[i] for i in range(count)])
    for _ in range(count):
        waiting.popleft().release()
    return found


ENGINE = DaskEngine()
