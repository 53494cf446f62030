"""The corpus database: what it holds of campaigns, findings and traces, whoever wrote them and in whatever order."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import msgspec
import pytest
from corpus_samples import PROGRESS, STARTED, ended, found, numbered, record, report, ticking
from report_samples import forked, interrupted, late, looked, raced, refused, whole
from sqlite_utils import Database

from fuzzresume.campaign.campaign import Budget
from fuzzresume.campaign.corpus.database import Corpus, CorpusError
from fuzzresume.campaign.corpus.read import LISTED, listed, totals
from fuzzresume.campaign.corpus.trace_files import export_traces, import_traces
from fuzzresume.campaign.events import RunFinished, TargetFinished
from fuzzresume.contract.trace import Trace, dumps, load
from fuzzresume.report.exit_codes import exit_code


@pytest.fixture
def corpus(tmp_path):
    with Corpus(tmp_path / "corpus.db", clock=ticking()) as opened:
        yield opened


def dump(corpus):
    return sorted(corpus.connection.iterdump())


def on(trace: Trace, version: str, recorded: str = "") -> Trace:
    return replace(trace, packages={**trace.packages, "example-framework": version})


def longer(trace: Trace, more: int) -> Trace:
    return replace(trace, commands=(*trace.commands, *trace.commands[:1] * more), seen=())


class TestRecording:
    def test_a_campaign_that_runs_is_told_from_one_that_ended(self, corpus):
        recorder = corpus.recorder(
            "2026-01-01", pinned={"b": "2", "a": "1"}, phases=("tour", "race"), budget=Budget(60.0, 9)
        )
        recorder.handle(STARTED)
        (running,) = corpus.campaigns()
        assert (running.status, running.finished, running.exit_code, running.runs) == ("running", None, None, 0)
        assert (running.label, running.seed, running.night) == ("example@1.2.9", 7, "2026-01-01")
        assert running.started == "2026-01-01T00:00:00.000000+00:00"
        assert (running.options, running.phases) == ('{"a":"1","b":"2"}', "tour,race")
        assert (running.budget_seconds, running.budget_runs) == (60.0, 9)
        assert msgspec.json.decode(running.packages) == {"example-framework": "1.2.9", "example-store": "4.1.1"}
        recorder.handle(TargetFinished(whole()))
        (over,) = corpus.campaigns("2026-01-01")
        assert (over.id, over.status, over.runs, over.commands) == (recorder.campaign, "finished", 812, 4000)
        assert (over.states_reached, over.states_total) == (100, 147)
        assert (over.pairs_reached, over.pairs_total, over.pairs_open) == (190, 203, 1)
        assert over.finished is not None and over.finished > over.started
        assert corpus.campaigns("2026-01-02") == []

    def test_what_it_says_of_each_property(self, corpus):
        campaign = record(corpus, forked())
        assert corpus.verdicts(campaign) == whole().verdicts
        assert [*corpus.verdicts(campaign)] == [*whole().verdicts]
        assert corpus.verdicts("of nobody") == {}

    def test_how_it_ended(self, corpus):
        recorder = corpus.recorder(exit_code=exit_code)
        for each in (whole(), interrupted()):
            recorder.handle(STARTED)
            recorder.handle(TargetFinished(each))
        assert [(c.status, c.exit_code) for c in corpus.campaigns()] == [("finished", 1), ("interrupted", 130)]

    def test_a_finding_is_there_for_others_when_its_event_returns(self, corpus):
        recorder = corpus.recorder()
        recorder.handle(STARTED)
        recorder.handle(RunFinished(PROGRESS))
        recorder.handle(found(forked()))
        with Corpus(corpus.path) as other:
            (row,) = other.findings()
            assert other.trace_of(row.id) == forked().to_trace()
            (campaign,) = other.campaigns()
        assert (campaign.status, campaign.runs, campaign.pairs_reached) == ("running", 812, 190)

    def test_what_is_said_of_a_finding(self, corpus):
        campaign = record(corpus, forked())
        (row,) = corpus.findings()
        assert (row.id, row.target, row.property, row.verdict) == (forked().id, "example", "FD", "violated")
        assert (row.title, row.cls, row.length) == (forked().title, forked().diagnosis.anomaly.cls, 3)
        assert (row.confirmed, row.tlc, row.flaky, row.known, row.traces) == ("3/3", "confirmed", "", "", 1)
        assert (row.first_campaign, row.last_campaign) == (campaign, campaign)
        assert msgspec.json.decode(row.explained_by) == [["ForkIgnore"]]
        assert row.words.split("\n") == forked().words
        (seen,) = corpus.history(row.id)
        assert (seen.campaign, seen.seen, seen.minimal, seen.trace) == (campaign, 12, 1, corpus.traces(row.id)[0].sha256)

    def test_texts_of_a_framework_that_are_not_valid_unicode(self, corpus):
        record(corpus, refused())
        (row,) = corpus.findings()
        assert corpus.trace_of(row.id) is not None and row.title == refused().title

    def test_a_known_finding_keeps_its_name_and_what_was_said_of_it(self, corpus):
        record(corpus, replace(looked(), known="", confirmed="3/3"))
        name = corpus.findings()[0].id
        known = replace(looked(), known=name, confirmed="not run", explained_by=(("InspectActs",), ("Replay",)))
        assert known.id != name
        recorder = corpus.recorder()
        recorder.handle(STARTED)
        recorder.handle(ended([], [known]))
        (row,) = corpus.findings()
        assert (row.id, row.confirmed, row.known, row.last_campaign) == (name, "3/3", name, recorder.campaign)
        assert [seen.known for seen in corpus.history(name)] == ["", name]

    def test_the_trace_with_the_word_of_tlc_takes_the_place_of_the_one_without(self, corpus):
        unasked = replace(forked(), tlc="not run")
        recorder = corpus.recorder()
        recorder.handle(STARTED)
        recorder.handle(found(unasked))
        recorder.handle(ended([forked()]))
        assert [trace.sha256 for trace in corpus.traces(forked().id)] == [sha256(forked())]

    def test_a_trace_that_was_put_in_stays(self, corpus):
        unasked = replace(forked(), tlc="not run")
        corpus.add_trace(unasked.to_trace())
        recorder = corpus.recorder()
        recorder.handle(STARTED)
        recorder.handle(found(unasked))
        recorder.handle(ended([forked()]))
        assert {trace.sha256 for trace in corpus.traces(forked().id)} == {sha256(unasked), sha256(forked())}

    def test_a_finding_that_others_explain_in_the_end_is_none(self, corpus):
        recorder = corpus.recorder()
        recorder.handle(STARTED)
        for each in (forked(), raced()):
            recorder.handle(found(each))
        recorder.handle(ended([forked()]))
        assert [row.id for row in corpus.findings()] == [forked().id]
        assert totals(corpus)[:2] == (1, 1)

    def test_the_newest_campaign_describes_a_finding_in_whatever_order_they_end(self, corpus):
        older, newer = corpus.recorder(), corpus.recorder()
        older.handle(STARTED)
        newer.handle(STARTED)
        newer.handle(ended([replace(forked(), confirmed="2/3")]))
        older.handle(ended([forked()]))
        (row,) = corpus.findings()
        assert (row.confirmed, row.first_campaign, row.last_campaign) == ("2/3", older.campaign, newer.campaign)

    def test_an_event_without_its_campaign(self, corpus):
        with pytest.raises(CorpusError, match="FOREIGN KEY"):
            corpus.recorder().handle(found(forked()))
        assert totals(corpus) == (0, 0, 0, 0)


def sha256(finding):
    return hashlib.sha256(dumps(finding.to_trace())).hexdigest()


class TestTraces:
    def test_the_same_trace_is_put_in_once_as_its_own_bytes(self, corpus):
        trace = forked().to_trace()
        assert corpus.add_trace(trace) and not corpus.add_trace(trace)
        assert corpus.rows("SELECT sha256, trace FROM traces") == [(sha256(forked()), dumps(trace).decode())]
        assert corpus.trace(sha256(forked())[:8]) == trace
        assert corpus.trace("0" * 64) is None

    def test_the_smallest_of_a_finding_and_the_newest_of_several(self, corpus):
        trace = forked().to_trace()
        for each in (on(trace, "1.3.0"), on(trace, "1.4.0"), longer(on(trace, "1.5.0"), 1)):
            corpus.add_trace(each)
        assert corpus.trace_of(forked().id) == on(trace, "1.4.0")
        assert [row.label for row in corpus.traces(forked().id)] == ["example@1.4.0", "example@1.3.0", "example@1.5.0"]
        corpus.add_trace(on(trace, "1.3.0"))
        assert corpus.trace_of(forked().id) == on(trace, "1.3.0")
        assert corpus.trace_of(forked().id, "another") is None and corpus.trace_of("FD-000000") is None

    def test_a_trace_that_shows_no_finding(self, corpus):
        bare = replace(forked().to_trace(), found=None)
        corpus.add_trace(bare)
        assert corpus.findings() == [] and [row.finding for row in corpus.traces()] == [None]

    def test_an_imported_finding_is_described_by_its_smallest_file_until_a_campaign_sees_it(self, corpus):
        trace = replace(forked(), tlc="not run").to_trace()
        corpus.add_trace(longer(trace, 2))
        assert (corpus.findings()[0].length, corpus.findings()[0].title) == (5, forked().title)
        corpus.add_trace(trace)
        assert (corpus.findings()[0].length, corpus.findings()[0].tlc) == (3, "not run")
        record(corpus, forked())
        assert (corpus.findings()[0].tlc, corpus.findings()[0].traces) == ("confirmed", 3)

    def test_texts_of_a_file_that_would_break_a_line_or_a_terminal(self, corpus):
        trace = forked().to_trace()
        corpus.add_trace(replace(trace, found=msgspec.structs.replace(trace.found, cls="two\nlines \x1b[31m in red")))
        (row,) = corpus.findings()
        assert row.cls == r"two\nlines \x1b[31m in red" and row.title.isprintable()

    def test_names_that_would_leave_the_folder(self, corpus):
        trace = forked().to_trace()
        evil = replace(trace, found=msgspec.structs.replace(trace.found, id="../../x"))
        for each in (evil, replace(trace, target="a/b")):
            with pytest.raises(CorpusError, match="is no name"):
                corpus.add_traces([trace, each])
        assert totals(corpus) == (0, 0, 0, 0)

    def test_out_to_files_and_in_again(self, corpus, tmp_path):
        bare = replace(raced().to_trace(), found=None)
        for each in (forked().to_trace(), longer(forked().to_trace(), 1), late().to_trace(), bare):
            corpus.add_trace(each)
        assert export_traces(corpus, tmp_path / "out") == 3
        assert load(tmp_path / "out" / "example" / f"{forked().id}.json") == forked().to_trace()
        assert export_traces(corpus, tmp_path / "none", "another") == 0 and not (tmp_path / "none").exists()
        (tmp_path / "out" / "broken.json").write_text("{")
        with Corpus(tmp_path / "again.db") as again:
            done = import_traces(again, [tmp_path / "out", tmp_path / "absent.json"])
            assert (done.read, done.new, len(done.broken)) == (3, 3, 2)
            assert [row.id for row in again.findings()] == [row.id for row in corpus.findings()]


class TestAsking:
    def test_by_target_property_campaign_and_night(self, corpus):
        first = record(corpus, forked(), raced(), night="one")
        record(corpus, raced(), late(), night="two")

        def ids(**asked):
            return {row.id for row in corpus.findings(**asked)}

        assert ids() == {forked().id, raced().id, late().id}
        assert ids(property="CO") == {raced().id} and ids(target="another") == set()
        assert ids(campaign=first) == {forked().id, raced().id}
        assert ids(night="two") == {raced().id, late().id}
        assert [c.night for c in corpus.campaigns(target="example")] == ["one", "two"]
        assert [row.id for row in listed(corpus, property="EO")] == [late().id]

    def test_a_long_list_is_read_in_the_order_of_an_index(self, corpus):
        asked = []
        corpus.connection.set_trace_callback(asked.append)
        listed(corpus)
        listed(corpus, "example")
        listed(corpus, "example", "FD")
        corpus.findings("example", "FD")
        corpus.findings(finding="FD-2dc830")
        corpus.findings(campaign="c")
        corpus.trace_of("FD-2dc830")
        corpus.trace("abc")
        corpus.traces()
        corpus.history("FD-2dc830")
        corpus.campaigns("night")
        corpus.verdicts("c")
        corpus.connection.set_trace_callback(None)
        for sql in asked:
            plan = [row[3] for row in corpus.rows(f"EXPLAIN QUERY PLAN {sql}")]
            read = [line for line in plan if line.startswith("SCAN")]
            assert all("USING INDEX" in line or "USING COVERING INDEX" in line for line in read), (sql, plan)
            if LISTED in sql:
                assert not any("TEMP B-TREE" in line for line in plan), (sql, plan)

    def test_the_views(self, corpus):
        record(corpus, forked())
        campaign = record(corpus, forked(), raced())
        tables = Database(corpus.connection)
        newest = list(tables.query("SELECT property, campaign FROM newest_verdicts"))
        assert len(newest) == 10 and {row["campaign"] for row in newest} == {campaign}
        seen = list(tables.query("SELECT finding FROM finding_history ORDER BY finding"))
        assert [row["finding"] for row in seen] == sorted([forked().id, forked().id, raced().id])
        assert [row["pairs_reached"] for row in tables.query("SELECT * FROM coverage_history")] == [190, 190]
        assert not list(tables.query("PRAGMA foreign_key_check"))
        assert {key.other_table for key in tables["sightings"].foreign_keys} == {"findings", "campaigns", "traces"}


class TestMinimising:
    def test_what_a_smaller_trace_of_the_same_packages_shows_too(self, corpus):
        trace = forked().to_trace()
        kept = [trace, longer(on(trace, "1.3.0"), 1), replace(longer(trace, 5), found=None)]
        for each in (*kept, longer(trace, 1), longer(trace, 2), longer(on(trace, "1.3.0"), 2)):
            corpus.add_trace(each)
        whole_corpus = dump(corpus)
        said = corpus.minimise(dry=True)
        assert dump(corpus) == whole_corpus
        assert [(t.label, t.length, t.enough) for t in said] == [
            ("example@1.2.9", 4, 3), ("example@1.2.9", 5, 3), ("example@1.3.0", 5, 4),
        ]  # fmt: skip
        assert corpus.minimise() == said and corpus.minimise() == []
        left = {sha for (sha,) in corpus.rows("SELECT sha256 FROM traces")}
        assert left == {hashlib.sha256(dumps(each)).hexdigest() for each in kept}

    def test_the_campaign_that_saw_it_is_not_forgotten(self, corpus):
        record(corpus, forked())
        shown = forked().to_trace()
        corpus.add_trace(replace(shown, commands=shown.commands[1:], seen=()))
        corpus.minimise()
        (seen,) = corpus.history(forked().id)
        assert seen.trace is None and len(corpus.traces(forked().id)) == 1


class TestMerging:
    @pytest.fixture
    def other(self, tmp_path):
        with Corpus(tmp_path / "other.db", clock=ticking()) as opened:
            yield opened

    def test_a_second_time_changes_nothing(self, corpus, other):
        record(corpus, forked(), numbered(1), night="one")
        record(other, forked(), numbered(2), late(), night="two")
        other.add_trace(replace(raced().to_trace(), found=None))
        merged = corpus.merge(other.path)
        assert merged.words == "1 campaign, 2 findings, 3 traces"
        once = dump(corpus)
        assert corpus.merge(other.path).words == "0 campaigns, 0 findings, 0 traces" and dump(corpus) == once
        assert [c.night for c in corpus.campaigns()] in (["one", "two"], ["two", "one"])
        assert len(corpus.history(forked().id)) == 2 and len(corpus.rows("SELECT * FROM verdicts")) == 20

    def test_it_does_not_matter_which_is_put_into_which(self, corpus, other):
        record(other, replace(forked(), confirmed="1/3"))
        record(corpus, numbered(1))
        record(corpus, replace(forked(), confirmed="2/3"))
        other.add_trace(late().to_trace())
        corpus.add_trace(longer(late().to_trace(), 1))
        corpus.merge(other.path)
        other.merge(corpus.path)
        assert corpus.findings() == other.findings() and corpus.campaigns() == other.campaigns()
        assert next(row for row in corpus.findings() if row.id == forked().id).confirmed == "2/3"

    def test_a_campaign_that_has_ended_since(self, corpus, other):
        recorder = other.recorder()
        recorder.handle(STARTED)
        recorder.handle(found(replace(forked(), tlc="not run")))
        corpus.merge(other.path)
        assert [c.status for c in corpus.campaigns()] == ["running"]
        recorder.handle(ended([forked()]))
        corpus.merge(other.path)
        assert [c.status for c in corpus.campaigns()] == ["finished"]
        assert (corpus.findings(), corpus.campaigns()) == (other.findings(), other.campaigns())
        assert corpus.traces(forked().id) == other.traces(forked().id)
        assert corpus.verdicts(recorder.campaign) == report([forked()]).verdicts

    def test_one_that_fails_half_way_leaves_everything_as_it_was(self, corpus, other):
        record(corpus, forked())
        record(other, *(numbered(n) for n in range(40)))
        before = dump(corpus)
        (pages,) = corpus.rows("PRAGMA page_count")[0]
        corpus.connection.execute(f"PRAGMA max_page_count = {pages + 4}")
        with pytest.raises(CorpusError, match="no room left"):
            corpus.merge(other.path)
        assert dump(corpus) == before
        corpus.connection.execute("PRAGMA max_page_count = 100000")
        assert corpus.merge(other.path).findings == 39

    def test_what_cannot_be_merged(self, corpus, tmp_path):
        with pytest.raises(CorpusError, match="the very same"):
            corpus.merge(corpus.path)
        with pytest.raises(CorpusError, match=r"absent.db: there is no corpus"):
            corpus.merge(tmp_path / "absent.db")
