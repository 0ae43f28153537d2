"""Sums over a range of rows, made by addition alone. Nothing is ever subtracted.

``sliding`` keeps the Gram matrix of a sliding range, ``moments`` its mean and variance.
"""
