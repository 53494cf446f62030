"""The in-tree durable engine: the controls of the fuzzer's own verdicts.

An engine whose contract is known, on one SQLite file: under every one of its options it keeps docs/CONTRACT.md (the target
`reference`, which must never alarm), and with one planted deviation it breaks it in one known way (the target `mutant`,
which must always be caught). Read `log` (what is stored), `run` (what it means), `policy` (the legal choices), `engine`
(what the commands do), then `faults` (the deviations). Only the adapters `reference` and `mutant` import it; it imports
`fuzzresume.contract`, `fuzzresume.harness` and the standard library.
"""
