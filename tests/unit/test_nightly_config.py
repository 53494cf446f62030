"""The configuration of nights: each mistake is one line that names file and key, and the JSON schema says the same."""

import json
import re
import tomllib
from pathlib import Path
from typing import get_args

import jsonschema
import pytest
import typer

from fuzzresume.campaign.nightly.config import ConfigError, PhaseName, config_schema, find_config, load_config
from fuzzresume.campaign.phases import PHASES
from fuzzresume.cli_nightly import plan_of

README = (Path(__file__).parents[2] / "README.md").read_text()
WHOLE = """
targets = ["reference", "langgraph@latest", { name = "mutant", options = { fault = "Replay" }, time = "90", runs = 7 }]
time = "1.5h"
runs = 100
seed = 3
phases = ["tour", "minimise"]
baseline = "known.json"
database = "corpus.db"
out = "found"
fail_on = ["new", "gone"]
tlc = false
outputs = { junit = "j", sarif = "s", summary = "m", events = "e", html = "h", json = "n" }
"""


@pytest.fixture
def wrong(tmp_path):
    """What is said of a configuration, without the name of its file."""

    def said(text, name="fuzzresume.toml"):
        (tmp_path / name).write_text(text)
        with pytest.raises(ConfigError) as caught:
            load_config(tmp_path / name)
        line = str(caught.value)
        assert line.startswith(f"{tmp_path / name}: ") and "\n" not in line
        return line.removeprefix(f"{tmp_path / name}: ")

    return said


def valid(text):
    return jsonschema.Draft202012Validator(json.loads(config_schema())).is_valid(tomllib.loads(text))


BROKEN = {
    'target = ["reference"]': "target: there is no such key; did you mean targets?",
    'targets = ["reference"]\nfail-on = ["new"]': "fail-on: there is no such key; did you mean fail_on?",
    'targets = ["reference"]\noutputs.junitt = "x"': "outputs.junitt: there is no such key; did you mean junit?",
    'targets = [{ name = "mutant", option = {} }]': "targets[0].option: there is no such key; did you mean options?",
    'time = "5m"': "targets: this key is missing",
    "targets = []": "targets: []: expected `array` of length >= 1",
    "targets = [1]": "targets[0]: 1: expected `str | table`, got `int`",
    'targets = ["a b"]': "targets[0]: 'a b' is no target",
    'targets = ["reference"]\ntime = 5': "time: 5: expected `str`, got `int`",
    'targets = ["reference"]\ntime = "5 weeks"': "time: '5 weeks' is no duration; write 90, 60s, 2m or 1h",
    'targets = ["reference"]\ntime = "0s"': "time: '0s' is no duration; write 90, 60s, 2m or 1h",
    'targets = ["reference"]\nruns = 0': "runs: 0: expected `int` >= 1",
    'targets = ["reference"]\nphases = ["tuor"]': "phases[0]: 'tuor' is none of these; did you mean tour?",
    'targets = ["a"]\nfail_on = ["all"]': "fail_on[0]: 'all' is none of these; known are violated, new, gone, changed",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_mistake_is_named_and_the_schema_has_it_too(wrong, text):
    assert wrong(text) == BROKEN[text]
    assert not valid(text)


def test_mistakes_that_no_schema_can_say(wrong):
    assert wrong('targets = ["mutant", { name = "mutant" }]') == "targets: mutant is there twice"
    assert wrong('targets = ["a"]\nphases = ["minimise"]').startswith("phases: nothing would be run")
    assert wrong("targets = ").startswith("not TOML: ")
    assert wrong('[tool.fuzzresume]\ntime = "5m"', "pyproject.toml") == "tool.fuzzresume.targets: this key is missing"
    assert wrong("[tool.other]", "pyproject.toml") == "it has no table [tool.fuzzresume]"
    top = "tool.fuzzresume: the table belongs at the top level here; leave out `tool.fuzzresume`"
    assert wrong('[tool.fuzzresume]\ntargets = ["reference"]') == top
    assert wrong('[tool.fuzzresume.outputs]\njson = "a.json"') == top


def test_a_whole_one(tmp_path):
    (tmp_path / "fuzzresume.toml").write_text(WHOLE)
    loaded = load_config(tmp_path / "fuzzresume.toml")
    assert valid(WHOLE)
    assert [each.label for each in loaded.config.tables] == ["reference", "langgraph@latest", "mutant fault=Replay"]
    assert loaded.path(loaded.config.out) == tmp_path / "found"


@pytest.mark.parametrize(
    ("text", "duration"),
    [('targets = ["a"]', "30m"), ('targets = ["a"]\nruns = 3', None), ('targets = ["a"]\nruns = 3\ntime = "1h"', "1h")],
)
def test_half_an_hour_where_nothing_is_bounded(tmp_path, text, duration):
    (tmp_path / "fuzzresume.toml").write_text(text)
    assert load_config(tmp_path / "fuzzresume.toml").config.duration == duration


def test_a_target_that_nobody_knows(tmp_path, capsys):
    (tmp_path / "fuzzresume.toml").write_text('targets = ["langgrap@latest"]')
    with pytest.raises(typer.Exit) as ended:
        plan_of(load_config(tmp_path / "fuzzresume.toml"), None, None, None, [])
    said = capsys.readouterr().err
    assert ended.value.exit_code == 2 and "fuzzresume.toml: targets: no target is called 'langgrap'" in said


def test_the_command_line_comes_before_the_configuration(tmp_path):
    (tmp_path / "fuzzresume.toml").write_text(WHOLE)
    loaded = load_config(tmp_path / "fuzzresume.toml")
    said, asked = plan_of(loaded, None, None, None, []), plan_of(loaded, "9s", 4, 0, [])
    assert (said.seconds, said.runs, said.seed, said.phases) == (5400, 100, 3, ("tour", "minimise"))
    assert (asked.seconds, asked.runs, asked.seed, asked.targets[2].seconds) == (9, 4, 0, 90)
    (tmp_path / "fuzzresume.toml").write_text('targets = ["reference"]')
    assert plan_of(load_config(tmp_path / "fuzzresume.toml"), None, 5, None, []).seconds is None


def test_the_nearest_one_is_found(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    with pytest.raises(ConfigError, match="write one"):
        find_config(inner)
    (tmp_path / "pyproject.toml").write_text('[tool.fuzzresume]\ntargets = ["reference"]')
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]")
    assert find_config(inner) == tmp_path / "pyproject.toml"
    (inner / "fuzzresume.toml").write_text("")
    assert find_config(inner) == inner / "fuzzresume.toml"


def test_two_in_one_folder_are_one_too_many(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.fuzzresume]")
    (tmp_path / "fuzzresume.toml").write_text("")
    with pytest.raises(ConfigError, match="keep one of them"):
        find_config(tmp_path)


def test_the_readme_shows_one_that_loads(tmp_path):
    examples = re.findall(r"```toml\n(\[tool\.fuzzresume\].*?)```", README, re.DOTALL)
    assert examples
    for example in examples:
        (tmp_path / "pyproject.toml").write_text(example)
        assert load_config(tmp_path / "pyproject.toml").config.targets


def test_the_phases_are_those_of_campaigns():
    assert get_args(PhaseName) == PHASES
