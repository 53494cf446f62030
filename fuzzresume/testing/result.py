"""What a check finds, and how it says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "fails", "inapplicable", "undetermined"]


class Fails(Exception):
    """The adapter mistranslates; `trace` are the commands that show it, in words."""

    def __init__(self, why: str, trace: tuple[str, ...] = ()) -> None:
        super().__init__(why)
        self.why = why
        self.trace = trace


class NotExpressed(Fails):
    """A command raised Unsupported; a check that expects that catches it."""


class Slips(Fails):
    """A mistake in the adapter's own code came out of a call: no check excuses that."""


class Inapplicable(Exception):
    """There is nothing to check here; the message says why."""


class Undetermined(Exception):
    """The check could not be made: a command hung, or the machine had no room. The message says what happened."""


class NotConforming(AssertionError):
    """The adapter does not conform, or nobody could tell; the message is the report."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one check found. `why` also says, for an `ok`, what was seen; `trace` are commands in words."""

    check: str
    status: Status
    why: str = ""
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = f"{self.check:<13} {self.status}"
        if self.why:
            words += f": {self.why}"
        if self.trace:
            words += f" [trace: {'; '.join(self.trace)}]"
        return words


@dataclass(frozen=True, slots=True)
class Report:
    """What the kit found out about one adapter under `options`; a result for each check, in order."""

    target: str
    options: Mapping[str, str]
    results: tuple[Result, ...]

    @property
    def failed(self) -> tuple[Result, ...]:
        """The checks that fail."""
        return tuple(result for result in self.results if result.status == "fails")

    @property
    def undetermined(self) -> tuple[Result, ...]:
        """The checks that could not be made."""
        return tuple(result for result in self.results if result.status == "undetermined")

    @property
    def conforms(self) -> bool:
        """Every check that applies was made, and none fails."""
        return not self.failed and not self.undetermined

    @property
    def verdict(self) -> str:
        """The last line: the adapter conforms, does not, or nobody could tell."""
        if self.failed:
            return f"{self.target} does not conform: {', '.join(result.check for result in self.failed)}"
        if self.undetermined:
            return f"{self.target}: undetermined: {', '.join(result.check for result in self.undetermined)}"
        return f"{self.target} conforms"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.results), self.verdict])
