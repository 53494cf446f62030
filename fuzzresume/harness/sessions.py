"""The one door to sessions: which way to die is a word."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, TypeVar, get_args

from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.deadline import DEFAULT_LIMIT
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.forked import ForkedSession, Zygotes
from fuzzresume.harness.images import ImageSession
from fuzzresume.harness.inprocess import InProcessSession
from fuzzresume.harness.remote import RemoteAdapter
from fuzzresume.harness.session import Standing
from fuzzresume.harness.target import Target

Mode = Literal["in-process", "images", "forked"]
MODES: tuple[Mode, ...] = get_args(Mode)

S = TypeVar("S", bound="AnySession")


class AnySession(Protocol):
    """What every session can do, wherever it runs; see `harness.session.Session`."""

    target: Target
    workload: Workload
    folder: Path

    def execute(self, command: Command) -> Observation:
        """Send one command and observe it. Raises Unsupported, with nothing sent, for what the target cannot express."""
        ...

    def copied(self: S, folder: Path) -> S:
        """A session in `folder` that goes on, by a fresh life, from a copy of the store as it is now."""
        ...

    def standing(self) -> Standing:
        """Where the run stands now."""
        ...

    def close(self) -> None:
        """End the present life. The session can go on afterwards, with a fresh one."""
        ...

    def __enter__(self: S) -> S:
        """The session itself."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close."""
        ...


def open_session(
    target: Target,
    workload: Workload,
    folder: Path,
    mode: Mode = "in-process",
    *,
    zygotes: Zygotes | None = None,
    limit: float = DEFAULT_LIMIT,
) -> AnySession:
    """A session of `target` in `folder`, which must hold no run yet (FileExistsError).

    `limit` are seconds a command may take; `zygotes` matter to forked sessions only. Raises Unsupported when the target
    cannot die this way: a store in memory has neither images nor SIGKILL. Raises ValueError for an unknown mode.
    """
    if mode not in MODES:
        raise ValueError(f"mode: {mode!r} is not one of {', '.join(MODES)}")
    if mode != "in-process" and not target.capabilities.durable:
        raise Unsupported(f"{target.label} keeps its store in memory here, which no {mode} death spares")
    if isinstance(target.adapter, RemoteAdapter):
        return target.adapter.session(target, workload, folder, mode, limit)
    match mode:
        case "in-process":
            return InProcessSession(target, workload, folder, limit=limit)
        case "images":
            if not target.capabilities.images:
                raise Unsupported(f"a copy of {target.label}'s store is no faithful death; run it forked")
            return ImageSession(target, workload, folder, limit=limit)
        case "forked":
            return ForkedSession(target, workload, folder, zygotes=zygotes, limit=limit)
