"""Real execution: the effect ledger, hooks and crash points, the sessions, the shape of an adapter (docs/DESIGN.md).

Adapters, machines, campaign and report may import it; it imports `fuzzresume.contract` only. It executes and observes,
and never judges. The modules that a worker loads use the standard library only.
"""
