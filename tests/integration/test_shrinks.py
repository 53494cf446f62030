"""The gallery of real findings: each trace still shows, in real processes, what it says."""

import tempfile
from pathlib import Path

import pytest

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import diagnose
from fuzzresume.campaign.replay import replay_trace
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.trace import dumps, load
from fuzzresume.contract.words import say_commands
from fuzzresume.harness.target import recorded_target

TRACES = sorted((Path(__file__).parents[2] / "shrinks").rglob("*.json"))


def test_there_are_traces():
    assert len(TRACES) >= 8


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.parent.name)
def test_it_still_shows_what_it_says(path, zygotes):
    trace = load(path)
    assert trace.found is not None and list(trace.words) == say_commands(trace.workload, trace.commands)
    assert dumps(trace) == path.read_bytes()
    if recorded_target(trace.target, trace.packages, trace.options).packages != trace.packages:
        pytest.skip("other package versions than the trace's")
    with tempfile.TemporaryDirectory() as folder:
        result = replay_trace(Executor(Reference(trace.workload), Path(folder), zygotes), trace)
    assert result.outcome == "reproduces", result.words


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.parent.name)
def test_it_is_minimal(path, zygotes):
    trace = load(path)
    target, reference = recorded_target(trace.target, trace.packages, trace.options), Reference(trace.workload)
    profile, explained = frozenset(trace.found.beyond), {frozenset(names) for names in trace.found.explained_by}
    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(reference, Path(folder), zygotes)
        for gone in range(len(trace.commands)):
            shorter = [command for i, command in enumerate(trace.commands) if i != gone]
            done = executor.execute(target, shorter, profile=profile, steered=True)
            if done.violation is not None:
                found = diagnose(reference, done.violation, profile, target)
                assert not explained & {frozenset(names) for names in found.explanation}, trace.words[gone]
