"""The page for a CI job: the verdicts, the findings folded away, nothing of them as markup, and never beyond the limit."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from report_samples import HOSTILE, conforming, interrupted, whole

from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.report.account import MEANING, Account
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.sentence import sentence
from fuzzresume.report.summary import LIMIT, summary_markdown

ACCOUNT = Account(5, [whole(), interrupted(), conforming()], Exit.INTERRUPTED, [f"no environment: {HOSTILE}"])
SHOWN = HOSTILE.replace("\x00", "\\x00").replace("\x1b", "\\x1b")


def test_the_page_has_verdicts_findings_and_the_sentence() -> None:
    lines = summary_markdown(ACCOUNT).decode().splitlines()
    assert lines[0] == "# fuzzresume: exit code 130" and lines[2] == f"{MEANING[Exit.INTERRUPTED]} · seed 5"
    for name in PROPERTIES:
        assert sum(line.startswith(f"| {name} |") for line in lines) == len(ACCOUNT.reports)
    (row, _, _) = [line for line in lines if line.startswith("| FD |")]
    assert row.startswith("| FD | fork determinism | **violated** | a fork was not served") and row.endswith("(FD-79e629) |")
    assert sum(line == "</details>" for line in lines) == 6
    assert next(line for line in lines if "<summary>" in line).startswith("<summary>example@1.2.9 CO-")
    assert "3. fork(b, gate 2)" in lines
    assert any(line.startswith("- known IN-0000ab: inspection was not inert") for line in lines)
    assert "- interrupted: this is what was found until then" in lines
    for report in ACCOUNT.reports:
        assert sentence(report) in lines


def test_a_hostile_text_is_no_markup() -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(summary_markdown(ACCOUNT).decode())
    inline = [child for token in tokens for child in token.children or []]
    assert not [child for child in inline if child.type in ("html_inline", "link_open", "code_inline")]
    assert not any("<script" in token.content for token in tokens if token.type == "html_block")
    assert any(SHOWN in "".join(c.content for c in token.children or []) for token in tokens if token.type == "inline")
    fenced = [token.content for token in tokens if token.type == "fence"]
    assert len(fenced) == 6 and any(f"ValueError: {SHOWN}\n" in text for text in fenced)


def test_what_does_not_fit_is_counted() -> None:
    whole_page = summary_markdown(ACCOUNT)
    assert len(whole_page) < LIMIT and b"did not fit" not in whole_page
    for limit in (6000, len(whole_page) - 1):
        page = summary_markdown(ACCOUNT, limit)
        assert len(page) <= limit
        out = re.search(r"^(\d+) parts of this page did not fit", page.decode(), re.MULTILINE)
        assert out is not None and int(out[1]) > 0
        assert page.count(b"<details>") == page.count(b"</details>") < 6
        assert all(f"| {name} |".encode() in page for name in PROPERTIES)
