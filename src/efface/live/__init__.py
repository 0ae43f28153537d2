"""The live rows: which rows are in, which leave, and what follows from them.

Rows, ids and times, the policies that plan which rows leave, the penalties, the solver that asks
the engine for coefficients, and the snapshot that a file holds. Nothing here knows scikit-learn or
frames.
"""
