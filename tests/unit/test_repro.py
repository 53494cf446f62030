"""Scripts and issue drafts: what a plan takes from a trace, what it refuses, and when a script's exit code is believed."""

import subprocess
import sys
from dataclasses import replace

import pytest

from fuzzresume.campaign.gallery import gallery
from fuzzresume.contract.commands import Command
from fuzzresume.repro.issue import issue
from fuzzresume.repro.plan import NoScript, Plan
from fuzzresume.repro.recipe import recipe_of
from fuzzresume.repro.script import script
from fuzzresume.repro.verify import judged, requirements_in, verify

FORK = next(trace for trace in gallery() if trace.found.id == "FD-2dc830")
KILLED = next(trace for trace in gallery() if trace.found.id == "LV-2af2dd")
RACE = next(trace for trace in gallery() if trace.found.id == "CO-24b0a7")

TOY = """
def open_run():
    {opening}


def start():
    effect(1)
    return {{"outcome": "parked", "asks": ["2.1"], "state": ["1"]}}


def answer(it):
    effect(2, it)
    effect(3)
    return {{"outcome": "completed", "state": ["1", f"2:{{it}}", "3"]}}


def told(run, reply):
    return reply
"""


class ToyRecipe:
    """A framework whose fork is served `served`."""

    def __init__(self, served, opening="return 'a run'"):
        self.served, self.opening = served, opening

    def requirements(self, plan):
        return ("toy==1.0",)

    def program(self, plan):
        return TOY.format(opening=self.opening)

    def call(self, plan, step):
        return {1: "start()", 2: 'answer("a")', 3: f'answer("{self.served}")'}[step.number]


def verdict(tmp_path, recipe):
    """What the script of the fork says of such a framework."""
    path = tmp_path / "repro.py"
    path.write_text(script(FORK, recipe))
    ended = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=60)
    return ended.returncode, judged(ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.parametrize(
    ("served", "code", "word"),
    [("a", 1, "reproduces"), ("b", 0, "no longer reproduces"), ("c", 3, "cannot tell")],
)
def test_a_script_tells_what_was_seen_from_what_is_right_and_from_anything_else(tmp_path, served, code, word):
    ended, said = verdict(tmp_path, ToyRecipe(served))
    assert (ended, said.word) == (code, word)
    assert f"2:{served}" in said.why


def test_a_script_that_cannot_get_to_its_last_command_cannot_tell(tmp_path):
    ended, said = verdict(tmp_path, ToyRecipe("a", "raise ValueError('no store')"))
    assert (ended, said.word) == (3, "cannot tell")
    assert said.why == "command 1 shows outcome refused, effects [], error ValueError: no store"


def test_a_script_that_stumbles_does_not_end_as_if_it_reproduced(tmp_path):
    ended, said = verdict(tmp_path, ToyRecipe("a", "os._exit(7)"))
    assert (ended, said.word) == (3, "cannot tell") and "exit code 7" in said.why
    path = tmp_path / "broken.py"
    path.write_text(script(FORK, ToyRecipe("a")).replace("def open_run", "import toy_framework\n\n\ndef open_run"))
    ended = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 3 and "ModuleNotFoundError" in ended.stdout


def test_a_call_that_is_not_there_any_more_is_no_refusal(tmp_path):
    """A fork may be refused; but a script that calls what does not exist has not seen a refusal."""

    class Renamed(ToyRecipe):
        def call(self, plan, step):
            return super().call(plan, step) if step.number < 3 else self.served

    assert verdict(tmp_path, Renamed("run.fork()"))[1].words.startswith("cannot tell: neither what was seen nor right")
    refusal = "(_ for _ in ()).throw(ValueError('forks are refused'))"
    assert verdict(tmp_path, Renamed(f"next({refusal})"))[1].word == "no longer reproduces"


def test_an_exit_code_counts_only_with_the_line_that_says_the_same():
    assert judged(1, "reproduces: outcome completed\n", "").word == "reproduces"
    assert judged(1, "Traceback\n", "ImportError: toy\n").words == "unverified: exit code 1: ImportError: toy"
    assert judged(0, "reproduces: outcome completed\n", "").word == "unverified"
    assert judged(None, "", "").word == "unverified"


def test_a_script_says_what_it_needs_and_where_it_cannot_be_had_it_is_unverified(tmp_path):
    path = tmp_path / "repro.py"
    path.write_text(script(FORK, ToyRecipe("a")).replace("toy==1.0", "no-such-package-of-fuzzresume==1.0"))
    assert requirements_in(path.read_text()) == ("no-such-package-of-fuzzresume==1.0",)
    came = verify(path)
    assert came.word == "unverified" and "no environment for no-such-package-of-fuzzresume" in came.why
    with pytest.raises(ValueError, match="no header"):
        requirements_in("print()")
    with pytest.raises(ValueError, match="does not say"):
        requirements_in("# /// script\n# requires-python = '>=3.11'\n# ///\n")


def test_a_plan_reads_the_store_only_where_the_violation_rests_on_it():
    assert not Plan(FORK).reads_store and "recorded" not in Plan(FORK).recorded[3]
    assert Plan(KILLED).reads_store and "recorded" in Plan(KILLED).recorded[2]


def test_a_death_and_a_recovery_begin_new_processes():
    assert [[step.number for step in steps] for steps in Plan(KILLED).processes] == [[1, 2], [3]]
    assert [[step.number for step in steps] for steps in Plan(RACE).processes] == [[1], [2]]


def test_what_was_seen_is_never_among_what_is_right():
    for trace in gallery():
        try:
            plan = Plan(trace)
        except NoScript:
            continue
        assert plan.legal and plan.recorded[len(plan.steps)] not in plan.legal, trace.found.id


def test_what_no_script_can_show_is_said():
    with pytest.raises(NoScript, match="replay it with --record"):
        Plan(replace(FORK, seen=()))
    with pytest.raises(NoScript, match="under different schedules"):
        Plan(replace(FORK, commands=(Command("start"), Command("recover2"), FORK.commands[2])))
    with pytest.raises(NoScript, match="threads"):
        Plan(replace(RACE, commands=(RACE.commands[0], replace(RACE.commands[1], unit="threads"))))
    with pytest.raises(NoScript, match="no recipe"):
        recipe_of("mutant")


def test_an_issue_holds_what_a_maintainer_needs():
    source = script(FORK, ToyRecipe("a"))
    text = issue(
        FORK,
        source,
        diagram="sequenceDiagram",
        verified="reproduces: x",
        stated=["a weaker rule (page, 1.2)"],
        alike=["toy 1"],
    )
    assert text.startswith("# langgraph: a fork was not served its own answer\n")
    for part in ("langgraph 1.2.9", "3. fork(b, gate 2)", FORK.found.expected, FORK.found.observed, "RR-FD", "FD-2dc830"):
        assert part in text
    for part in (
        "```mermaid\nsequenceDiagram\n```",
        source.rstrip(),
        "*reproduces: x*",
        "a weaker rule (page, 1.2)",
        "- toy 1",
    ):
        assert part in text
    assert "No script: none" in issue(FORK, "none", diagram="d", verified="unverified")
