"""One run: a session that executes and a monitor that judges, moving together (docs/DESIGN.md).

Everything that sends commands, a machine, a tour, a replay or the minimiser, goes through here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.life import Faults
from fuzzresume.contract.menu import Label, Scope, Spent, abstract, command, menu, spend
from fuzzresume.contract.monitor import Monitor, Violation, World
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State
from fuzzresume.contract.workload import Question, Token
from fuzzresume.harness.adapter import Capabilities
from fuzzresume.harness.choices import Choices
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.sessions import AnySession


def scope_of(capabilities: Capabilities, *, crashes: int = 1, specials: int = 1) -> Scope:
    """The scope that a target's capabilities leave open."""
    return Scope(
        fork=capabilities.fork is not None,
        trunk=capabilities.trunk,
        addressed=capabilities.addressed,
        schema=capabilities.schema,
        retry=capabilities.retry,
        twin=capabilities.durable,
        tamper=capabilities.tamper,
        crashes=crashes,
        specials=specials,
    )


def profile_of(capabilities: Capabilities) -> Faults:
    """The switches that the target's own documentation excuses."""
    return frozenset(d.switch for d in capabilities.documented) or NONE


@dataclass
class Run:
    """A session and its monitor. `send` executes and judges; `offer` says what to send next.

    `choices` are what the target was seen to choose in other runs: of several worlds that explain this one, those that rest
    on the same are the likelier.
    """

    session: AnySession
    reference: Reference
    scope: Scope
    profile: Faults = NONE
    spent: Spent = field(default_factory=Spent)
    violation: Violation | None = None
    unsupported: dict[Label, str] = field(default_factory=dict)
    hung: bool = False
    choices: Choices = field(default_factory=Choices)

    def __post_init__(self) -> None:
        self.monitor = Monitor(self.reference, self.profile)
        self._last_token: dict[Question, Token] = {}

    @property
    def state(self) -> State:
        """The likeliest of the worlds that explain the run: the generators' idea of where it stands."""
        worlds = self.monitor.worlds
        return worlds[0].state if len(worlds) == 1 else min(worlds, key=self._unlike).state

    @property
    def certain(self) -> bool:
        """Whether all the likeliest worlds agree on the state that coverage counts."""
        worlds = self.monitor.worlds
        if len(worlds) == 1:
            return True
        unlike = [self._unlike(world) for world in worlds]
        least = min(unlike)
        likeliest = {abstract(world.state) for world, count in zip(worlds, unlike, strict=True) if count == least}
        return len(likeliest) == 1

    def _unlike(self, world: World) -> int:
        """How many of the choices that a world rests on the target was not seen to make."""
        return sum(not self.choices.makes(choice, value) for choice, value in world.policy)

    @property
    def over(self) -> bool:
        """Nothing more may be sent."""
        return self.violation is not None or self.hung or not self.monitor.worlds or self.state.over

    def offer(self) -> tuple[Label, ...]:
        """What may be sent next, without what the API turned out not to express."""
        if self.over:
            return ()
        wanted = menu(self.reference.workload, self.state, self.spent, self.scope)
        return tuple(item for item in wanted if item not in self.unsupported)

    def fill(self, chosen: Label, crash: CrashPoint | None = None, kind: str | None = None) -> Command | None:
        """The command for a label with the next unused token, or with the last one when it is delivered again.

        None when there is no such token.
        """
        token: Token | None = None
        if chosen.question is not None:
            token = Token(chosen.question, self.spent.tokens + 1)
            if not chosen.fresh:
                token = self._last_token.get(chosen.question)
                if token is None:
                    return None
        return command(chosen, token, crash, kind)

    def send(self, sent: Command) -> Observation:
        """Execute and judge one command. Raises Unsupported when the API cannot express it; nothing was sent then."""
        observation = self.session.execute(sent)
        before = self.state
        if observation.outcome.kind == "hung":
            self.hung = True
        self.violation = self.monitor.observe(sent, observation)
        self.spent = spend(before, self.spent, sent, observation.outcome.kind)
        if sent.token is not None and sent.op in ("resume", "redeliver"):
            self._last_token[sent.token.question] = sent.token
        return observation

    def replay(self, commands: Iterable[Command]) -> Violation | None:
        """Send a fixed list of commands until one violates. Raises Unsupported as `send` does."""
        for sent in commands:
            if self.over:
                break
            self.send(sent)
        return self.violation


__all__ = ["Run", "Unsupported", "profile_of", "scope_of"]
