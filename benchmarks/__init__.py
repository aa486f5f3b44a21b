"""Benchmarks: ratios to a peer, both measured in the same run, in alternation.

`python -m benchmarks [NAME...]` runs all (or the named) modules and rewrites RESULTS.md.
"""
