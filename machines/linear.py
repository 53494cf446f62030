"""The linear plane as a Hypothesis `RuleBasedStateMachine`: its rules are the contract's commands.

    class PaymentMachine(LinearMachine):
        adapter = "langgraph"
        options = {"api": "functional"}
        workload = Workload.linear(4, gates={3: 1})

    TestPayment = PaymentMachine.TestCase

A rule is enabled when the reference says that its command makes sense; it draws the command's values. A failing run is
printed by Hypothesis as a short program, and by `Violated` in the contract's words.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from fuzzresume.contract.commands import ELSEWHERE, OPS, CrashPoint, Op
from fuzzresume.contract.menu import Label, abstract
from fuzzresume.contract.monitor import Violation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.words import say_commands, say_violation
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.catalogue import catalogue
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.run import Run, profile_of, scope_of
from fuzzresume.harness.sessions import Mode, open_session
from fuzzresume.harness.target import BadOption, Target, parse_target

CrashPoints = Mapping[Op, tuple[CrashPoint, ...]]


class Violated(AssertionError):
    """A run that the contract does not admit; the message is the trace in words, expected and observed."""

    def __init__(self, workload: Workload, violation: Violation) -> None:
        expected, observed = say_violation(violation)
        lines = say_commands(workload, [command for command, _ in violation.exchanges])
        steps = "\n".join(f"  {i}. {line}" for i, line in enumerate(lines, 1))
        super().__init__(f"the contract does not admit this run:\n{steps}\nexpected: {expected}\nobserved: {observed}")
        self.violation = violation


@lru_cache
def _reference(workload: Workload) -> Reference:
    return Reference(workload)


@lru_cache
def _adapter(text: str) -> Adapter:
    return parse_target(text).adapter


@lru_cache
def _catalogue(adapter: str, options: tuple[tuple[str, str], ...], workload: Workload, mode: Mode) -> CrashPoints:
    return catalogue(Target(_adapter(adapter), dict(options)), workload, mode)


def _nearest(adapter: Adapter, drawn: dict[str, str], pinned: Mapping[str, str]) -> Target:
    """The drawn options, with as few of them as possible put back to their defaults where they do not go together."""
    for key in (None, *reversed(drawn)):
        if key is not None and key not in pinned:
            drawn = {**drawn, key: adapter.options[key][0]}
        with contextlib.suppress(BadOption):
            return Target(adapter, drawn)
    return Target(adapter, dict(pinned))


class LinearMachine(RuleBasedStateMachine):
    """Drives one target with one linear workload. Override the class attributes, or `report` to do more than fail.

    `adapter` names it as the command line does, `langgraph` or `langgraph@1.1.4`. `options` pins options of the adapter,
    the others are drawn for each run; `crashes` and `specials` are the most of each in one run (docs/CONTRACT.md, *Default
    bounds*).
    """

    adapter: ClassVar[str] = "reference"
    options: ClassVar[Mapping[str, str]] = {}
    workload: ClassVar[Workload] = Workload.linear()
    mode: ClassVar[Mode] = "in-process"
    crashes: ClassVar[int] = 2
    specials: ClassVar[int] = 2

    run_: Run | None = None
    _without: frozenset[str] = frozenset()
    _idle: Label | None = None
    _folder: Path | None = None

    # What a subclass may replace.

    def subject(self) -> Adapter:
        """The adapter that is driven."""
        return _adapter(self.adapter)

    def crash_points(self, target: Target) -> CrashPoints:
        """For each command that runs tasks, the points at which a life can die."""
        return _catalogue(self.adapter, tuple(sorted(target.options.items())), self.workload, self.mode)

    def begin(self, target: Target) -> Run | None:
        """Open the run that this example drives; None: there is none to drive, the example ends."""
        self._folder = Path(tempfile.mkdtemp(prefix="fuzzresume-"))
        session = open_session(target, self.workload, self._folder / "run", self.mode)
        can = target.capabilities
        crashes = self.crashes if can.deterministic else 0
        return Run(
            session,
            _reference(self.workload),
            scope_of(can, crashes=crashes, specials=self.specials),
            profile_of(can),
        )

    def send(self, run: Run, chosen: Label, crash: CrashPoint | None, kind: str | None) -> None:
        """Send one command: `chosen` with its crash point and its kind of damage."""
        sent = run.fill(chosen, crash, kind)
        if sent is None:
            return
        try:
            run.send(sent)
        except Unsupported as reason:
            run.unsupported[chosen] = str(reason)

    def prefer(self, run: Run, offered: list[Label]) -> list[Label]:
        """What to draw a command from: an item that stands there twice is drawn twice as often."""
        return offered

    def report(self, violation: Violation) -> None:
        """Called when the contract is violated. Raises Violated."""
        raise Violated(self.workload, violation)

    def end(self, run: Run) -> None:
        """Release the run."""
        run.session.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # Hypothesis.

    @initialize(data=st.data(), swarm=st.booleans())
    def open(self, data: st.DataObject, swarm: bool) -> None:
        """Draw the options and, in half of the runs, the commands to do without: rare interleavings need both kinds.

        Three runs in four begin with `start` here, for Hypothesis's own swarm would often do without that rule.
        """
        if swarm:
            self._without = data.draw(st.frozensets(st.sampled_from([op for op in OPS if op != "start"]), max_size=8))
        adapter = self.subject()
        options = {
            key: self.options[key] if key in self.options else data.draw(st.sampled_from(values), label=key)
            for key, values in adapter.options.items()
        }
        self.run_ = self.begin(_nearest(adapter, options, self.options))
        if self.run_ is not None and data.draw(st.integers(0, 3)) < 3:
            self._draw("start", data)

    def can(self, op: Op) -> bool:
        """Whether the reference says that `op` makes sense now."""
        return bool(self._offered(op))

    def _offered(self, op: Op | None = None) -> list[Label]:
        if self.run_ is None:
            return []
        offered = self.run_.offer()
        keep = [item for item in offered if item.op not in self._without or item.op == "recover"]
        return [item for item in keep if item != self._idle and (op is None or item.op == op)]

    def _draw(self, op: Op, data: st.DataObject) -> None:
        run = self.run_
        assert run is not None
        chosen = data.draw(st.sampled_from(self.prefer(run, self._offered(op))), label="command")
        crash = kind = None
        if chosen.op == "tamper":
            kind = data.draw(st.sampled_from(run.scope.tamper), label="damage")
        if chosen.op == "inspect" and run.session.target.capabilities.durable:
            kind = data.draw(st.sampled_from((None, ELSEWHERE)), label="from where")
        if chosen.crash:
            points = self.crash_points(run.session.target).get(op, ())
            if points:
                crash = data.draw(st.sampled_from(points), label="crash point")
            else:
                chosen = chosen._replace(crash=False)
        before = run.state
        self.send(run, chosen, crash, kind)
        # What changed nothing will change nothing again.
        self._idle = chosen if not run.over and abstract(run.state) == abstract(before) else None
        if run.violation is not None:
            self.report(run.violation)

    @precondition(lambda self: self.can("start"))
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        """Send the input."""
        self._draw("start", data)

    @precondition(lambda self: self.can("resume"))
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        """Answer a question, pending or settled."""
        self._draw("resume", data)

    @precondition(lambda self: self.can("redeliver"))
    @rule(data=st.data())
    def redeliver(self, data: st.DataObject) -> None:
        """Deliver the same bytes again."""
        self._draw("redeliver", data)

    @precondition(lambda self: self.can("stray"))
    @rule(data=st.data())
    def stray(self, data: st.DataObject) -> None:
        """Deliver an answer that nothing waits for."""
        self._draw("stray", data)

    @precondition(lambda self: self.can("fork"))
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        """Answer a question anew at its own checkpoint."""
        self._draw("fork", data)

    @precondition(lambda self: self.can("recover"))
    @rule(data=st.data())
    def recover(self, data: st.DataObject) -> None:
        """A fresh process makes the documented recovery call."""
        self._draw("recover", data)

    @precondition(lambda self: self.can("retry"))
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        """The process that saw an exception tries again."""
        self._draw("retry", data)

    @precondition(lambda self: self.can("recover2"))
    @rule(data=st.data())
    def recover2(self, data: st.DataObject) -> None:
        """Two recoveries from copies of one store."""
        self._draw("recover2", data)

    @precondition(lambda self: self.can("restart"))
    @rule(data=st.data())
    def restart(self, data: st.DataObject) -> None:
        """Send the input again to the same run."""
        self._draw("restart", data)

    @precondition(lambda self: self.can("inspect"))
    @rule(data=st.data())
    def inspect(self, data: st.DataObject) -> None:
        """Read the state."""
        self._draw("inspect", data)

    @precondition(lambda self: self.can("reload"))
    @rule(data=st.data())
    def reload(self, data: st.DataObject) -> None:
        """Drop everything in memory."""
        self._draw("reload", data)

    @precondition(lambda self: self.can("tamper"))
    @rule(data=st.data())
    def tamper(self, data: st.DataObject) -> None:
        """Damage the store."""
        self._draw("tamper", data)

    @precondition(lambda self: not self._offered())
    @rule()
    def rest(self) -> None:
        """Nothing is left to send: Hypothesis needs a rule all the same."""

    def teardown(self) -> None:
        """Close what the run holds."""
        if self.run_ is not None:
            self.end(self.run_)
