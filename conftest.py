"""Settings that must be made before NumPy is imported, and the table of conformance.

BLAS gets one thread, because the test processes already use all cores. BLAS threads that wait for a
core spin, and operations on small matrices then take many times as long.
"""

import os
from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["src/efface/spark/key_processor.py"]
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def pytest_terminal_summary(terminalreporter):
    """What the conformance suite compared; the results come from all test processes."""
    reports = (report for reports in terminalreporter.stats.values() for report in reports)
    cells = [
        cell
        for report in reports
        for name, cell in getattr(report, "user_properties", [])
        if name == "conformance"
    ]
    if cells:
        from conformance.tally import table

        terminalreporter.section("conformance: error over tolerance, by path")
        terminalreporter.write_line("\n".join(table(cells)))
