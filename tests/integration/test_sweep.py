"""`fuzzresume sweep` on the real framework and in real processes: the ways to die agree at every crash point."""

from __future__ import annotations

import json
import re
from pathlib import Path

import command_line
import pytest

from fuzzresume.campaign.sweep.compare import differences
from fuzzresume.campaign.sweep.sweeper import Sweeper
from fuzzresume.cli_run import workspace
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.sessions import MODES
from fuzzresume.harness.target import parse_target

SMALL = Workload.linear(2, {2: 1})
TWO_GATES = Workload.linear(2, {1: 1, 2: 1})


def command(*args: object, cwd: Path, code: int) -> str:
    done = command_line.run("sweep", *args, cwd=cwd)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stdout + done.stderr
    return done.stdout if code != 2 else done.stderr


@pytest.mark.parametrize(
    ("name", "options", "workload"),
    [
        ("langgraph", {"api": "graph", "saver": "sqlite", "fork": "two-call"}, TWO_GATES),
        ("langgraph", {"api": "functional", "saver": "sqlite"}, SMALL),
        ("langgraph", {"durability": "async", "executor": "queue"}, SMALL),
        ("reference", {}, SMALL),
        ("mutant", {"fault": "LateRecord"}, SMALL),
    ],
)
def test_the_ways_to_die_agree_at_every_point(name: str, options: dict[str, str], workload: Workload) -> None:
    if name == "langgraph":
        pytest.importorskip("langgraph")
    target = parse_target(name, options)
    with workspace(workload) as executor:
        sweeps = [Sweeper(target, executor, mode).run(second=name == "reference") for mode in MODES]
    assert [one.troubles for one in sweeps] == [[], [], []]
    assert len({one.points for one in sweeps}) == 1 and sweeps[0].points > 20
    assert differences(sweeps) == []
    found = [state for section in sweeps[0].sections for state in section.states]
    assert {"W1", "W2"} <= {state.window for state in found}
    assert all(state.ended == "completed" for state in found)
    for one in sweeps:
        led = {(section.command, section.after) for section in one.sections}
        assert ("restart", "start") in led and (("resume(d, gate 2)", "fork(c, gate 1)") in led) == (workload is TWO_GATES)


def test_a_sweep_of_langgraph_lists_every_point_with_its_class(tmp_path: Path) -> None:
    pytest.importorskip("langgraph")
    shown = command("langgraph", "--json", "sweep.json", cwd=tmp_path, code=1)
    document = json.loads((tmp_path / "sweep.json").read_text())
    (way,) = document["sweeps"]
    assert (document["schema"], document["exit_code"], way["mode"]) == ("fuzzresume.sweep/1", 1, "images")
    assert sum(len(state["points"]) for section in way["sections"] for state in section["states"]) == way["points"]
    listed = [line for line in shown.splitlines() if line.startswith(("  killed at", "  exception at"))]
    assert len(listed) == sum(len(section["states"]) for section in way["sections"])
    first = next(line for line in listed if line.startswith("  killed at effect.after:1 +1 "))
    assert re.split(r"\s{2,}", first.strip())[1:7] == ["W2", "{}", "{1}", "{1} EO-b", "-", "completed"]


def test_a_sweep_of_the_reference_is_clean_in_all_ways(tmp_path: Path) -> None:
    shown = command("reference", "--mode", "all", "--second", cwd=tmp_path, code=0)
    assert "images, in-process, forked agree at all" in shown and "EO-a" not in shown and "broken 1" not in shown


def test_a_store_in_memory_dies_in_process_only(tmp_path: Path) -> None:
    pytest.importorskip("langgraph")
    assert "in memory" in command("langgraph", "-o", "saver=memory", "--mode", "forked", cwd=tmp_path, code=2)
    shown = command("langgraph", "-o", "saver=memory", "--mode", "all", cwd=tmp_path, code=1)
    assert "not forked: a store in memory" in shown and "no second way to die" in shown


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("nothing",), "no target is called"),
        (("reference", "--mode", "sudden"), "--mode sudden: it is one of"),
        (("reference", "-o", "restart"), "key=value"),
        (("reference", "--json", "."), "that is a folder"),
        (("langgraph", "-o", "executor=threads", "--mode", "in-process"), "no faithful death"),
    ],
)
def test_a_wrong_command_line_is_one_line(tmp_path: Path, args: tuple[str, ...], says: str) -> None:
    if args[0] == "langgraph":
        pytest.importorskip("langgraph")
    (line,) = command(*args, cwd=tmp_path, code=2).strip().splitlines()
    assert says in line
