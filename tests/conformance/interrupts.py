"""Calls that are cut off at an arbitrary line: the state is that before the call, or after it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from conformance.expected_rows import ExpectedRows, Row, Window
from conformance.histories import run_seeds
from conformance.oracle import Spec
from conformance.subjects import (
    FleetSubject,
    ModelSubject,
    RiverSubject,
    Setting,
    StoreSubject,
    Subject,
)
from conformance.tally import Disagreement, Tally

import efface
from efface.errors import StoreStopped, UnknownOwner

PACKAGE = str(Path(efface.__file__).parent)
TRIALS = 12  # interrupts per seed
SUBJECTS: dict[str, type[Subject]] = {
    "events": ModelSubject,
    "fleet": FleetSubject,
    "river": RiverSubject,
    "store": StoreSubject,
}
Change = Callable[[Subject], object]


def replayed(subject: Subject, rows: list[Row]) -> object:
    """``replay`` where a path has it."""
    learn_many = subject.learn_many
    if isinstance(subject, ModelSubject | FleetSubject):
        learn_many = subject.replay
    return learn_many(rows)


def refitted(subject: ModelSubject, rows: list[Row]) -> object:
    """``fit``, which forgets all rows before it learns others."""
    X, y, options = subject.setting.columns(rows)
    return subject.model.fit(X, y, **options)


LEARNING: dict[str, Callable[..., object]] = {
    "learn": lambda subject, rows: subject.learn(rows[0]),
    "learn many": lambda subject, rows: subject.learn_many(rows),
    "replay": replayed,
}


def cut_off(call: Callable[[], object], line: int, error: type[BaseException]) -> bool:
    """Run a call and raise ``error`` at its n-th line in efface; was it cut off?"""
    left = line

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise error("cut off")
        return trace

    sys.settrace(trace)
    try:
        call()
    except error:
        return True
    finally:
        sys.settrace(None)
    return False


def at_a_line(call: Callable[[], object], rng: np.random.Generator) -> bool:
    """Cut off a call at a random line."""
    error = (KeyboardInterrupt, MemoryError)[rng.integers(2)]
    return cut_off(call, int(rng.integers(1, 250)), error)


def by_signal(call: Callable[[], object], rng: np.random.Generator) -> bool:
    """Run a call and interrupt it after some processor time; was it cut off?

    Where the signal strikes depends on the machine, so no seed is sure to show a fault.
    """

    def handler(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, float(rng.uniform(1e-6, 2e-3)))
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
    return False


class Trial:
    """A subject whose rows have an owner each, so that every row can be asked for."""

    def __init__(self, path: str, rng: np.random.Generator) -> None:
        self.rng = rng
        clock = [None, "number"][rng.integers(2)]
        kind = str(rng.choice(["rows", "all", "age"] if clock else ["rows", "all"]))
        spec = Spec(str(rng.choice(["OLS", "Ridge", "AutoRidge"])), intercept=bool(rng.integers(2)))
        self.setting = Setting(spec, Window(kind, {"rows": 8, "age": 20}.get(kind, 0)), clock)
        self.subject = SUBJECTS[path](self.setting, 2)
        self.expected = ExpectedRows(spec, self.setting.window, 2)
        self.arrived = 0
        for row in self.rows(6):
            self.subject.learn(row)
            self.expected.learn(row)

    def rows(self, count: int) -> list[Row]:
        found = []
        for _ in range(count):
            t = self.arrived = self.arrived + 1
            x, late = self.rng.normal(size=2), float(self.rng.integers(0, 4))
            at = None if self.setting.clock is None else max(0.0, t - late)
            y = float(x.sum() + self.rng.normal())
            found.append(Row(f"row {t}", x, y, owner=f"owner {t}", at=at))
        return found

    def change(self) -> tuple[Change, ExpectedRows]:
        """A random call, and the rows that are expected after it."""
        after, rng = deepcopy(self.expected), self.rng
        durable = isinstance(self.subject, StoreSubject)  # to open it again is a call of the suite
        verbs = [*LEARNING, "forget", "forget owners", "expire", *([] if durable else ["reload"])]
        verbs += ["fit"] if isinstance(self.subject, ModelSubject) else []
        verb = str(rng.choice(verbs))
        if verb in LEARNING:
            rows = self.rows(1 if verb == "learn" else 4)
            for row in rows:
                after.learn(row)
            return partial(LEARNING[verb], rows=rows), after
        if verb == "fit":
            rows = self.rows(5)
            after = ExpectedRows(self.setting.spec, self.setting.window, 2)
            for row in rows:
                after.learn(row)
            return partial(refitted, rows=rows), after
        if verb == "reload":
            return (lambda subject: subject.reload()), after
        if verb == "expire" and self.setting.clock is not None and after.rows:
            now = after.rows[-1].at + 12.0  # type: ignore[operator]
            after.expire(now)
            return (lambda subject: subject.expire(now)), after
        gone = [self.expected.rows[i] for i in {*rng.integers(0, len(self.expected.rows), size=2)}]
        ids, owners = [row.id for row in gone], [row.owner for row in gone]
        after.forget(ids)
        if verb == "forget":
            return (lambda subject: subject.forget(ids, [])), after
        return (lambda subject: subject.forget([], owners)), after

    def check(self, after: ExpectedRows, tally: Tally) -> None:
        """The state is that of before or of after: ids, owners, rows, coefficients, audit."""
        fit = self.fit()
        ids = fit.ids if fit is not None else []
        known = [expected for expected in (after, self.expected) if expected.ids == ids]
        text = f"ids {ids}, neither {self.expected.ids} nor {after.ids}"
        tally.agree("interrupt", bool(known), text)
        self.expected = known[0]
        for row in self.expected.rows if hasattr(self.subject.root, "held") else ():
            held = self.held(str(row.owner))
            tally.agree("interrupt", held == (row.id, *row.x, row.y), f"{row.owner} holds {held}")
        if fit is not None and self.expected.rows:
            told = f"{self.setting.build()!r} after an interrupt"
            try:
                tally.compare(self.expected.answer(), fit._replace(ids=[]), told)
            except Disagreement as found:
                raise Disagreement("interrupt", str(found)) from found
            tally.agree("interrupt", self.audited(), f"the audit fails; {told}")

    def fit(self) -> Any:
        try:
            if isinstance(self.subject, StoreSubject):  # a queued call is carried out before this
                self.subject.forget(["no such row"], [])
            return self.subject.fits(["a"]).get("a")
        except StoreStopped:
            self.subject.reload()
            return self.subject.fits(["a"]).get("a")

    def held(self, owner: str) -> tuple[Any, ...]:
        root: Any = self.subject.root
        try:
            held = root.held(owner)
        except UnknownOwner:
            return ()
        held = held["m"] if isinstance(held, dict) else held
        features = [column[0] for column in held.features.values()]
        return (held.ids[0], *features, held.responses[0])

    def audited(self) -> bool:
        root: Any = self.subject.root
        if isinstance(self.subject, StoreSubject):
            return all(each.holds for each in root.audit().values())
        return efface.audit(root).holds if isinstance(self.subject, ModelSubject) else True


def check_interrupts(
    path: str, seeds: Sequence[int], *, cut: Callable[..., bool] | None = None
) -> Tally:
    """Calls on a path are cut off, at lines that the seed chooses unless ``cut`` says otherwise."""
    cut = cut or at_a_line

    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, len(path)])
        trial = Trial(path, rng)
        try:
            for _ in range(TRIALS):
                if not trial.expected.rows:
                    return
                call, after = trial.change()
                cut(partial(call, trial.subject), rng)
                trial.check(after, tally)
                tally.states += 1
        finally:
            trial.subject.close()

    return run_seeds(once, seeds)
