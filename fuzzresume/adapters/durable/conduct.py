"""How the engine conducts itself where a planted fault could make it do otherwise: here, as the contract says.

The engine asks its `Conduct` at every point at which an engine can go wrong in one of the ways that docs/CONTRACT.md names
(*Switches*). Each fault in `faults` overrides as little of it as it can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from fuzzresume.adapters.durable.log import Row
from fuzzresume.adapters.durable.run import Branch, Run
from fuzzresume.contract.observation import Outcome
from fuzzresume.contract.workload import Question
from fuzzresume.harness.env import Update

if TYPE_CHECKING:
    from fuzzresume.adapters.durable.engine import Engine


class Step(NamedTuple):
    """One task of a life. `again`: it is durable already. `silent`: entered, but no effect. `skip`: recorded, but not run."""

    task: int
    again: bool = False
    silent: bool = False
    skip: bool = False


class Going(NamedTuple):
    """What is known when a life goes on: the tasks left, the durable ones, and how it came about."""

    todo: tuple[int, ...]
    durable: tuple[int, ...]
    gates: frozenset[int]
    recovering: bool
    crashed: bool
    seed: int


class Conduct:
    """The legal engine."""

    verifies = True
    """The digests of the log are checked before anything is continued from it."""

    records_late = False
    """Records wait in memory for the end of the life."""

    keeps_answers_in_memory = False
    """An answer is not stored before the record of its task, not even with the next park."""

    parks_survive = True
    """A process that did not ask a question itself still finds the run parked at it."""

    def admit(self, going: Going) -> None:
        """Decide whether a recovery may go on; raise to refuse."""

    def plan(self, going: Going) -> list[Step]:
        """The tasks that this life goes through."""
        return [Step(task) for task in going.todo]

    def unasked_answer(self, run: Run) -> str | None:
        """An answer for a question that is about to be asked; None asks it."""
        return None

    def accepts(self, update: Update) -> bool:
        """Whether an update keeps the declared schema, in which `note` is a string."""
        return isinstance(update.note, str)

    def settled(self, life: Engine, run: Run, branch: Branch | None, question: Question, answer: str) -> Outcome | None:
        """What an answer does whose question takes none; None leaves it without effect."""
        return None

    def fork_answer(self, trunk: Branch, question: Question, answer: str) -> str:
        """The answer that a fork of `trunk` at `question` goes on with."""
        return answer

    def leak(self, trunk: Branch, question: Question, answer: str) -> list[Row]:
        """What a fork writes on the trunk."""
        return []

    def inherited(self, branch: Branch) -> Mapping[Question, str]:
        """The answers that a new epoch takes over from the branch before it."""
        return {}

    def inspected(self, life: Engine, run: Run, branch: Branch) -> None:
        """What looking at a branch does to it."""

    def shown(self, marks: list[str], recovered: bool) -> list[str]:
        """The final state in the reply; `recovered` says that this process has recovered a crashed run."""
        return marks


def answer_row(branch: Branch, question: Question, answer: str) -> Row:
    """The row that makes an answer durable."""
    return Row("answer", branch.name, {"question": question.text, "token": answer})
