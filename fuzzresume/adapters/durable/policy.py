"""The legal choices (docs/CONTRACT.md, *Three kinds of branching*: choices): every one keeps the contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from fuzzresume.adapters.durable.run import Latest

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "restart": ("new-empty", "new-accumulated", "refuse", "inert", "continue"),
    "latest": ("fork", "trunk", "moved"),
    "settled": ("ignore", "refuse"),
    "fork": ("serve", "refuse"),
    "recover_parked": ("ask", "refuse"),
    "recover_completed": ("complete", "refuse"),
    "doubt": ("old", "new", "refuse"),
    "answer": ("first", "with-record"),
    "park": ("durable", "derived"),
    "record": ("plain", "journal"),
    "poisoned": ("rerun", "refuse"),
    "empty_recover": ("run", "refuse"),
    "extra_field": ("ignore", "refuse"),
    "reenter": ("no", "yes"),
    "redeliver_crashed": ("inert", "refuse", "recover"),
}
"""Every option and its values, the default first; `Policy` says what they mean."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One value for every option.

    - `restart`: what the input sent again means; *continue* continues a crashed run and is inert otherwise.
    - `latest`: the branch that no address means once a fork exists; *moved* is the one written last.
    - `settled`: the reply to an answer whose question takes none, being acknowledged or never asked.
    - `fork`, `recover_parked`, `recover_completed`: whether such a call is served.
    - `doubt`: which answer counts when a crash left one that nobody acknowledged and another arrives.
    - `answer`: durable before its task runs, or only with the task's record or the next park.
    - `park`: a row of its own, or concluded on reading from the answers that are missing.
    - `record`: one commit, or a journal row that the frontier does not show and the record in a second commit.
    - `poisoned`: whether a task whose update was refused may run again; `empty_recover`: whether a recovery with nothing
      durable runs. `extra_field`: what a field that nobody declared means.
    - `reenter`: whether a gate is entered on every call that reaches it, also when it only asks again.
    - `redeliver_crashed`: the very answer that a crash left in doubt arrives again; *recover* goes on with it.
    """

    restart: str = "new-empty"
    latest: Latest = "fork"
    settled: str = "ignore"
    fork: str = "serve"
    recover_parked: str = "ask"
    recover_completed: str = "complete"
    doubt: str = "old"
    answer: str = "first"
    park: str = "durable"
    record: str = "plain"
    poisoned: str = "rerun"
    empty_recover: str = "run"
    extra_field: str = "ignore"
    reenter: str = "no"
    redeliver_crashed: str = "inert"

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Policy:
        """The policy that `options` describe; options that are not given, and those of other adapters, stay out of it."""
        given = {name: options[name] for name in OPTIONS if name in options}
        latest = cast(Latest, given.pop("latest", "fork"))
        return cls(latest=latest, **given)


def sensible(options: Mapping[str, str]) -> bool:
    """Whether the values go together.

    Where a park is only concluded, a life that died before it could announce its question looks parked; a recovery that
    refuses parked runs would then leave nobody a way to learn the question.
    """
    policy = Policy.of(options)
    return not (policy.park == "derived" and policy.recover_parked == "refuse")
