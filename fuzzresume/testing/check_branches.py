"""Forks, the trunk beside them, and the identifiers by which both are found."""

from __future__ import annotations

from collections.abc import Callable

from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Question, Token
from fuzzresume.harness.calls import Call, Resident
from fuzzresume.harness.env import Env, Unsupported
from fuzzresume.harness.inprocess import InProcessHost, InProcessSession
from fuzzresume.harness.ledger import MemoryLedger
from fuzzresume.harness.target import AdapterSlip
from fuzzresume.testing.check_commands import refused
from fuzzresume.testing.lab import Lab, Trial
from fuzzresume.testing.result import Inapplicable, NotExpressed, Slips, Undetermined
from fuzzresume.testing.traces import DEFAULT, GATES, SECOND, Trace, fork, plain

TO_TRUNK = Command("inspect", branch="trunk")


def check_fork(lab: Lab) -> str:
    """A fork can be said where that is declared, of a parked run and of a completed one, and only there."""
    begin, *answers = plain(DEFAULT)
    question = DEFAULT.questions()[0]
    if lab.can.fork is None:
        raise Inapplicable(_undeclared(lab, begin, fork(question)))
    kinds = []
    for before in ((begin,), (begin, *answers)):
        with lab.open(DEFAULT) as trial:
            kinds.append(trial.send(*before, fork(question)).outcome.kind)
    return f"of a parked run {kinds[0]}, of a completed one {kinds[1]}"


def _undeclared(lab: Lab, begin: Command, forking: Command) -> str:
    """Send a fork that is not declared past the harness, which would refuse it itself; returns what came of it, in words."""
    with lab.open(DEFAULT) as trial:
        asked = trial.send(begin).outcome.asked
        refused(trial, forking)
        trial.session.close()
        if not isinstance(trial.session, InProcessSession) or forking.token is None:
            return "not declared, and never sent"
        store = trial.session.store
        env = Env(store.folder, store.options, store.workload, store.memory, ledger=MemoryLedger())
        host = InProcessHost(Resident(lab.target.adapter, env))
        address = (asked[0].address if asked else None) or ""
        try:
            outcome, _ = host.perform(Call("fork", forking.token.question, forking.token.text, address))
        except Unsupported:
            return "not declared, and refused"
        except AdapterSlip as slip:
            raise Slips(str(slip), trial.words) from slip
        finally:
            host.close()
        if outcome.kind == "hung":
            raise Undetermined(f"a fork that is not declared did not come back within {outcome.seconds:g} s")
        raise trial.fails(f"no capability declares a fork, and yet it is {outcome.kind} and not refused as Unsupported")


def check_trunk(lab: Lab) -> str:
    """Beside a fork the trunk is found where that is declared, with its own frontier, and only there."""
    with lab.open(DEFAULT) as trial:
        _forked(lab, trial, plain(DEFAULT), DEFAULT.questions()[0])
        if not lab.can.trunk:
            refused(trial, TO_TRUNK)
            raise Inapplicable("not declared, and refused")
        if (found := trial.send(TO_TRUNK).before.done) != (was := trial.seen[-3].after.done):
            raise trial.fails(f"the trunk's frontier was {was}, and is {found} beside the fork")
    return ""


def check_identifiers(lab: Lab) -> str:
    """The first identifiers of a run are as good as later ones: a 0 or an empty text is a value, and not the latest."""
    if lab.can.fork is None and not lab.can.addressed:
        raise Inapplicable("no command carries an identifier")
    try:
        ways = _compare(lab)
    except NotExpressed as reason:
        raise Inapplicable(f"what is declared cannot be said: {reason.why}") from reason
    return f"{ways + (_trunks(lab) if lab.can.fork is not None and lab.can.trunk else 0)} ways to use them"


def _compare(lab: Lab) -> int:
    """The same at the first question and at the second; returns in how many ways."""
    begin, *answers = plain(GATES)
    traces: list[tuple[Trace, Callable[[Question], Command]]] = []
    if lab.can.addressed:
        # Parked at a question further on, an answer to one of these is for neither.
        traces.append(((begin, *answers[:3]), lambda question: Command("stray", Token(question, SECOND), at="question")))
    if lab.can.fork is not None:
        traces.append(((begin, *answers), fork))
    for before, command in traces:
        first, later = (lab.run(GATES, (*before, command(question))) for question in GATES.questions()[:2])
        one, other = (_served(trial.sent[-1], trial.seen[-1]) for trial in (first, later))
        if one != other:
            raise first.fails(f"at the first question: {one}; the same at the second: {other}")
    return len(traces)


def _trunks(lab: Lab) -> int:
    """Forks at the first park and at the second, while the trunk is there: each time it stays where it was."""
    begin, *answers = plain(GATES)
    found = []
    for number, question in enumerate(GATES.questions()[:2]):
        with lab.open(GATES) as trial:
            try:
                _forked(lab, trial, (begin, *answers[:number]), question)
            except Inapplicable:
                return 0
            found.append(trial.send(TO_TRUNK).before.done == trial.seen[-3].after.done)
    if found == [False, True]:
        raise trial.fails("a fork at the first question loses the trunk's frontier, and one at the second does not")
    return 1


def _forked(lab: Lab, trial: Trial, before: tuple[Command, ...], question: Question) -> None:
    """Fork, or raise Inapplicable where that leaves no branch to tell from the trunk."""
    try:
        outcome = trial.send(*before, fork(question)).outcome
    except NotExpressed as reason:
        raise Inapplicable("there is no fork that the trunk could stand beside") from reason
    if not trial.session.standing().forked:
        raise Inapplicable(f"a fork is {outcome.kind} here, and leaves no branch of its own")


def _served(command: Command, seen: Observation) -> str:
    """What became of an answer, in words that do not depend on where its question stands."""
    assert command.token is not None
    fired = [mark for mark in seen.effects if mark.task == command.token.question.task]
    others = [mark for mark in seen.effects if command.token.text in mark.tokens and mark not in fired]
    words: str = seen.outcome.kind
    if fired:
        words += ", its own effect fires" + ("" if command.token.text in fired[-1].tokens else " with another answer")
    return words + (", another task's effect fires with it" if others else "")
