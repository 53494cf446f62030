"""The reference semantics: one total next-state relation (docs/CONTRACT.md, *Commands*).

`Reference.step(state, command, faults)` lists everything that the contract allows a command to show in a state, and where
that leads; fault switches add what a broken engine may show. Total: every command has a meaning in every state. The
monitor filters this list by what was observed, the generators ask it what is enabled, and `tla/` states the same relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from fuzzresume.contract.commands import Command
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.heeded import heeded
from fuzzresume.contract.life import Faults, Plan
from fuzzresume.contract.lives import Lives
from fuzzresume.contract.mechanisms import any_plan, from_any, ignored, leaked, mixed, survivors
from fuzzresume.contract.races import raced
from fuzzresume.contract.state import (
    Answers,
    Branch,
    Expect,
    Note,
    State,
    Transition,
    add,
    answer_of,
    complete,
    distinct,
    next_question,
    with_answer,
)
from fuzzresume.contract.workload import Mark, Question, Token, Workload

Shown = tuple[str, tuple[Mark, ...]]
"""The kind and the effects of what was seen."""


class Reference:
    """The relation for one workload. `step` is memoised: campaigns visit the same few hundred states over and over."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._memo: dict[State, dict[object, tuple[Transition, ...]]] = {}
        self._lives = Lives(workload)

    def step(
        self, state: State, command: Command, faults: Faults = NONE, seen: Expect | None = None
    ) -> tuple[Transition, ...]:
        """Every legal transition, plus those that `faults` allow. Duplicates are removed, order is stable.

        With `seen`, what shows another kind or other effects may be left out: under several faults that is thousands.
        """
        shown = None
        if faults:
            faults = faults & heeded(state, command)
        if faults and seen is not None:
            if command.op == "fork" and state.fork is not None:
                return self._fork_again(state, command, faults, seen)
            shown = (seen.kind, seen.effects)
        known = self._memo.setdefault(state, {})
        # Where a life dies is seen, not foretold, and an address only says what `branch` says.
        crash = command.crash is None
        racers = command.racers and (command.racers, command.unit, not command.turns)
        key = (command.op, command.token, command.branch, crash, command.poison, command.kind, racers, faults, shown)
        found = known.get(key)
        if found is None:
            ways = self._step(state, command, faults, shown)
            if shown is not None:
                ways = (way for way in ways if way.expect[:2] == shown)
            found = known[key] = distinct(ways)
        return found

    def _fork_again(self, state: State, command: Command, faults: Faults, seen: Expect) -> tuple[Transition, ...]:
        """A fork looks at the trunk alone, so it is found once for all branches that it may replace."""
        found = self.step(state._replace(fork=None, latest="trunk", moves=False), command, faults, seen)
        as_it_was = partial(State._replace, fork=state.fork, latest=state.latest, moves=state.moves)
        return distinct([t if t.state.fork else t._replace(state=as_it_was(t.state)) for t in found])

    def _step(self, state: State, command: Command, faults: Faults, shown: Shown | None = None) -> Iterable[Transition]:
        if state.over:
            return ()
        if state.tampered is not None:
            return self._after_tamper(state, command, faults)
        rule: Callable[[State, Command, Faults], Iterator[Transition]] = getattr(self, f"_{command.op}")
        token = command.token
        new = token is not None and token not in state.tokens
        known = state._replace(tokens=add(state.tokens, token)) if new else state
        if command.op == "fork":
            return self._fork(known, command, faults, shown)
        return rule(known, command, faults)

    # The commands, in the order of the contract page.

    def _start(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        branch = state.branch(command.branch)
        if branch.status == "new" or (branch.status == "crashed" and not branch.done and not branch.inflight):
            yield from self._go_on(state, command, faults, branch._replace(status="new"), branch.answers)
            if branch.status == "new" or next_question(self.workload, branch) is None:
                return  # else the store may hold the park of a question that nobody was told
        yield from self._restart(state, command, faults)

    def _resume(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        token = _token(command)
        branch, question = state.branch(command.branch), token.question
        if branch.status in ("lost", "stuck"):
            yield from self._dead_end(state, command, branch)
            return
        if "ParkLost" in faults and branch.status == "parked":
            yield from self._dead_end(state, command, branch._replace(status="lost"))
        pending = next_question(self.workload, branch)
        served = with_answer(branch.answers, question, token)
        if branch.status == "parked" and pending == question:
            yield from self._go_on(state, command, faults, branch, served, token)
        elif branch.status == "crashed" and question not in branch.acked and question in (*branch.inflight, pending):
            yield from self._go_on(state, command, faults, branch, served, token)
            if answer_of(branch.answers, question) is not None:
                known = tuple(self._go_on(state, command, faults, branch, branch.answers, token))
                yield from known
                if "StrayPoisons" in faults:  # a gate that had asked on before it died finds the answer stray
                    parks = (s for s in known if s.expect.kind == "parked" and not s.expect.effects)
                    yield from (s._replace(state=s.state._replace(stray=token)) for s in parks)
            yield from self._inert(state, command, faults, branch, "resume", ("refused",))
            if question not in branch.inflight or _passed(branch, question):
                yield from self._inert(state, command, faults, branch, "resume")
        else:
            yield from self._must_be_inert(state, command, faults, branch)

    def _redeliver(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        token = _token(command)
        branch = state.branch(command.branch)
        if self._waits(branch, token.question):
            yield from self._resume(state, command, faults)  # of the branches that may be meant, one asks after all
        pending = next_question(self.workload, branch) == token.question and token.question not in branch.acked
        if branch.status == "crashed" and (token.question in branch.inflight or pending):
            note = Note("redeliver@crashed", "recovers")
            served = with_answer(branch.answers, token.question, token)
            yield from self._go_on(state, command, faults, branch, served, token, note)
        yield from self._must_be_inert(state, command, faults, branch)

    def _stray(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        return self._resume(state, command, faults)  # the same call: where the question is open after all, it is one

    def _waits(self, branch: Branch, question: Question) -> bool:
        """Whether the branch asks this very question: it takes what comes for it, new or old."""
        return branch.status == "parked" and next_question(self.workload, branch) == question

    def _fork(self, state: State, command: Command, faults: Faults, shown: Shown | None) -> Iterator[Transition]:
        token = _token(command)
        question, trunk = token.question, state.trunk
        still = frozenset(trunk.visible)
        yield Transition(Expect("refused", frontier=still), state, Note("fork", "refused"))
        if question not in trunk.asked:
            return
        before = self.workload.order[: self.workload.order.index(question.task)]
        earlier: Answers = tuple((q, t) for q, t in trunk.answers if q < question)
        cut_off = Branch(
            status="parked",
            done=tuple(sorted(before)),
            marks=trunk.marks[: trunk.base + len(before)],
            base=trunk.base,
            answers=earlier,
            acked=tuple(q for q, _ in earlier),
            asked=tuple(q for q in trunk.asked if q <= question),
        )
        ways = [with_answer(earlier, question, token)]
        if "ForkIgnore" in faults:
            ways += ignored(state, earlier, token)
            yield from self._status(state, command, trunk, state)
        for answers in ways:
            for shows, branch in self._lives.runs(state, command, faults, cut_off, answers, token):
                if shown is not None and shows[:2] != shown:
                    continue
                if shows.kind == "crashed" and branch.visible == cut_off.visible:
                    # Nothing of the branch is durable: the store shows the trunk, and one effect may be in doubt.
                    yield Transition(shows._replace(frontier=still), state)
                for latest in ("fork", "trunk", "moved"):
                    after = state._replace(
                        fork=branch, latest="trunk" if latest == "trunk" else "fork", moves=latest == "moved"
                    )
                    note = Note("latest", latest, binding=True)
                    yield Transition(shows, after, note)
                    if shows.kind == "refused" or (shows.kind == "crashed" and latest == "trunk"):
                        # Nobody was told where the branch is: the store shows the trunk.
                        yield Transition(shows._replace(frontier=still), after, note)
                    if "ForkLeak" in faults:
                        for other in leaked(trunk, token, branch):
                            yield Transition(shows, after._replace(trunk=other), note)

    def _recover(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        return self._recovery(state, command, faults, state.branch(command.branch))

    def _retry(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        return self._recover(state, command, faults)

    def _recover2(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        single = tuple(self._recover(state, command, faults))
        for expect, after, note in single:
            yield Transition(expect._replace(twin=expect), after, note)
        if "NondetRecovery" in faults:
            branch = state.branch(command.branch)
            odd = [t.expect for t in single]
            for plan in any_plan(self.workload, branch):
                odd += [shows for shows, _ in self._lives.follow(state, command, faults, branch, plan, branch.answers)]
            for step in single:
                for twin in odd:
                    yield step._replace(expect=step.expect._replace(twin=twin))

    def _restart(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        branch = state.branch("latest")
        if branch.status == "new" or (branch.status == "crashed" and not branch.done):
            fresh = branch._replace(status="new", answers=(), acked=(), inflight=(), asked=())
            yield from self._epoch(state, command, faults, fresh, None)
            if branch.status == "new":
                return
        over = branch.status == "crashed" and complete(self.workload, branch)
        choice = f"restart@{branch.status}{', all durable' if over else ''}"
        still = frozenset(branch.visible)
        if "ParkLost" in faults and next_question(self.workload, branch) is not None:
            yield from self._dead_end(state, command, branch._replace(status="lost"))
        yield Transition(Expect("refused", frontier=still), state, Note(choice, "refused", binding=True))
        inert = Note(choice, "inert", binding=True)
        yield from (Transition(*way[:2], inert) for way in self._status(state, command, branch, state))
        if branch.status == "crashed":
            note = Note(choice, "continues", binding=True)
            yield from (Transition(*way[:2], note) for way in self._recovery(state, command, faults, branch))
        if branch.status == "stuck":
            if command.crash is not None:
                yield Transition(Expect("crashed", frontier=still), state)
            return
        for kind, marks in (("new epoch, empty state", ()), ("new epoch, accumulated state", branch.marks)):
            fresh = Branch(marks=marks, base=len(marks))
            yield from self._epoch(state, command, faults, fresh, Note(choice, kind, binding=True))
            if "RestartMix" in faults:
                for mix in mixed(self.workload, fresh, branch):
                    yield from self._epoch(state, command, faults, mix, None)

    def _race(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        yield from raced(self.step, state, command, faults)

    def _inspect(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        branch = state.branch(command.branch)
        yield from self._quiet(state, command)
        yield Transition(Expect("refused", frontier=frozenset(branch.visible)), state)
        if "InspectActs" in faults:
            for plan in any_plan(self.workload, branch):
                for shows, left in self._lives.follow(state, command, faults, branch, plan, branch.answers):
                    expect = Expect("inert", shows.effects, reentered=shows.reentered, frontier=shows.frontier)
                    yield Transition(expect, state.with_branch(command.branch, left))

    def _reload(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        yield from self._quiet(state, command)

    def _tamper(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        yield Transition(Expect("inert"), state._replace(tampered=command.kind))

    # What the commands are made of.

    def _recovery(self, state: State, command: Command, faults: Faults, branch: Branch) -> Iterator[Transition]:
        if branch.status in ("lost", "stuck"):
            yield from self._dead_end(state, command, branch)
            return
        if "ParkLost" in faults and next_question(self.workload, branch) is not None:
            yield from self._dead_end(state, command, branch._replace(status="lost"))
        moves = _moves(state, command)
        for shows, left, note in self._lives.recoveries(state, command, faults, branch):
            if left is None:
                yield Transition(shows, state, note)
            else:
                after = state.with_branch(command.branch, left)
                yield Transition(shows, after, note)
                if moves:
                    yield Transition(shows, after._replace(latest="trunk"), note)

    def _must_be_inert(self, state: State, command: Command, faults: Faults, branch: Branch) -> Iterator[Transition]:
        token = _token(command)
        if branch.status in ("lost", "stuck"):
            yield from self._dead_end(state, command, branch)
            return
        choice = f"{command.op}@{branch.status}"
        yield from self._inert(state, command, faults, branch, choice)
        if branch.status == "crashed":
            # Users deliver again after a crash, and frameworks have one call for "go on": continuing the run without
            # using the token is reported as policy, not as a violation.
            note = Note(choice, "recovers")
            ways = self._recovery(state, command, faults, branch)
            yield from (Transition(*way[:2], note) for way in ways if way.expect.kind != "refused" or way.expect.effects)
        if "DoubleConsume" in faults:
            served = with_answer(branch.answers, token.question, token)
            for plan in from_any(self.workload, branch, token.question.task):
                for answers in (served, branch.answers):
                    yield from self._plan_on(state, command, faults, branch, plan, answers, token)
            if token.question.task not in branch.done:
                yield from self._go_on(state, command, faults, branch, served, token)
                yield from self._go_on(state, command, faults, branch, branch.answers)
        pending = next_question(self.workload, branch)
        if "Misroute" in faults and pending is not None and pending != token.question:
            yield from self._go_on(state, command, faults, branch, with_answer(branch.answers, pending, token), token)

    def _inert(
        self, state: State, command: Command, faults: Faults, branch: Branch, choice: str, kinds: tuple[str, ...] = ()
    ) -> Iterator[Transition]:
        after = [state]
        if "StrayPoisons" in faults:
            after += [
                state._replace(stray=command.token),
                state.with_branch(command.branch, branch._replace(status="stuck")),
            ]
        for then in after:
            expect = Expect("refused", frontier=frozenset(branch.visible))
            yield Transition(expect, then, Note(choice, "refused"))
            if command.crash is not None:
                yield Transition(expect._replace(kind="crashed"), then)  # whoever does nothing can die of it too
            if not kinds:
                yield from (s._replace(note=Note(choice, "inert")) for s in self._status(state, command, branch, then))

    def _status(self, state: State, command: Command, branch: Branch, then: State) -> Iterator[Transition]:
        """A reply that changes nothing and shows the present status."""
        fresh = command.token.text if command.token is not None and command.op != "redeliver" else None
        base = Expect("idle", frontier=frozenset(branch.visible), fresh=fresh)
        pending = next_question(self.workload, branch)
        if branch.status == "parked" and pending is not None:
            yield Transition(base._replace(kind="parked", pending=(pending,)), then)
        elif branch.status == "completed":
            yield Transition(base._replace(kind="completed"), then)
        else:
            yield Transition(base, then)
            if branch.status == "crashed" and pending is not None:
                yield Transition(base._replace(kind="parked", pending=(pending,)), then)
            if complete(self.workload, branch):
                yield Transition(base._replace(kind="completed"), then)

    def _dead_end(self, state: State, command: Command, branch: Branch) -> Iterator[Transition]:
        then = state.with_branch(command.branch, branch)
        for kind in ("refused", "idle", "completed", *(["crashed"] if command.crash is not None else [])):
            yield Transition(Expect(kind, frontier=frozenset(branch.visible)), then)

    def _quiet(self, state: State, command: Command) -> Iterator[Transition]:
        yield Transition(Expect("inert", frontier=frozenset(state.branch(command.branch).visible)), state)

    def _after_tamper(self, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
        over = state._replace(over=True)
        if command.op in ("inspect", "reload"):
            yield Transition(Expect("inert"), state)
        yield Transition(Expect("refused"), over)
        if state.tampered == "extra-field" or "TamperAccept" in faults:
            clean = state._replace(tampered=None)
            for step in self._step(clean, command, faults):
                loose = step.expect._replace(frontier=None, marks=None)
                yield Transition(loose, step.state._replace(over=True))
        if "TamperAccept" in faults:
            yield from (Transition(Expect(kind), over) for kind in ("completed", "parked", "idle"))

    def _epoch(
        self, state: State, command: Command, faults: Faults, fresh: Branch, note: Note | None
    ) -> Iterator[Transition]:
        begun = State(tokens=(), stray=state.stray)
        if "RestartMix" in faults:
            begun = begun._replace(tokens=state.tokens)
        for step in self._go_on(begun, command, faults, fresh, fresh.answers):
            died_early = step.expect.kind == "crashed" and not step.state.trunk.done
            if died_early and note is not None:
                # Nothing of the new epoch is durable: the store may still show the old one.
                shown = frozenset(state.branch("latest").visible)
                yield Transition(step.expect._replace(frontier=shown, reentered=None), state)
            yield Transition(step.expect._replace(reentered=None), step.state, note)

    def _go_on(
        self,
        state: State,
        command: Command,
        faults: Faults,
        branch: Branch,
        answers: Answers,
        delivered: Token | None = None,
        note: Note | None = None,
    ) -> Iterator[Transition]:
        """Continue the branch with these answers, by every plan that the faults allow."""
        moves = _moves(state, command)
        for held in survivors(branch, answers, delivered, faults):
            for shows, left in self._lives.runs(state, command, faults, branch, held, delivered):
                after = state.with_branch(command.branch, left)
                yield Transition(shows, after, note)
                if moves:
                    yield Transition(shows, after._replace(latest="trunk"), note)

    def _plan_on(
        self, state: State, command: Command, faults: Faults, branch: Branch, plan: Plan, answers: Answers, token: Token
    ) -> Iterator[Transition]:
        for shows, left in self._lives.follow(state, command, faults, branch, plan, answers, token):
            yield Transition(shows, state.with_branch(command.branch, left))


def _moves(state: State, command: Command) -> bool:
    """Whether the command, where it writes, makes the trunk the branch written last."""
    return state.moves and command.branch == "trunk"


def _passed(branch: Branch, question: Question) -> bool:
    """Whether its answer and one to a later question of the gate are held: the gate went on, and may count it as taken."""
    later = any([q.task == question.task and q > question for q, _ in branch.answers])
    return later and answer_of(branch.answers, question) is not None


def _token(command: Command) -> Token:
    if command.token is None:
        raise ValueError(f"{command.op} carries no answer token")
    return command.token
