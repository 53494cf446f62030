"""The planted deviations, one small class each, named like the switches of docs/CONTRACT.md; `NoneFits` is like no switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fuzzresume.adapters.durable.conduct import Conduct, Going, Step, answer_row
from fuzzresume.adapters.durable.log import Row
from fuzzresume.adapters.durable.run import Branch, Run
from fuzzresume.contract.observation import Outcome
from fuzzresume.contract.workload import Question
from fuzzresume.harness.env import Update

if TYPE_CHECKING:
    from fuzzresume.adapters.durable.engine import Engine


class Replay(Conduct):
    """A recovery after a crash runs the durable prefix again; its gates take the recorded answers."""

    def plan(self, going: Going) -> list[Step]:
        """The durable tasks once more, then the rest."""
        again = going.durable if going.recovering and going.crashed else ()
        return [*(Step(task, again=True) for task in again), *super().plan(going)]


class PrefixReplay(Conduct):
    """The same, but gates whose answers were consumed are entered only."""

    def plan(self, going: Going) -> list[Step]:
        """The durable tasks once more, the gates among them silently, then the rest."""
        again = going.durable if going.recovering and going.crashed else ()
        return [*(Step(task, again=True, silent=task in going.gates) for task in again), *super().plan(going)]


class ReexecLast(Conduct):
    """A recovery after a crash runs the last durable task again."""

    def plan(self, going: Going) -> list[Step]:
        """The last durable task, then the rest."""
        again = going.durable[-1:] if going.recovering and going.crashed else ()
        return [*(Step(task, again=True) for task in again), *super().plan(going)]


class SkipTask(Conduct):
    """A recovery after a crash takes the first task that is left for done."""

    def plan(self, going: Going) -> list[Step]:
        """The rest, of which the first is only recorded."""
        first, *rest = super().plan(going)
        return [first._replace(skip=going.recovering and going.crashed), *rest]


class NondetRecovery(Conduct):
    """What a recovery runs depends on the seed of its process: with an odd one, the last durable task again."""

    def plan(self, going: Going) -> list[Step]:
        """The last durable task if the seed is odd, then the rest."""
        again = going.durable[-1:] if going.recovering and going.seed % 2 else ()
        return [*(Step(task, again=True) for task in again), *super().plan(going)]


class RefuseRecovery(Conduct):
    """A recovery after a crash refuses a store in which a task is durable."""

    def admit(self, going: Going) -> None:
        """Refuse once anything is durable."""
        if going.crashed and going.durable:
            raise RuntimeError("a run that has begun cannot be recovered")


class LateRecord(Conduct):
    """The records of a life are written when it parks or ends."""

    records_late = True


class ParkLost(Conduct):
    """Only the process that asked a question knows that the run is parked at it."""

    parks_survive = False


class AnswerLost(Conduct):
    """An answer lives in the memory of the process that took it until its task is recorded."""

    keeps_answers_in_memory = True


class ForkIgnore(Conduct):
    """A fork is served the answer that the trunk was given."""

    def fork_answer(self, trunk: Branch, question: Question, answer: str) -> str:
        """The trunk's answer, if it has one."""
        return trunk.answers.get(question, answer)


class ForkLeak(Conduct):
    """A fork's answer becomes the trunk's, as long as the trunk has not recorded that task."""

    def leak(self, trunk: Branch, question: Question, answer: str) -> list[Row]:
        """The answer, on the trunk."""
        return [answer_row(trunk, question, answer)] if question.task in trunk.todo else []


class DoubleConsume(Conduct):
    """An answer to a question that was answered before runs its gate and all that follows again."""

    def settled(self, life: Engine, run: Run, branch: Branch | None, question: Question, answer: str) -> Outcome | None:
        """Run again from the gate; before the gate is recorded, overwrite the answer."""
        if branch is None or question not in branch.answers or not (branch.complete or branch.parked_at):
            return None
        if question.task in branch.todo:
            return life.serve(run, branch, question, answer)
        branch.answers[question] = answer
        again = [Step(task, again=True) for task in branch.settled if task >= question.task]
        return life.go_on(run, branch, plan=[*again, *(Step(task) for task in branch.todo)])


class StrayPoisons(Conduct):
    """An answer that was of no use is kept, and served to the next question that would be asked."""

    def settled(self, life: Engine, run: Run, branch: Branch | None, question: Question, answer: str) -> Outcome | None:
        """Keep the answer."""
        life.commit(run, [Row("stray", "", {"token": answer})])
        return None

    def unasked_answer(self, run: Run) -> str | None:
        """The oldest answer kept."""
        return run.strays[0] if run.strays else None


class Misroute(Conduct):
    """An answer to another question than the pending one is served to the pending one."""

    def settled(self, life: Engine, run: Run, branch: Branch | None, question: Question, answer: str) -> Outcome | None:
        """Serve the pending question."""
        if branch is None or branch.parked_at is None:
            return None
        return life.serve(run, branch, branch.parked_at, answer)


class InvalidPersist(Conduct):
    """Updates are recorded without a look at the schema."""

    def accepts(self, update: Update) -> bool:
        """Everything."""
        return True


class TamperAccept(Conduct):
    """Whatever rows the database holds are believed."""

    verifies = False


class InspectActs(Conduct):
    """Looking at a crashed run continues it; looking at a parked one runs its last durable task again."""

    def inspected(self, life: Engine, run: Run, branch: Branch) -> None:
        """Go on, or run the last durable task."""
        if branch.parked_at is None:
            life.go_on(run, branch)
        else:
            life.go_on(run, branch, plan=[Step(task, again=True) for task in branch.settled[-1:]])


class RestartMix(Conduct):
    """A new epoch keeps the answers of the old one."""

    def inherited(self, branch: Branch) -> Mapping[Question, str]:
        """All answers."""
        return branch.answers


class NoneFits(Conduct):
    """The final state of a run that was recovered comes out backwards: a deviation that no switch describes."""

    def shown(self, marks: list[str], recovered: bool) -> list[str]:
        """The marks, backwards after a recovery."""
        return marks[::-1] if recovered else marks


FAULTS: Mapping[str, type[Conduct]] = {
    **{
        fault.__name__: fault
        for fault in (
            Replay, PrefixReplay, ReexecLast, SkipTask, NondetRecovery, RefuseRecovery, LateRecord, ParkLost, AnswerLost,
            ForkIgnore, ForkLeak, DoubleConsume, StrayPoisons, Misroute, InvalidPersist, TamperAccept, InspectActs,
            RestartMix,
        )
    },
    "none-fits": NoneFits,
}  # fmt: skip
"""Every planted deviation by the name of its option value."""
