"""`fuzzresume corpus` as a user meets it: a file in, a list out, and one line for whatever is wrong."""

from __future__ import annotations

import json

import pytest
from campaigns import campaign
from corpus_samples import STARTED, record
from report_samples import forked, late, raced
from test_cli import one_line, run

from fuzzresume.campaign.corpus.database import Corpus
from fuzzresume.campaign.gallery import gallery
from fuzzresume.contract.trace import dumps, load
from fuzzresume.report.exit_codes import exit_code


@pytest.fixture
def folder(tmp_path):
    """A working folder with a corpus of two campaigns in the place where campaigns put it; the second was killed."""
    with Corpus(tmp_path / ".fuzzresume" / "corpus.db") as corpus:
        record(corpus, forked(), late())
        corpus.recorder().handle(STARTED)
    return tmp_path


def test_list_and_show(folder):
    done = run("corpus", "list", "--json", "list.json", cwd=folder, check=0)
    assert f"{forked().id}  example  violated  3 commands  {forked().title}" in done.stdout
    assert "2 listed; .fuzzresume/corpus.db holds 2 findings, 2 traces, 2 campaigns (1 unfinished)" in done.stdout
    written = json.loads((folder / "list.json").read_text())
    assert written["schema"] == "fuzzresume.corpus/1"
    assert [row["id"] for row in written["findings"]] == sorted([forked().id, late().id])
    assert [row["status"] for row in written["campaigns"]] == ["finished", "running"]
    assert written["findings"][1]["explained_by"] == [["ForkIgnore"]] and len(written["findings"][1]["commands"]) == 3
    only = run("corpus", "list", "--property", "rr-eo", "--target", "example", cwd=folder, check=0).stdout
    assert late().id in only and forked().id not in only
    shown = run("corpus", "show", forked().id, cwd=folder, check=0).stdout
    assert "3. fork(b, gate 2)" in shown and "example@1.2.9  seed 7  violated  12 times" in shown
    assert "no finding, and no single trace, 'FD-0'" in one_line(run("corpus", "show", "FD-0", cwd=folder, check=2))


def test_out_to_files_and_into_another_with_broken_ones_among_them(folder):
    run("corpus", "export", "out", cwd=folder, check=0)
    assert load(folder / "out" / "example" / f"{forked().id}.json") == forked().to_trace()
    (folder / "out" / "broken.json").write_text('{"schema": "fuzzresume.trace/1"}')
    done = run("corpus", "import", "out", "--db", "new/second.db", cwd=folder, check=2)
    assert "broken.json" in one_line(done) and "2 traces read, 2 of them new, 1 broken" in done.stdout
    with Corpus(folder / "new" / "second.db") as corpus:
        assert corpus.trace_of(forked().id) == forked().to_trace()


def test_merge_and_minimise(folder):
    trace = raced().to_trace()
    with Corpus(folder / "other.db") as corpus:
        record(corpus, raced())
        longer = {**json.loads(dumps(trace)), "words": []}
        longer["commands"] = [longer["commands"][0], *longer["commands"]]
        (folder / "longer.json").write_text(json.dumps(longer))
    run("corpus", "import", "longer.json", cwd=folder, check=0)
    done = run("corpus", "merge", "other.db", cwd=folder, check=0)
    assert "1 campaign, 0 findings, 1 trace new" in done.stdout
    said = run("corpus", "minimise", "--dry-run", cwd=folder, check=0).stdout
    assert "3 commands, 2 are enough" in said and "1 trace would be dropped" in said
    assert "1 trace dropped" in run("corpus", "minimise", cwd=folder, check=0).stdout
    with Corpus(folder / ".fuzzresume" / "corpus.db") as corpus:
        assert [row.length for row in corpus.traces(raced().id)] == [2]


def test_what_is_wrong_is_one_line(folder):
    assert "there is no corpus" in one_line(run("corpus", "list", "--db", "absent.db", cwd=folder, check=2))
    (folder / "text.db").write_text("no database\n" * 1000)
    assert "no SQLite database" in one_line(run("corpus", "merge", "text.db", cwd=folder, check=2))


def test_a_campaign_of_a_real_target(tmp_path):
    _, events = campaign("mutant", {"fault": "ForkIgnore"}, 1, 8, chosen=("tour", "minimise"))
    with Corpus(tmp_path / "corpus.db") as corpus:
        recorder = corpus.recorder(pinned={"fault": "ForkIgnore"}, exit_code=exit_code)
        for event in events:
            recorder.handle(event)
        (row,) = corpus.findings(property="FD")
        (over,) = corpus.campaigns()
        assert (over.label, over.exit_code, over.status) == ("mutant@0.1.0", 1, "finished")
        assert corpus.verdicts(over.id)["FD"].findings == (row.id,)
        assert corpus.trace_of(row.id) == events[-1].report.findings[0].to_trace()


def test_the_gallery_goes_in_and_comes_out_unchanged(tmp_path):
    with Corpus(tmp_path / "corpus.db") as corpus:
        traces = gallery()
        assert corpus.add_traces(traces) == len(traces)
        assert corpus.add_traces(traces) == 0
        held = {text for (text,) in corpus.rows("SELECT trace FROM traces")}
        assert held == {dumps(trace).decode() for trace in traces}
