"""Which branch a command means, and by which address (docs/CONTRACT.md, *Words*: branch, epoch, frontier).

Pure bookkeeping over frontiers: it reads stores only through the function it is given, so that the same rules hold for a
live run and for a crash image of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Frontier, Outcome
from fuzzresume.contract.workload import Question, Workload
from fuzzresume.harness.adapter import Capabilities
from fuzzresume.harness.calls import Call, CallOp
from fuzzresume.harness.env import Unsupported

ReadFrontier = Callable[[str | None], Frontier]

_CALLS: dict[str, CallOp] = {
    "start": "start", "resume": "resume", "redeliver": "resume", "stray": "resume", "fork": "fork", "recover": "recover",
    "retry": "recover", "restart": "restart", "inspect": "inspect",
}  # fmt: skip


@dataclass
class Branches:
    """The trunk's position once a fork was served, and the addresses announced on the trunk and on the fork."""

    forked: bool = False
    trunk_head: str | None = None
    trunk: dict[Question, str] = field(default_factory=dict)
    latest: dict[Question, str] = field(default_factory=dict)

    def call(self, command: Command, can: Capabilities) -> Call:
        """The wire call of `command`. Raises Unsupported, before anything is sent, when an address it needs is missing."""
        address: str | None = None
        question = command.question
        if command.op == "fork":
            if can.fork is None:
                raise Unsupported("the API has no way to say fork")
            address = self._announced(self.trunk, question)
        elif command.at == "question" and question is not None:
            if not can.addressed:
                raise Unsupported("a resume cannot carry the address of its question")
            address = self._announced(self._addresses(command), question)
        branch: str | None = None
        if command.branch == "trunk" and not self.forked:
            raise Unsupported("no fork is known here, so nothing tells the trunk apart")
        if self._on_trunk(command):
            if not can.trunk or self.trunk_head is None:
                raise Unsupported("the trunk cannot be addressed once a fork exists")
            branch = self.trunk_head
        answer = command.token.text if command.token else ""
        return Call(_CALLS[command.op], question, answer, address, branch, command.crash, command.poison)

    def before(self, command: Command, workload: Workload, read: ReadFrontier) -> tuple[Frontier, Frontier]:
        """The frontier before `command` on the branch it means, and the newest one: its head tells later what moved."""
        newest = read(None)
        if command.op == "fork" and command.question is not None:
            order = workload.order
            return Frontier(order[: order.index(command.question.task)]), newest
        return (read(self.trunk_head) if self._on_trunk(command) else newest), newest

    def settle(self, command: Command, newest: Frontier, outcome: Outcome, read: ReadFrontier) -> Frontier:
        """Learn from how `command` ended; returns the frontier after it on its branch (of a refused fork: on the trunk).

        `newest` is the newest frontier before the command, as `before` returned it.
        """
        now = read(None)
        moved = _moved(newest, now, outcome)
        after = now
        if command.op == "fork":
            if outcome.kind != "refused" and moved:
                self._serve_fork(newest.head)
            elif outcome.kind != "refused" and outcome.address not in (None, newest.head):
                # The newest position is not the fork's where "latest" goes on meaning the trunk.
                self._serve_fork(newest.head)
                after = read(outcome.address)
            elif self.forked and self.trunk_head is not None:
                after = read(self.trunk_head)
        elif command.op == "restart":
            if moved:
                self.forked, self.trunk_head, self.trunk, self.latest = False, None, {}, {}
        elif self._on_trunk(command):
            if moved:
                self.trunk_head = now.head
            else:
                after = read(self.trunk_head)
        heard = self.latest if self.forked and command.op == "fork" else self._addresses(command)
        heard.update({asked.question: asked.address for asked in outcome.asked if asked.address is not None})
        return after

    def settle_race(self, command: Command, newest: Frontier, outcomes: Sequence[Outcome], read: ReadFrontier) -> Frontier:
        """Learn from how a race ended; returns the newest frontier after it. `newest` is the one before it."""
        now = read(None)
        for racer, outcome in zip(command.racers, outcomes, strict=True):
            if racer.op == "fork" and outcome.kind != "refused" and _moved(newest, now, outcome):
                self._serve_fork(newest.head)
        for racer, outcome in zip(command.racers, outcomes, strict=True):
            heard = self.latest if self.forked and racer.op == "fork" else self._addresses(racer)
            heard.update({asked.question: asked.address for asked in outcome.asked if asked.address is not None})
        return now

    def _serve_fork(self, trunk_head: str | None) -> None:
        if not self.forked:
            self.forked, self.trunk_head = True, trunk_head
        self.latest = {}

    def _on_trunk(self, command: Command) -> bool:
        return self.forked and command.branch == "trunk"

    def _addresses(self, command: Command) -> dict[Question, str]:
        return self.latest if self.forked and command.branch == "latest" else self.trunk

    @staticmethod
    def _announced(addresses: dict[Question, str], question: Question | None) -> str:
        if question is None or question not in addresses:
            raise Unsupported(f"no address was announced for question {question.text if question else '?'} on this branch")
        return addresses[question]


def _moved(before: Frontier, now: Frontier, outcome: Outcome) -> bool:
    """Whether the command moved the store's head; one without heads is believed to have moved when the call went well."""
    if before.head is None and now.head is None:
        return outcome.kind not in ("refused", "crashed", "hung")
    return before.head != now.head
