"""The TLA+ modules of the reference semantics (installed as `fuzzresume.tla`). Imports nothing."""
