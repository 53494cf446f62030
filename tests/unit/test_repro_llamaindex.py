"""Scripts for LlamaIndex Workflows: what they hold, what they leave out, and what cannot be written."""

from dataclasses import replace

import pytest
from repro_scripts import require_sound, shipped

from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.repro.llamaindex import RECIPE
from fuzzresume.repro.plan import NoScript, Plan, Step
from fuzzresume.repro.script import held, script

TRACES = shipped("llamaindex")


def trace(identity):
    return next(trace for trace in TRACES.values() if trace.found.id == identity)


def with_options(trace, **options):
    return replace(trace, options={**trace.options, **options})


def test_every_shipped_trace_has_a_sound_script(tmp_path):
    assert len(require_sound(TRACES, tmp_path)) >= 11


def test_a_script_has_only_what_its_trace_needs():
    plain = script(trace("CO-dc3fd7"))
    for word in ("wait_for_event", "InOrder", "QUIET.late", "note", "damage", "def recorded", 'reach("save', "def look"):
        assert word not in plain, word
    assert 'run.answer(Answer2_1(response="b"))' in plain and "StepState.NOT_RUNNING" in plain


def test_each_way_to_ask_and_to_save_is_written(tmp_path):
    ways = [(idiom, "step", "sync", "declared") for idiom in ("events", "wait", "wait-bare", "one-step")]
    ways += [
        ("events", "park", "sync", "declared"),
        ("events", "step", "slow", "declared"),
        ("wait", "park", "late", "plain"),
    ]
    traces = {
        "-".join(way): with_options(trace("CO-91b53c"), **dict(zip(("idiom", "policy", "save", "input"), way, strict=True)))
        for way in ways
    }
    sources = require_sound(traces, tmp_path)
    assert 'HumanResponseEvent(response="a", question="2.1")' in sources["wait-step-sync-declared"]
    assert 'HumanResponseEvent(response="a")' in sources["wait-bare-step-sync-declared"]
    assert "StartEvent(topic" in sources["wait-park-late-plain"]
    assert "isinstance(event, InputRequiredEvent)" in sources["events-park-sync-declared"]


def test_every_point_of_the_file_is_written_where_it_is_named(tmp_path):
    killed = trace("EO-dc4d27")
    points = ["save.before", "save.half", "save.written", "save.after", "load.before", "load.after"]
    traces = {
        point: replace(
            killed,
            commands=(killed.commands[0], replace(killed.commands[1], crash=CrashPoint(point)), killed.commands[2]),
        )
        for point in points
    }
    for point, source in require_sound(traces, tmp_path).items():
        assert source.count("reach(") == 4 and f'reach("{point}")' in source, point


def test_the_journal_is_written_with_its_points_and_its_damage(tmp_path):
    killed, damaged = trace("EO-dc4d27"), trace("CV-15c4fb")
    deaths = {
        point: (killed.commands[0], replace(killed.commands[1], crash=CrashPoint(point)), killed.commands[2])
        for point in ("append.before", "append.half", "append.after", "load.before", "load.after")
    }
    damages = {
        kind: (damaged.commands[0], Command("tamper", kind=kind), damaged.commands[2])
        for kind in ("empty", "dropped-field", "wrong-type")
    }
    traces = {name: replace(killed, commands=commands) for name, commands in deaths.items()}
    traces |= {name: replace(damaged, commands=commands) for name, commands in damages.items()}
    sources = require_sound({name: with_options(kept, store="journal") for name, kept in traces.items()}, tmp_path)
    assert all("basic_runtime.journal(handler.run_id)" in source for source in sources.values())
    assert all(f'reach("{point}")' in sources[point] for point in deaths)


def test_every_damage_is_written(tmp_path):
    damaged = trace("CV-15c4fb")
    kinds = ["truncated", "half-written", "empty", "dropped-field", "wrong-type"]
    traces = {
        kind: replace(damaged, commands=(damaged.commands[0], Command("tamper", kind=kind), damaged.commands[2]))
        for kind in kinds
    }
    assert all("def damage():" in source for source in require_sound(traces, tmp_path).values())


def test_what_cannot_be_written_says_why():
    plan = Plan(trace("CO-dc3fd7"))
    with pytest.raises(NoScript, match="retry"):
        RECIPE.call(plan, Step(1, "retry", Command("retry"), 1))


def test_a_racer_is_held_at_the_point_of_its_present_turn_and_at_no_other():
    race = trace("CO-a9a146")
    turns = (Turn(0, "effect.before:3"), Turn(1, "load.after"), Turn(0, "save.after"), Turn(1), Turn(1, "save.after"))
    raced = replace(race, commands=(race.commands[0], replace(race.commands[1], turns=turns)))
    assert held(Plan(raced)) == {(2, 1): [("effect.before:3", 1), ("save.after", 1)], (2, 2): [("load.after", 1)]}
    source = script(raced)
    assert "turns[0] == (point, PASSED[point])" in source and 'reach("load.after")' in source
