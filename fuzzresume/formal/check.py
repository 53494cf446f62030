"""Checking the models of `tla/` and laying what TLC counts beside the figures that the folder states."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Generator, Sequence
from importlib import resources
from typing import Any

import msgspec

from fuzzresume.formal.toolchain import LARGE, LIVENESS, SMALL, Result, Running, Toolchain, outcome, side_by_side

Row = dict[str, int]


class Figures(msgspec.Struct, forbid_unknown_fields=True):
    """One configuration of a model: what it is, and the figures that it must give.

    `depth` counts states, the initial one is 1; it is None where TLC prints none, because a temporal property is violated.
    `falls` has the depth at which each property first falls; `matrix` the same for each of several fault sets, and
    `events` the length of each fault set's shortest violating word.
    """

    module: str
    about: str
    generated: int
    distinct: int
    checked: list[str]
    depth: int | None = None
    falls: Row = {}
    matrix: dict[str, Row] = {}
    events: Row = {}
    liveness: str = ""
    large: bool = False


class Checked(msgspec.Struct):
    """A configuration that was run: the figures stated, those measured, and how they differ."""

    name: str
    stated: Figures
    measured: Figures
    differs: list[str]


def figures() -> dict[str, Figures]:
    """The figures of every configuration in `tla/figures`, in the order of files and tables."""
    found: dict[str, Figures] = {}
    folder = resources.files("fuzzresume.tla") / "figures"
    for file in sorted(folder.iterdir(), key=lambda item: item.name):
        if file.name.endswith(".toml"):
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
            found.update({name: msgspec.convert(table, Figures) for name, table in tables.items()})
    return found


def check(name: str, stated: Figures, toolchain: Toolchain, running: Running | None = None) -> Checked:
    """Run one configuration. Raises TlcError."""
    config = (resources.files("fuzzresume.tla") / "cfg" / f"{name}.cfg").read_text(encoding="utf-8")
    flags = LARGE if stated.large else SMALL
    measured = _measured(stated, toolchain.run(stated.module, config, flags=flags, running=running))
    differs = [
        f"{field} {getattr(measured, field)} instead of {getattr(stated, field)}"
        for field in ("generated", "distinct", "depth", "checked", "falls", "matrix", "events", "liveness")
        if getattr(measured, field) != getattr(stated, field)
    ]
    return Checked(name, stated, measured, differs)


def check_all(chosen: Sequence[str], toolchain: Toolchain) -> Generator[Checked, None, None]:
    """Run configurations side by side, one a core; yields them in the order chosen.

    Interrupted, it kills every TLC that runs. Raises TlcError.
    """
    known = figures()
    with side_by_side(os.cpu_count() or 1) as (pool, running):
        ahead = [pool.submit(check, name, known[name], toolchain, running) for name in chosen]
        yield from map(outcome, ahead)


def _measured(stated: Figures, result: Result) -> Figures:
    """What TLC says. That a property or a fault set does not fall counts only where TLC says that it was looked at."""
    falls: Row = {}
    events: Row = {}
    matrix: dict[str, Row] = {}
    checked: set[str] = set()
    for said in result.prints:
        match said:
            case ("checks", frozenset() as names):
                checked |= names
            case ("explored", frozenset() as faults):
                matrix.setdefault(_set(faults), {})
            case ("falls", str(name), int(depth)):
                falls[name] = depth
            case ("falls", frozenset() as faults, str(name), int(depth)):
                matrix[_set(faults)][name] = depth
            case ("shortest", frozenset() as faults, int(length)):
                events[_set(faults)] = length
    liveness = {True: "violated", False: "holds"}[result.exit == LIVENESS] if stated.liveness else ""
    changed: dict[str, Any] = {"falls": falls, "matrix": matrix, "events": events, "liveness": liveness}
    if not matrix and not events:
        changed["checked"] = [*(n for n in stated.checked if n in checked), *sorted(checked - set(stated.checked))]
    counts = {"generated": result.generated, "distinct": result.distinct, "depth": result.depth or None}
    return msgspec.structs.replace(stated, **changed, **counts)


def _set(faults: frozenset[str]) -> str:
    return "+".join(sorted(faults)) or "none"
