"""The conformance kit: right adapters pass, over right engines and wrong ones; wrong ones fail, each for its own reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import toy_adapter
import typer
import wrong_adapters
from typer.testing import CliRunner

from fuzzresume import cli_check
from fuzzresume.adapters import mutant, reference
from fuzzresume.adapters.durable.alone import Alone
from fuzzresume.adapters.durable.engine import Engine
from fuzzresume.adapters.durable.faults import Faults, Step
from fuzzresume.adapters.durable.policy import OPTIONS
from fuzzresume.cli import app
from fuzzresume.harness.target import BadOption, MissingExtra, NoEnvironment, load_adapter, parse_target
from fuzzresume.report.exit_codes import Exit
from fuzzresume.testing import CHECKS, NotConforming, assert_conforms, check_adapter
from fuzzresume.testing.kit import GROUND

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"

CHOICES = [{name: value} for name, values in OPTIONS.items() for value in values[1:]]
"""Every legal choice of the in-tree engine, one at a time; the defaults go together with each."""

REPEATED = CHECKS.keys() - {"options", "cold", "close"}
"""What is checked under many options: not the options themselves, and not what takes longest and rests on none of them."""

QUICK = CHECKS.keys() - {"close", "cold", "modes", "racers"}
"""What runs in one process. Every wrong adapter meets its own check too."""


@pytest.fixture(scope="module", autouse=True)
def released():
    yield
    wrong_adapters.release()


def words(option):
    return ",".join(f"{key}={value}" for key, value in option.items())


def statuses(report, *names):
    return {result.check: result.status for result in report.results if not names or result.check in names}


def test_the_right_adapter_of_a_right_engine_conforms():
    report = check_adapter(reference.ADAPTER)
    assert report.conforms, str(report)
    assert [result.check for result in report.results] == list(CHECKS)
    assert set(statuses(report).values()) == {"ok"}


@pytest.mark.parametrize("option", CHOICES, ids=words)
def test_every_legal_choice_conforms(option, zygotes):
    report = check_adapter(reference.ADAPTER, option, only=QUICK - {"options"}, zygotes=zygotes)
    assert report.conforms, str(report)


@pytest.mark.parametrize("fault", mutant.ADAPTER.options["fault"])
def test_a_wrong_engine_is_no_wrong_adapter(fault, zygotes):
    report = check_adapter(mutant.ADAPTER, {"fault": fault}, only=REPEATED, zygotes=zygotes)
    assert report.conforms, str(report)


def test_what_inspection_does_is_left_to_the_fuzzer(zygotes):
    report = check_adapter(mutant.ADAPTER, {"fault": "InspectActs"}, only={"inspect"}, zygotes=zygotes)
    assert "ran tasks, which is a finding about the framework" in report.results[0].why


class ReplaysAlways(Faults):
    """Every answer makes the engine run again what was durable."""

    def plan(self, engine, branch, *, recovering):
        return [Step(task, "again") for task in branch.settled] + super().plan(engine, branch, recovering=recovering)


class Replaying(wrong_adapters.Bare):
    def life(self, env):
        return Alone(Engine(env, ReplaysAlways()))


def test_an_engine_that_breaks_the_contract_undisturbed_is_no_wrong_adapter():
    report = check_adapter(Replaying(), only=QUICK)
    assert report.conforms, str(report)
    (run,) = [result for result in report.results if result.check == "run"]
    assert "breaks the contract, a finding about the framework (Replay)" in run.why


LANGGRAPH = [
    {"api": api, "saver": saver} for api in ("graph", "functional") for saver in ("sqlite", "memory", "async-sqlite")
]


@pytest.mark.parametrize("option", LANGGRAPH, ids=words)
def test_langgraph_conforms(option, zygotes):
    try:
        adapter = load_adapter("langgraph")
    except MissingExtra as missing:
        pytest.skip(str(missing))
    whole = option == LANGGRAPH[0]
    report = check_adapter(adapter, option, only=CHECKS.keys() if whole else REPEATED, zygotes=zygotes)
    assert report.conforms, str(report)
    exercised = ("fork", "addresses", "identifiers", "points", "interleaved", "order")
    assert statuses(report, *exercised) == dict.fromkeys(exercised, "ok")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("llamaindex", {}),
        ("llamaindex", {"idiom": "wait"}),
        ("pydantic-graph", {}),
        ("pydantic-graph", {"recipe": "docs"}),
        ("autogen", {}),
        ("autogen", {"team": "graphflow"}),
        ("crewai@1.15.2", {}),
        ("crewai@1.15.2", {"plane": "persist"}),
    ],
    ids=lambda value: words(value) if isinstance(value, dict) else value,
)
def test_the_other_frameworks_conform(name, option, zygotes):
    try:
        adapter = parse_target(name, option).adapter
    except (MissingExtra, NoEnvironment) as missing:
        pytest.skip(str(missing))
    report = check_adapter(adapter, option, only=REPEATED if option else CHECKS.keys(), zygotes=zygotes)
    assert report.conforms, str(report)


def test_there_is_a_wrong_adapter_for_every_check():
    assert {check for _, check, _ in wrong_adapters.WRONG} == set(CHECKS)


@pytest.mark.parametrize(("adapter", "check", "why"), wrong_adapters.WRONG, ids=[a.name for a, _, _ in wrong_adapters.WRONG])
def test_a_wrong_adapter_is_rejected_for_its_own_reason(adapter, check, why, zygotes):
    report = check_adapter(adapter, only=QUICK | {check}, zygotes=zygotes)
    failed = report.failed[0]
    assert failed.check == check and why in failed.why, str(report)
    assert failed.trace or check in ("options", "tamper"), failed
    # Where the ground gives way, the rest of it may too.
    assert len(report.failed) == 1 or check in GROUND, str(report)


def test_a_check_that_meets_a_slip_fails_itself():
    (adapter,) = [adapter for adapter, _, _ in wrong_adapters.WRONG if adapter.name == "CannotLook"]
    assert statuses(check_adapter(adapter, only={"inspect"})) == {"inspect": "fails"}


def test_a_fork_that_is_not_declared_is_sent_all_the_same():
    report = check_adapter(toy_adapter.ADAPTER, only={"fork"})
    assert (report.results[0].status, report.results[0].why) == ("inapplicable", "not declared, and refused")


def test_a_wrong_adapter_of_a_wrong_engine_is_still_rejected():
    """The check that fails is not excused by what the engine does."""

    class Behind(mutant.MutantAdapter):
        frontier = wrong_adapters.OneBehind.frontier

    report = check_adapter(Behind(), {"fault": "LateRecord"}, only={"run", "frontier"})
    assert statuses(report) == {"run": "ok", "frontier": "fails"}


def test_an_adapter_that_no_process_can_import_is_checked_in_process():
    class Local(wrong_adapters.Bare):
        pass

    report = check_adapter(Local(), only={"run", "cold", "modes", "racers"})
    assert statuses(report) == {"run": "ok", "cold": "inapplicable", "modes": "ok", "racers": "inapplicable"}
    assert report.results[2].why.startswith("in-process, images; at ")


def test_the_example_of_the_readme_conforms():
    assert_conforms(toy_adapter.ADAPTER)


def test_the_readme_shows_the_example_that_is_tested():
    text = (HERE / "toy_adapter.py").read_text()
    assert len(text.splitlines()) < 100
    assert f"```py\n{text}```" in README.read_text()


def test_assert_conforms_says_the_whole_report():
    with pytest.raises(NotConforming) as caught:
        assert_conforms(wrong_adapters.OneBehind)
    assert "frontier      fails: the frontier after it is {}" in str(caught.value)
    assert "OneBehind@0.1.0 does not conform: frontier" in str(caught.value)


def test_wrong_options_and_unknown_checks_are_the_caller_s_mistakes():
    with pytest.raises(BadOption):
        check_adapter(reference.ADAPTER, {"restart": "never"})
    with pytest.raises(ValueError, match="there is no check 'tempo'"):
        check_adapter(reference.ADAPTER, only={"tempo"})


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "fuzzresume", "check-adapter", *arguments],
        capture_output=True, text=True, timeout=120, env={"PYTHONPATH": str(HERE), "PATH": ""},
    )  # fmt: skip


def test_the_command_says_a_line_for_each_check():
    done = run("toy_adapter:ADAPTER")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == list(CHECKS) and lines[-1] == "toy conforms"


def test_the_command_s_exit_codes():
    wrong = run("wrong_adapters:OneBehind")
    assert wrong.returncode == 1 and "[trace: start]" in wrong.stdout, wrong.stdout + wrong.stderr


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("nobody", None, "no target is called 'nobody'"),
        ("nobody:ADAPTER", None, "No module named 'nobody'"),
        ("toy_adapter:NOTHING", None, "has no attribute 'NOTHING'"),
        ("reference", ["restart=never"], "restart cannot be 'never'"),
        ("reference", ["restart"], "write -o key=value"),
    ],
)
def test_the_command_refuses_what_there_is_not(name, options, says, capsys):
    with pytest.raises(typer.Exit) as ended:
        cli_check.check_adapter(name, options)
    said = capsys.readouterr()
    assert ended.value.exit_code == Exit.USAGE and said.out == ""
    assert says in said.err and len(said.err.splitlines()) == 1, said.err


@pytest.mark.parametrize(
    ("source", "attribute", "says"),
    [
        ("import sys; sys.exit(0)", "ADAPTER", "SystemExit: 0"),
        ("x = (", "ADAPTER", "SyntaxError"),
        ("ADAPTER = 3", "ADAPTER", "is no adapter: it has no name"),
        ("", "ADAPTER", "has no attribute 'ADAPTER'"),
        ("from fuzzresume.adapters.reference import DurableAdapter", "DurableAdapter", "is a class; name an instance of it"),
    ],
)
def test_what_is_no_adapter_is_a_usage_error(
    source: str, attribute: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"slip_{abs(hash((source, attribute)))}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    done = CliRunner().invoke(app, ["check-adapter", f"{name}:{attribute}"])
    assert done.exit_code == Exit.USAGE and says in done.stderr and len(done.stderr.splitlines()) == 1
