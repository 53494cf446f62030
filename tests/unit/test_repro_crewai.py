"""Scripts for CrewAI: what they hold, what they leave out, and what cannot be written."""

from dataclasses import replace

import pytest
from repro_scripts import require_sound, shipped

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.repro.crewai import RECIPE
from fuzzresume.repro.plan import NoScript, Plan, Step
from fuzzresume.repro.script import script

TRACES = shipped("crewai")


def trace(identity):
    return next(trace for trace in TRACES.values() if trace.found.id == identity)


def with_options(trace, **options):
    return replace(trace, options={**trace.options, **options})


def with_point(trace, index, point):
    """The trace, with a death at `point` in the command at `index`."""
    commands = list(trace.commands)
    commands[index] = replace(commands[index], crash=CrashPoint(point))
    return replace(trace, commands=tuple(commands))


def test_every_shipped_trace_has_a_sound_script(tmp_path):
    assert len(require_sound(TRACES, tmp_path)) >= 9


def test_a_script_has_only_what_its_trace_needs():
    plain = script(trace("CO-bb9eda"))
    for word in ("persist,", "note:", "def fork", "def recover", "def recorded", "trunk", "class Store", "initial_state"):
        assert word not in plain, word
    assert '@human_feedback(message="2.2", llm=None' in plain and 'resume(run, "a")' in plain


def test_each_plane_state_and_way_to_answer_is_written(tmp_path):
    ways = {
        "persist": ("EO-fedf23", {"recover": "call"}),
        "persist-unstructured": ("EO-fedf23", {"state": "unstructured"}),
        "unstructured": ("CO-bb9eda", {"state": "unstructured"}),
        "queue": ("EO-7be972", {"executor": "queue"}),
        "provider": ("CO-bb9eda", {"answer": "provider"}),
        "provider-fork": ("FD-95b40f", {"answer": "provider"}),
        "poison-unstructured": ("CV-745877", {"state": "unstructured"}),
    }
    sources = require_sound(
        {name: with_options(trace(found), **options) for name, (found, options) in ways.items()}, tmp_path
    )
    assert "load_pending_feedback" not in sources["persist"] and "load_pending_feedback" in sources["persist-unstructured"]
    assert "class AtOnce" not in sources["persist"] and "class Later" in sources["queue"]
    assert 'self.state["answers"]["2.1"]' in sources["unstructured"]
    assert "answers.append(answer)" in sources["provider"] and "from_pending" not in sources["provider-fork"]


def test_every_point_is_written_where_it_is_named(tmp_path):
    stored = ["save_state", "load_state", "save_pending", "load_pending", "clear_pending"]
    sides = [f"{name}.{side}" for name in stored for side in ("before", "after")]
    traces = {point: with_point(trace("EO-fedf23"), 0, point) for point in sides}
    written = ["before", "opened", "half", "after"]
    traces |= {point: with_point(trace("EO-3a0c38"), 2, point) for point in (f"checkpoint.{word}" for word in written)}
    traces |= {
        point: with_point(trace("EO-3a0c38"), 2, point) for point in ("load_checkpoint.before", "load_checkpoint.after")
    }
    for point, source in require_sound(traces, tmp_path).items():
        assert source.count("reach(") == 4 and f'reach("{point}")' in source, point


def test_what_a_restart_leaves_behind_is_told_apart_where_the_store_is_read(tmp_path):
    killed = trace("EO-fedf23")
    restarted = replace(killed, commands=(*killed.commands, Command("restart")), seen=(*killed.seen, killed.seen[1]))
    both = {state: with_options(restarted, state=state) for state in ("structured", "unstructured")}
    for source in require_sound(both, tmp_path).values():
        assert source.count("self.begin()") == 4 and 'state["marks"][state["base"] :]' in source


def test_every_damage_is_written(tmp_path):
    traces = {}
    for found, kinds in (("EO-fedf23", ["truncated", "wrong-type"]), ("EO-328835", ["truncated", "empty", "wrong-type"])):
        undamaged = trace(found)
        for kind in kinds:
            commands = (undamaged.commands[0], Command("tamper", kind=kind), *undamaged.commands[1:])
            seen = (undamaged.seen[0], undamaged.seen[0], *undamaged.seen[1:])
            traces[f"{found}-{kind}"] = replace(undamaged, commands=commands, seen=seen)
    for name, source in require_sound(traces, tmp_path).items():
        assert f"tamper(2, lambda: {name[10:].replace('-', '_')}())" in source, name


def test_what_cannot_be_written_says_why():
    forked, stored = trace("FD-95b40f"), trace("EO-fedf23")
    with pytest.raises(NoScript, match="executor=threads"):
        script(with_options(forked, executor="threads"))
    with pytest.raises(NoScript, match="forked twice"):
        script(replace(forked, commands=(*forked.commands, forked.commands[1]), seen=(*forked.seen, forked.seen[1])))
    with pytest.raises(NoScript, match="CrewAI has no call for reload"):
        RECIPE.call(Plan(stored), Step(2, "reload", Command("reload"), 1))
