"""Random histories: rows come in any order and leave in every way; each state is checked."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
from conformance.designs import DESIGNS, draw
from conformance.expected_rows import ExpectedRows, Row, Window
from conformance.oracle import Spec
from conformance.subjects import (
    SUBJECTS,
    Fit,
    FleetSubject,
    ModelSubject,
    RiverSubject,
    Setting,
    Subject,
)
from conformance.tally import Disagreement, Tally
from conformance.walk import distinctive, held_values

import efface
from efface import EffaceError

KINDS = (*["OLS"] * 4, "Ridge", "AdaptiveRidge", "SwitchingRidge", *["AutoRidge"] * 3)
KEYS = ("a", "b", "c")
STEPS = 24  # of a history
ROWS = 90  # of its stream


def generator(path: str, design: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, crc32(path.encode()), crc32(design.encode())])


def random_spec(rng: np.random.Generator, *, fading: bool = True) -> Spec:
    return Spec(
        kind=str(rng.choice(KINDS)),
        alpha=float(rng.choice([0.0, 1e-3, 0.7, 30.0])),
        delta=float(rng.choice([0.05, 0.2])),
        theta_max=float(rng.choice([1.0, 2.0])),
        switch_at=1.55,
        intercept=bool(rng.random() < 0.6),
        standardize=bool(rng.random() < 0.15),
        halflife=float(rng.choice([1.5, 4.0, 20.0])) if fading and rng.random() < 0.15 else None,
    )


def window_sizes(d: int) -> list[int]:
    """Fewer rows than features, as many, one more, and more."""
    return [1, 2, max(1, d - 1), d, d + 1, d + 2, 2 * d + 3, 3 * d + 12]


def random_setting(rng: np.random.Generator, d: int, *, fading: bool = True) -> Setting:
    spec = random_spec(rng, fading=fading)
    clock = [None, None, "number", "calendar"][rng.integers(4)]
    kind = str(rng.choice(["rows", "rows", "all", "add", "age"]))
    if (kind == "age" and clock is None) or (kind == "add" and spec.halflife is not None):
        kind = "rows"
    if kind != "age" and clock is not None:  # a number could mean rows or time
        spec = replace(spec, halflife=None)
    size = {"rows": int(rng.choice(window_sizes(d))), "age": int(rng.choice([5, 12, 40])), "add": 3}
    return Setting(spec, Window(kind, size.get(kind, 0)), clock)


class History:
    """One random history of one subject, checked after each step."""

    def __init__(self, path: str, design: str, seed: int, tally: Tally) -> None:
        self.rng = rng = generator(path, design, seed)
        self.stream = draw(design, rng, ROWS)
        self.repeats = DESIGNS[design].repeats
        width = self.stream.X.shape[1]
        self.setting = random_setting(rng, width, fading=path != "fleet")
        if path == "store" and self.setting.clock == "calendar":  # it expires by today's date
            self.setting = replace(self.setting, clock="number")
        self.subject = SUBJECTS[path](self.setting, width)
        self.tally, self.width = tally, width
        keys = KEYS if self.subject.keyed else KEYS[:1]
        s = self.setting
        self.expected_by_key = {
            key: ExpectedRows(s.spec, s.window, width, fades_by_time=s.fades_by_time)
            for key in keys
        }
        self.names = str(
            rng.choice(["int", "text", "none"] if self.subject.numbers_rows else ["int", "text"])
        )
        self.arrived, self.latest = 0, 0.0
        self.gone: list[Row] = []
        self.story: list[str] = [repr(self.setting.build())]

    # -- rows --------------------------------------------------------------------------------------

    def next_row(self) -> Row:
        t, rng = self.arrived, self.rng
        self.arrived += 1
        at = until = None
        if self.setting.clock is not None:
            at = self.latest + float(rng.choice([0, 0.5, 1, 1, 2, 5]))
            if rng.random() < 0.15:
                at = max(0.0, self.latest - float(rng.integers(1, 9)))
            self.latest = max(self.latest, at)
            if rng.random() < 0.2:
                until = at + float(rng.choice([-1, 0, 1, 2, 6, 20]))
        return Row(
            id={"int": 7 * t + 3, "text": f"row {t}", "none": None}[self.names],
            x=self.stream.X[t],
            y=float(self.stream.y[t]),
            weight=float(self.stream.weights[t]),
            owner=f"owner {int(rng.integers(9))}.{t // 20}" if rng.random() < 0.7 else None,
            at=at,
            until=until,
            key=str(rng.choice(list(self.expected_by_key))),
        )

    def rows(self, most: int = 6) -> list[Row]:
        count = min(int(self.rng.integers(1, most + 1)), len(self.stream.y) - self.arrived)
        return [self.next_row() for _ in range(count)]

    def named(self, row: Row) -> Row:
        """The row with its id; without one it gets the number after the largest live int."""
        return replace(row, id=self.expected_by_key["a"].next_id()) if row.id is None else row

    def enter(self, row: Row) -> None:
        """Expect a row among those of its key."""
        expected = self.expected_by_key[row.key]
        before = [*expected.rows, row]
        expected.learn(row)
        alive = {id(r) for r in expected.rows}
        self.gone += [r for r in before if id(r) not in alive]

    def leave(self, change: Callable[[ExpectedRows], int]) -> int:
        """Expect rows to leave under every key; return how many."""
        count = 0
        for expected in self.expected_by_key.values():
            before = list(expected.rows)
            count += change(expected)
            alive = {id(r) for r in expected.rows}
            self.gone += [r for r in before if id(r) not in alive]
        return count

    @property
    def live(self) -> list[Row]:
        return [row for expected in self.expected_by_key.values() for row in expected.rows]

    # -- steps -------------------------------------------------------------------------------------

    def learn(self) -> None:
        for row in self.rows(3):
            self.subject.learn(row)
            self.enter(self.named(row))
            self.close_call()
            self.check()

    def learn_many(self) -> None:
        rows = self.rows(9)
        if rows:
            self.subject.learn_many(rows)
            for row in rows:
                self.enter(self.named(row))

    def replay(self) -> None:
        """A batch through ``replay``: the state before each row is checked too."""
        rows = self.rows(9)
        if not rows or not isinstance(self.subject, ModelSubject | FleetSubject):
            return
        result = self.subject.replay(rows)
        for t, given in enumerate(rows):
            row = self.named(given)
            expected = self.expected_by_key[row.key]
            expected.admit(row.at)
            answer = expected.answer()
            fit = Fit([], result.coef[t], result.intercept[t], result.penalty[t])
            self.tally.compare(answer, fit, self.told(f"replay, row {t}"))
            self.tally.predicted(answer, row.x, result.prediction[t], self.told("replay"))
            self.enter(row)

    def forget(self) -> None:
        live = self.live
        picked = [live[i] for i in self.rng.integers(0, len(live), size=3)] if live else []
        ids = list(dict.fromkeys(row.id for row in picked[: int(self.rng.integers(1, 4))]))
        self.depart(ids, [])

    def forget_owners(self) -> None:
        names = sorted({row.owner for row in self.live if row.owner is not None})
        self.depart([], names[: int(self.rng.integers(1, 3))])

    def depart(self, ids: list[Any], owners: list[Any]) -> None:
        if ids or owners:
            count = self.leave(lambda expected: expected.forget(ids, owners))
            said = self.subject.forget(ids, owners)
            self.tally.agree("count", said == count, self.told(f"forgot {said}, not {count}"))
            self.check_canonical()
            self.check_audit(ids, owners)

    def expire(self) -> None:
        if self.setting.clock is not None and self.live:
            now = self.latest + float(self.rng.choice([0, 1, 3, 8]))
            count = self.leave(lambda expected: expected.expire(now))
            said = self.subject.expire(self.setting.time(now))
            self.tally.agree("count", said == count, self.told(f"expired {said}, not {count}"))
            if count:
                self.check_canonical()

    def reload(self) -> None:
        if self.live and self.subject.durable:
            self.subject.reload()
            self.check_canonical()

    def refuse(self) -> None:
        """A call that must be refused changes nothing: a row, or a batch with one bad row."""
        if self.arrived >= len(self.stream.y) or not self.live:
            return
        rows = self.rows(4 if not isinstance(self.subject, RiverSubject) else 1)
        place = int(self.rng.integers(len(rows)))
        bad = self.bad_values(rows[place], alone=len(rows) == 1)
        name = str(self.rng.choice(list(bad)))
        rows[place] = Row(**{**vars(rows[place]), **bad[name]})
        whole = bool(self.rng.integers(2))
        before = self.content(whole)
        try:
            self.subject.learn_many(rows) if len(rows) > 1 else self.subject.learn(rows[0])
        except EffaceError:
            pass
        else:
            raise Disagreement("refusal", self.told(f"{name} was not refused"))
        same = self.content(whole) == before
        self.tally.agree("refusal", same, self.told(f"refusing {name} changed it"))

    def content(self, whole: bool) -> Any:
        """What a refused call must not change; the ``whole`` file too, which is written first.

        To save a model is a step of its own: it may change the last bits of coefficients.
        """
        return self.subject.saved() if whole else None, self.bits(self.subject)

    def bad_values(self, row: Row, *, alone: bool) -> dict[str, dict[str, Any]]:
        spoilt = row.x.copy()
        spoilt[self.rng.integers(self.width)] = self.rng.choice([np.nan, np.inf, -np.inf])
        bad: dict[str, dict[str, Any]] = {
            "a value that is not finite": {"x": spoilt},
            "a response that is not finite": {"y": float("nan")},
            "a negative weight": {"weight": -1.0},
            "an id that is a fraction": {"id": 1.5},
            "an owner that is a fraction": {"owner": 1.5},
        }
        if alone and self.names != "none" and self.setting.clock is None:  # others make it leave
            bad["a repeated id"] = {"id": self.live[0].id}
        if self.setting.clock is not None:
            bad["no time"] = {"at": None}
        return bad

    # -- checks ------------------------------------------------------------------------------------

    def told(self, text: str) -> str:
        return f"{text}; " + ", ".join(self.story[-12:])

    def check(self) -> None:
        """R1: every model equals the right answer for its live rows."""
        fits = self.subject.fits(self.expected_by_key)
        for key, expected in self.expected_by_key.items():
            if key not in fits:
                self.tally.agree("ids", not expected.rows, self.told(f"no model for key {key}"))
                continue
            fit = fits[key]
            self.tally.agree(
                "ids", fit.ids == expected.ids, self.told(f"ids {fit.ids}, not {expected.ids}")
            )
            answer = expected.answer()
            self.tally.compare(answer, fit, self.told(f"{len(expected.rows)} rows"))
            if self.arrived < len(self.stream.y) and expected.rows:
                x = self.stream.X[self.arrived]
                predicted = self.subject.predict(key, x)
                if predicted is not None:
                    self.tally.predicted(answer, x, predicted, self.told("next row"))

    def bits(self, subject: Subject) -> dict[str, tuple[Any, ...]]:
        fits = subject.fits(self.expected_by_key)
        return {
            key: (f.ids, f.coef.tobytes(), np.float64(f.intercept).tobytes(), f.penalty, f.rank)
            for key, f in fits.items()
        }

    def check_canonical(self) -> None:
        """R2: after rows left, bits and bytes are those of a model that never saw them."""
        if self.setting.window.kind == "add" or not self.live:
            return  # the phase of the policy counts arrivals
        path = ModelSubject if not self.subject.keyed else type(self.subject)
        fresh = path(self.setting, self.width)
        fresh.learn_many(
            [row for expected in self.expected_by_key.values() for row in expected.rows]
        )
        same = self.bits(fresh)
        ours = self.bits(self.subject)
        for key, mine in ours.items():
            known = [(a, b) for a, b in zip(mine, same[key], strict=True) if a is not None]
            text = self.told(f"bits of a model that never saw the rows, key {key}")
            self.tally.agree("bits", all(a == b for a, b in known), text)
        if type(fresh) is type(self.subject):
            text = self.told("bytes of a model that never saw the rows")
            self.tally.agree("bytes", self.subject.saved() == fresh.saved(), text)

    def check_audit(self, ids: list[Any], owners: list[Any]) -> None:
        """R5 as the library tells it: ``audit`` looks, and finds nothing of the rows that left."""
        if isinstance(self.subject, ModelSubject):
            gone = {"forgotten": ids, "forgotten_owners": owners}
            found = efface.audit(self.subject.model, **gone)
            clean = found.canonical and not found.residues
            self.tally.agree("audit", clean, self.told(f"{found.residues}"))
            remembered = (*found.remembered, *found.remembered_owners)
            self.tally.agree("audit", not remembered, self.told(f"remembers {remembered}"))

    def check_memory(self) -> None:
        """R5: nothing that can be reached holds a value or a name of a row that has left."""
        numbers, texts = held_values(self.subject.root)
        live = self.live
        values = [v for row in self.gone for v in (row.y, *(() if self.repeats else row.x))]
        kept = np.array([v for row in live for v in (*row.x, row.y)])
        lost = np.setdiff1d(distinctive(np.array(values, dtype=float)), kept)
        found = lost[np.isin(lost, numbers)]
        self.tally.agree(
            "trace", not found.size, self.told(f"values {found[:3]} of rows that left")
        )
        names = {n for row in self.gone for n in (row.id, row.owner) if isinstance(n, str)}
        names -= {n for row in live for n in (row.id, row.owner)}
        self.tally.agree("trace", not names & texts, self.told(f"names {names & texts} that left"))

    def close_call(self) -> None:
        """A key without rows does not exist once a call has ended: its phase starts again."""
        for expected in self.expected_by_key.values() if self.subject.keyed else ():
            expected.arrived = expected.arrived if expected.rows else 0

    # -- the whole ---------------------------------------------------------------------------------

    def run(self) -> None:
        steps: list[Callable[[], None]] = [
            *[self.learn] * 8,
            *[self.learn_many] * 3,
            *[self.replay] * 3,
            *[self.forget] * 3,
            *[self.forget_owners] * 2,
            *[self.expire] * 2,
            *[self.reload] * 1,
            *[self.refuse] * 2,
        ]
        try:
            self.learn_many()
            self.close_call()
            for number in range(STEPS):
                step = steps[self.rng.integers(len(steps))]
                self.story.append(step.__name__)
                step()
                self.close_call()
                self.check()
                if number % 6 == 5:
                    self.check_memory()
                    self.check_audit([], [])
        finally:
            self.subject.close()


def run_seeds(check: Callable[[int, Tally], None], seeds: Sequence[int]) -> Tally:
    """Call ``check`` with each seed; a disagreement ends that seed, not the others."""
    tally = Tally()
    for seed in seeds:
        try:
            check(seed, tally)
        except Disagreement as found:
            tally.found(seed, found)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
            tally.found(seed, Disagreement("error", text))
    return tally


def check_history(path: str, design: str, seeds: Sequence[int]) -> Tally:
    return run_seeds(lambda seed, tally: History(path, design, seed, tally).run(), seeds)
