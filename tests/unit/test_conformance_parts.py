"""The conformance kit's pure parts: what is expected, what is well formed, what differs, and how it is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzresume.cli_check import exit_of
from fuzzresume.contract.commands import TAMPER_KINDS, Command
from fuzzresume.contract.observation import Asked, Entry, Frontier, Observation, Outcome
from fuzzresume.contract.workload import Mark, Question, Workload
from fuzzresume.harness.adapter import Capabilities, Documented, OnRequest
from fuzzresume.report.exit_codes import Exit
from fuzzresume.testing.check_deaths import spread
from fuzzresume.testing.check_options import shape_complaint
from fuzzresume.testing.forms import complaints
from fuzzresume.testing.judged import Judged, judged
from fuzzresume.testing.result import Report, Result
from fuzzresume.testing.traces import DEFAULT, GATES, plain
from fuzzresume.testing.undisturbed import frontier_complaints, ledger_complaints, outcome_complaint, steps
from fuzzresume.testing.views import difference, views

Q = Question(2, 1)
ONE = Mark(1)


def entries(task, tokens=(), reads=()):
    return (Entry("enter", task), Entry("effect", task, tokens, reads), Entry("exit", task))


def undisturbed_run():
    """What the default workload shows when nobody disturbs it."""
    gate = Mark(2, ("2.1#1=yes", "2.2#2=yes"))
    return [
        Observation(
            Outcome("parked", (Asked(Q, "a"),), (ONE,)),
            (*entries(1), Entry("enter", 2)), Frontier((), head=None), Frontier((1,), head="h1"), hooks=("w",),
        ),
        Observation(
            Outcome("parked", (Asked(Question(2, 2), "b"),)),
            (), Frontier((1,), head="h1"), Frontier((1,), head="h2"), hooks=("w",),
        ),
        Observation(
            Outcome("completed", marks=(ONE, gate, Mark(3))),
            (*entries(2, gate.tokens, (ONE,)), *entries(3, (), (ONE, gate))),
            Frontier((1,), head="h2"), Frontier((1, 2, 3), head="h3"), hooks=("w", "w"),
        ),
    ]  # fmt: skip


WAY = steps(DEFAULT, plain(DEFAULT))


def test_the_steps_of_an_undisturbed_run():
    assert [(step.pending, step.done) for step in WAY] == [(Q, (1,)), (Question(2, 2), (1,)), (None, (1, 2, 3))]
    assert [[mark.task for mark in step.fired] for step in steps(GATES, plain(GATES))] == [[], [1], [2], [3], [4]]
    assert steps(Workload.linear(2, {}), (Command("start"),))[0].pending is None


def test_an_undisturbed_run_has_no_complaint():
    seen = undisturbed_run()
    assert [outcome_complaint(*pair) for pair in zip(WAY, seen, strict=True)] == ["", "", ""]
    assert [*ledger_complaints(WAY, seen), *frontier_complaints(WAY, seen)] == []
    pairs = zip(plain(DEFAULT), seen, strict=True)
    assert [words for command, one in pairs for words in complaints(DEFAULT, command, one)] == []


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (Outcome("completed", marks=(ONE,)), "completed instead of parked"),
        (Outcome("refused", error="KeyError", message="no"), "refused (KeyError: no) instead of parked"),
        (Outcome("parked", (Asked(Question(2, 2)),)), "asks question 2.2 instead of question 2.1"),
        (Outcome("parked", (Asked(Q),), (ONE, Mark(3))), "the state shows 3, which no task has added"),
    ],
)
def test_what_is_wrong_with_an_outcome(outcome, says):
    assert outcome_complaint(WAY[0], Observation(outcome)) == says


def test_a_mark_that_is_missing_at_the_end():
    last = undisturbed_run()[-1]
    short = replace(last, outcome=replace(last.outcome, marks=last.outcome.marks[:2]))
    assert outcome_complaint(WAY[-1], short).startswith("the final state is 1, 2:2.1#1=yes,2.2#2=yes instead of")


@pytest.mark.parametrize(
    ("ledger", "says"),
    [
        (entries(1)[1:], "the effect of task 1 fires before the task is entered"),
        (entries(1, reads=(Mark(3),)), "the effect of task 1 reads 3 instead of nothing"),
        (entries(1)[:2] + entries(1)[1:], "the effects are 1, 1 instead of 1"),
        (entries(1)[::2], "task 1 exits without an effect before"),
        ((*entries(1), Entry("enter", 3)), "task 3 was entered, fired no effect and waits for no answer"),
    ],
)
def test_what_is_wrong_with_a_ledger(ledger, says):
    seen = undisturbed_run()
    seen[0] = replace(seen[0], entries=ledger)
    assert (0, says) in list(ledger_complaints(WAY, seen))


@pytest.mark.parametrize(
    ("frontier", "says"),
    [
        (Frontier(None, "damaged", "h1"), "the frontier after it is unreadable: damaged"),
        (Frontier((), head="h1"), "the frontier after it is {}, while the ledger says {1}"),
    ],
)
def test_what_is_wrong_with_a_frontier(frontier, says):
    seen = undisturbed_run()
    seen[0] = replace(seen[0], after=frontier)
    assert list(frontier_complaints(WAY, seen)) == [(0, says)]


def test_a_head_that_moves_by_itself():
    seen = undisturbed_run()
    seen[1] = replace(seen[1], before=Frontier((1,), head="h9"))
    assert list(frontier_complaints(WAY, seen)) == [(1, "the head is 'h9' now and was 'h1' after the last command")]


class Seen:
    """A trial without a session: what was sent and seen."""

    workload, sent, words = DEFAULT, plain(DEFAULT), ("start", "resume(a)", "resume(b)")

    def __init__(self, seen):
        self.seen = seen


def test_an_undisturbed_run_is_held_against_its_adapter():
    assert judged(Seen(undisturbed_run())) == Judged((), (), ())
    seen = undisturbed_run()
    seen[0] = replace(seen[0], outcome=Outcome("idle"))
    assert judged(Seen(seen)).outcomes == ((0, "idle instead of parked"),)


def test_what_a_known_mechanism_explains_is_a_finding_about_the_framework():
    seen = undisturbed_run()
    seen[1] = replace(seen[1], entries=(*entries(1), Entry("enter", 2)))
    found = judged(Seen(seen))
    assert (found.outcomes, found.ledger, found.frontier) == ((), (), ())
    assert found.finding.startswith("resume(a) breaks the contract, a finding about the framework (Replay")


def test_what_no_mechanism_explains_is_the_adapter_s():
    seen = undisturbed_run()
    seen[2] = replace(seen[2], outcome=Outcome("parked", (Asked(Question(2, 2)),)))
    assert judged(Seen(seen)).outcomes == ((2, "parked instead of completed; no known fault of an engine explains it"),)


def test_what_the_contract_does_not_compare_has_no_excuse():
    seen = undisturbed_run()
    blind = tuple(replace(entry, reads=()) for entry in seen[2].entries)
    seen[2] = replace(seen[2], entries=blind)
    assert judged(Seen(seen)).ledger[0] == (2, "the effect of task 2 reads nothing instead of 1")


START, LOOK = Command("start"), Command("inspect")


@pytest.mark.parametrize(
    ("command", "outcome", "says"),
    [
        (START, Outcome("inert"), "start tells 'inert', which is none of its outcomes"),
        (LOOK, Outcome("completed", marks=()), "inspect tells 'completed', which is none of its outcomes"),
        (START, Outcome("parked"), "parked with 0 questions"),
        (START, Outcome("completed", (Asked(Q),), ()), "completed with 1 questions"),
        (START, Outcome("parked", (Asked(Q), Asked(Q, "a"))), "a park names a question twice"),
        (START, Outcome("parked", (Asked(Question(3, 1)),)), "Question(task=3, index=1) is no Question of the workload"),
        (START, Outcome("parked", (Asked("2.1"),)), "'2.1' is no Question of the workload"),
        (START, Outcome("parked", (Asked(Q, 0),)), "the address 0 of a question is no text, nor None"),
        (START, Outcome("parked", (Asked(Q, ""),)), "the address '' of a question is no text, nor None"),
        (START, Outcome("completed", marks=("1",)), "'1' is no Mark"),
        (START, Outcome("completed", marks=(), address=4), "the position 4 is no text, nor None"),
    ],
)
def test_outcomes_that_are_not_well_formed(command, outcome, says):
    assert says in list(complaints(DEFAULT, command, Observation(outcome)))


@pytest.mark.parametrize(
    ("frontier", "says"),
    [
        (Frontier(None), "frontier after: unreadable, without saying why"),
        (Frontier((1, 1)), "frontier after: done=(1, 1) is no tuple of different tasks"),
        (Frontier((7,)), "frontier after: task 7 is none of the workload's"),
        (Frontier((), head=0), "frontier after: the head 0 is no text, nor None"),
    ],
)
def test_frontiers_that_are_not_well_formed(frontier, says):
    seen = Observation(Outcome("inert"), after=frontier)
    assert list(complaints(DEFAULT, LOOK, seen)) == [says]
    assert list(complaints(DEFAULT, LOOK, seen, damaged=True)) == []


def test_two_executions_differ_in_what_is_named():
    one, other = undisturbed_run(), undisturbed_run()
    assert difference(views(one, hooks=True), views(other, hooks=True)) is None
    other[2] = replace(other[2], hooks=("w", "x"))
    assert difference(views(one, hooks=True), views(other, hooks=True)) == (2, "hooks: w, or x (after 1 that are alike)")
    assert difference(views(one, hooks=False), views(other, hooks=False)) is None
    other[1] = replace(other[1], after=Frontier(None, "damaged"))
    assert difference(views(one, hooks=True), views(other, hooks=True)) == (1, "frontier after: {1}, or unknown")
    assert difference(views(one, hooks=True), views(one[:2], hooks=True)) == (2, "3 commands could be sent, or 2")


def test_addresses_and_exits_are_no_difference():
    one, other = undisturbed_run(), undisturbed_run()
    other[0] = replace(other[0], outcome=replace(other[0].outcome, asked=(Asked(Q, "z"),)))
    other[2] = replace(other[2], entries=tuple(entry for entry in other[2].entries if entry.kind != "exit"))
    assert difference(views(one, hooks=True), views(other, hooks=True)) is None


def test_points_are_spread_from_the_first_hook_to_the_last():
    hooks = ["a", "b", "a", "b", "a"]
    assert [(point.hook, point.nth) for point in spread(hooks, 9)] == [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3)]
    assert [(point.hook, point.nth) for point in spread(hooks, 3)] == [("a", 1), ("a", 2), ("a", 3)]
    assert spread([], 3) == []


DRAWN = [Capabilities(retry=True), Capabilities()]


class Shape:
    name = "shape"
    options = {"size": ("small", "large")}  # noqa: RUF012
    on_request: dict = {}  # noqa: RUF012

    def valid(self, options):
        return True

    def capabilities(self, options):
        return Capabilities()


def declares(**capabilities):
    return {"capabilities": lambda self, options: Capabilities(**capabilities)}


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({}, ""),
        ({"options": {"size": ()}}, "option size has no tuple of values, which are texts: ()"),
        ({"options": {"size": ["small"]}}, "option size has no tuple of values, which are texts: ['small']"),
        ({"options": {"size": (1, 2)}}, "option size has no tuple of values, which are texts: (1, 2)"),
        ({"options": {"size": ("small", "small")}}, "option size has a value twice: small, small"),
        ({"on_request": {"colour": {}}}, "on_request has values of colour, which is no option"),
        ({"on_request": {"size": {"large": OnRequest()}}}, "size=large is on request and drawn as well"),
        ({"valid": lambda self, options: False}, "the defaults are not valid together"),
        ({"valid": lambda self, options: options["colour"]}, "valid raises KeyError: 'colour'"),
        ({"valid": lambda self, options: "yes"}, "valid answers 'yes', which is no bool"),
        ({"capabilities": lambda self, options: options["colour"]}, "capabilities raises KeyError: 'colour'"),
        ({"capabilities": lambda self, options: None}, "capabilities answers None"),
        ({"capabilities": lambda self, options: DRAWN.pop()}, "capabilities answers another thing the second time"),
        (declares(fork=""), 'fork is "": say its discriminator in words, or None where there is none'),
        (declares(tamper=("empty", "burnt")), "tamper: 'burnt' is no kind of damage; they are " + ", ".join(TAMPER_KINDS)),
        (declares(units=("processes",)), "units: 'processes' is neither threads nor coroutines"),
        (declares(slow={"disk": "slow"}), "slow names an option or a value that there is not: {'disk': 'slow'}"),
        (
            declares(documented=(Documented("Replay", "", "page 1", "1.0"),)),
            "documented: Replay without a rule, a place or a version",
        ),
    ],
)
def test_what_is_wrong_with_declared_options(attributes, says):
    assert shape_complaint(type("Changed", (Shape,), attributes)()) == says


OK, NONE = Result("run", "ok", "4 workloads"), Result("fork", "inapplicable", "not declared")
FAILS, OPEN = Result("reload", "fails", "it moved", ("start", "reload")), Result("cold", "undetermined", "hung")


@pytest.mark.parametrize(
    ("results", "code", "verdict"),
    [
        ((OK, NONE), Exit.OK, "toy conforms"),
        ((OK, FAILS, OPEN), Exit.VIOLATED, "toy does not conform: reload"),
        ((OK, OPEN), Exit.UNDETERMINED, "toy: undetermined: cold"),
    ],
)
def test_what_a_report_comes_to(results, code, verdict):
    report = Report("toy", {}, results)
    assert exit_of(report) == code and report.verdict == verdict
    assert report.conforms == (code == Exit.OK)


def test_a_result_is_one_line():
    assert str(FAILS) == "reload        fails: it moved [trace: start; reload]"
    assert str(OK) == "run           ok: 4 workloads" and str(Result("trunk", "ok")) == "trunk         ok"
