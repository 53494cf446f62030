"""A recorded trace is judged again by its record alone: all of it, or a part, beyond what its finding looked past."""

from dataclasses import replace

import msgspec
import pytest
from contract_runs import FIRST, SECOND, START, WHOLE, WORKLOAD

from fuzzresume.campaign.gallery import gallery
from fuzzresume.contract.monitor import sights
from fuzzresume.contract.rejudge import recorded_sights, violates
from fuzzresume.contract.trace import Trace


@pytest.fixture(scope="module")
def late():
    """A trace whose violation shows in nothing but what the store records."""
    return next(trace for trace in gallery() if (trace.target, trace.found.id) == ("langgraph", "EO-604a57"))


def trace_of(*exchanges):
    commands, seen = zip(*sights(exchanges), strict=True)
    return Trace("example", {}, WORKLOAD, commands, seen=seen)


def storeless(seen):
    return seen._replace(expect=seen.expect._replace(frontier=None))


def test_a_record_of_a_legal_run_is_no_violation():
    trace = trace_of(*WHOLE)
    assert not violates(trace)
    assert recorded_sights(trace) == sights(WHOLE)


def test_a_record_that_no_world_explains_is_one():
    command, observation = SECOND
    assert violates(trace_of(START, FIRST, (command, replace(observation, entries=()))))


def test_only_the_part_that_is_asked_for_counts(late):
    assert violates(late)
    assert not violates(late, storeless)


def test_what_a_finding_looked_past_is_no_violation(late):
    beyond = msgspec.structs.replace(late.found, beyond=list(late.found.explained_by[0]))
    assert not violates(replace(late, found=beyond))


def test_where_nothing_is_recorded_there_is_nothing_to_judge(late):
    with pytest.raises(ValueError):
        violates(replace(late, seen=()))
