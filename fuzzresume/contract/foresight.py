"""What a list of commands could show, before it is executed: only the reference is asked (docs/DESIGN.md, *Searching*).

The minimiser needs to know whether some mechanisms could make commands break the contract at all: a list with which they
cannot costs no execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fuzzresume.contract.commands import Command
from fuzzresume.contract.life import Faults
from fuzzresume.contract.monitor import Seen, World, advance
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import Expect, State

Worlds = tuple[World, ...]


def can_violate(
    reference: Reference, commands: Sequence[Command], profile: Faults, mechanisms: Iterable[frozenset[str]]
) -> bool:
    """Whether any of these sets of mechanisms, beyond the profile, could make the commands show what the contract forbids.

    Never wrongly False: what an expectation leaves open counts as different.
    """
    return any(_can(reference, commands, profile, profile | switches) for switches in mechanisms)


def _can(reference: Reference, commands: Sequence[Command], profile: Faults, faults: Faults) -> bool:
    start = (World(State()),)
    pasts: dict[tuple[Worlds, Worlds], None] = {(start, start): None}
    for command in commands:
        onward: dict[tuple[Worlds, Worlds], None] = {}
        for legal, broken in pasts:
            for expect, after in _shown(reference, broken, command, faults):
                seen = Seen(expect, frozenset())
                still = tuple(advance(reference, legal, command, seen, profile))
                if not any(_says(transition.expect, expect) for _, transition in still):
                    return True
                onward[tuple(dict.fromkeys(world for world, _ in still)), after] = None
        pasts = onward
    return False


def _shown(reference: Reference, worlds: Worlds, command: Command, faults: Faults) -> Iterator[tuple[Expect, Worlds]]:
    """Everything that can be seen of a command, each with the worlds that are left then."""
    moves = tuple(advance(reference, worlds, command, None, faults))
    for expect in dict.fromkeys(transition.expect for _, transition in moves):
        left = advance(reference, worlds, command, Seen(expect, frozenset()), faults)
        yield expect, tuple(dict.fromkeys(world for world, _ in left))


def _says(legal: Expect, shown: Expect) -> bool:
    """Whether the legal expectation admits everything that this one may stand for."""
    return all(mine is None or mine == its for mine, its in zip(legal, shown, strict=True))
