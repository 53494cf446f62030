"""Nights that are killed at seeded moments, and what must be true of their database after each of them.

The stream of events is a pipe: a line that was read from it tells of something that must be in the database. As a program,
`killed_nights.py [KILLS] [SEED]` does it as often as you like; before a death it also waits a seeded moment, so that
deaths come in the middle of what the next line would have told.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fuzzresume.campaign.corpus.database import Corpus

CONFIG = """
targets = ["reference", { name = "mutant", options = { fault = "ForkIgnore" } }]
runs = 4
phases = ["regress", "tour", "minimise"]
tlc = false
"""

NIGHTLY = [sys.executable, "-m", "fuzzresume", "nightly", "--events", "events"]


@dataclass
class Told:
    """What a call told before it ended: its lines, read to the end, and its exit code."""

    lines: list[dict] = field(default_factory=list)
    code: int = 0

    def of(self, event: str) -> list[dict]:
        return [line for line in self.lines if line.get("event") == event]


def prepare(folder: Path, config: str = CONFIG) -> None:
    """A place for nights."""
    (folder / "fuzzresume.toml").write_text(config)


def night(folder: Path, lines: int, number: int = signal.SIGKILL, pause: Callable[[], object] = lambda: None) -> Told:
    """One call of `nightly`, which gets the signal as soon as it has told so many lines."""
    told = Told()
    reading, writing = os.pipe()
    # A name for its end of the pipe: whatever becomes of it, the pipe ends with it.
    events = folder / "events"
    events.unlink(missing_ok=True)
    events.symlink_to(f"/dev/fd/{writing}")
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(NIGHTLY, cwd=folder, stdout=subprocess.DEVNULL, stderr=said, pass_fds=[writing])
    os.close(writing)
    with process, open(reading) as reader:
        for line in reader:
            told.lines.append(json.loads(line))
            if len(told.lines) == lines:
                pause()
                process.send_signal(number)
    told.code = process.returncode
    assert told.lines, (folder / "said").read_text()
    return told


class Recorded:
    """What the database of nights holds, read through SQLite alone; every check of it may raise AssertionError."""

    def __init__(self, folder: Path) -> None:
        with Corpus(folder / ".fuzzresume" / "corpus.db", create=False) as corpus:
            (integrity,) = corpus.rows("PRAGMA integrity_check")
            assert integrity == ("ok",) and corpus.rows("PRAGMA foreign_key_check") == []
            self.status = dict(corpus.rows("SELECT id, status FROM campaigns"))
            self.sightings = set(
                corpus.rows("SELECT campaign, findings.finding FROM sightings JOIN findings ON id = sightings.finding")
            )
            self.traces = {sha for (sha,) in corpus.rows("SELECT sha256 FROM traces")}
            self.checks = set(corpus.rows("SELECT campaign, finding, outcome FROM night_checks"))
            self.nights = dict(corpus.rows("SELECT name, finished FROM nights ORDER BY number"))

    def holds(self, earlier: Recorded) -> None:
        """Nothing that was there before is lost."""
        ended = {name for name, status in earlier.status.items() if status == "finished"}
        assert earlier.status.keys() <= self.status.keys() and all(self.status[name] == "finished" for name in ended)
        assert earlier.sightings <= self.sightings and earlier.traces <= self.traces and earlier.checks <= self.checks
        assert earlier.nights.keys() <= self.nights.keys()

    def holds_what_was_told(self, told: Told, earlier: Recorded | None) -> None:
        """Every event that was told is in the database."""
        new = self.status.keys() - (earlier.status.keys() if earlier else set())
        assert len(new) >= len(told.of("target-started"))
        assert sum(self.status[name] == "finished" for name in new) >= len(told.of("target-finished"))
        seen = {finding for campaign, finding in self.sightings if campaign in new}
        assert {line["finding"]["id"] for line in told.of("finding-found")} <= seen
        checked = {finding.rpartition("/")[2] for campaign, finding, _ in self.checks if campaign in new}
        assert {line["name"] for line in told.of("known-checked")} <= checked


def kill_nights(folder: Path, kills: int, seed: int, pause: Callable[[random.Random], object] = lambda rng: None) -> int:
    """Kill so many calls, one after the other, and check the database after each; how many nights ended in between."""
    prepare(folder)
    rng, killed, earlier = random.Random(seed), 0, None
    while killed < kills:
        told = night(folder, rng.randrange(1, 16), pause=lambda: pause(rng))
        killed += told.code == -signal.SIGKILL
        assert told.code in (-signal.SIGKILL, 0, 1, 3), (folder / "said").read_text()
        now = Recorded(folder)
        now.holds_what_was_told(told, earlier)
        if earlier is not None:
            now.holds(earlier)
            # The same night goes on until it is over; then, and only then, there is another.
            assert len(now.nights) - len(earlier.nights) == (list(earlier.nights.values())[-1] is not None)
        earlier = now
    assert earlier is not None
    return sum(finished is not None for finished in earlier.nights.values())


if __name__ == "__main__":
    wanted, chosen = map(int, [*sys.argv[1:], *("50", "1")[len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as place:
        ended = kill_nights(Path(place), wanted, chosen, lambda rng: time.sleep(rng.random() * 0.03))
        print(f"{wanted} calls killed, {ended} nights ended in between, nothing lost")
        told = night(Path(place), 0)
        print(f"the next call ended with {told.code} after {len(told.lines)} lines: {Recorded(Path(place)).nights}")
