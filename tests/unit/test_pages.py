"""Huge pages: a child asks for them, so that this process stays as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzzresume.harness import pages

SCRIPT = """
import re
from pathlib import Path
from fuzzresume.harness import pages

def huge():
    return int(re.search(r"AnonHugePages:\\s+(\\d+)", Path("/proc/self/smaps_rollup").read_text()).group(1))

kept = [bytes([number % 256]) * 100 for number in range(200_000)]
before = huge()
pages.enlarge()
assert kept == [bytes([number % 256]) * 100 for number in range(200_000)]
print(before, huge())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's huge pages")
def test_memory_goes_into_huge_pages_and_is_the_same() -> None:
    said = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60).stdout
    before, after = map(int, said.split())
    if after == before:
        pytest.skip("this kernel does not grant them")
    assert after - before >= 2 * pages.HUGE // 1024


def test_where_there_is_no_such_request_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(pages, "_anonymous", lambda: pytest.fail("asked for the memory of another system"))
    pages.enlarge()


def test_without_proc_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(pages, "MAPS", tmp_path / "absent")
    pages.enlarge()
