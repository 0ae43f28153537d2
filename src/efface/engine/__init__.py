"""Compiled routines on arrays: they know nothing of models, ids, times or frames.

Arguments are trusted: ``efface.live`` and ``efface.batch`` check them once. A routine does not
raise for bad input and keeps no reference to an array that it is given.
"""
