"""The planted deviations: each fault switch of docs/CONTRACT.md once, as one small departure from the honest engine.

`Faults` is the honest behaviour at every point where a fault can strike; a subclass departs from it at one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from fuzzresume.adapters.durable.log import Row
from fuzzresume.adapters.durable.run import Branch
from fuzzresume.contract.observation import Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.env import Update

if TYPE_CHECKING:
    from fuzzresume.adapters.durable.engine import Engine


class Step(NamedTuple):
    """A task of a life's plan. `again`: it is settled, only its effect fires; `silent`: it is entered; `skip`: recorded."""

    task: int
    mode: Literal["run", "again", "silent", "skip"] = "run"


class Faults:
    """No fault: what the honest engine does."""

    verify = True
    """Whether the store's integrity is checked."""

    late = False
    """Whether records are held back until a life ends in good order."""

    exclusive = True
    """Whether one process at a time works on a run, and writes only after what it has read."""

    def plan(self, engine: Engine, branch: Branch, *, recovering: bool) -> list[Step]:
        """The tasks that a life goes through."""
        return [Step(task) for task in branch.todo]

    def refuses(self, branch: Branch) -> bool:
        """Whether the recovery of a crashed run is refused."""
        return False

    def lost(self, engine: Engine, branch: Branch) -> bool:
        """Whether the question that the branch is parked at is forgotten."""
        return False

    def forget(self, engine: Engine, branch: Branch) -> None:
        """Forget answers of a parked branch before it is recovered."""

    def fork_answer(self, parent: Branch, question: Question, answer: str) -> str:
        """The answer that a fork is served."""
        return answer

    def leak(self, engine: Engine, parent: Branch, question: Question, answer: str) -> None:
        """What a fork does to the branch it came from."""

    def settled(self, engine: Engine, branch: Branch, question: Question, answer: str) -> Outcome | None:
        """What a delivery that takes no answer does; None: nothing."""
        return None

    def unasked(self, engine: Engine, question: Question) -> str | None:
        """An answer for a question that nobody answered."""
        return None

    def valid(self, update: Update) -> bool:
        """Whether a task's update keeps the declared schema."""
        return isinstance(update.note, str)

    def inspect(self, engine: Engine, branch: Branch) -> None:
        """What inspection does besides looking."""

    def kept(self, branch: Branch) -> dict[str, str]:
        """The answers that a new epoch takes over."""
        return {}

    def finish(self, engine: Engine, branch: Branch) -> None:
        """What a life does besides, once the last task is recorded."""

    def crowded(self, question: Question, answer: str) -> Outcome | None:
        """The reply to an answer that comes while another process works on the run; None: it is refused."""
        return None


class Replay(Faults):
    """A recovery fires the durable prefix again."""

    def plan(self, engine: Engine, branch: Branch, *, recovering: bool) -> list[Step]:
        again = [Step(task, "again") for task in branch.settled] if recovering else []
        return again + super().plan(engine, branch, recovering=recovering)


class PrefixReplay(Faults):
    """A recovery runs the durable prefix again, but consumed gates fire nothing."""

    def plan(self, engine: Engine, branch: Branch, *, recovering: bool) -> list[Step]:
        gate = engine.env.workload.questions
        again = [Step(task, "silent" if gate(task) else "again") for task in branch.settled] if recovering else []
        return again + super().plan(engine, branch, recovering=recovering)


class ReexecLast(Faults):
    """A recovery runs the last durable task again."""

    def plan(self, engine: Engine, branch: Branch, *, recovering: bool) -> list[Step]:
        again = [Step(task, "again") for task in branch.settled[-1:]] if recovering else []
        return again + super().plan(engine, branch, recovering=recovering)


class NondetRecovery(ReexecLast):
    """A recovery runs the last durable task again under one hash seed and not under another."""

    def plan(self, engine: Engine, branch: Branch, *, recovering: bool) -> list[Step]:
        return super().plan(engine, branch, recovering=recovering and engine.env.seed % 2 == 1)


class SkipTask(Faults):
    """A recovery records the first task that never completed."""

    def plan(self, engine: Engine, branch: Branch, *, recovering: bool) -> list[Step]:
        steps = super().plan(engine, branch, recovering=recovering)
        return [Step(steps[0].task, "skip"), *steps[1:]] if recovering and steps else steps


class RefuseRecovery(Faults):
    """A crashed run with something durable is not recovered."""

    def refuses(self, branch: Branch) -> bool:
        return bool(branch.settled)


class LateRecord(Faults):
    """Records wait for the end of the life."""

    late = True


class ParkLost(Faults):
    """A parked question lives in the process that asked it."""

    def lost(self, engine: Engine, branch: Branch) -> bool:
        return branch.name not in engine.parked_here


class AnswerLost(Faults):
    """The answers of a parked gate live in the process that took them: the next one asks again."""

    def forget(self, engine: Engine, branch: Branch) -> None:
        answered = [question for question in branch.answers if question.task not in branch.settled]
        if answered and branch.name not in engine.parked_here:
            engine.ask_again(branch, min(answered))


class ForkIgnore(Faults):
    """A fork is served what the trunk was."""

    def fork_answer(self, parent: Branch, question: Question, answer: str) -> str:
        return parent.answers.get(question, answer)


class ForkLeak(Faults):
    """A fork's answer is written to the trunk too."""

    def leak(self, engine: Engine, parent: Branch, question: Question, answer: str) -> None:
        if question.task not in parent.settled:
            engine.commit([Row("answer", parent.name, {"question": question.text, "token": answer})])


class DoubleConsume(Faults):
    """An answered question takes another answer."""

    def settled(self, engine: Engine, branch: Branch, question: Question, answer: str) -> Outcome | None:
        if question not in branch.answers:
            return None
        engine.commit([Row("answer", branch.name, {"question": question.text, "token": answer})])
        if question.task not in branch.settled:
            return engine.go(branch)
        again = [Step(task, "again") for task in branch.settled if task >= question.task]
        return engine.follow(branch, [*again, *(Step(task) for task in branch.todo)])


class StrayPoisons(Faults):
    """A delivery that takes no answer is kept for the next question."""

    def settled(self, engine: Engine, branch: Branch, question: Question, answer: str) -> Outcome | None:
        engine.commit([Row("stray", branch.name, {"token": answer})])
        return None

    def unasked(self, engine: Engine, question: Question) -> str | None:
        return engine.run.stray


class Misroute(Faults):
    """An answer to another question is served to the one that is pending."""

    def settled(self, engine: Engine, branch: Branch, question: Question, answer: str) -> Outcome | None:
        pending = branch.next_question
        return None if pending is None else engine.serve(branch, pending, answer)


class InvalidPersist(Faults):
    """No update is checked."""

    def valid(self, update: Update) -> bool:
        return True


class TamperAccept(Faults):
    """No row is checked."""

    verify = False


class InspectActs(Faults):
    """Inspection goes on with a crashed run, and fires the last durable effect of any other."""

    def inspect(self, engine: Engine, branch: Branch) -> None:
        if engine.crashed(branch):
            engine.go(branch)
        elif branch.settled:
            engine.refire(branch, branch.settled[-1])


class RestartMix(Faults):
    """A new epoch remembers the old answers."""

    def kept(self, branch: Branch) -> dict[str, str]:
        return {question.text: answer for question, answer in branch.answers.items()}


class ConcurrentConsume(Faults):
    """An answer that comes while another process works on the run is told consumed, and has no effect."""

    def crowded(self, question: Question, answer: str) -> Outcome | None:
        return Outcome("completed", marks=(Mark(question.task, (answer,)),))


class RaceEffect(Faults):
    """Nothing keeps processes apart: each goes on from what it has read, and writes behind what the others wrote."""

    exclusive = False


class NoneFits(Faults):
    """A recovered run ends with its state in reverse: no switch describes it."""

    def finish(self, engine: Engine, branch: Branch) -> None:
        if engine.recovering:
            engine.commit([Row("reversal", branch.name, {})])


FAULTS: dict[str, type[Faults]] = {
    fault.__name__: fault
    for fault in (
        Replay,
        PrefixReplay,
        ReexecLast,
        SkipTask,
        NondetRecovery,
        RefuseRecovery,
        LateRecord,
        ParkLost,
        AnswerLost,
        ForkIgnore,
        ForkLeak,
        DoubleConsume,
        StrayPoisons,
        Misroute,
        InvalidPersist,
        TamperAccept,
        InspectActs,
        RestartMix,
        ConcurrentConsume,
        RaceEffect,
    )
} | {"none-fits": NoneFits}
