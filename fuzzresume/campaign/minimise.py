"""The minimiser: a trace from which no command can be taken away (docs/DESIGN.md, *Searching*).

Works on the list of commands, not on the bytes that drew them: cut after the failing command, take away single commands and
pairs until nothing more goes, then simplify what is left. A candidate counts only if it shows the same finding; one in which
the mechanisms that explain the finding could not show is not executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Finding, diagnose, excused, renumber
from fuzzresume.campaign.witness import distinct, shorter
from fuzzresume.contract.commands import ELSEWHERE, Command, CrashPoint
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.foresight import can_violate
from fuzzresume.contract.life import Faults
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Question, Workload
from fuzzresume.harness.run import profile_of, scope_of
from fuzzresume.harness.target import BadOption, Target

WITNESSES = 8
"""Shorter traces tried before anything is taken away, and once more when nothing can be."""

BUDGET = 200
"""Executions that one minimisation may take; what it has by then is what it returns."""


class Minimiser:
    """Shrinks one finding's trace; `commands`, `diagnosis` and `target` follow the shortest candidate found so far."""

    def __init__(self, executor: Executor, finding: Finding, late: Callable[[], bool] = lambda: False) -> None:
        self.executor = executor.on(finding.reference)
        self.target = finding.target
        self.diagnosis = finding.diagnosis
        self.commands = renumber(finding.commands[: finding.diagnosis.violation.index + 1])
        self._beyond = bool(finding.profile)
        self._known = finding.profile - profile_of(finding.target.capabilities)
        self._excused = excused(finding.diagnosis, finding.target)
        self._late = late
        self.executions = 0
        self._refuted: set[tuple[tuple[Command, ...], str]] = set()

    @property
    def profile(self) -> Faults:
        """The deviations that the present trace is judged beyond."""
        return self._profile(self.target)

    @property
    def out(self) -> bool:
        """The budget of executions or the time is used up: what there is now may not be minimal."""
        return self.executions >= BUDGET or self._late()

    def run(self, pinned: frozenset[str] = frozenset()) -> tuple[Command, ...]:
        """The 1-minimal commands, if the budget lasts. Options in `pinned` keep their values."""
        self._look_for_shorter(self._one_question_executor())
        self._shorten()
        self._look_for_shorter(self._one_question_executor())
        while not self.out and (
            self._one_question() | self._simplify(pinned) | self._one_after_the_other() | self._look_for_shorter()
        ):
            self._shorten()
        return self.commands

    def put_into(self, finding: Finding) -> None:
        """Make the finding what is left of it."""
        finding.commands, finding.target, finding.diagnosis = self.commands, self.target, self.diagnosis
        finding.options, finding.profile = dict(self.target.options), self.profile
        finding.explained_by, finding.reference = self.diagnosis.explanation, self.executor.reference
        finding.minimal, finding.executions = not self.out, self.executions

    def _look_for_shorter(self, executor: Executor | None = None) -> bool:
        """The shortest first; deletion ends where every command is needed as it stands."""
        mechanisms = [frozenset(names) for names in self.diagnosis.explanation]
        if not mechanisms or self.out:
            return False
        executor = executor or self.executor
        points, scope = executor.crash_points(self.target), scope_of(self.target.capabilities)
        budget = self.executions + WITNESSES
        for candidate in shorter(executor.reference, self.commands, scope, self.profile, mechanisms, points):
            if self._try(candidate, executor=executor):
                return True
            if self.out or self.executions >= budget:
                break
        return False

    def _one_question_executor(self) -> Executor | None:
        """The executor for a workload whose gates ask one question each; None where they do already."""
        gates = {task.id: task.questions for task in self.executor.workload.tasks if task.questions}
        if self.executor.workload.topology != "linear" or not any(asks > 1 for asks in gates.values()):
            return None
        return self.executor.on(Reference(Workload.linear(len(self.executor.workload.tasks), dict.fromkeys(gates, 1))))

    def _one_question(self) -> bool:
        """The same trace on a workload whose gates ask one question each: the first one's answers, or the last one's, or all
        of them but one."""
        smaller = self._one_question_executor()
        if smaller is None:
            return False
        gates = {task.id: task.questions for task in self.executor.workload.tasks if task.questions}
        asked = tuple(map(_of_one_question, self.commands))
        indices = [
            [i for i, c in enumerate(self.commands) if c.question is None or kept[c.question.task] == c.question.index]
            for kept in ({t: 1 for t in gates}, gates)
        ]
        whole = range(len(asked))
        for kept in (*indices, *([i for i in whole if i != gone] for gone in whole)):
            if self._try(tuple(asked[i] for i in kept), executor=smaller):
                return True
        return False

    def _one_after_the_other(self) -> bool:
        """Racers that take no turns are commands like others; whatever these show is what the race was about."""
        last = self.commands[-1]
        return last.op == "race" and not last.turns and self._try((*self.commands[:-1], *last.racers), anything=True)

    def _shorten(self) -> None:
        while any(self._try(candidate) for candidate in self._deletions()):
            pass
        if any(self._try(candidate) for candidate in self._other_deaths()):
            self._shorten()

    def _other_deaths(self) -> Iterator[tuple[Command, ...]]:
        """One command less, because the life died elsewhere: in the command before, or later in the same one.

        No deletion leads there: with the crash point as it is, every command was needed.
        """
        died = [i for i, command in enumerate(self.commands) if command.crash is not None]
        if not died or len(self.commands) < 3:
            return
        i, known = died[-1], self.executor.crash_points(self.target)
        before, sent, after = self.commands[:i], self.commands[i], self.commands[i + 1 :]
        for point in distinct(known.get(before[-1].op, ())) if before else ():
            yield (*before[:-1], replace(before[-1], crash=point), *after)
        for point in distinct(known.get(sent.op, ())) if len(after) > 1 else ():
            yield from ((*before, replace(sent, crash=point), *after[:k], *after[k + 1 :]) for k in range(len(after)))

    def _deletions(self) -> Iterator[tuple[Command, ...]]:
        for i, (died, after) in enumerate(pairwise(self.commands)):
            if died.crash is not None and after.op in ("recover", "retry", "recover2", "start"):
                # A death and the recovery from it go together, or not at all.
                yield (*self.commands[:i], replace(died, crash=None), *self.commands[i + 2 :])
        n = len(self.commands)
        singles = [(i,) for i in reversed(range(n - 1))]
        pairs = list(combinations(range(n - 1), 2)) if n > 2 else []
        for gone in [*singles, *pairs]:
            yield tuple(c for i, c in enumerate(self.commands) if i not in gone)

    def _simplify(self, pinned: frozenset[str]) -> bool:
        changed = False
        for option, values in self.target.adapter.options.items():
            if option not in pinned and self.target.options[option] != values[0]:
                try:
                    simpler = Target(self.target.adapter, {**self.target.options, option: values[0]})
                except BadOption:
                    continue
                changed |= self._try(self.commands, simpler)
        poisoned = next((i for i, c in enumerate(self.commands) if c.poison is not None), 0)
        if poisoned:
            first = self.executor.workload.order[0]
            earliest = replace(self.commands[0], poison=first, crash=None)
            changed |= self._try((earliest, *self.commands[poisoned + 1 :]))
        i = 0
        while i < len(self.commands):  # a simpler command can make the trace shorter
            for plainer in _plainer(self.commands[i]):
                if self._try((*self.commands[:i], plainer, *self.commands[i + 1 :])):
                    changed = True
                    break
            i += 1
        return changed

    def _try(
        self,
        commands: tuple[Command, ...],
        target: Target | None = None,
        executor: Executor | None = None,
        *,
        anything: bool = False,
    ) -> bool:
        """Whether the candidate shows the same finding, or `anything`; if so it becomes the present trace."""
        target, executor = target or self.target, executor or self.executor
        candidate = renumber(commands)
        key = (candidate, repr((executor.workload, sorted(target.options.items()))))
        if self.out or not candidate or key in self._refuted:
            return False
        profile = self._profile(target)
        mechanisms = [frozenset(names) for names in self.diagnosis.explanation]
        if mechanisms and not anything and not can_violate(executor.reference, candidate, profile, mechanisms):
            self._refuted.add(key)
            return False
        self.executions += 1
        done = executor.execute(target, candidate, profile=profile, steered=not anything)
        if done.violation is not None:
            found = diagnose(executor.reference, done.violation, profile, target)
            same = anything or found.same_as(self.diagnosis) or found.purer_than(self.diagnosis)
            if same and excused(found, target) == self._excused:
                self.commands = candidate[: done.violation.index + 1]
                self.target, self.diagnosis, self.executor = target, found, executor
                return True
        self._refuted.add(key)
        return False

    def _profile(self, target: Target) -> Faults:
        return profile_of(target.capabilities) | self._known if self._beyond else NONE


def _of_one_question(command: Command) -> Command:
    """The command, and a race's racers, with each answer meant for the first question of its gate."""
    token = command.token
    if token is not None:
        token = token._replace(question=Question(token.question.task, 1))
    return replace(command, token=token, racers=tuple(map(_of_one_question, command.racers)))


def _plainer(command: Command) -> Iterator[Command]:
    """Simpler versions of one command, the simplest first."""
    if command.crash is not None:
        yield replace(command, crash=None)
    if command.poison is not None:
        yield replace(command, poison=None)
    if command.op in ("recover2", "retry"):
        yield replace(command, op="recover")
    if command.at == "question":
        yield replace(command, at="latest")
    if command.kind == ELSEWHERE:
        yield replace(command, kind=None)
    for i in reversed(range(len(command.turns))):
        yield replace(command, turns=(*command.turns[:i], *command.turns[i + 1 :]))
    for gone in range(len(command.racers) if len(command.racers) > 2 else 0):
        turns = tuple(replace(t, racer=t.racer - (t.racer > gone)) for t in command.turns if t.racer != gone)
        yield replace(command, racers=(*command.racers[:gone], *command.racers[gone + 1 :]), turns=turns)
    if command.crash is not None and not command.crash.hook.startswith("effect."):
        for hook in ("effect.after:2", "effect.before:3"):
            yield replace(command, crash=CrashPoint(hook, 1, command.crash.by))
