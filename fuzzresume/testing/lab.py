"""Where the checks execute traces: sessions of one target, and what was seen of each.

Nothing is used of an adapter but its protocol, and nothing of a session but what every session can do: both may live in
another environment.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.words import say_commands
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.attendant import WorkerError
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.sessions import AnySession, Mode, open_session
from fuzzresume.harness.target import AdapterSlip, StoreUnavailable, Target, TargetError
from fuzzresume.testing.result import Fails, NotExpressed, Slips, Undetermined
from fuzzresume.testing.traces import DEFAULT, disturbed, plain
from fuzzresume.testing.views import View, views


class Trial:
    """One session, the commands sent to it and what each showed. A context manager, which closes the session."""

    def __init__(self, session: AnySession, sent: Sequence[Command] = (), seen: Sequence[Observation] = ()) -> None:
        self.session = session
        self.sent = list(sent)
        self.seen = list(seen)

    @property
    def workload(self) -> Workload:
        """The program that runs."""
        return self.session.workload

    def send(self, *commands: Command) -> Observation:
        """Send commands; returns what the last one showed.

        Raises NotExpressed for one that raises Unsupported, Slips for a mistake in the adapter's own code, Fails for
        whatever else comes out of the adapter, and Undetermined for one that does not come back or for which the machine has
        no room.
        """
        for command in commands:
            self.sent.append(command)
            observation = self._execute(command)
            if observation.outcome.kind == "hung":
                raise Undetermined(f"{self.words[-1]} did not come back within {observation.outcome.seconds:g} s")
            if observation.outcome.kind == "crashed" and observation.outcome.error:
                raise self.fails(f"the process died by itself: {observation.outcome.error}")
            self.seen.append(observation)
        return self.seen[-1]

    def copied(self, folder: Path) -> Trial:
        """A trial that goes on, by a fresh life, from a copy of the store."""
        return Trial(self.session.copied(folder), self.sent, self.seen)

    def views(self, *, hooks: bool) -> list[View]:
        """What the commands showed, for comparison."""
        return views(self.seen, hooks=hooks)

    @property
    def words(self) -> tuple[str, ...]:
        """The commands sent, in words."""
        return tuple(say_commands(self.workload, self.sent))

    def fails(self, why: str, at: int | None = None) -> Fails:
        """The finding that this trial shows: at its last command, or at command `at`, counted from 0."""
        return Fails(why, self.words if at is None else self.words[: at + 1])

    def __enter__(self) -> Trial:
        """The trial itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session."""
        self.session.close()

    def _execute(self, command: Command) -> Observation:
        try:
            return self.session.execute(command)
        except Unsupported as reason:
            raise NotExpressed(f"{self.words[-1]} raises Unsupported: {reason}", self.words) from reason
        except StoreUnavailable as error:
            raise Undetermined(f"the store's server is gone: {error}") from error
        except AdapterSlip as error:
            raise Slips(str(error), self.words) from error
        except TargetError as error:
            raise NotExpressed(str(error), self.words) from error
        except WorkerError as error:
            raise self.fails(f"a worker broke: {str(error).strip().splitlines()[-1]}") from error
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise Undetermined(str(error)) from error
            raise self.fails(f"the adapter raised {type(error).__name__}: {error}") from error


class Lab:
    """Executes traces on `target`, each in a folder of its own below `folder`."""

    def __init__(self, target: Target, folder: Path, zygotes: Zygotes) -> None:
        self.target = target
        self.can = target.capabilities
        self.zygotes = zygotes
        self._folder = folder
        self._opened = 0
        self._plain: dict[Workload, tuple[Trial, Fails | None]] = {}
        self._tour: list[Trial] = []

    @property
    def deaths(self) -> Mode | None:
        """The cheapest way in which a life can die here, faithfully; None where there is none."""
        return next(iter(self.ways), None)

    @property
    def ways(self) -> tuple[Mode, ...]:
        """Every faithful way to die, the cheapest first."""
        found: list[Mode] = ["in-process"] if self.can.in_process else []
        if self.can.durable:
            found += ["images", "forked"] if self.can.images else ["forked"]
        return tuple(found)

    def folder(self) -> Path:
        """A new place for a run."""
        self._opened += 1
        return self._folder / f"run-{self._opened}"

    def open(self, workload: Workload, mode: Mode = "in-process", target: Target | None = None) -> Trial:
        """A trial of a run that nobody started. `target`: the same adapter under other options. Raises NotExpressed."""
        try:
            return Trial(open_session(target or self.target, workload, self.folder(), mode, zygotes=self.zygotes))
        except Unsupported as reason:
            raise NotExpressed(str(reason)) from reason

    def run(
        self, workload: Workload, commands: Sequence[Command], mode: Mode = "in-process", target: Target | None = None
    ) -> Trial:
        """Execute a whole trace. Raises as `Trial.send`."""
        with self.open(workload, mode, target) as trial:
            trial.send(*commands)
        return trial

    def attempt(self, workload: Workload, commands: Sequence[Command], mode: Mode = "in-process") -> Trial:
        """Execute as much of a trace as can be. Raises Slips and Undetermined."""
        with self.open(workload, mode) as trial:
            try:
                trial.send(*commands)
            except Slips:
                raise
            except Fails:
                pass
        return trial

    def plain(self, workload: Workload, *, whole: bool = True) -> Trial:
        """The run of a workload that nobody disturbs, executed once; unless it must be `whole`, as far as it goes.

        Raises as `Trial.send`; Slips in any case.
        """
        if workload not in self._plain:
            error: Fails | None = None
            with self.open(workload) as trial:
                try:
                    trial.send(*plain(workload))
                except Fails as found:
                    error = found
            self._plain[workload] = trial, error
        trial, error = self._plain[workload]
        if error is not None and (whole or isinstance(error, Slips)):
            raise error
        return trial

    def tour(self) -> Sequence[Trial]:
        """Traces with everything in them that is legal to answer in several ways, each executed once as far as it goes.

        They come by the cheapest faithful death. Raises Slips and Undetermined.
        """
        if not self._tour:
            for commands in disturbed(self.can, self.deaths is not None):
                self._tour.append(self.attempt(DEFAULT, commands, self.deaths or "in-process"))
        return self._tour
