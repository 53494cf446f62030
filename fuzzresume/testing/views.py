"""What two executions must agree on, and the first thing on which they do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Mark

View = dict[str, Any]
"""What one command showed, by the words of `difference`."""


def view(observation: Observation, *, hooks: bool) -> View:
    """What an execution shows that another one of the same trace must show too.

    Not compared: addresses and heads, which may be drawn anew each time, the text of an error, and `exit` entries, which
    nothing rests on. `hooks`: the hooks passed count as well.
    """
    outcome = observation.outcome
    found: View = {
        "outcome": " ".join(filter(None, (outcome.kind, outcome.error))),
        "asked": [asked.question.text for asked in outcome.asked],
        "final state": _texts(outcome.marks),
        "ledger": [
            f"{entry.kind} {Mark(entry.task, entry.tokens).text}" for entry in observation.entries if entry.kind != "exit"
        ],
        "frontier before": observation.before.done,
        "frontier after": observation.after.done,
    }
    if hooks:
        found["hooks"] = list(observation.hooks)
    return found


def views(observations: Sequence[Observation], *, hooks: bool) -> list[View]:
    """The views of a trace."""
    return [view(observation, hooks=hooks) for observation in observations]


def difference(one: Sequence[View], other: Sequence[View]) -> tuple[int, str] | None:
    """The index of the first command on which two executions differ, and how; None where they agree.

    An execution that ended early differs from a longer one at the command after its last.
    """
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        for name, seen in left.items():
            if name in right and seen != right[name]:
                return index, f"{name}: {_say(seen, right[name])}"
    if len(one) != len(other):
        return min(len(one), len(other)), f"{len(one)} commands could be sent, or {len(other)}"
    return None


def _say(one: Any, other: Any) -> str:
    """Two values; of two lists no more than where they part."""
    if isinstance(one, list) and isinstance(other, list):
        at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        ends = [str(found[at]) if at < len(found) else "nothing more" for found in (one, other)]
        return f"{ends[0]}, or {ends[1]}" + (f" (after {at} that are alike)" if at else "")
    return f"{_plain(one)}, or {_plain(other)}"


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(map(str, value)) + "}"
    return "unknown" if value is None else str(value)


def _texts(marks: Sequence[Mark] | None) -> list[str] | None:
    return None if marks is None else [mark.text for mark in marks]
