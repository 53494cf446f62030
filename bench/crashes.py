"""(c) Crash + recover scenarios a second, on LangGraph, by each of the ways to die.

A scenario starts a run, dies at a crash point inside a command and recovers in a fresh life; the monitor judges every
command. The crash points are all kills of the plain run (start, two answers), as measured on the target itself, so a
scenario has two to four commands.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from bench.fresh import FreshInterpreters
from bench.place import place
from bench.results import Row, Target
from bench.timing import alternate, bare_loop, machine, rate
from fuzzresume.contract.commands import Command
from fuzzresume.contract.monitor import Exchange, judge
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Token, Workload
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.images import ImageSession
from fuzzresume.harness.run import Run, scope_of
from fuzzresume.harness.session import crash_points
from fuzzresume.harness.sessions import Mode, open_session
from fuzzresume.harness.target import Target as Subject
from fuzzresume.harness.target import load_adapter

WORKLOAD = Workload.linear()
PLAIN = (Command("start"), *(Command("resume", Token(q, n)) for n, q in enumerate(WORKLOAD.questions(), 1)))
RECOVER = Command("recover")

Scenario = tuple[Command, ...]


class Crashes:
    """The scenarios of one target, and the ways to play them; all files are inside `place`."""

    def __init__(self, options: dict[str, str], place: Path) -> None:
        self.subject = Subject(load_adapter("langgraph"), options)
        self.place = place
        self.reference = Reference(WORKLOAD)
        self.scenarios = self._find()

    def play(self, scenario: Scenario, mode: Mode, zygotes: Zygotes | None = None) -> None:
        """One scenario, in a folder of its own that is removed afterwards. Raises RuntimeError when nothing died."""
        folder = self.place / "run"
        with open_session(self.subject, WORKLOAD, folder, mode, zygotes=zygotes) as session:
            run = Run(session, self.reference, scope_of(self.subject.capabilities))
            kinds = [run.send(command).outcome.kind for command in scenario]
        shutil.rmtree(folder, ignore_errors=True)
        if kinds[-2] != "crashed":
            raise RuntimeError(f"no death in {scenario[-2]}: {kinds}")

    def play_all(self, mode: Mode, zygotes: Zygotes | None = None, stride: int = 1) -> None:
        """Every scenario, or every `stride`-th."""
        for scenario in self.scenarios[::stride]:
            self.play(scenario, mode, zygotes)

    def sweep(self) -> tuple[int, int]:
        """All crash points of one plain run, from images: each state that a death can leave is recovered from once.

        Returns how many crash points there are, and how many different images they leave.
        """
        points = images = 0
        told: list[Exchange] = []
        with ImageSession(self.subject, WORKLOAD, self.place / "swept") as session:
            for command in PLAIN:
                swept = session.sweep(command)
                for image in swept.images:
                    points, images = points + len(image.points), images + 1
                    with session.session_at(image, self.place / "image") as after:
                        recovered = after.execute(RECOVER)
                    shutil.rmtree(after.folder)
                    died = (replace(command, crash=image.points[0]), image.observation)
                    judge(self.reference, [*told, died, (RECOVER, recovered)])
                told.append((command, swept.observation))
        shutil.rmtree(session.folder, ignore_errors=True)
        return points, images

    def _find(self) -> list[Scenario]:
        found: list[Scenario] = []
        with open_session(self.subject, WORKLOAD, self.place / "plain") as session:
            for at, command in enumerate(PLAIN):
                points = crash_points(session.execute(command).hooks)
                deaths = [replace(command, crash=point) for point in points if point.by == "kill"]
                found += [(*PLAIN[:at], death, RECOVER) for death in deaths]
        shutil.rmtree(session.folder, ignore_errors=True)
        return found


def benchmark(quick: bool) -> list[Row]:
    """The rows of (c)."""
    repetitions, stride = (1, 16) if quick else (7, 1)
    with place() as folder, Zygotes() as zygotes:
        file = Crashes({}, folder)
        memory = Crashes({"saver": "memory"}, folder)
        fresh = FreshInterpreters()
        few = 16 if quick else 8
        times = alternate(
            {
                "file": lambda: file.play_all("in-process", stride=stride),
                "memory": lambda: memory.play_all("in-process", stride=stride),
                "images": file.sweep,
                "forked": lambda: file.play_all("forked", zygotes, stride=stride),
                "fresh": lambda: file.play_all("forked", fresh, stride=few),
                "loop": bare_loop,
            },
            repetitions,
        )
        points, images = file.sweep()
    number = len(file.scenarios[::stride])
    other = rate(len(file.scenarios[::few]), times["fresh"])

    def row(name: str, count: int, way: str, unit: str, least: float | None) -> Row:
        target = None if least is None else Target(">=", least)
        return Row("c", name, rate(count, times[way]), unit, repetitions, target, "a fresh interpreter per life", other)

    memories = len(memory.scenarios[::stride])
    return [
        row("crash + recover in process, SQLite file", number, "file", "scenarios/s", 100),
        row("crash + recover in process, memory saver", memories, "memory", "scenarios/s", 100),
        row("sweep of all crash images, points covered", points, "images", "points/s", 200),
        row("the same sweep, distinct images", images, "images", "images/s", None),
        row("crash + recover forked, real SIGKILL", number, "forked", "scenarios/s", 20),
        machine("c", times["loop"]),
    ]
