"""`vardy bench`: speed and cost as ratios against floors that are taken in the same run.

Absolute figures move from run to run on shared machines; a floor measured in between
moves with them. Every figure is the median of interleaved repetitions.
"""

from vardy_api.bench.runner import BENCHMARKS, run_bench

__all__ = ["BENCHMARKS", "run_bench"]
