"""What a script over LangGraph needs, so that it has nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from fuzzresume.contract.commands import Command
from fuzzresume.contract.workload import Question
from fuzzresume.repro.plan import NoScript, Plan

INPUTS = frozenset({"start", "restart"})
"""Commands that send the run's input."""

NULL = "null"
"""The value of an answer that LangGraph is given as `None`."""

LATE = {"queue": ("put_writes", "_checkpointer_put_after_previous"), "late-writes": ("put_writes",)}
"""By executor: the functions that LangGraph hands to its pool in order to write, and that the schedule puts off."""


class Needs:
    """Facts about a plan that decide which parts of the templates are written."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._options = plan.trace.options

    @cached_property
    def sent(self) -> tuple[Command, ...]:
        """Every command that reaches LangGraph, racers one by one."""
        return tuple(sent for step in self._plan.steps for sent in step.command.sent)

    @cached_property
    def ops(self) -> frozenset[str]:
        """The kinds of command."""
        return frozenset(sent.op for sent in self.sent)

    @cached_property
    def points(self) -> frozenset[str]:
        """The hooks that the trace names: where it dies, and where a racer waits."""
        dies = {sent.crash.hook for sent in self.sent if sent.crash is not None}
        return frozenset(dies | {turn.hook for step in self._plan.steps for turn in step.command.turns if turn.hook})

    @property
    def around(self) -> tuple[tuple[str, bool, bool], ...]:
        """The saver's methods that have a point: its name, whether before it, whether behind it."""
        names = ("get_tuple", "put", "put_writes")
        pairs = [(name, f"{name}.before" in self.points, f"{name}.after" in self.points) for name in names]
        return tuple(pair for pair in pairs if pair[1] or pair[2])

    @property
    def claims(self) -> tuple[str, ...]:
        """The points around what REMIT's gate writes."""
        names = ("claims_table.before", "claims_table.after", "claim.before", "claim.after")
        return tuple(name for name in names if name in self.points)

    @property
    def ordered(self) -> bool:
        """Whether it matters in which order the pool's threads do their work: a run is stopped on its way, or the order is
        what the trace was recorded under on purpose."""
        if self._options["executor"] == "late-writes":
            return True
        killed = any(sent.crash is not None and sent.crash.by == "kill" for sent in self.sent)
        return killed or any(turn.hook for step in self._plan.steps for turn in step.command.turns)

    @property
    def late(self) -> tuple[str, ...]:
        """Which of the functions that LangGraph hands to its pool are put off."""
        return LATE.get(self._options["executor"], ()) if self.ordered else ()

    @property
    def poisoned(self) -> frozenset[int]:
        """The tasks that return an invalid update once."""
        return frozenset(sent.poison for sent in self.sent if sent.poison is not None)

    @property
    def nameless(self) -> bool:
        """Whether an answer is given as `None`."""
        return any(sent.token is not None and sent.token.value == NULL for sent in self.sent)

    @property
    def damages(self) -> tuple[str, ...]:
        """The kinds of damage, each once."""
        return tuple(dict.fromkeys(sent.kind for sent in self.sent if sent.op == "tamper" and sent.kind is not None))

    @property
    def epochs(self) -> bool:
        """Whether marks in the state can be those of an earlier input than the present one."""
        return any(sent.op in INPUTS for sent in self.sent[1:])

    @cached_property
    def demanded(self) -> frozenset[int]:
        """The steps with a delivery when a question of an earlier input can still be pending, so that LangGraph may demand
        an interrupt's id."""
        inputs = [step.number for step in self._plan.steps if step.command.op in INPUTS]
        later = [step for step in self._plan.steps if len(inputs) > 1 and step.number > inputs[1]]
        return frozenset(step.number for step in later if any(sent.token is not None for sent in step.command.sent))

    @cached_property
    def returned(self) -> tuple[tuple[int, Question, str], ...]:
        """Who comes back to a question: the step that asked it, the question, and by its `checkpoint` or its `id`.

        Raises NoScript where a question was asked in a race, which does not record what its racers were asked.
        """
        return tuple(_returned(self._plan))

    @property
    def noted(self) -> frozenset[int]:
        """The steps whose reply has an address that a later command uses."""
        return frozenset(asker for asker, _, _ in self.returned)

    @property
    def addresses(self) -> frozenset[str]:
        """What is kept of a question: `checkpoint`, `id`."""
        return frozenset(by for _, _, by in self.returned)


def _returned(plan: Plan) -> Iterator[tuple[int, Question, str]]:
    """As `fuzzresume.harness.branches`: a fork goes back to the trunk's question, an id is of the branch it is sent to."""
    trunk: dict[Question, int] = {}
    latest: dict[Question, int] = {}
    forked = False
    for step, seen in zip(plan.steps, plan.trace.seen, strict=True):
        for sent in step.command.sent:
            if sent.question is not None and (sent.op == "fork" or sent.at == "question"):
                asked = latest if forked and sent.op != "fork" else trunk
                if sent.question not in asked:
                    raise NoScript(f"question {sent.question.text} was asked in a race, which does not say of whom")
                yield asked[sent.question], sent.question, "checkpoint" if sent.op == "fork" else "id"
        moved = seen.expect.kind != "refused"
        if moved and any(sent.op == "fork" for sent in step.command.sent):
            forked, latest = True, {}
        elif moved and step.command.op == "restart":
            forked = False
        (latest if forked else trunk).update(dict.fromkeys(seen.expect.pending or (), step.number))
