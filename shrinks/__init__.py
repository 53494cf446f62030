"""Minimal traces of real findings, one folder a target and version. Installed as `fuzzresume.shrinks`."""
