"""Workers of a cluster that are lost, late or cannot start, on a stand-in for the cluster."""

from __future__ import annotations

import errno
import os
import time

import pytest

from lowland.comparison import hosting, orders, remote
from lowland.comparison.budget import Cause
from lowland.comparison.hosting import Done
from lowland.core.errors import ClusterError, LowlandWarning
from lowland.engines.calls import ARRIVING, LOST, PENDING, Calls

STARTED = Done({}, {}, 0.0, True)


def done(text: str = "yes", **files: bytes) -> Done:
    return Done({"status": "done", "text": text}, files, 0.0, True)


class Call:
    """A call that ends as is told."""

    def __init__(self, worker, function, values):
        self.worker, self.function, self.values, self.released = worker, function.__name__, values, False

    def release(self):
        self.released = True
        if self.function == "open_host" and self.cluster.closes:
            self.cluster.heard([self.values[0], hosting.CLOSED])

    def add_done_callback(self, told):
        self.told = told


class Cluster(Calls):
    """Workers that answer jobs by a list of outcomes, in the order in which they are asked."""

    to = ("topic", "name")

    def __init__(self, workers, *outcomes, starts=STARTED):
        self.there, self.outcomes, self.starts = dict.fromkeys(workers, 1), list(outcomes), starts
        self.calls, self.sent, self.unfit, self.opens, self.closes = list[Call](), [], "", True, True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def workers(self, besides=()):
        found = {address: count for address, count in self.there.items() if address not in besides}
        if not found:
            raise ClusterError("no worker")
        return found

    def require(self, workers):
        for address in set(self.unfit) & set(workers):
            raise ClusterError(f"the worker {address} has Lowland 99.0")

    def alive(self):
        return dict(self.there)

    def send(self, value):
        self.sent.append(sorted(value))
        return Call(None, dict, ())

    def begin(self, worker, function, *values):
        self.calls.append(Call(worker, function, values))
        if function is hosting.open_host:
            self.calls[-1].cluster = self
            if self.opens:
                self.heard([values[0], hosting.OPEN])
        if function is hosting.ask:
            self.calls[-1].outcome = self.outcomes.pop(0)
        return self.calls[-1]

    def outcome(self, call):
        if call.function == "start":
            return self.starts.pop(0) if isinstance(self.starts, list) else self.starts
        outcome = getattr(call, "outcome", PENDING)
        return outcome(call) if callable(outcome) else outcome

    def listen(self, heard):
        self.heard = heard


@pytest.fixture
def at_work(tmp_path, monkeypatch):
    """Open workers on a cluster, whose faults are seen at once."""
    monkeypatch.setattr(remote, "_ROLL_CALL", 0.0)
    monkeypatch.setattr(remote, "_POLL", 0.001)
    (tmp_path / "rows.npy").write_bytes(b"rows")
    paused = []

    def opened(cluster):
        return remote.RemoteWorkers("here", cluster, tmp_path, lambda *seconds: paused.append(seconds))

    opened.paused = paused
    return opened


def asked(workers, number=0, seconds=60.0, do="fit"):
    assert workers.ready(10.0, lambda *_: None) is None
    workers.begin(number, {"do": do, "number": number}, seconds, lambda *_: None)


def lose(cluster, *also):
    """Return an outcome that never comes, since the worker is gone; others may come instead."""

    def outcome(call):
        cluster.there.pop(call.worker, None)
        cluster.there.update(dict.fromkeys(also, 1))
        return PENDING

    return outcome


def test_jobs_run_side_by_side_and_answers_come_as_they_end(at_work, tmp_path):
    slow = [PENDING, PENDING, PENDING, done("slow")]
    cluster = Cluster("ab", lambda call: slow.pop(0), done("quick", **{"map1.npz": b"a map"}))
    with at_work(cluster) as workers:
        assert workers.size == 2
        asked(workers, 0)
        asked(workers, 1)
        assert workers.busy == 2
        assert [workers.next()[1]["text"] for _ in range(2)] == ["quick", "slow"]
        assert workers.busy == 0
    assert {call.worker for call in cluster.calls if call.function == "ask"} == {"a", "b"}
    assert (tmp_path / "map1.npz").read_bytes() == b"a map"
    assert cluster.sent == [["rows.npy"]], "once, for both"
    assert all(call.released for call in cluster.calls), "so that nothing is kept there"


def test_a_look_is_sent_to_the_others(at_work, tmp_path):
    cluster = Cluster("abc", done(**{"direct.npz": b"d", "geodesic.npz": b"g"}), done(), done(), done())
    with at_work(cluster) as workers:
        asked(workers, -1, do="look")
        workers.next()
        for number in range(3):
            asked(workers, number)
    assert cluster.sent[1:] == [["direct.npz", "geodesic.npz"]]
    first, *fits = (call for call in cluster.calls if call.function == "ask")
    stored = {call.worker: call for call in cluster.calls if call.function == "store"}
    assert stored.keys() == set("abc") - {first.worker}
    for call in fits:
        assert call.worker == first.worker or call.values[0] is stored[call.worker], "a job waits for the files"


def test_a_job_of_a_lost_worker_is_done_by_another(at_work):
    cluster = Cluster("ab")
    cluster.outcomes = [lose(cluster), done("by another")]
    with at_work(cluster) as workers:
        asked(workers)
        assert workers.next() == (0, {"status": "done", "text": "by another"})
        assert workers.size == 1
    one, other = (call for call in cluster.calls if call.function == "ask")
    assert {one.worker, other.worker} == {"a", "b"}
    assert other.values[-1] < 60.0, "within what is left of its time"


def test_a_job_that_loses_two_workers_has_failed(at_work):
    cluster = Cluster("abc")
    cluster.outcomes = [lose(cluster), lose(cluster), done()]
    with at_work(cluster) as workers:
        asked(workers)
        _, answer = workers.next()
        assert answer["status"] == "failed"
        assert "the workers of the cluster that ran it, a and b, were lost; perhaps they had too" in answer["error"]
        asked(workers)
        assert workers.next()[1]["status"] == "done", "the third one goes on"


def test_new_workers_take_the_places_of_lost_ones(at_work):
    cluster = Cluster("ab")
    cluster.outcomes = [lose(cluster, "c", "d"), done()]
    with at_work(cluster) as workers:
        asked(workers)
        assert workers.next()[1]["status"] == "done"
        assert workers.size == 2, "no more than there were"
    assert cluster.sent == [["rows.npy"]] * 2, "also to the new one"


@pytest.mark.parametrize("joins", [True, False], ids=["joined", "without process"])
def test_a_lost_job_starts_a_process_on_a_free_worker_while_another_one_is_busy(at_work, joins):
    cluster = Cluster("ab" if joins else "abc")
    busy = [PENDING] * 50 + [done("long")]
    cluster.outcomes = [lambda call: busy.pop(0), lose(cluster, *("c" if joins else "")), done("on c")]
    with at_work(cluster) as workers:
        asked(workers, 0)
        if not joins:
            workers._workers[2].up = False
        asked(workers, 1)
        assert workers.next() == (1, {"status": "done", "text": "on c"})
        assert workers.next()[1]["text"] == "long"


def test_a_new_worker_that_cannot_do_the_work_is_not_used(at_work):
    cluster = Cluster("ab", starts=STARTED)
    cluster.unfit = "cd"
    cluster.outcomes = [lose(cluster, "c"), done("on b"), lose(cluster, "c", "d", "e"), done("on e")]
    with at_work(cluster) as workers:
        asked(workers)
        with pytest.warns(LowlandWarning, match="the worker c of the cluster is not used: the worker c has"):
            assert workers.next()[1]["text"] == "on b"
        for _ in range(3):
            workers._step()  # a second warning would be an error
        asked(workers)
        with pytest.warns(LowlandWarning, match="the worker d of the cluster is not used"):
            assert workers.next()[1]["text"] == "on e"
    assert {call.worker for call in cluster.calls} == set("abe")
    cluster.there = {"a": 1, "c": 1}
    with pytest.raises(ClusterError, match=r"Lowland 99\.0"), at_work(cluster):
        raise AssertionError("at the start all are needed")


def test_a_worker_that_cannot_keep_the_rows_is_not_used(at_work):
    def full(call):
        raise ClusterError(f"the worker {call.worker} cannot write the rows")

    cluster = Cluster("ab", full, done("on b"))
    with at_work(cluster) as workers:
        asked(workers)
        with pytest.warns(LowlandWarning, match="the worker a of the cluster is not used: the worker a cannot write"):
            assert workers.next()[1]["text"] == "on b"
        assert workers.size == 1
        workers._step()
        assert workers.size == 1, "nor is it taken again"
        cluster.outcomes = [full]
        asked(workers)
        with pytest.raises(ClusterError, match="the worker b cannot write"):
            workers.next()


def test_files_that_are_lost_with_one_worker_are_sent_again_to_the_others(at_work):
    """A look runs on a, and its files are there alone when it dies: all others need them."""
    cluster = Cluster("abcdefg")

    def fits(call):
        """Be lost where the files were not sent again since the death."""
        opened = [c for c in cluster.calls if c.function == "open_host" and c.worker == call.worker]
        return done(f"on {call.worker}") if len(opened) == 2 else LOST

    def dies(call):
        del cluster.there["a"]
        for stored in (c for c in cluster.calls if c.function == "store"):
            stored.outcome = LOST
        return PENDING

    cluster.outcomes = [done(**{"direct.npz": b"d", "geodesic.npz": b"g"}), dies, *[fits] * 30]
    with at_work(cluster) as workers:
        asked(workers, -1, do="look")
        workers.next()
        for number in range(3):
            asked(workers, number)
        assert {workers.next()[1]["status"] for _ in range(3)} == {"done"}
    assert ["direct.npz", "geodesic.npz", "rows.npy"] in cluster.sent


def test_a_job_that_is_lost_again_and_again_has_failed(at_work):
    """Such as by workers that start again at the same address before anybody sees it."""
    cluster = Cluster("a", *[LOST] * 4, done())
    with at_work(cluster) as workers:
        asked(workers)
        _, answer = workers.next()
    assert answer == {"status": "failed", "error": "the cluster lost it 4 times, the last time on the worker a"}
    assert len(cluster.outcomes) == 1


def test_without_any_worker_left_the_cluster_has_failed(at_work):
    cluster = Cluster("a")
    cluster.outcomes = [lose(cluster)]
    with at_work(cluster) as workers:
        asked(workers)
        with pytest.raises(ClusterError, match="no worker"):
            workers.next()


@pytest.mark.parametrize("outcome", [LOST, hosting.GONE], ids=["lost", "gone"])
def test_what_was_lost_on_a_worker_that_is_there_is_made_anew(at_work, outcome):
    """Such as a process of the cluster that started again at its address."""
    cluster = Cluster("a", outcome, done("again"))
    with at_work(cluster) as workers:
        asked(workers)
        assert workers.next()[1]["text"] == "again"
    assert [call.function for call in cluster.calls] == ["open_host", "start", "ask"] * 2
    tokens = [call.values[0] for call in cluster.calls if call.function == "open_host"]
    assert len(set(tokens)) == 2


def test_a_lost_job_whose_time_is_over_is_not_begun_again(at_work):
    cluster = Cluster("ab")
    cluster.outcomes = [lose(cluster)]
    with at_work(cluster) as workers:
        asked(workers, seconds=0.0)
        _, answer = workers.next()
    assert (answer["status"], answer["cause"]) == ("ended", Cause.SHARE)
    assert "the worker a that ran it was lost, and its share" in answer["error"]


def test_a_worker_that_does_not_begin_a_job_is_not_waited_for(at_work, monkeypatch):
    monkeypatch.setattr(orders, "_LATE", 0.1)
    cluster = Cluster("a", PENDING, done())
    with at_work(cluster) as workers:
        asked(workers, seconds=0.05)
        start = time.monotonic()
        _, answer = workers.next()
        assert 0.1 < time.monotonic() - start < 5
        assert (answer["status"], answer["error"]) == ("ended", "its share of the budget was over")
        asked(workers)
        assert workers.next()[1]["status"] == "done"


def hears(cluster, call, stage="fit", compiled=0.0, stopped=False):
    """Have a message come from the worker of a call that it is at work."""
    token = [c.values[0] for c in cluster.calls if c.function == "open_host" and c.worker == call.worker][-1]
    cluster.heard([token, hosting.AT_WORK, call.values[1], stage, 0, None, compiled, stopped])


def test_an_answer_on_its_way_is_waited_for(at_work, monkeypatch):
    monkeypatch.setattr(orders, "_LATE", 0.1)
    cluster, began = Cluster("a"), time.monotonic()
    cluster.outcomes = [lambda call: done("large") if time.monotonic() > began + 0.5 else ARRIVING]
    with at_work(cluster) as workers:
        asked(workers, seconds=0.05)
        assert workers.next()[1]["text"] == "large"


def test_a_worker_that_compiles_ends_its_job_itself(at_work, monkeypatch):
    monkeypatch.setattr(orders, "_LATE", 0.1)
    cluster, began = Cluster("a"), time.monotonic()

    def outcome(call):
        hears(cluster, call, "compiling", stopped=True)
        return done() if time.monotonic() > began + 0.5 else PENDING

    cluster.outcomes = [outcome]
    with at_work(cluster) as workers:
        asked(workers, seconds=0.05)
        assert workers.next()[1]["status"] == "done"


def test_the_time_that_a_job_waits_on_a_busy_worker_counts(at_work, monkeypatch):
    """The worker begins late, and so would end the job late; seconds of compiling are added."""
    monkeypatch.setattr(orders, "_LATE", 0.1)
    cluster, began = Cluster("a"), time.monotonic()

    def outcome(call):
        hears(cluster, call, compiled=0.2)
        return done() if time.monotonic() > began + 5.0 else PENDING

    cluster.outcomes = [outcome]
    with at_work(cluster) as workers:
        asked(workers, seconds=0.05)
        _, answer = workers.next()
    assert 0.35 < time.monotonic() - began < 4.0
    assert (answer["status"], answer["cause"]) == ("ended", Cause.SHARE)


def test_compiling_counts_in_each_run_of_a_lost_job(at_work):
    cluster, lasted = Cluster("ab"), list[float]()

    def first(call):
        hears(cluster, call, compiled=2.0)
        call.outcome = lose(cluster)
        return PENDING

    def second(call):
        lasted.append(call.values[-1])
        hears(cluster, call, compiled=1.0)
        call.outcome = Done({"status": "done"}, {}, 1.5, True)
        return PENDING

    cluster.outcomes = [first, second]
    with at_work(cluster) as workers:
        asked(workers)
        workers.next()
    assert at_work.paused == [(2.0, 2), (1.0, 1), (0.5, 1)]
    assert 61 < lasted[0] < 62


def test_compiling_is_told_once_for_the_number_of_workers(at_work):
    cluster, told = Cluster("ab"), []

    def outcome(call):
        token = next(c.values[0] for c in cluster.calls if c.function == "open_host" and c.worker == call.worker)
        serial = call.values[1]
        for number, compiled in ((serial, 2.0), (serial, 3.0), (serial + 1, 9.0)):
            cluster.heard([token, hosting.AT_WORK, number, "fit", 1, 2, compiled, False])
        call.outcome = Done({"status": "done"}, {}, 3.5, True)
        return PENDING

    cluster.outcomes = [outcome]
    with at_work(cluster) as workers:
        assert workers.ready(10.0, lambda *_: None) is None
        workers.begin(0, {"do": "fit", "number": 0}, 60.0, lambda *progress: told.append(progress))
        workers.next()
    assert at_work.paused == [(2.0, 2), (1.0, 2), (0.5, 2)]
    assert ("fit", 1, 2) in told


def test_processes_that_do_not_start_are_told(at_work):
    failed = Done({"error": "the process ended with code 3", "cause": "other"}, {}, 0.0, False)
    cluster = Cluster("ab", starts=failed)
    with at_work(cluster) as workers:
        assert workers.ready(10.0, lambda *_: None).text == "the process ended with code 3"
        cluster.starts = STARTED
        assert workers.ready(10.0, lambda *_: None) is None, "and tried again"
    with at_work(Cluster("a", starts=PENDING)) as workers:
        assert workers.ready(0.01, lambda *_: None) == ("there was no time to start a process", Cause.SHARE)
    cluster = Cluster("ab", starts=STARTED)
    cluster.outcomes = [lose(cluster)]
    with at_work(cluster) as workers:
        asked(workers)
        workers._workers[1].up, cluster.starts = False, failed
        assert workers.next() == (0, {"status": "failed", "error": failed.answer["error"], "cause": Cause.OTHER})


def test_a_start_that_is_lost_is_tried_again_on_a_worker_that_is_there(at_work):
    """The rows may have been on another one that is gone."""
    with at_work(Cluster("a", starts=[LOST, LOST, STARTED])) as workers:
        assert workers.ready(10.0, lambda *_: None) is None
    with at_work(Cluster("a", starts=LOST)) as workers:
        assert workers.ready(10.0, lambda *_: None).text == "its process on the cluster was ended", "but not for ever"


def test_a_start_that_waited_in_vain_is_tried_again_where_there_is_more_time(at_work):
    """A busy worker begins it when its time is over."""
    late = Done({"error": "there was no time to start a process", "cause": "share"}, {}, 0.0, False)
    with at_work(Cluster("a", starts=[PENDING] * 2 + [late] * 3)) as workers:
        assert workers.ready(0.0, lambda *_: None) is not None
        assert workers.ready(10.0, lambda *_: None) == hosting.reason_of(late), "once"
        assert workers._calls.starts == [late]
    with at_work(Cluster("a", starts=[PENDING] * 2 + [late, STARTED])) as workers:
        assert workers.ready(0.0, lambda *_: None) is not None
        assert workers.ready(10.0, lambda *_: None) is None


def test_a_start_takes_what_its_worker_says(at_work):
    """However long a worker was waited for."""
    late = [PENDING] * 50 + [STARTED._replace(took=2.0), STARTED._replace(took=1.0)]
    cluster = Cluster("ab", starts=late)
    with at_work(cluster) as workers:
        assert workers.start_seconds == 0.0
        while not all(worker.up for worker in workers._workers):
            workers.ready(10.0, lambda *_: None)
            workers._step()
        assert workers.start_seconds == 2.0


def test_a_map_that_cannot_be_written_here_is_a_failure(at_work, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with at_work(Cluster("a", done(**{"map0.npz": b"a map"}))) as workers:
        asked(workers)
        _, answer = workers.next()
    assert answer["status"] == "failed"
    assert answer["error"].endswith("No space left on device")


def test_what_is_not_ended_is_told(at_work, monkeypatch):
    monkeypatch.setattr(remote, "_CLOSE_SECONDS", 0.01)
    cluster = Cluster("abc")
    workers = at_work(cluster)
    workers.__enter__()
    cluster.closes = False
    del cluster.there["c"]  # of one that is gone nothing is left
    with pytest.warns(LowlandWarning, match="the workers a, b have not ended their part yet"):
        workers.__exit__()


@pytest.mark.parametrize("seen", [True, False], ids=["missing", "gone"])
def test_a_worker_that_started_again_at_its_address_is_not_waited_for(at_work, seen):
    """Its first folder never says that it is closed."""
    cluster = Cluster("a")

    def restarts(call):
        cluster.closes = False  # of what was opened before nobody is told
        if not seen:
            return hosting.GONE
        cluster.alive = nobody
        return PENDING

    def nobody():
        del cluster.alive  # by the next look it is there again
        return {}

    cluster.outcomes = [restarts, lambda call: setattr(cluster, "closes", True) or done("again")]
    with at_work(cluster) as workers:
        asked(workers)
        assert workers.next()[1]["text"] == "again"
        began = time.monotonic()
    assert time.monotonic() - began < 1.0


@pytest.mark.parametrize("after", [0.2, 1e6], ids=["begun", "not begun"])
def test_what_a_worker_was_about_to_make_is_waited_for(at_work, monkeypatch, after):
    """A call that has begun says so a little later, and when it has closed; of one that waits on a busy worker nothing
    comes."""
    monkeypatch.setattr(remote, "_UNHEARD_SECONDS", 0.5)
    cluster = Cluster("a")
    cluster.opens = cluster.closes = False
    began, alive = time.monotonic(), cluster.alive

    def looks():
        token = cluster.calls[0].values[0]
        for what, when in ((hosting.OPEN, after), (hosting.CLOSED, after + 1.0)):
            if time.monotonic() > began + when:
                cluster.heard([token, what])
        return alive()

    cluster.alive = looks
    with at_work(cluster):
        pass
    waited = time.monotonic() - began
    assert 1.2 < waited < 3.0 if after < 1 else 0.5 < waited < 1.0
