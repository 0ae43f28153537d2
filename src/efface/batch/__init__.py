"""Functions over whole arrays and frames: rolling regression, replay, groups, and their results.

This package checks and arranges the input, calls ``efface.models``, ``efface.live`` or the window
kernels of ``efface.core``, and converts the output. It has no numerical algorithm of its own.
"""
