"""Random histories of fleets: batches of rows, requests to forget, expiry."""

from __future__ import annotations

from hypothesis import strategies as st

from efface import (
    FIFD,
    OLS,
    AdaptiveRidge,
    AddDrop,
    AutoRidge,
    KeepAll,
    KeepFor,
    Ridge,
    SwitchingRidge,
)

KEYS = [7, -3, "a", "b", 2**70]
OWNERS = [None, None, "ann", "bob", 5]
POLICIES = [FIFD(4), FIFD(9), KeepFor(6.0), AddDrop(3, 2, 1), KeepAll()]
MODELS = {
    "AutoRidge": AutoRidge,
    "OLS": OLS,
    "Ridge": lambda **given: Ridge(alpha=0.7, **given),
    "AdaptiveRidge": AdaptiveRidge,
    "the paper's": lambda **given: AdaptiveRidge(theta_max=1.0, **given),
    "SwitchingRidge": lambda **given: SwitchingRidge(switch_at=2.0, **given),
}


@st.composite
def models(draw):
    """A model with any rule, policy and options."""
    policy, kind = draw(st.sampled_from(POLICIES)), draw(st.sampled_from(sorted(MODELS)))
    options = {"fit_intercept": draw(st.booleans()), "standardize": draw(st.integers(0, 4)) == 0}
    return MODELS[kind](window=policy, **options)


@st.composite
def histories(draw, model, timed):
    """Events: ("rows", list of rows), ("forget", numbers, owners), ("expire", time), ("save",)."""
    ends = timed and draw(st.booleans())
    weights = draw(st.booleans())
    named = draw(st.booleans())
    number = st.floats(-3, 3, allow_nan=False).map(lambda value: round(value, 3))

    def rows(now):
        row = {
            "key": st.sampled_from(KEYS),
            "x": st.tuples(number, number),
            "y": number,
            "owner": st.sampled_from(OWNERS),
        }
        if timed:  # now and then late
            row["at"] = st.sampled_from([0, 0, 1, 1, 2, -2]).map(lambda by: float(now + by))
        if ends:
            row["until"] = st.sampled_from([None, None, now + 3.0, now + 1.0])
        if weights:
            row["weight"] = st.sampled_from([1.0, 1.0, 2.5, 0.0])
        if named:
            row["id"] = st.one_of(st.integers(0, 60), st.text("xyz", min_size=2, max_size=4))
        return st.lists(st.fixed_dictionaries(row), min_size=1, max_size=12)

    events, now = [], 0
    for _ in range(draw(st.integers(1, 6))):
        now += draw(st.integers(0, 4))
        kinds = ["rows", "rows", "rows", "forget", "save", *(["expire"] if timed else [])]
        kind = draw(st.sampled_from(kinds))
        if kind == "rows":
            events.append((kind, draw(rows(now))))
        elif kind == "forget":
            places = draw(st.lists(st.integers(0, 50), max_size=3))
            events.append(
                (kind, places, draw(st.lists(st.sampled_from(["ann", "bob", 5]), max_size=1)))
            )
        elif kind == "expire":
            events.append((kind, float(now)))
        else:
            events.append((kind,))
    return events
