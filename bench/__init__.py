"""Benchmarks of fuzzresume, each beside a named alternative that is measured in the same run: `python -m bench`."""
