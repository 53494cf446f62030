"""The traces that ship: which of them a campaign tries first."""

from __future__ import annotations

from fuzzresume.campaign.gallery import gallery, that_could_be_drawn
from fuzzresume.harness.target import parse_target


def test_every_trace_ships_and_says_what_it_shows() -> None:
    traces = gallery()
    assert len(traces) >= 20 and {"langgraph"} <= {trace.target for trace in traces}
    assert all(trace.found is not None for trace in traces)


def test_only_what_a_campaign_could_have_found_is_tried() -> None:
    """REMIT's findings, say, are not LangGraph's; and a pinned option is pinned for them too."""
    traces = gallery()
    target = parse_target("langgraph")
    mine = that_could_be_drawn(traces, target, {})
    assert mine and all(trace.options.get("wrap", "none") == "none" for trace in mine)
    assert any(trace.options.get("wrap", "none") != "none" for trace in traces)
    pinned = {"api": "functional"}
    functional = that_could_be_drawn(traces, parse_target("langgraph", pinned), pinned)
    assert 0 < len(functional) < len(mine) and all(trace.options["api"] == "functional" for trace in functional)
    assert that_could_be_drawn(traces, parse_target("reference"), {}) == []
