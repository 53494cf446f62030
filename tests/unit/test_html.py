"""The page: everything a report says is there, nothing in it is more than it says, and no text of a framework is markup."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import pytest
from html_samples import DATE, NIGHTS, account, covering, night, page
from report_samples import HOSTILE, RULE, TARGET, conforming, interrupted, whole

from fuzzresume.campaign.coverage import Coverage, Unreached
from fuzzresume.campaign.verdicts import Tally, verdicts
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.harness.adapter import Capabilities
from fuzzresume.report.html_coverage import picture
from fuzzresume.report.html_history import MOST, NOTHING, histories
from fuzzresume.report.html_page import html_page

VOID = {"meta", "link", "br", "rect", "path"}


class Parsed(HTMLParser):
    """What a browser would see: every element, the text of those asked for, and whether each that begins also ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    @property
    def words(self) -> str:
        return " ".join("".join(data for tag, data in self.texts if tag != "style").split())

    def all(self, name: str) -> list[str]:
        return [value or "" for _, attributes in self.elements for key, value in attributes.items() if key == name]


def matrix(text: str) -> dict[str, list[str]]:
    """Property → the words of its cells, a target each."""
    table = text[text.index('<table class="matrix">') :].partition("</table>")[0]
    rows = {}
    for row in re.findall(r"<tr>\s*(<th scope=\"row\">.*?)</tr>", table, re.DOTALL):
        heading, *cells = re.split(r"<td>", row)
        rows[Parsed(heading).words.split()[0]] = [Parsed(cell.replace("</td>", "")).words for cell in cells]
    return rows


def test_the_heading_says_targets_versions_seed_date_and_what_the_exit_code_means() -> None:
    words = Parsed(page()).words
    for said in (DATE, "seed7", "example-framework 1.2.9, example-store 4.1.1", "1: something that was not known"):
        assert said in words, said
    assert "crewai: ]]><script>" in words


def test_the_matrix_has_each_verdict_with_a_symbol_and_its_findings() -> None:
    reports = whole(), interrupted(), conforming()
    symbols = {"holds": "✓", "violated": "✗", "documented": "§", "inapplicable": "—", "unexercised": "?"}
    rows = matrix(html_page(account(*reports), DATE))
    assert list(rows) == list(PROPERTIES)
    for name, cells in rows.items():
        for report, cell in zip(reports, cells, strict=True):
            verdict = report.verdicts[name]
            assert cell.split() == [symbols[verdict.verdict], verdict.verdict, *verdict.findings]


def test_what_was_not_exercised_never_looks_like_a_pass() -> None:
    nothing = replace(whole(), verdicts=verdicts(Tally(), TARGET.capabilities, []), findings=[], known=[])
    text = html_page(account(nothing), DATE)
    assert {cell for cells in matrix(text).values() for cell in cells} == {"? unexercised", "— inapplicable"}
    assert text.count('class="verdict holds"') == 1, "in the key alone"


def test_every_finding_is_there_with_its_trace_what_was_expected_and_observed_and_what_is_known_of_it() -> None:
    report = whole()
    parsed = Parsed(html_page(account(report), DATE))
    articles = [attributes for tag, attributes in parsed.elements if tag == "article"]
    assert [article["class"] for article in articles] == [
        *["finding violated"] * 3, "finding flaky", "finding documented"
    ]  # fmt: skip
    for finding in report.findings:
        expected, observed = finding.expected_observed
        said = [finding.title, finding.confirmed, *finding.words, *expected.split(" — or — ")]
        said += [observed.partition("ValueError")[0].strip(), *("+".join(names) for names in finding.explanation)]
        for words in said:
            assert words in parsed.words, words
        assert f"Sequence diagram: {finding.id} on example" in parsed.words
    assert f"The documented rule: {RULE.rule} ({RULE.where}, {RULE.version})." in parsed.words
    assert "IN-0000ab: inspection was not inert" in parsed.words
    assert "flaky (3 of 5)" in parsed.words and "2/3" in parsed.words


def test_troubles_what_never_happened_and_an_interruption_are_said() -> None:
    words = Parsed(page()).words
    assert "run 17 hung at resume" in words and "Interrupted: this is what was found until then" in words
    assert "no run went on after a death that left something durable" in words


def test_of_very_many_troubles_none_is_lost() -> None:
    words = Parsed(html_page(account(replace(whole(), troubles=[f"trouble-{n}." for n in range(50)])), DATE)).words
    assert all(words.count(f"trouble-{n}.") == 1 for n in range(50)) and "42 more" in words


def test_no_text_of_a_framework_is_markup() -> None:
    text = page()
    parsed = Parsed(text)
    assert "script" not in {tag for tag, _ in parsed.elements}
    assert parsed.words.count("<script>alert(1)</script>&amp;") == text.count("&lt;script&gt;alert(1)") > 3
    assert text.encode() and not re.search("[\x00-\x08\x0b-\x1f]", text)
    assert not [name for name in set().union(*(a for _, a in parsed.elements)) if name.startswith("on")]
    hostile = replace(whole(), policy={HOSTILE: HOSTILE}, vacuous=[HOSTILE], troubles=[HOSTILE])
    assert Parsed(html_page(account(hostile), HOSTILE, NIGHTS)).words.count("<script>") >= 6


def test_the_page_needs_nothing_else() -> None:
    parsed = Parsed(page())
    assert {link for link in parsed.all("href") if not link.startswith("#")} == {"data:,"}
    assert not parsed.all("src") and "url(" not in page() and "@import" not in page()


def test_links_lead_somewhere_names_are_given_once_and_headings_are_in_order() -> None:
    parsed = Parsed(page())
    ids = Counter(parsed.all("id"))
    assert ids.most_common(1)[0][1] == 1
    assert {link[1:] for link in parsed.all("href") if link.startswith("#")} <= set(ids)
    assert set(parsed.all("aria-labelledby")) <= set(ids)
    levels = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1 == levels[0]
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_every_table_has_a_caption_and_scoped_headings_and_every_picture_a_name() -> None:
    parsed = Parsed(page())
    kinds = Counter(tag for tag, _ in parsed.elements)
    assert kinds["table"] == kinds["caption"] and all(a.get("scope") for tag, a in parsed.elements if tag == "th")
    pictures = [a for tag, a in parsed.elements if tag == "svg"]
    assert all(a.get("role") == "img" or a.get("aria-hidden") == "true" for a in pictures)
    assert kinds["title"] >= 1 + sum(a.get("role") == "img" for a in pictures)


def test_targets_of_one_name_can_be_told_apart() -> None:
    parsed = Parsed(html_page(account(interrupted(), conforming()), DATE))
    assert "example@1.2.9 (2)" in parsed.words and "example@1.2.9 (3)" not in parsed.words


def test_a_known_finding_that_is_found_again_has_one_place() -> None:
    report = whole()
    again = replace(report, known=[*report.known, report.findings[0]])
    assert max(Counter(Parsed(html_page(account(again), DATE)).all("id")).values()) == 1


def test_a_target_with_nothing_to_resume_says_so_and_shows_no_coverage() -> None:
    can = Capabilities(absent="this version has nothing to resume")
    target = SimpleNamespace(label="empty@2", packages={}, capabilities=can)
    report = replace(conforming(), target=target, verdicts=verdicts(Tally(), can, []))  # type: ignore[arg-type]
    words = Parsed(html_page(account(report), DATE)).words
    assert "empty@2: this version has nothing to resume. Nothing was run." in words and "Coverage of the" not in words


def test_without_targets_or_nights_the_page_is_whole() -> None:
    parsed = Parsed(html_page(account(), DATE))
    assert "No target was fuzzed." in parsed.words and "History" not in parsed.words


# Coverage.


@pytest.mark.parametrize("every", [1, 2, 3, 100])
def test_the_picture_of_coverage_counts_what_the_report_counts(every: int) -> None:
    report = covering(whole(), every)
    drawn = picture(report)
    assert drawn is not None
    for parts in (drawn.states, drawn.commands):
        assert (sum(part.sent for part in parts), sum(part.total for part in parts)) == report.coverage.pairs
    assert sum(drawn.count(fill) for fill in ("all", "some", "none")) == len(drawn.states)
    words = Parsed(html_page(account(report), DATE)).words
    start = next(part for part in drawn.commands if part.name == "start")
    assert f"filled where every command was sent ({drawn.count('all')})" in words
    assert f"start{start.sent}{start.total}" in words.replace(" ", "")


def test_nothing_sent_is_drawn_as_nothing_and_all_as_all() -> None:
    none, every = picture(covering(whole(), 1)), picture(covering(whole(), 10_000))
    assert none is not None and every is not None
    assert none.count("none") == len(none.states) and every.count("all") == len(every.states)


def test_a_coverage_of_another_graph_is_not_drawn_but_counted() -> None:
    elsewhere = replace(covering(whole(), 1), coverage=Coverage((1, 2), (3, 4), (), 3))
    assert picture(elsewhere) is None
    assert "3 of 4 (state, command) pairs sent" in Parsed(html_page(account(elsewhere), DATE)).words
    whole_graph = covering(whole(), 10_000).coverage
    strange = replace(whole_graph, unreached=(Unreached("a state of another graph", "start", "-"),))
    assert picture(replace(whole(), coverage=strange)) is None


# History.


def test_a_line_of_history_says_what_it_was_and_since_when_it_changed() -> None:
    (each,) = histories(NIGHTS)
    lines = {line.name: line for line in each.lines}
    assert each.target == TARGET.label and list(lines) == list(PROPERTIES)
    assert (lines["FD"].words, lines["FD"].changed) == ("violated for 2 nights, holds for 1 night", "2026-11-03")
    assert lines["FD"].before == "violated" and lines["CO"].changed == "" == lines["CO"].before
    assert (lines["PC"].words, lines["PC"].changed, lines["PC"].before) == (
        "holds for 1 night, unexercised for 1 night, holds for 1 night", "2026-11-03", "unexercised",
    )  # fmt: skip


def test_a_night_without_a_target_changes_nothing_about_it() -> None:
    without = replace(NIGHTS[1], verdicts={})
    (each,) = histories([NIGHTS[0], without, NIGHTS[0]])
    assert each.lines[0].verdicts == ["holds", NOTHING, "holds"] and each.lines[0].changed == ""


def test_of_very_many_nights_the_newest_are_drawn() -> None:
    (each,) = histories([night(1, FD="violated"), *[night(n % 28 + 1) for n in range(200)]])
    line = next(line for line in each.lines if line.name == "FD")
    assert line.verdicts == ["holds"] * MOST and line.before == "violated"


def test_the_page_shows_the_history_and_what_came_and_went() -> None:
    parsed = Parsed(page())
    assert "violated for 2 nights, holds for 1 night" in parsed.words and "2026-11-03, from violated" in parsed.words
    assert "EO-449951 several tasks in doubt" in parsed.words and "FD-79e629 a fork was not served" in parsed.words
