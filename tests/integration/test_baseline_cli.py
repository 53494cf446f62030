"""`fuzzresume baseline`, `fuzz --baseline` and `replay --all`, through the real command."""

import json
import shutil
from pathlib import Path

import command_line
import pytest

KILLED = Path(__file__).parents[2] / "shrinks" / "pydantic-graph-1.107.1" / "LV-1bb6a5" / "trace.json"

MUTANT = ["mutant", "-o", "fault=ForkIgnore"]


def fuzzresume(folder, *arguments):
    ended = command_line.run(*arguments, cwd=folder, env={"COLUMNS": "200"}, timeout=300)
    return ended.returncode, ended.stdout + ended.stderr


def edited(known, name, **changes):
    """A baseline in which the known finding has other options, or another point to die at."""
    document = json.loads((known / "known.json").read_text())
    (finding,) = document["findings"]
    for key, value in changes.items():
        finding[key] = value
    (known / name).write_text(json.dumps(document))
    return name


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A folder in which a campaign found a bug, and a baseline that knows it."""
    folder = tmp_path_factory.mktemp("team")
    code, said = fuzzresume(folder, "fuzz", *MUTANT, "--max-runs", "10", "--no-tlc")
    assert code == 1, said
    code, said = fuzzresume(folder, "baseline", "update", "known.json")
    assert code == 0 and "1 new, 0 known before" in said
    return folder


def test_what_is_known_does_not_fail_and_is_listed(known):
    code, said = fuzzresume(known, "baseline", "show", "known.json")
    assert code == 0 and "mutant FD-" in said and "fork(b, gate 2)" in said
    code, said = fuzzresume(known, "baseline", "update", "known.json")
    assert code == 0 and "0 new, 1 known before" in said
    arguments = ["fuzz", *MUTANT, "--max-runs", "20", "--no-tlc", "--out", "again", "--json", "again.json"]
    arguments += ["--phases", "tour,minimise"]
    code, said = fuzzresume(known, *arguments, "--baseline", "known.json")
    campaign = json.loads((known / "again.json").read_text())["targets"][0]
    assert campaign["findings"] == [] and [known["property"] for known in campaign["known"]] == ["FD"]
    assert code != 1 and "still shows" in said


def test_a_known_finding_that_is_fixed_fails_only_where_that_is_asked(known):
    path = known / edited(known, "moved.json", options={"fault": "StrayPoisons"})
    code, said = fuzzresume(known, "replay", "--all", "--baseline", "moved.json")
    assert code == 0 and "FIXED" in said and "1 fixed, 0 still, 0 cannot run" in said
    arguments = [
        "fuzz",
        "mutant",
        "-o",
        "fault=StrayPoisons",
        "--max-runs",
        "1",
        "--phases",
        "regress,tour",
        "--no-tlc",
        "--out",
        "other",
        "--baseline",
        "moved.json",
    ]
    assert fuzzresume(known, *arguments)[0] != 1
    code, said = fuzzresume(known, *arguments, "--fail-on-fixed")
    assert code == 1 and "no longer shows" in said
    code, said = fuzzresume(known, "baseline", "prune", "moved.json")
    assert code == 0 and "1 taken out, 0 left" in said and json.loads(path.read_text())["findings"] == []


@pytest.fixture(scope="module")
def replayed(known):
    """The trace of a fault that another engine in its place shows differently."""
    code, said = fuzzresume(
        known, "fuzz", "mutant", "-o", "fault=Replay", "--max-runs", "40", "--no-tlc", "--out", "replayed"
    )
    assert code == 1, said
    (trace,) = (known / "replayed").rglob("EO-*.json")
    return trace


@pytest.mark.parametrize(("fault", "said_of_it"), [("SkipTask", "shows another finding"), ("ReexecLast", "still shows")])
def test_a_known_finding_hides_no_other_mechanism(known, replayed, fault, said_of_it):
    """The engine changed: the known trace fits what it does now, or shows another thing; either way that is new."""
    document = json.loads((known / "known.json").read_text())
    document["findings"] = [json.loads(replayed.read_text())]
    document["findings"][0]["options"]["fault"] = fault
    (known / "changed.json").write_text(json.dumps(document))
    arguments = ["fuzz", "mutant", "-o", f"fault={fault}", "--max-runs", "30", "--no-tlc", "--out", fault]
    code, said = fuzzresume(known, *arguments, "--baseline", "changed.json")
    assert code == 1 and f"{replayed.stem}: {said_of_it}" in said, said


def test_what_other_options_show_is_no_excuse_for_these(known):
    arguments = ["fuzz", "mutant", "-o", "fault=ForkLeak", "--max-runs", "30", "--no-tlc", "--out", "leak"]
    code, said = fuzzresume(known, *arguments, "--baseline", "known.json")
    assert code == 1 and "not tried: its options are not among those of this campaign" in said


def test_a_death_that_does_not_happen_fixes_nothing(known):
    shutil.copy(KILLED, known / "killed.json")
    assert fuzzresume(known, "baseline", "update", "deaths.json", "killed.json")[0] == 0
    document = json.loads((known / "deaths.json").read_text())
    (row,) = [row for row in document["findings"][0]["commands"] if row.get("crash")]
    row["crash"]["nth"] = 50
    (known / "deaths.json").write_text(json.dumps(document))
    code, said = fuzzresume(known, "baseline", "prune", "deaths.json")
    assert code == 3 and "CANNOT RUN" in said and "passing 50, where it is to die" in said and "0 taken out, 1 left" in said


def test_no_report_takes_the_place_of_a_baseline_or_the_database(known):
    before = (known / "known.json").read_bytes(), (known / ".fuzzresume" / "corpus.db").read_bytes()
    for file, held in (("known.json", "a baseline"), (".fuzzresume/corpus.db", "a database")):
        code, said = fuzzresume(known, "fuzz", *MUTANT, "--max-runs", "1", "--json", file)
        assert code == 2 and f"that is {held}" in said
    code, said = fuzzresume(known, "fuzz", *MUTANT, "--max-runs", "1", "--json", "x.json", "--html", "./again/../x.json")
    assert code == 2 and "two reports cannot be written to one file" in said
    assert before == ((known / "known.json").read_bytes(), (known / ".fuzzresume" / "corpus.db").read_bytes())


def test_before_the_first_campaign_nothing_is_known(tmp_path):
    code, said = fuzzresume(tmp_path, "baseline", "update", "known.json")
    assert code == 0 and "0 new, 0 known before" in said
    assert json.loads((tmp_path / "known.json").read_text())["findings"] == []


def test_replaying_all_says_what_still_shows_and_what_cannot_be_run(known):
    code, said = fuzzresume(known, "replay", "--all")
    assert code == 1 and "STILL" in said and "0 fixed, 1 still, 0 cannot run" in said
    edited(known, "foreign.json", target="no-such-target")
    code, said = fuzzresume(known, "replay", "--all", "--baseline", "foreign.json")
    assert code == 3 and "CANNOT RUN" in said and "no target is called 'no-such-target'" in said
    code, said = fuzzresume(known, "baseline", "prune", "foreign.json")
    assert code == 3 and "0 taken out, 1 left" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fuzz", "mutant", "--baseline", "none.json"), "there is no such file"),
        (("replay", "--baseline", "known.json"), "--baseline goes with --all"),
        (("replay",), "name one finding"),
        (("replay", "--all", "--record", "x.json"), "--record takes one trace"),
        (("show", "ZZ-000000"), "no finding is called ZZ-000000"),
    ],
)
def test_a_command_line_that_makes_no_sense_says_so(known, arguments, words):
    code, said = fuzzresume(known, *arguments)
    assert code == 2 and words in said
