"""Run `python -m benchmarks [suite ...]` from the root of the repository."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.settings import Settings
from benchmarks.threads import confine

SUITES = (
    *("rolling", "replay", "diagnostics", "event", "forget", "growth", "forecast", "memory"),
    *("startup", "accuracy", "statistics", "frames", "intervals", "penalty", "scaling", "job"),
    *("cliffs", "experiments", "store", "fleet", "service", "spark"),
)


def main() -> int:
    """Run the suites that the command line names."""
    options = parse()
    confine(options.threads)
    chosen = SUITES if "all" in options.suites else options.suites
    return measure(chosen, options)


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=(*SUITES, "all"), default="all")
    parser.add_argument("--quick", action="store_true", help="fewer rows and fewer rounds")
    parser.add_argument("--threads", type=int, default=1, help="threads and cores per contender")
    parser.add_argument("--seed", type=int, help="seed of the streams of 'intervals'")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write tables for the README")
    parser.add_argument("--strict", action="store_true", help="fail if a goal is missed")
    return parser.parse_args()


def measure(suites: list[str] | tuple[str, ...], options: argparse.Namespace) -> int:
    """Run the suites in turn; print and write each report as soon as it is done."""
    report = import_module("benchmarks.report")
    console = report.Console()
    where = report.machine(options.threads, options.quick)
    settings = Settings(options.quick, options.threads, options.seed)
    reports = []
    for suite in suites:
        reports.append(import_module(f"benchmarks.{suite}").run(settings))
        report.show(reports[-1], console)
        if options.json:
            report.write_json(options.json, where, reports)
        if options.markdown:
            report.write_markdown(options.markdown, where, reports)
    if options.quick:
        console.print(report.QUICK)
    missed = any(goal.verdict != "pass" for found in reports for goal in found.goals)
    return int(options.strict and missed)


if __name__ == "__main__":
    raise SystemExit(main())
