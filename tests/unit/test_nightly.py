"""Nights in the corpus database: which goes on and which is new, what changed between two, and when a finding is gone."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from corpus_samples import PROGRESS, STARTED, found, numbered, report
from report_samples import TARGET, conforming, forked, looked, shaky

from fuzzresume.campaign.corpus.database import Corpus, CorpusError
from fuzzresume.campaign.events import KnownChecked, TargetFinished, TargetStarted
from fuzzresume.campaign.nightly.diff import Moved, Turned
from fuzzresume.campaign.nightly.night import OVER, NightRun, NightRunning, Plan, Planned, alone, given, share
from fuzzresume.campaign.nightly.store import NightRecorder, Nights
from fuzzresume.campaign.regress import GONE, Checked
from fuzzresume.harness.target import Target
from fuzzresume.report.account import Account
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.nightly_markdown import nightly_markdown
from fuzzresume.report.nightly_page import nightly_page
from fuzzresume.report.nightly_result import result_of
from fuzzresume.report.nightly_words import diff_rows

NAME = "example"
KNOWN = forked()


@pytest.fixture
def nights(tmp_path):
    ticks = iter(range(1000))
    with Corpus(tmp_path / "corpus.db", clock=lambda: datetime(2026, 1, 1, 0, 0, next(ticks) % 60, tzinfo=UTC)) as corpus:
        yield Nights(corpus, lambda: datetime(2026, 1, 1, tzinfo=UTC))


def begun(nights, *targets, config="plan", **more):
    return nights.begin(config, targets or [NAME], None, **more)


def fuzz(nights, night, findings=(), checks=(), known=(), *, target=NAME, started=STARTED, end=True, **changes):
    """One campaign of a night; `checks` are (name, outcome) of the traces that it tried first."""
    recorder = NightRecorder(nights.corpus.recorder(night.name), nights.corpus, night, target)
    recorder.handle(started)
    for name, outcome in checks:
        recorder.handle(KnownChecked(Checked(name, outcome, False)))
    for finding in findings:
        recorder.handle(found(finding))
    if end:
        recorder.handle(TargetFinished(replace(report(findings, known), **changes)))


def whole(nights, *args, **more):
    """A night with one campaign, and what it comes to."""
    night = begun(nights)
    fuzz(nights, night, *args, **more)
    return result_of(nights, nights.finish(night, 0))


TWO = Plan([Planned("reference", "reference"), Planned("mutant", "mutant")], 10, None, None, ("tour",))
"""Ten seconds for two targets."""


def night_of(nights, plan, took):
    """A night whose campaigns take `took` seconds each: the seconds that each was given, and what was not fuzzed."""
    night = nights.begin(plan.digest, [planned.label for planned in plan.targets], plan.seed)
    now, times = [0.0], []

    class Timed:
        def __init__(self, recorder):
            self.recorder = recorder

        def run(self):
            self.recorder.handle(STARTED)
            self.recorder.handle(TargetFinished(conforming()))
            now[0] += took
            return conforming()

    def make(target, planned, budget, traces, recorder):
        times.append(budget.seconds)
        return Timed(recorder)

    NightRun(nights, night, plan, make, lambda reports: 0, 0.0, clock=lambda: now[0]).run()
    return times, result_of(nights, night).unusable


def kinds(result):
    return [
        (kind, words.split()[1]) for kind, words in diff_rows(result.diff) if kind in ("new", "still", "gone", "not seen")
    ]


class TestWhichNight:
    def test_one_that_is_not_over_goes_on_with_the_rest(self, nights):
        night = begun(nights, "a", "b")
        fuzz(nights, night, target="a")
        assert begun(nights, "a", "b") == night
        assert nights.unfinished(night) == ["b"]

    @pytest.mark.parametrize("end", [{"end": False}, {"interrupted": True}], ids=["killed", "interrupted"])
    def test_a_target_that_was_cut_short_is_not_done(self, nights, end):
        night = begun(nights)
        fuzz(nights, night, **end)
        assert nights.unfinished(night) == [NAME]
        fuzz(nights, night)
        assert nights.unfinished(night) == []

    def test_one_that_is_over_is_followed_by_a_new_one(self, nights):
        first = nights.finish(begun(nights), 0)
        second = begun(nights)
        assert (first.number, second.number, second.seed) == (1, 2, 2)
        assert nights.all() == [first, second]

    def test_another_plan_or_a_wish_begins_a_new_one(self, nights):
        assert [
            begun(nights).number,
            begun(nights, config="other").number,
            begun(nights, config="other", fresh=True).number,
        ] == [
            1,
            2,
            3,
        ]

    def test_a_seed_of_its_own(self, nights):
        assert nights.begin("plan", [NAME], 7).seed == 7

    def test_a_night_s_plan_does_not_depend_on_the_baseline(self):
        plan = Plan([Planned(NAME, NAME)], 60, None, None, ("tour",))
        assert plan.digest == replace(plan, known=[KNOWN.to_trace()]).digest != replace(plan, seconds=61.0).digest


class TestDiff:
    def test_the_first_night_knows_nothing(self, nights):
        result = whole(nights, [KNOWN])
        assert kinds(result) == [("new", KNOWN.id)] and result.diff.since == ""

    def test_seen_again_is_still_there(self, nights):
        whole(nights, [KNOWN])
        assert kinds(whole(nights, [KNOWN], [(KNOWN.id, "still shows")])) == [("still", KNOWN.id)]

    def test_gone_only_when_its_trace_was_replayed(self, nights):
        whole(nights, [KNOWN])
        assert kinds(whole(nights)) == [("not seen", KNOWN.id)]
        assert kinds(whole(nights, (), [(KNOWN.id, "cannot run: no racers")])) == [("not seen", KNOWN.id)]
        result = whole(nights, (), [(KNOWN.id, GONE)])
        assert kinds(result) == [("gone", KNOWN.id)] and result.code(["gone"], interrupted=False) is Exit.VIOLATED

    def test_gone_is_said_once_and_what_comes_back_is_new(self, nights):
        whole(nights, [KNOWN])
        whole(nights, (), [(KNOWN.id, GONE)])
        assert kinds(whole(nights, (), [(KNOWN.id, GONE)])) == []
        assert kinds(whole(nights, [KNOWN])) == [("new", KNOWN.id)]

    def test_a_campaign_that_finds_it_outweighs_the_replay(self, nights):
        whole(nights, [KNOWN])
        assert kinds(whole(nights, [KNOWN], [(KNOWN.id, GONE)])) == [("still", KNOWN.id)]
        assert kinds(whole(nights, [KNOWN])) == [("still", KNOWN.id)]

    def test_a_trace_that_still_shows_something_is_not_gone(self, nights):
        whole(nights, [KNOWN])
        assert kinds(whole(nights, [numbered(5)], [(KNOWN.id, "still shows")])) == [("new", numbered(5).id)]

    def test_one_replay_says_nothing_of_a_flaky_one(self, nights):
        whole(nights, [shaky()])
        assert kinds(whole(nights, (), [(shaky().id, GONE)])) == [("not seen", shaky().id)]
        assert kinds(whole(nights)) == [("not seen", shaky().id)]

    def test_the_baseline_s_are_neither_new_nor_still(self, nights):
        assert kinds(whole(nights, known=[looked()])) == kinds(whole(nights, known=[looked()])) == []

    def test_verdicts_versions_and_targets(self, nights):
        whole(nights)
        night = begun(nights, NAME, "other")
        adapter = type(TARGET.adapter)()
        adapter.version_of = {"example-framework": "1.3.0", "example-store": "4.1.1"}.__getitem__
        moved = TargetStarted(Target(adapter), 7)
        fuzz(nights, night, started=moved, verdicts=conforming().verdicts)
        changed = result_of(nights, night).diff
        assert changed.moved == [Moved(NAME, ["example-framework 1.2.9 → 1.3.0"])]
        assert Turned(NAME, "FD", "violated", "holds") in changed.verdicts
        assert (changed.added, changed.removed) == (["other"], [])
        assert result_of(nights, begun(nights, "other", config="later")).diff.removed == [NAME]


class TestKilled:
    def test_what_was_found_before_is_kept(self, nights):
        night = begun(nights)
        fuzz(nights, night, [KNOWN], end=False)
        fuzz(nights, night)
        assert kinds(result_of(nights, night)) == [("new", KNOWN.id)]

    def test_unless_the_second_try_does_not_show_it(self, nights):
        night = begun(nights)
        fuzz(nights, night, [KNOWN], end=False)
        fuzz(nights, night, (), [(KNOWN.id, GONE)])
        assert kinds(result_of(nights, night)) == []

    def test_its_traces_come_first(self, nights):
        other, mine = numbered(3), numbered(9)
        fuzz(nights, begun(nights), [other, mine], end=False)
        traces = nights.traces(TARGET, {}, [], {f"{NAME}/{mine.id}"})
        assert [trace.found.id for trace in traces] == [mine.id, other.id]
        assert nights.traces(TARGET, {}, traces, ()) == [] == nights.traces(TARGET, {"saver": "memory"}, [], ())

    def test_whatever_the_clock_says(self, tmp_path):
        hours = iter(range(23, 0, -1))
        with Corpus(tmp_path / "back.db", clock=lambda: datetime(2026, 1, 1, next(hours), tzinfo=UTC)) as corpus:
            back = Nights(corpus, lambda: datetime(2026, 1, 1, tzinfo=UTC))
            night = begun(back)
            fuzz(back, night, [KNOWN], end=False)
            fuzz(back, night, (), [(KNOWN.id, GONE)])
            result = result_of(back, back.finish(night, 0))
            assert result.slots[0].ended and kinds(result) == []
            assert kinds(whole(back, [KNOWN])) == [("new", KNOWN.id)]


class TestMerge:
    def test_nights_go_where_there_are_none_and_a_second_time_changes_nothing(self, nights, tmp_path):
        results = [whole(nights, [KNOWN]), whole(nights, (), [(KNOWN.id, GONE)])]
        with Corpus(tmp_path / "empty.db") as corpus:
            for _ in range(2):
                corpus.merge(nights.corpus.path)
                moved = replace(nights, corpus=corpus)
                assert [result_of(moved, night) for night in moved.all()] == results

    def test_a_copy_that_was_gone_on_with_comes_back(self, nights, tmp_path):
        whole(nights, [KNOWN])
        night = begun(nights, NAME, "other")
        fuzz(nights, night, [KNOWN], end=False)
        with Corpus(tmp_path / "copy.db") as corpus:
            corpus.merge(nights.corpus.path)
            copy = replace(nights, corpus=corpus)
            fuzz(copy, night, (), [(KNOWN.id, GONE)])
            copy.unusable(night, "other", "no environment")
            later = [copy.finish(night, 3), begun(copy)]
            nights.corpus.merge(corpus.path)
            assert nights.all()[1:] == later
            assert result_of(nights, later[0]) == result_of(copy, later[0])
            assert kinds(result_of(nights, later[0])) == [("gone", KNOWN.id)]
            corpus.merge(nights.corpus.path)
            assert copy.all() == nights.all()

    def test_nights_of_two_databases_stay_where_they_ran(self, nights, tmp_path):
        whole(nights, [KNOWN])
        with Corpus(tmp_path / "elsewhere.db") as corpus:
            elsewhere = Nights(corpus, lambda: datetime(2026, 1, 1, 12, tzinfo=UTC))
            whole(elsewhere, [numbered(5)])
            whole(elsewhere)
        mine = [result_of(nights, night) for night in nights.all()]
        nights.corpus.merge(tmp_path / "elsewhere.db")
        assert [result_of(nights, night) for night in nights.all()] == mine
        assert {row.id for row in nights.corpus.findings()} == {KNOWN.id, numbered(5).id}


class TestCode:
    def test_what_fails(self, nights):
        first, second = whole(nights, [KNOWN]), whole(nights, [KNOWN])
        assert first.code(["new"], interrupted=False) is second.code(["violated"], interrupted=False) is Exit.VIOLATED
        assert second.code(["new"], interrupted=False) is not Exit.VIOLATED
        assert second.code(["violated"], interrupted=True) is Exit.INTERRUPTED

    def test_nothing_fails(self, nights):
        clean = {"verdicts": conforming().verdicts, "troubles": []}
        assert whole(nights, **clean).code(["violated"], interrupted=False) is Exit.OK
        assert whole(nights, [shaky()], **clean).code(["violated"], interrupted=False) is Exit.OK
        assert whole(nights, **{**clean, "troubles": ["hung"]}).code(["violated"], interrupted=False) is Exit.UNDETERMINED

    def test_a_contradiction_and_a_target_without_a_campaign(self, nights):
        denied = replace(KNOWN, tlc="contradicted")
        assert whole(nights, [denied]).code(["violated"], interrupted=False) is Exit.UNDETERMINED
        night = begun(nights)
        nights.unusable(night, NAME, "no environment")
        assert result_of(nights, night).code(["violated"], interrupted=False) is Exit.UNDETERMINED


class TestTime:
    def test_what_is_left_is_shared(self):
        long, short, fixed = Planned("a", "a"), Planned("b", "b"), Planned("c", "c", seconds=20)
        assert share(100, [long, short, fixed]) == 40 and share(60, [short, fixed]) == 40 and share(20, [fixed]) == 20
        assert share(5, [fixed]) == 5 and share(5, [long, fixed]) == 0
        assert share(None, [long]) is None and share(None, [fixed]) == 20

    def test_something_is_kept_for_the_end(self):
        assert [given(seconds) for seconds in (8, 100, 1800)] == [6, 80, 1710]

    @pytest.mark.parametrize("took, second", [(1.0, 6.5), (3.75, 3.75), (12.0, 3.75)], ids=["early", "in time", "late"])
    def test_one_that_takes_too_long_costs_no_other_its_share(self, nights, took, second):
        times, unusable = night_of(nights, TWO, took)
        assert times == [3.75, second] and unusable == []

    def test_no_target_begins_when_it_is_over(self, nights):
        own = [replace(planned, seconds=8) for planned in TWO.targets]
        times, unusable = night_of(nights, replace(TWO, targets=own), took=8.0)
        assert times == [7.5] and unusable == [f"mutant: {OVER}"]

    def test_nor_when_earlier_calls_have_spent_it(self, nights):
        fuzz(nights, nights.begin(TWO.digest, ["reference", "mutant"], TWO.seed), interrupted=True, target="reference")
        times, unusable = night_of(nights, TWO, took=1.0)
        assert times == [] and unusable == [f"{name}: {OVER}" for name in ("reference", "mutant")]

    def test_a_campaign_that_was_not_recorded_leaves_the_night_open(self, nights):
        plan = Plan([Planned("reference", "reference")], None, 1, None, ("tour",))
        night = nights.begin(plan.digest, ["reference"], plan.seed)

        class Deaf:
            def run(self):
                return replace(conforming(), troubles=["NightRecorder gave up: there is no room left"])

        work = NightRun(nights, night, plan, lambda *anything: Deaf(), lambda reports: 0, 0.0)
        with pytest.raises(CorpusError, match="no room left"):
            work.run()
        assert len(work.reports) == 1 and nights.unfinished(night) == ["reference"]

    def test_what_a_campaign_took_before_the_interrupt_is_spent(self, nights):
        night = begun(nights)
        fuzz(nights, night, interrupted=True)
        assert nights.spent(night) == PROGRESS.seconds


def test_two_nights_at_once(tmp_path):
    with alone(tmp_path / "corpus.db"):
        with pytest.raises(NightRunning, match="another nightly run"), alone(tmp_path / "corpus.db"):
            pass
        with alone(tmp_path / "other.db"):
            pass
    with alone(tmp_path / "corpus.db"):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match="lock"), alone(tmp_path / "file" / "corpus.db"):
        pass


def test_pages_say_what_changed(nights):
    results = [whole(nights, [KNOWN]), whole(nights, (), [(KNOWN.id, GONE)])]
    account = Account(2, [conforming()], Exit.OK)
    page = nightly_markdown(account, results[1]).decode()
    assert page.startswith("# night 2026-01-01.2 ") and f"| gone | example {KNOWN.id} " in page and "# fuzzresume" in page
    shown = nightly_page(account, "today", results).decode()
    assert "2026-01-01.1" in shown and shown.count(f"example {KNOWN.id} a fork") == 2
