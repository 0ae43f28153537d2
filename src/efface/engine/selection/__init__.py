"""A penalty selected by the live rows themselves, at every step, and the regression with it.

Kernels and NumPy code for the rule of AutoRidge; nothing here knows ids, times or policies.
"""
