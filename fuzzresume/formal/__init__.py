"""The TLC side of `tla/`: configurations, batch replay, graph comparison (docs/DESIGN.md).

Depends on `contract` alone; the campaign and the command line call it. Needs the extra `tla`, or another TLC and Java.
"""
