"""fuzzresume: finding the interleaving that makes an agent framework's resume lie.

A run of an agent workflow is interrupted at a question, answered, killed, recovered, forked. The framework promises to go on
"where it was". Whether that is true depends on three things that no reply shows: which effects fired, which records were
durable when the process died, and which answer each effect was computed from. So fuzzresume watches those itself:

- `fuzzresume.contract` says what may happen: one total relation over commands, with the ways to break it as switches, and a
  monitor that keeps every world which explains what was seen. Pure, no I/O.
- `fuzzresume.harness` makes it happen: an effect ledger that survives SIGKILL, crash points found in fault-free runs, and
  three ways to die that mean the same.
- `fuzzresume.adapters` translate the commands to one framework each. Read `langgraph` for an example.
- `fuzzresume.machines` are Hypothesis state machines over the commands; subclass `LinearMachine` for a workflow of your own.
- `fuzzresume.campaign` searches, minimises, confirms and judges; `fuzzresume.report` and `fuzzresume.cli` tell.

Each layer imports only those above it in this list. docs/CONTRACT.md is the page that all of them agree with.
"""

from fuzzresume.contract.workload import Question, Token, Workload

__all__ = ["Question", "Token", "Workload", "__version__"]
__version__ = "0.1.0"
