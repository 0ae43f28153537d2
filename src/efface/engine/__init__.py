"""Compiled routines on arrays. They know nothing of models, ids, times or frames.

Arguments are trusted: the classes in ``efface.live`` and ``efface.batch`` check them once. A
routine never raises for bad input and never keeps a reference to an array it is given.
"""
