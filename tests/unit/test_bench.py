"""The benchmarks run, and their JSON is what it says; the figures of a quick run mean nothing."""

import importlib.util
import json
import mmap
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.forked import ForkedSession
from fuzzresume.harness.target import Target, load_adapter

ROOT = Path(__file__).parents[2]


def bench(*arguments):
    return subprocess.run([sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(importlib.util.find_spec("langgraph") is None, reason="needs langgraph")
def test_a_quick_run_writes_typed_rows(tmp_path):
    file = tmp_path / "deep" / "figures.json"
    done = bench("d", "--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert (found["schema"], found["quick"]) == ("fuzzresume.bench/1", True)
    assert found["cpus"] >= 1 and {"python", "hypothesis", "langgraph"} <= found["versions"].keys()
    for row in found["rows"]:
        assert row["letter"] == "d" and row["name"] and row["unit"] and row["repetitions"] == 1
        assert row["value"] > 0 and row["alternative"] and row["alternative_value"] > 0
        assert row["met"] == judged(row["target"], row["value"])
    assert sum(row["target"] is not None for row in found["rows"]) == 1


def test_the_committed_figures_are_of_every_benchmark_and_judged_as_they_say():
    found = json.loads((ROOT / "bench" / "results" / "latest.json").read_text())
    assert (found["schema"], found["quick"]) == ("fuzzresume.bench/1", False)
    assert {row["letter"] for row in found["rows"]} == set("abcdefgh")
    assert all(row["met"] == judged(row["target"], row["value"]) for row in found["rows"])


@pytest.mark.parametrize("name", ["latest", "faster"])
def test_the_readme_quotes_the_committed_figures(name):
    sys.path.insert(0, str(ROOT))
    try:
        from bench.readme import MARKS, README, figures
        from bench.results import rows_of
        from bench.timing import MACHINE
    finally:
        sys.path.remove(str(ROOT))
    results = ROOT / "bench" / "results" / f"{name}.json"
    start, end = MARKS[results]
    quoted = README.read_text().partition(start)[2].partition(end)[0]
    committed = json.loads(results.read_text())
    assert quoted == figures(rows_of(committed))
    of_the_machine = quoted.count(f"| {MACHINE}")
    assert quoted.count("| met |") + quoted.count("| missed |") + of_the_machine == len(quoted.splitlines()) - 2


def judged(target, value):
    if target is None:
        return "no target"
    if value is None:
        return "no"
    met = value >= target["figure"] if target["direction"] == ">=" else value <= target["figure"]
    return "yes" if met else "no"


def test_an_unknown_letter_is_a_usage_error(tmp_path):
    done = bench("z", "--json", str(tmp_path / "figures.json"))
    assert done.returncode == 2 and "no benchmark z" in done.stderr
    assert not (tmp_path / "figures.json").exists()


@pytest.fixture(scope="module")
def endurance():
    """The module of (g)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        from bench import endurance
    return endurance


@pytest.fixture(scope="module")
def scenarios(endurance, tmp_path_factory):
    return endurance.scenarios_of(Target(load_adapter("reference")), tmp_path_factory.mktemp("found"))


@pytest.fixture
def series_of(endurance, tmp_path):
    """Makes series whose shared memory would appear where no other test's does."""
    numbers = count()

    def make(mode, kind=endurance.Series, adapter="reference", **options):
        folder, shared = (tmp_path / f"{name}-{next(numbers)}" for name in ("runs", "shared"))
        folder.mkdir()
        shared.mkdir()
        return kind(Target(load_adapter(adapter), options), mode, folder, shared)

    return make


def targeted(endured):
    return {row.name.partition(": ")[2]: row.met for row in endured.rows() if row.target is not None}


def test_a_quick_endurance_run_writes_rows_of_both_ways_to_die(tmp_path):
    file = tmp_path / "figures.json"
    done = bench("g", "--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(file.read_text())["rows"]}
    for way in ("SIGKILL", "crash images"):
        broken = rows[f"crash + recover in a row, {way}: runs broken"]
        assert (broken["value"], broken["alternative_value"], broken["met"]) == (0, 30, "yes")
        assert rows[f"crash + recover in a row, {way}: scenarios a second"]["value"] > 0
        assert rows[f"crash + recover in a row, {way}: memory of the controller, largest"]["value"] > 1
    assert rows["crash + recover in a row, SIGKILL: memory of the zygote, largest"]["value"] > 1


@pytest.mark.parametrize("mode", ["forked", "images"])
def test_the_reference_endures_and_leaves_nothing(series_of, scenarios, mode):
    endured = series_of(mode).endure(scenarios, 12)
    tally = endured.tally
    assert (tally.scenarios, tally.broken, tally.violations, tally.lost, tally.twice) == (12, 0, 0, 0, 0)
    assert tally.refires > 0
    assert endured.left == {"processes": 0, "descriptors": 0, "files": 0, "shared memory": 0}
    assert len(endured.controller) == 13 and len(endured.zygote) == (13 if mode == "forked" else 0)


def test_the_scenarios_die_in_every_command_and_come_in_the_seed_s_order(endurance, scenarios, tmp_path):
    assert len(set(scenarios)) == len(scenarios) > 300
    assert all(one[-1].crash.by == "kill" for one in scenarios)
    assert {one[-1].op for one in scenarios} == {"start", "resume", "fork", "recover"}
    hooks = {one[-1].crash.hook.partition(":")[0] for one in scenarios}
    assert {"effect.before", "effect.after"} < hooks
    again = endurance.scenarios_of(Target(load_adapter("reference")), tmp_path, seed=2)
    assert again != scenarios and set(again) == set(scenarios)


@pytest.mark.parametrize(
    ("fault", "shows"), [("SkipTask", "lost"), ("Replay", "twice"), ("LateRecord", "twice"), ("RefuseRecovery", "stuck")]
)
def test_a_planted_fault_is_counted(series_of, scenarios, fault, shows):
    endured = series_of("images", adapter="mutant", fault=fault).endure(scenarios, 40)
    assert getattr(endured.tally, shows) > 0 and endured.tally.violations > 0
    assert targeted(endured)["runs broken"] == "no"


@pytest.mark.parametrize("mode", ["forked", "images"])
def test_a_kill_that_kills_nobody_is_counted(series_of, mode):
    series = series_of(mode)
    with series.zygotes:
        series.play((Command("start", crash=CrashPoint("no.such.hook")),))
    assert (series.endured.tally.unharmed, series.endured.tally.broken) == (1, 1)


def leave_a_file(series, held):
    (series.folder / "forgotten").touch()


def leave_a_file_in_the_run(series, held):
    (series.folder / "run").mkdir()
    (series.folder / "run" / "forgotten").touch()


def leave_a_process(series, held):
    process = held.enter_context(subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]))
    held.callback(process.kill)


def leave_a_descriptor(series, held):
    held.callback(os.close, os.open(os.devnull, os.O_RDONLY))


def leave_a_worker(series, held):
    """A life that nobody ends."""
    folder = series.folder / "alive"
    session = held.enter_context(ForkedSession(series.subject, Workload.linear(), folder, zygotes=series.zygotes))
    session.execute(Command("start"))


def leave_shared_memory(series, held):
    (series.shared / "forgotten").touch()


def leave_nameless_shared_memory(series, held):
    path = Path("/dev/shm") / f"fuzzresume-test-{os.getpid()}"
    with path.open("x+b") as file:
        path.unlink()
        file.truncate(mmap.PAGESIZE)
        held.enter_context(mmap.mmap(file.fileno(), 0))


@pytest.mark.parametrize(
    ("leave", "mode", "shows"),
    [
        (leave_a_file, "images", {"files"}),
        (leave_a_file_in_the_run, "images", {"files"}),
        (leave_a_process, "images", {"processes"}),
        (leave_a_descriptor, "images", {"descriptors"}),
        (leave_a_worker, "forked", {"processes", "descriptors", "files"}),
        (leave_shared_memory, "images", {"shared memory"}),
        (leave_nameless_shared_memory, "images", {"shared memory", "descriptors"}),
    ],
)
def test_a_planted_leak_is_reported(endurance, series_of, scenarios, leave, mode, shows):
    class Leaky(endurance.Series):
        def play(self, scenario):
            if self.endured.tally.scenarios == 2:
                leave(self, held)
            super().play(scenario)

    with ExitStack() as held:
        endured = series_of(mode, Leaky).endure(scenarios, 4)
    assert {kind for kind, number in endured.left.items() if number} == shows
    assert endured.tally.broken == 0
    assert targeted(endured)["processes, descriptors, files, shared memory left"] == "no"


ORPHAN = """
import os, signal, sys
held = open(sys.argv[1], "w")
if pid := os.fork():
    print(pid, flush=True)
else:
    signal.pause()
"""
"""Ends at once and leaves a child, which keeps a file open."""


def test_an_orphan_is_counted_by_its_session_and_what_a_stranger_uses_is_no_memory_left(endurance, tmp_path):
    used, left = tmp_path / "used", tmp_path / "left"
    used.mkdir()
    left.mkdir()
    code = [sys.executable, "-c", ORPHAN, str(used / "file")]
    with subprocess.Popen(code, start_new_session=True, stdout=subprocess.PIPE) as parent:
        orphan = int(parent.stdout.readline())
        parent.wait()
        try:
            a_stranger, ours = (endurance.census(tmp_path / "runs", some, tmp_path) for some in ([], [parent.pid]))
        finally:
            os.kill(orphan, signal.SIGKILL)
    assert ours.processes == a_stranger.processes + 1
    assert "left" in a_stranger.shared and "used" not in a_stranger.shared
    assert {"left", "used"} <= ours.shared


@pytest.mark.parametrize(
    ("sizes", "grown", "flat"),
    [
        ([10, 90, 90, 40, 40, 40, 40, 40, 40], 0, True),  # what the start takes is no leak
        ([40, 40, 40, 40, 40, 40, 42, 42, 42], 2, True),
        ([40, 40, 40, 40, 40, 40, 42.5, 42.5, 42.5], 2.5, False),
        ([100, 100, 100, 100, 100, 100, 104, 105, 106], 5, True),
        ([100, 100, 100, 100, 100, 100, 104, 106, 108], 6, False),
        ([60, 60, 60, 60, 60, 60, 40, 40, 40], -20, True),
        ([10, 20, 30, 40], 10, False),
    ],
)
def test_growing_memory_is_reported(endurance, sizes, grown, flat):
    for whose in ("controller", "zygote"):
        samples = {"controller": [1.0] * 3, "zygote": [1.0] * 3, whose: sizes}
        endured = endurance.Endured("forked", endurance.Tally(1), 1.0, {}, **samples)
        rows = {row.name.partition(": ")[2]: row for row in endured.rows()}
        growth = rows[f"memory of the {whose}, growth in the last third"]
        assert (growth.value, growth.met) == (grown, "yes" if flat else "no")
        assert rows[f"memory of the {whose}, first"].value == sizes[0]
        assert rows[f"memory of the {whose}, largest"].value == max(sizes)


def test_memory_without_thirds_is_not_judged(endurance):
    with pytest.raises(ValueError, match="no thirds"):
        endurance.Growth.of([1.0, 2.0])
