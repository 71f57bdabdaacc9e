"""Saved workload comparisons: kept, run again, diffed, shared."""
