"""Whether what an adapter tells is well formed, whatever it says."""

from __future__ import annotations

from collections.abc import Iterator

from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Asked, Frontier, Observation, Outcome
from fuzzresume.contract.workload import Mark, Question, Workload

RUNNING = frozenset({"parked", "completed", "failed", "refused", "crashed", "idle"})
"""How a command that runs tasks may end."""

LOOKING = frozenset({"inert", "refused", "crashed"})
"""How one that runs none may."""


def complaints(workload: Workload, command: Command, observation: Observation, *, damaged: bool = False) -> Iterator[str]:
    """What is not well formed about one command's outcome and frontiers, in words.

    What a `damaged` store seems to hold is not the adapter's to know: its frontiers are not looked at.
    """
    yield from _of_outcome(workload, command, observation.outcome)
    if not damaged:
        for when, frontier in (("before", observation.before), ("after", observation.after)):
            yield from (f"frontier {when}: {words}" for words in _of_frontier(workload, frontier))


def _of_outcome(workload: Workload, command: Command, outcome: Outcome) -> Iterator[str]:
    kinds = LOOKING if command.op in ("inspect", "reload", "tamper") else RUNNING
    if outcome.kind not in kinds:
        yield f"{command.op} tells {outcome.kind!r}, which is none of its outcomes"
    if (outcome.kind == "parked") != bool(outcome.asked):
        yield f"{outcome.kind} with {len(outcome.asked)} questions"
    if len({asked.question for asked in outcome.asked}) != len(outcome.asked):
        yield "a park names a question twice"
    for asked in outcome.asked:
        yield from _of_question(workload, asked)
    if outcome.kind == "completed" and outcome.marks is None:
        yield "completed without marks: the final state is what tells which tasks counted"
    for mark in outcome.marks or ():
        if not isinstance(mark, Mark) or not isinstance(mark.task, int) or not all(isinstance(t, str) for t in mark.tokens):
            yield f"{mark!r} is no Mark"
    if not _is_address(outcome.address):
        yield f"the position {outcome.address!r} is no text, nor None"


def _of_question(workload: Workload, asked: Asked) -> Iterator[str]:
    if not isinstance(asked.question, Question) or asked.question not in workload.questions():
        yield f"{asked.question!r} is no Question of the workload"
    if not _is_address(asked.address):
        yield f"the address {asked.address!r} of a question is no text, nor None"


def _of_frontier(workload: Workload, frontier: Frontier) -> Iterator[str]:
    if not _is_address(frontier.head):
        yield f"the head {frontier.head!r} is no text, nor None"
    if frontier.done is None:
        if not frontier.why:
            yield "unreadable, without saying why"
        return
    if not isinstance(frontier.done, tuple) or len(set(frontier.done)) != len(frontier.done):
        yield f"done={frontier.done!r} is no tuple of different tasks"
    elif unknown := [task for task in frontier.done if task not in workload.order]:
        yield f"task {unknown[0]!r} is none of the workload's"


def _is_address(address: object) -> bool:
    return address is None or (isinstance(address, str) and address != "")
