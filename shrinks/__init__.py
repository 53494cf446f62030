"""Minimal traces of real findings, each with its script and issue draft. Installed as `fuzzresume.shrinks`."""
