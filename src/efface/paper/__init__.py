"""The paper's experiments as frozen settings, and a verdict on each of its findings.

``simulate`` draws streams, ``experiments`` defines the settings, ``sweep`` runs them in parallel,
``evidence``, ``claims`` and ``verdicts`` judge the findings, ``reproduction`` writes the files,
``plots`` only draws, ``scorecard`` and ``progress`` show results. Formulas of the paper belong to
``efface.theory``; nothing in the library depends on this package.
"""
