"""Which branch and address a command means, over frontiers that the test makes up."""

from __future__ import annotations

import pytest

from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Asked, Frontier, Outcome, OutcomeKind
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.adapter import Capabilities
from fuzzresume.harness.branches import Branches
from fuzzresume.harness.env import Unsupported

Q1, Q2 = Question(2, 1), Question(2, 2)
A, B = Token(Q1, 1), Token(Q2, 2)
CAN = Capabilities(fork="an address", addressed=True, trunk=True)


class Heads:
    """A store whose newest head moves through `heads`; every other branch reads as itself."""

    def __init__(self, *heads: str | None) -> None:
        self.heads = list(heads)

    def __call__(self, branch: str | None) -> Frontier:
        return Frontier((1,) if branch is None else (1, 2), head=self.heads[0])

    def send(self, branches: Branches, command: Command, outcome: Outcome) -> Frontier:
        """One command during which the head moves on to the next."""
        _, newest = branches.before(command, Workload.linear(), self)
        if len(self.heads) > 1:
            self.heads.pop(0)
        return branches.settle(command, newest, outcome, self)


def parked(question: Question, address: str | None) -> Outcome:
    return Outcome("parked", (Asked(question, address),))


def test_a_second_fork_keeps_the_trunk_and_forgets_the_first_fork_s_addresses() -> None:
    branches, store = Branches(), Heads("h0", "h1", "h2", "h3")
    store.send(branches, Command("start"), parked(Q1, "a1"))
    store.send(branches, Command("fork", A), parked(Q2, "b2"))
    assert (branches.trunk_head, branches.latest) == ("h1", {Q2: "b2"})
    store.send(branches, Command("fork", A), Outcome("crashed"))
    assert (branches.trunk_head, branches.latest, branches.trunk) == ("h1", {}, {Q1: "a1"})


def test_branch_and_address_go_on_the_wire_together() -> None:
    branches = Branches(True, "t", {Q1: "t1"}, {Q1: "l1"})
    here, there = Command("resume", A, at="question"), Command("resume", A, at="question", branch="trunk")
    assert (branches.call(here, CAN).address, branches.call(here, CAN).branch) == ("l1", None)
    assert (branches.call(there, CAN).address, branches.call(there, CAN).branch) == ("t1", "t")
    assert branches.call(Command("resume", A), CAN).address is None
    assert branches.call(Command("stray", A), CAN).op == branches.call(Command("redeliver", A), CAN).op == "resume"
    assert branches.call(Command("resume", A), CAN).answer == A.text


def test_before_a_fork_nothing_tells_the_trunk_apart() -> None:
    with pytest.raises(Unsupported, match="no fork is known"):
        Branches(trunk={Q1: "t1"}).call(Command("resume", A, branch="trunk"), CAN)


@pytest.mark.parametrize(
    ("branches", "command", "can"),
    [
        (Branches(trunk={Q1: "t1"}), Command("fork", B), CAN),
        (Branches(trunk={Q1: "t1"}), Command("fork", A), Capabilities(addressed=True, trunk=True)),
        (Branches(trunk={Q1: "t1"}), Command("resume", A, at="question"), Capabilities(fork="x", trunk=True)),
        (Branches(True, "t", {Q1: "t1"}), Command("resume", A, at="question"), CAN),
        (Branches(True, "t"), Command("recover", branch="trunk"), Capabilities(fork="x", addressed=True)),
        (Branches(True, None), Command("recover", branch="trunk"), CAN),
    ],
)
def test_what_cannot_be_said_is_unsupported(branches: Branches, command: Command, can: Capabilities) -> None:
    with pytest.raises(Unsupported):
        branches.call(command, can)


@pytest.mark.parametrize(("kind", "served"), [("parked", True), ("completed", True), ("refused", False), ("crashed", False)])
def test_a_store_without_heads_is_believed(kind: OutcomeKind, served: bool) -> None:
    branches, store = Branches(), Heads(None)
    store.send(branches, Command("fork", A), Outcome(kind))
    assert branches.forked is served


def test_a_refused_fork_that_moved_the_store_serves_nothing() -> None:
    branches, store = Branches(), Heads("h0", "h1")
    store.send(branches, Command("fork", A), Outcome("refused"))
    assert not branches.forked


@pytest.mark.parametrize(("heads", "ends"), [(("h0", "h1"), True), (("h0",), False)])
def test_restart_ends_branches_only_when_something_became_durable(heads: tuple[str, ...], ends: bool) -> None:
    branches, store = Branches(True, "t", {Q1: "t1"}, {Q2: "l2"}), Heads(*heads)
    store.send(branches, Command("restart"), Outcome("crashed"))
    assert branches == (Branches() if ends else Branches(True, "t", {Q1: "t1"}, {Q2: "l2"}))


def test_a_question_without_an_address_forgets_nothing() -> None:
    branches, store = Branches(trunk={Q1: "t1"}), Heads("h0")
    store.send(branches, Command("recover"), parked(Q1, None))
    assert branches.trunk == {Q1: "t1"}
