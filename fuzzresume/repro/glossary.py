"""The words of a finding for who has never seen them, and only those that occur in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MEANINGS = (
    (
        r"(?:resume|redeliver|stray|fork)\((\w+), gate (\d+)[^)]*\)",
        "`{0}` sends the answer {1} to gate {2}, which is task {2}, a task that asks",
    ),
    (r"\bfork\(", "a fork goes back to where the gate asked, and answers there once more, on a branch of its own"),
    (r"\bredeliver\(", "to redeliver is to send an answer again that was sent before"),
    (r"\bstray\(", "a stray is an answer that nobody waits for"),
    (
        r"\brecover2?\b",
        "to recover is to make the call that is documented for going on, from a new process, with nothing new",
    ),
    (r"\brestart\b", "to restart is to send the input again to the same run"),
    (r"\breload\b", "a reload throws away all objects of the process and builds them anew"),
    (r"\btamper\([\w-]+\)", "`{0}` damages what is stored"),
    (r"\bkilled at [\w.:]+", "`{0}`: SIGKILL ends the process when it gets there"),
    (r"\bexception at [\w.:]+", "`{0}`: the task raises an exception when it gets there"),
    (
        r"\b(\d+) to \w+\.[\w.:]+",
        "in a race, `{0}` lets racer {1} go on until it is about to pass that point, and then the next one",
    ),
    (r"\bquestion (\d+)\.(\d+)", "`{0}` is the one that task {1} asks as its number {2}"),
    (r"\b(\d+)\(([a-z]+(?:, [a-z]+)*)\)", "`{0}` is the effect of task {1}, which used the answer {2}"),
    (r"\bfrontier\b", "the frontier is the set of tasks that the store records as done"),
)
"""What a word looks like, and what it means; `{0}` is the word as it occurs first, `{1}` a part of it."""


def glossary(lines: Iterable[str]) -> str:
    """What the words of these lines mean, in a clause a word; empty where none needs it."""
    text = "\n".join(lines)
    found = ((re.search(pattern, text), meaning) for pattern, meaning in _MEANINGS)
    said = [meaning.format(word[0], *word.groups()) for word, meaning in found if word is not None]
    return "; ".join(said) + "." if said else ""
