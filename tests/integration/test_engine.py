"""A campaign's machinery on the in-tree engine: phases, coverage, depth, what is known, what is flaky, the last sentence."""

from dataclasses import replace

import pytest
from campaigns import SMALL, campaign

from fuzzresume.adapters.durable.alone import Alone
from fuzzresume.adapters.durable.engine import Engine
from fuzzresume.adapters.durable.faults import FAULTS as PLANTED
from fuzzresume.adapters.durable.faults import Faults
from fuzzresume.adapters.durable.policy import OPTIONS
from fuzzresume.adapters.reference import DurableAdapter
from fuzzresume.campaign.events import KnownChecked, PhaseFinished
from fuzzresume.contract.trace import dumps, loads
from fuzzresume.harness.target import Target
from fuzzresume.report.exit_codes import Exit, exit_code
from fuzzresume.report.sentence import sentence

IN_TREE = ("regress", "enumerate", "tour", "minimise")
"""The phases for an adapter that only a test knows: the Hypothesis machines look theirs up by name."""

DEFAULTS = {key: values[0] for key, values in OPTIONS.items()}


@pytest.fixture(scope="module")
def conforming():
    return campaign("reference", DEFAULTS, seed=0, runs=3000, chosen=("enumerate", "tour"))


def test_a_conforming_target_is_exhausted(conforming):
    report, events = conforming
    assert report.findings == [] and report.troubles == [] and report.vacuous == []
    assert report.depths == (None, None) and report.coverage.complete
    assert [event.count.name for event in events if isinstance(event, PhaseFinished)] == ["enumerate", "tour"]
    assert all(count.runs and count.commands and count.covered for count in report.phases)


def test_every_pair_is_reached_or_has_a_reason(conforming):
    report, _ = conforming
    reached, total = report.coverage.pairs
    assert reached + len(report.coverage.unreached) == total
    assert len({(pair.state, pair.command) for pair in report.coverage.unreached}) == total - reached
    assert sum(report.coverage.reasons.values()) == total - reached
    # The engine makes one legal choice of several: the others' states stay out of reach, and the reason names the choice.
    assert any("does not choose restart@parked: new epoch, accumulated state" in why for why in report.coverage.reasons)


def test_the_tour_of_a_conforming_target_is_short(conforming):
    report, _ = conforming
    tour = next(count for count in report.phases if count.name == "tour")
    assert tour.covered == "1 of 1 option sets toured until nothing new was left"
    assert tour.runs < 400


def test_the_sentence_of_a_conforming_target(conforming):
    report, _ = conforming
    (states, all_states), (pairs, all_pairs) = report.coverage.states, report.coverage.pairs
    assert sentence(report) == (
        "reference@0.1.0: Every transition of the reference that a way is known to on this target was exercised "
        f"({states} of {all_states} states and {pairs} of {all_pairs} (state, command) pairs of the reference, "
        f"{report.coverage.certain} of them for certain). "
        "No violation exists within the bounds (one crash and one special command a run). Nothing was found."
    )


def test_the_sentence_of_a_violating_target():
    phases = ("enumerate", "tour", "minimise")
    report, _ = campaign("mutant", {"fault": "ForkIgnore"}, seed=0, runs=3000, chosen=phases, reference=SMALL)
    (states, all_states), (pairs, all_pairs) = report.coverage.states, report.coverage.pairs
    assert sentence(report) == (
        "mutant@0.1.0: Every transition of the reference that a way is known to on this target was exercised "
        f"({states} of {all_states} states and {pairs} of {all_pairs} (state, command) pairs of the reference, "
        f"{report.coverage.certain} of them for certain). "
        "No other violation exists within the bounds (one crash and one special command a run). "
        "1 finding, 1-minimal: FD violated."
    )
    assert exit_code([report]) == Exit.VIOLATED


def test_what_lies_beyond_a_violation_is_unreached_for_that_reason():
    report, _ = campaign("mutant", {"fault": "ParkLost"}, seed=0, runs=30, chosen=("tour",))
    assert any(pair.why.startswith("a violation at `recover") for pair in report.coverage.unreached)


def test_the_sentence_of_an_undetermined_target():
    report, _ = campaign("reference", DEFAULTS, seed=10, runs=1, chosen=("tour",))
    (states, all_states), (pairs, all_pairs) = report.coverage.states, report.coverage.pairs
    unexercised = ", ".join(name for name, verdict in report.verdicts.items() if verdict.verdict == "unexercised")
    assert sentence(report) == (
        f"reference@0.1.0: {states} of {all_states} states and {pairs} of {all_pairs} (state, command) pairs of the "
        f"reference were exercised, {report.coverage.certain} of them for certain; {report.coverage.open} further pairs "
        "were not tried yet. Nothing was found. "
        f"Undetermined: {unexercised} unexercised."
    )
    assert "no fork was served" in report.vacuous and report.verdicts["FI"].verdict == "unexercised"
    assert exit_code([report]) == Exit.UNDETERMINED


def test_one_run_is_always_made():
    report, _ = campaign("reference", {}, seed=0, runs=None, seconds=1e-9)
    assert report.progress.runs == 1


def test_phases_take_turns_by_their_shares():
    report, _ = campaign("reference", {}, seed=3, runs=60)
    runs = {count.name: count.runs for count in report.phases}
    assert runs["tour"] > runs["random"] > 0 and runs["enumerate"] > 0 and sum(runs.values()) == report.progress.runs


def test_without_minimise_a_trace_stays_as_it_was_found():
    raw, _ = campaign("mutant", {"fault": "RestartMix"}, seed=4, runs=20, chosen=("tour",))
    small, _ = campaign("mutant", {"fault": "RestartMix"}, seed=4, runs=20, chosen=("tour", "minimise"))
    assert not raw.findings[0].minimal and raw.findings[0].executions == 0
    assert small.findings[0].minimal and len(small.findings[0].commands) <= len(raw.findings[0].commands)


@pytest.fixture(scope="module")
def known():
    report, _ = campaign("mutant", {"fault": "ForkIgnore"}, seed=0, runs=20)
    (finding,) = report.findings
    return loads(dumps(finding.to_trace()))


def test_a_known_finding_is_looked_past(known):
    report, events = campaign("mutant", {"fault": "ForkIgnore"}, seed=1, runs=40, known=[known])
    assert report.findings == []
    assert [(f.known, f.seen > 1) for f in report.known] == [(known.found.id, True)]
    (checked,) = [event.checked for event in events if isinstance(event, KnownChecked)]
    assert (checked.name, checked.outcome, checked.known) == (known.found.id, "still shows", True)
    assert report.verdicts["FD"].verdict == "violated" and report.verdicts["FD"].why.startswith("known: ")
    assert exit_code([report]) != Exit.VIOLATED
    assert sentence(report).endswith("Nothing new was found.") or "Nothing new was found. Undetermined" in sentence(report)


def test_what_is_not_known_is_found_beyond(known):
    """The runs go on past the known fork, where the other fault still strikes."""

    class Two(DurableAdapter):
        name = "mutant"

        def faults(self, options):
            return both()

    report, _ = campaign(Target(Two()), {}, seed=1, runs=40, known=[replace(known, options={})], chosen=IN_TREE)
    assert [f.known for f in report.known] == [known.found.id]
    assert [f.explained_by for f in report.findings] == [(("RestartMix",),)]


def both():
    """An engine with two faults: it ignores forks and mixes restarts."""
    fork, restart = type(PLANTED["ForkIgnore"]()), type(PLANTED["RestartMix"]())
    return type("Both", (fork, restart), {})()


def test_a_known_finding_that_is_gone_is_said_to_be_gone(known):
    report, events = campaign(
        "mutant", {"fault": "RestartMix"}, seed=1, runs=30, known=[replace(known, options={"fault": "RestartMix"})]
    )
    assert [event.checked.outcome for event in events if isinstance(event, KnownChecked)] == ["no longer shows"]
    assert report.known == [] and [f.explained_by for f in report.findings] == [(("RestartMix",),)]


def test_a_seed_trace_is_a_finding_like_every_other(known):
    report, _ = campaign("mutant", {"fault": "ForkIgnore"}, seed=1, runs=1, chosen=("regress", "minimise"), corpus=[known])
    assert [f.explained_by for f in report.findings] == [(("ForkIgnore",),)]
    assert report.phases[0].name == "regress" and report.phases[0].findings == 1


class Moody(DurableAdapter):
    """Breaks its promise in every other run, the odd ones."""

    name = "moody"

    def life(self, env):
        odd = int(env.folder.parent.name.rpartition("-")[2]) % 2
        return Alone(Engine(env, PLANTED["RestartMix"]() if odd else Faults()))


def test_a_finding_that_comes_and_goes_is_flaky_and_says_where():
    report, _ = campaign(Target(Moody()), {}, seed=0, runs=30, chosen=IN_TREE)
    assert report.findings and all(f.flaky for f in report.findings)
    finding = report.findings[0]
    assert finding.flaky.startswith("flaky (") and " of 5): command " in finding.flaky and "instead of" in finding.flaky
    assert not finding.minimal
    assert report.verdicts[finding.property_name].verdict == "unexercised"
