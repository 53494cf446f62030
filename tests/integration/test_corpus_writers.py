"""The corpus database under many writers at once, and under SIGKILL at any moment: what was reported recorded is there."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal

import pytest
from corpus_samples import STARTED, found, numbered, record
from report_samples import forked

from fuzzresume.campaign.corpus.database import Corpus
from fuzzresume.campaign.corpus.read import totals

FORK = multiprocessing.get_context("fork")
WRITERS, SHARED, OWN = 8, 5, 20
KILLS = range(16)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "corpus.db"


@pytest.fixture
def child():
    """Starts a process that runs a function and ends; none outlives its test."""
    started = []

    def start(function, *args):
        process = FORK.Process(target=function, args=args)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.join()


def undamaged(corpus):
    return corpus.rows("PRAGMA integrity_check") == [("ok",)] and corpus.rows("PRAGMA foreign_key_check") == []


def write_many(path, number, barrier):
    findings = [numbered(n) for n in range(SHARED)]
    findings += [numbered(SHARED + number * OWN + n) for n in range(OWN)]
    barrier.wait()
    with Corpus(path) as corpus:
        record(corpus, *findings)


def test_eight_processes_that_make_it_and_write_at_once(path, child):
    barrier = FORK.Barrier(WRITERS)
    writers = [child(write_many, path, number, barrier) for number in range(WRITERS)]
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    with Corpus(path) as corpus:
        assert undamaged(corpus)
        assert totals(corpus) == (SHARED + WRITERS * OWN, SHARED + WRITERS * OWN, WRITERS, 0)
        assert all(len(corpus.findings(campaign=each.id)) == SHARED + OWN for each in corpus.campaigns())
        assert all(len(corpus.verdicts(each.id)) == 10 for each in corpus.campaigns())
        assert all(len(corpus.history(numbered(n).id)) == WRITERS for n in range(SHARED))


def die_after(corpus, steps):
    """SIGKILL in the middle of whatever SQLite does after this many dozen of its steps."""
    left = [steps]

    def step():
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    corpus.connection.set_progress_handler(step, 12)


def write_until_killed(path, first, pipe, steps):
    with Corpus(path) as corpus:
        recorder = corpus.recorder()
        recorder.handle(STARTED)
        if steps is not None:
            die_after(corpus, steps)
        for n in range(first, first + 40):
            finding = numbered(n)
            recorder.handle(found(finding))
            pipe.send((recorder.campaign, finding.id))
        os.kill(os.getpid(), signal.SIGKILL)


def test_kill_at_any_moment_loses_nothing_that_was_reported(path, child):
    reported = {}
    for seed in KILLS:
        rng = random.Random(seed)
        inside = rng.randrange(250) if seed % 2 else None
        ours, theirs = FORK.Pipe(duplex=False)
        writer = child(write_until_killed, path, seed * 40, theirs, inside)
        theirs.close()
        lines = []
        if inside is None:
            lines = [ours.recv() for _ in range(rng.randint(1, 5))]
            writer.kill()
        lines += rest_of(ours)
        writer.join()
        assert writer.exitcode == -signal.SIGKILL
        for campaign, finding in lines:
            reported.setdefault(campaign, set()).add(finding)
        with Corpus(path) as corpus:
            assert undamaged(corpus), seed
            for campaign, findings in reported.items():
                assert findings <= {row.id for row in corpus.findings(campaign=campaign)}, seed
            assert {campaign.status for campaign in corpus.campaigns()} <= {"running"}
    assert len(reported) >= len(KILLS) / 2
    with Corpus(path) as corpus:
        assert all(corpus.trace_of(finding) is not None for findings in reported.values() for finding in findings)


def rest_of(pipe):
    lines = []
    try:
        while True:
            lines.append(pipe.recv())
    except EOFError:
        return lines


def merge_until_killed(path, other, steps):
    with Corpus(path) as corpus:
        die_after(corpus, steps)
        corpus.merge(other)


def test_kill_in_the_middle_of_a_merge_leaves_all_of_it_or_nothing(path, child):
    other = path.with_name("other.db")
    with Corpus(path) as corpus:
        record(corpus, forked())
        before = totals(corpus)
    with Corpus(other) as corpus:
        record(corpus, *(numbered(n) for n in range(1, 30)))
    after = tuple(map(sum, zip(before, (29, 29, 1, 0), strict=True)))
    half_way = 0
    rng = random.Random(0)
    for steps in sorted(rng.randrange(600) for _ in range(8)):
        merger = child(merge_until_killed, path, other, steps)
        merger.join()
        with Corpus(path) as corpus:
            assert undamaged(corpus) and totals(corpus) in (before, after)
            half_way += totals(corpus) == before and merger.exitcode == -signal.SIGKILL
    assert half_way
    with Corpus(path) as corpus:
        corpus.merge(other)
        assert totals(corpus) == after
