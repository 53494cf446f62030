"""Scripts for pydantic-graph: what they hold, what they leave out, and what cannot be written."""

from dataclasses import replace

import pytest
from repro_scripts import require_sound, shipped

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.repro.plan import NoScript, Plan, Step
from fuzzresume.repro.pydantic_graph import RECIPE
from fuzzresume.repro.script import script

TRACES = shipped("pydantic-graph")


def trace(identity):
    return next(trace for trace in TRACES.values() if trace.found.id == identity)


def test_every_shipped_trace_has_a_sound_script(tmp_path):
    assert len(require_sound(TRACES, tmp_path)) >= 8


def test_a_script_has_only_what_its_trace_needs():
    plain = script(trace("CO-a136e8"))
    for word in ("class File", "TornFile", "note:", "damage", "def recorded", "def look", "def script", "run-"):
        assert word not in plain, word
    assert "self.file = FileStatePersistence(" in plain and "deps=Deps(answer)" in plain


def test_each_recipe_is_written(tmp_path):
    asked = trace("CO-a136e8")
    recipes = {name: replace(asked, options={**asked.options, "recipe": name}) for name in ("deps", "node", "docs")}
    sources = require_sound(recipes, tmp_path)
    assert "graph.iter_from_persistence(run.file, deps=Deps(answer))" in sources["deps"]
    assert "drive(graph_run, node.answered(answer))" in sources["node"]
    assert "await run.file.load_next()" in sources["docs"] and "iter_from_persistence" not in sources["docs"]


def test_every_point_of_the_file_is_written_where_it_is_named(tmp_path):
    killed = trace("EO-2efa78")
    points = ["save.before", "save.truncated", "save.half", "save.after", "lock.before", "lock.after", "unlock.before"]
    traces = {
        point: replace(
            killed,
            commands=(
                *killed.commands[:2],
                replace(killed.commands[2], crash=CrashPoint(point)),
                killed.commands[3],
            ),
        )
        for point in points
    }
    for point, source in require_sound(traces, tmp_path).items():
        assert f'reach("{point}")' in source, point


def test_a_run_that_is_begun_again_has_a_file_of_its_own():
    assert "next_file()" in script(trace("EO-ec6a2b"))


def test_what_cannot_be_written_says_why():
    with pytest.raises(NoScript, match="fork"):
        plan = Plan(trace("CO-a136e8"))
        RECIPE.call(plan, Step(1, "fork", Command("fork", trace("CO-a136e8").commands[1].token), 1))
