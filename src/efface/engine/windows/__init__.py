"""Every window of an array at once: coefficients, inference statistics, batched replay.

No model state: a call takes arrays and writes arrays. Neighbouring windows share the sums of the
rows that they have in common.
"""
