"""The pytest plugin, in pytest runs of its own: campaigns as tests, the fixture, and `recovery`."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from fuzzresume import pytest_plugin
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.machines import LinearMachine
from fuzzresume.pytest_campaign import Said, Shown, Told
from fuzzresume.pytest_plugin import recovery


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch):
    """No plugin comes by entry point: neither another copy of this one, nor slow ones."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def run(pytester):
    """Runs pytest with the plugin, in this process."""
    return lambda *args: pytester.runpytest_inprocess(*map(str, args), plugins=[pytest_plugin])


def test_a_target_that_keeps_the_contract_passes(run):
    done = run("--fuzzresume-target", "reference", "--fuzzresume-max-runs", 45, "-v")
    done.assert_outcomes(passed=len(PROPERTIES))
    done.stdout.fnmatch_lines(["fuzzresume::reference::FD PASSED*"])


def test_a_fault_is_a_failing_test_with_its_trace(run, pytester):
    pytester.makepyfile("def test_of_their_own(): pass")
    fault = ("--fuzzresume-option", "fault=ForkIgnore")
    done = run("--fuzzresume-target", "mutant", *fault, "--fuzzresume-max-runs", 12, "-k", "FD or FI or own", "-v")
    done.assert_outcomes(passed=2, failed=1, deselected=len(PROPERTIES) - 2)
    done.stdout.fnmatch_lines(
        [
            f"*collected {len(PROPERTIES) + 1} items / {len(PROPERTIES) - 2} deselected / 3 selected",
            "RR-FD fork determinism: violated on mutant@*",
            "FD-* a fork was not served its own answer: *",
            "1. start",
            "2. resume(a, gate 2*)",
            "3. fork(b, gate 2*)",
            "expected  *",
            "observed  *",
            "confirmed 3/3 · trace *.json",
        ]
    )
    line = next(line for line in done.stdout.lines if " · trace " in line)
    assert Path(line.partition(" · trace ")[2]).is_relative_to(pytester.path / ".fuzzresume")
    assert "Traceback" not in done.stdout.str() and "pytest_plugin.py" not in done.stdout.str()


def test_what_was_not_exercised_or_cannot_be_is_no_pass(run):
    done = run("--fuzzresume-target", "reference", "--fuzzresume-max-runs", 1, "-rs")
    outcomes = done.parseoutcomes()
    assert outcomes["skipped"] >= 5 and sum(outcomes.values()) == len(PROPERTIES)
    done.stdout.fnmatch_lines(["SKIPPED*unexercised: needs *"])


@pytest.mark.parametrize(
    "args, says",
    [
        (("--fuzzresume-target", "referense"), "did you mean reference?"),
        (("--fuzzresume-option", "fault"), "write KEY=VALUE"),
        (("--fuzzresume-target", "reference", "--fuzzresume-max-time", "soon"), "'soon' is no duration"),
        (("--fuzzresume-target", "reference", "--fuzzresume-max-runs", "0"), "a campaign of 0 runs"),
    ],
)
def test_a_wrong_option_is_a_usage_error(run, args, says):
    done = run(*args)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: *{says}*"])


def test_workers_share_one_campaign(pytester, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(pytester.mkdir("tmp")))
    pytester.makeconftest(
        """
        from pathlib import Path

        from fuzzresume import pytest_campaign
        from fuzzresume.contract.properties import PROPERTIES
        from fuzzresume.pytest_campaign import Said, Told

        def fuzz(asked):
            with open(Path(__file__).with_name("campaigns"), "a") as file:
                print("campaign", file=file)
            return Told("fake", {name: Said("holds", "") for name in PROPERTIES} | {"FD": Said("violated", "it is")})

        pytest_campaign.fuzz = fuzz
        """
    )
    args = ("--fuzzresume-target", "mutant", "-n", "2", "-v")
    done = pytester.runpytest_subprocess("-p", "xdist", "-p", pytest_plugin.__name__, *args)
    done.assert_outcomes(failed=1, passed=len(PROPERTIES) - 1)
    assert {line.split()[0] for line in done.stdout.lines if "PASSED" in line} == {"[gw0]", "[gw1]"}
    assert (pytester.path / "campaigns").read_text() == "campaign\n"
    assert not list((pytester.path / "tmp").glob("fuzzresume-*"))


def test_the_fixture_and_its_report(run, pytester):
    pytester.makepyfile(
        """
        import pytest

        from fuzzresume import Workload

        def test_holds(fuzzresume):
            report = fuzzresume("reference", max_runs=25, options={"restart": "refuse"}, workload=Workload.linear(2, {2: 1}))
            report.assert_holds("RR-RS")
            with pytest.raises(ValueError, match="no property 'XX'"):
                report.assert_holds("XX")

        def test_is_violated(fuzzresume):
            report = fuzzresume("mutant", max_runs=12, options={"fault": "ForkIgnore"})
            assert report.verdicts["FD"].findings[0].confirmed == "3/3"
            report.assert_holds("FD")

        def test_nothing_rests_on_nothing(fuzzresume):
            fuzzresume("reference", max_runs=1).assert_holds()

        def test_an_option_that_there_is_not(fuzzresume):
            fuzzresume("reference", options={"colour": "red"})
        """
    )
    done = run()
    done.assert_outcomes(passed=1, failed=3)
    done.stdout.fnmatch_lines(["*3. fork(b, gate 2*)*"])
    done.stdout.fnmatch_lines(["*unexercised on reference@*"])
    done.stdout.fnmatch_lines(["reference has no option 'colour'*"])


def test_the_shape_of_a_workflow_becomes_tests(run, pytester):
    pytester.makepyfile(
        adapters="from fuzzresume.adapters.reference import ADAPTER",
        test_shapes="""
        from fuzzresume import Workload
        from fuzzresume.pytest_plugin import recovery

        @recovery(max_runs=20)
        class Approval:
            adapter = "adapters:ADAPTER"
            options = {"restart": "refuse"}
            workload = Workload.linear(2, {2: 1})

            def test_of_its_own(self):
                assert self.workload.order == (1, 2)

        @recovery("mutant", options={"fault": "ForkIgnore"}, max_runs=12)
        class TestFaulty:
            workload = Workload.linear(2, {2: 1})
        """,
    )
    pytester.syspathinsert()
    done = run("-v")
    done.stdout.fnmatch_lines(["test_shapes.py::Approval::test_recovery*FD* PASSED*"])
    done.stdout.fnmatch_lines(["test_shapes.py::TestFaulty::test_recovery*FD* FAILED*"])
    done.stdout.fnmatch_lines(["3. fork(b, gate 2)"])
    outcomes = done.parseoutcomes()
    assert outcomes["failed"] == 1 and sum(outcomes.values()) == 2 * len(PROPERTIES) + 1


def test_a_trouble_or_a_missing_environment_is_no_pass(pytester, run):
    pytester.makeconftest(
        """
        from fuzzresume import pytest_campaign
        from fuzzresume.contract.properties import PROPERTIES
        from fuzzresume.pytest_campaign import Said, Told

        def fuzz(asked):
            if asked.adapter == "mutant":
                return Told(problem="no environment for it", missing=True)
            verdicts = {name: Said("holds", "") for name in PROPERTIES} | {"EO": Said("documented", "it says so")}
            return Told("fake", verdicts, ["run 3 hung"] if asked.options else [])

        pytest_campaign.fuzz = fuzz
        """
    )
    target = ("--fuzzresume-target", "reference", "-rs", "-k", "EO or FD")
    run(*target).assert_outcomes(passed=2, deselected=len(PROPERTIES) - 2)
    done = run(*target, "-rP")
    done.stdout.fnmatch_lines(["EO documented: it says so"])
    done = run(*target, "--fuzzresume-option", "a=b", "--fuzzresume-target", "mutant")
    done.assert_outcomes(skipped=4, deselected=2 * (len(PROPERTIES) - 2))
    done.stdout.fnmatch_lines(["SKIPPED*undetermined: run 3 hung", "SKIPPED*undetermined: no environment for it"])


def test_a_report_is_the_same_for_every_worker():
    told = Told("one", {"FD": Said("violated", "", [Shown("FD-1", "a title", ["start"], "this", "that", "3/3", "")])})
    assert msgspec.json.decode(msgspec.json.encode(told), type=Told) == told
    with pytest.raises(AssertionError, match=r"(?s)RR-FD .* on one\nFD-1 a title\n1. start\nexpected  this"):
        told.assert_holds("fd")


def test_a_class_that_cannot_become_tests():
    with pytest.raises(TypeError, match="names no adapter"):
        recovery()(type("Nameless", (), {}))
    with pytest.raises(TypeError, match="has a constructor"):
        recovery("reference")(type("Machine", (LinearMachine,), {}))


def test_a_pytest_that_does_not_use_it_loads_nothing_for_it():
    code = "import sys, fuzzresume.pytest_plugin; print(*(n for n in sys.modules if n.startswith('fuzzresume.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.split()) == {"fuzzresume.contract", "fuzzresume.contract.workload", "fuzzresume.pytest_plugin"}


def test_the_entry_point_names_it():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"fuzzresume": "fuzzresume.pytest_plugin"}
