"""`fuzzresume baseline`, `fuzz --baseline` and `replay --all`, through the real command."""

import json
import os
import subprocess
import sys

import pytest

MUTANT = ["mutant", "-o", "fault=ForkIgnore"]


def fuzzresume(folder, *arguments):
    command = [sys.executable, "-m", "fuzzresume", *arguments]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "200"}
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A folder in which a campaign found a bug, and a baseline that knows it."""
    folder = tmp_path_factory.mktemp("team")
    code, said = fuzzresume(folder, "fuzz", *MUTANT, "--max-runs", "40", "--no-tlc")
    assert code == 1, said
    code, said = fuzzresume(folder, "baseline", "update", "known.json")
    assert code == 0 and "1 new, 0 known before" in said
    return folder


def test_what_is_known_does_not_fail_and_is_listed(known):
    code, said = fuzzresume(known, "baseline", "show", "known.json")
    assert code == 0 and "mutant FD-" in said and "fork(b, gate 2)" in said
    code, said = fuzzresume(known, "baseline", "update", "known.json")
    assert code == 0 and "0 new, 1 known before" in said
    arguments = ["fuzz", *MUTANT, "--max-runs", "40", "--no-tlc", "--out", "again", "--json", "again.json"]
    arguments += ["--phases", "tour,minimise"]
    code, said = fuzzresume(known, *arguments, "--baseline", "known.json")
    campaign = json.loads((known / "again.json").read_text())["targets"][0]
    assert campaign["findings"] == [] and [known["property"] for known in campaign["known"]] == ["FD"]
    assert code != 1 and "still shows" in said


def test_a_known_finding_that_is_fixed_fails_only_where_that_is_asked(known):
    path = known / "moved.json"
    document = json.loads((known / "known.json").read_text())
    document["findings"][0]["options"]["fault"] = "StrayPoisons"
    path.write_text(json.dumps(document))
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


def test_replaying_all_says_what_still_shows_and_what_cannot_be_run(known):
    code, said = fuzzresume(known, "replay", "--all")
    assert code == 1 and "STILL" in said and "0 fixed, 1 still, 0 cannot run" in said
    document = json.loads((known / "known.json").read_text())
    document["findings"][0]["target"] = "no-such-target"
    (known / "foreign.json").write_text(json.dumps(document))
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
