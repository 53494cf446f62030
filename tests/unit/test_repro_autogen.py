"""Scripts for AutoGen: what they hold, what they leave out, and what cannot be written."""

from dataclasses import replace

import pytest
from repro_scripts import require_sound, shipped

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.repro.autogen import RECIPE
from fuzzresume.repro.plan import NoScript, Plan, Step
from fuzzresume.repro.script import script

TRACES = shipped("autogen")


def trace(identity):
    return next(trace for trace in TRACES.values() if trace.found.id == identity)


def with_options(trace, **options):
    return replace(trace, options={**trace.options, **options})


def test_every_shipped_trace_has_a_sound_script(tmp_path):
    assert len(require_sound(TRACES, tmp_path)) >= 11


def test_a_script_has_only_what_its_trace_needs():
    plain = script(trace("CO-254c72"))
    for word in (
        "GraphFlow",
        "AssistantAgent",
        '"note"',
        "self.file.read_text",
        "def reset",
        "def recorded",
        'reach("save',
        "self.done",
    ):
        assert word not in plain, word
    assert 'run.run(reply("b", "t2"))' in plain and "Worker(2, questions=2" in plain


def test_each_team_agent_policy_and_restart_is_written(tmp_path):
    teams = [(team, agent) for team in ("swarm", "roundrobin", "graphflow") for agent in ("plain", "tool")]
    ways = [(*way, *more) for way in teams[:-1] for more in (("park", "reset"), ("step", "run"))]
    traces = {
        f"{identity}-{'-'.join(way)}": with_options(
            trace(identity), **dict(zip(("team", "agent", "policy", "restart"), way, strict=True))
        )
        for identity in ("RS-8fc42f", "LV-932c31", "EO-531519", "CO-c5cb23", "CV-50a3f7")
        for way in ways
    }
    for name, source in require_sound(traces, tmp_path).items():
        assert ("AssistantAgent(" in source) == ("-tool-" in name), name
        assert ("max_turns=1" in source) == ("-step-" in name), name
        assert ("def reply" in source) == ("-swarm-" in name and not name.startswith("CV")), name
        assert ("run.reset()" in source) == (name.startswith("RS") and name.endswith("-reset")), name


def test_a_team_that_raised_is_loaded_anew_unless_it_tries_again():
    failed = trace("LV-932c31")
    assert "command(3, lambda run: run.run())" in script(failed)
    other = replace(failed, commands=(*failed.commands[:2], replace(failed.commands[1], crash=None)))
    assert 'command(3, lambda run: run.load().run(reply("a", "t2")))' in script(other)


def test_every_point_of_the_file_is_written_where_it_is_named(tmp_path):
    killed = trace("EO-531519")
    for write in ("rename", "in-place"):
        points = ["save.before", "save.half", "save.after", *(["save.rename"] if write == "rename" else [])]
        traces = {
            point: with_options(
                replace(killed, commands=(killed.commands[0], replace(killed.commands[1], crash=CrashPoint(point)))),
                write=write,
            )
            for point in points
        }
        for point, source in require_sound(traces, tmp_path).items():
            assert source.count("reach(") == 4 and f'reach("{point}")' in source, point
            assert (".replace(self.file)" in source) == (write == "rename" and point in ("save.half", "save.rename")), point


def test_every_damage_is_written(tmp_path):
    damaged = trace("CV-50a3f7")
    kinds = ["truncated", "half-written", "empty", "dropped-field", "wrong-type"]
    traces = {
        kind: replace(damaged, commands=(damaged.commands[0], Command("tamper", kind=kind), damaged.commands[2]))
        for kind in kinds
    }
    for kind, source in require_sound(traces, tmp_path).items():
        assert f"tamper(2, lambda: {kind.replace('-', '_')}())" in source, kind


def test_what_cannot_be_written_says_why():
    plan = Plan(trace("CO-254c72"))
    fork = replace(plan.trace.commands[1], op="fork")
    with pytest.raises(NoScript, match="AutoGen has no call for fork"):
        RECIPE.call(plan, Step(2, "fork", fork, 1))
