"""Every script in `shrinks/` reproduces where nothing but the framework is installed, and is what its trace gives."""

from pathlib import Path

import pytest

from fuzzresume.cli_repro import known, stated
from fuzzresume.contract.trace import load
from fuzzresume.report.sequence import mermaid
from fuzzresume.repro.issue import issue
from fuzzresume.repro.script import script
from fuzzresume.repro.verify import verify

SHRINKS = Path(__file__).parents[2] / "shrinks"
FINDINGS = sorted(path.parent for path in SHRINKS.rglob("trace.json"))


@pytest.mark.parametrize("folder", FINDINGS, ids=lambda folder: folder.name)
def test_the_script_reproduces_the_finding_with_the_framework_alone(folder):
    came = verify(folder / "repro.py")
    assert came.word == "reproduces", came.words


@pytest.mark.parametrize("folder", FINDINGS, ids=lambda folder: folder.name)
def test_script_and_draft_are_what_the_trace_gives(folder):
    trace, text = load(folder / "trace.json"), (folder / "ISSUE.md").read_text()
    source = script(trace)
    assert (folder / "repro.py").read_text() == source and "import fuzzresume" not in source
    (verified,) = (line.split("*")[1] for line in text.splitlines() if line.startswith("these packages it said: *"))
    assert verified.startswith("reproduces: ")
    assert text == issue(trace, source, diagram=mermaid(trace), verified=verified, stated=stated(trace), alike=known(trace))
