"""The coverage table: valid radii cover, the paper's do not, and the docs show the same table."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from twins import theory as naive

from efface.theory.coverage import CONTEXTS, SETTINGS, coverage_table, render_coverage
from efface.theory.quantities import adaptive_penalty, gram_norm, wpssr, wpssr_limit
from efface.theory.radii import (
    euclidean_radius,
    gaussian_radius,
    noise_radius,
    paper_ball_radius,
    paper_ols_radius,
    paper_ridge_radius,
    self_normalized_radius,
)


@pytest.fixture(scope="module")
def table():
    return coverage_table(replicates=2000, seed=0)


def short(rows, radius):
    return {
        (row.contexts, row.d, row.s) for row in rows if row.radius == radius and row.falls_short
    }


def test_the_table_has_every_setting_and_reading(table):
    cells = {(row.contexts, row.d, row.s) for row in table}
    assert cells == {(reading, d, s) for reading in CONTEXTS for d, s in SETTINGS}
    assert SETTINGS == ((2, 50), (2, 5000), (10, 100), (10, 5000), (50, 200))


def test_valid_radii_cover(table):
    rows = [row for row in table if row.valid]
    assert len(rows) == 8 * 10
    assert [row for row in rows if row.falls_short] == []


def test_exact_radii_do_not_cover_more_than_nominal(table):
    rows = [row for row in table if row.exact]
    assert len(rows) == 2 * 10
    assert all(abs(row.coverage - row.nominal) <= row.margin for row in rows)


def test_lemma_1_fails_in_the_phi_norm_for_many_rows(table):
    """E4: coverage is about 60 % and 1 % for unit-norm contexts with two columns."""
    expected = {(c, d, s) for c in CONTEXTS for d, s in [(2, 50), (2, 5000), (10, 5000)]}
    assert short(table, "paper, Lemma 1") == expected
    found = {
        row.s: row.coverage
        for row in table
        if row.radius == "paper, Lemma 1" and (row.contexts, row.d) == ("unit-norm", 2)
    }
    assert found[50] == pytest.approx(0.60, abs=0.05)
    assert found[5000] < 0.03


def test_lemma_4_fails_for_equal_coefficients_in_either_norm(table):
    everywhere = {(row.contexts, row.d, row.s) for row in table}
    assert short(table, "paper, Lemma 4") == everywhere
    assert short(table, "paper, Lemma 4 as a ball") == everywhere


def test_lemma_3_fails_at_its_own_penalty(table):
    """E13: about 70 and 64 % for standardized contexts with two columns."""
    found = {
        (row.contexts, row.d, row.s): row.coverage
        for row in table
        if row.radius == "paper, Lemma 3"
    }
    expected = {("standardized", 2, 50), ("standardized", 2, 5000)}
    expected |= {("unit-norm", d, s) for d, s in SETTINGS}
    assert short(table, "paper, Lemma 3") == expected
    assert found["standardized", 2, 50] == pytest.approx(0.70, abs=0.05)
    assert found["standardized", 2, 5000] == pytest.approx(0.64, abs=0.05)
    assert found["unit-norm", 50, 200] == pytest.approx(0.90, abs=0.04)


@pytest.mark.parametrize(("d", "s"), SETTINGS)
def test_equal_coefficients_satisfy_assumption_1(d, s):
    assert wpssr(np.full(d, 1 / math.sqrt(d))) <= wpssr_limit(s, d, d, 0.05)


@pytest.mark.parametrize("signal", ["equal", "random"])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_valid_radii_cover_at_other_levels_and_signals(signal, delta):
    small = ((2, 50), (10, 100))
    rows = coverage_table(settings=small, signal=signal, sigma=2.5, delta=delta, seed=5)
    assert [row for row in rows if row.valid and row.falls_short] == []
    assert all(abs(row.coverage - row.nominal) <= row.margin for row in rows if row.exact)


def draw(contexts, replicates, d, s, seed):
    """The windows of one setting, drawn as the table draws them."""
    rng = np.random.default_rng([seed, d, s, CONTEXTS.index(contexts)])
    theta = np.full(d, 1 / math.sqrt(d))
    X = rng.standard_normal((replicates, s, d))
    if contexts == "unit-norm":
        X /= np.linalg.norm(X, axis=2, keepdims=True)
    return X, X @ theta + rng.standard_normal((replicates, s)), theta


def covered(X, y, theta):
    """The twelve radii of one window through the functions for one window."""
    s, d = X.shape
    lam = adaptive_penalty(s, d, 1.0, np.abs(X).max(), theta_max=theta.max())
    ols, ridge = naive.ridge_fit(X, y) - theta, naive.ridge_fit(X, y, lam) - theta
    one = naive.ridge_fit(X, y, 1.0) - theta
    deviation = ridge + theta - naive.ridge_fit(X, X @ theta, lam)
    lemma_4 = paper_ridge_radius(X, penalty=lam, sigma=1.0, theta=theta)
    ball = euclidean_radius(X, sigma=1.0, penalty=lam, theta_norm=1.0)
    return [
        np.abs(X.T @ (y - X @ theta)).max() <= noise_radius(X, sigma=1.0),
        gram_norm(X, ols) <= paper_ols_radius(X, sigma=1.0),
        np.linalg.norm(ols) <= euclidean_radius(X, sigma=1.0),
        gram_norm(X, ols) <= gaussian_radius(X, sigma=1.0),
        gram_norm(X, ols) <= gaussian_radius(X, y=y),
        gram_norm(X, one, penalty=1.0)
        <= self_normalized_radius(X, penalty=1.0, sigma=1.0, theta_norm=1.0),
        np.linalg.norm(ridge) <= paper_ball_radius(X, penalty=lam, sigma=1.0),
        gram_norm(X, ridge, penalty=lam) <= lemma_4,
        np.linalg.norm(ridge) <= lemma_4,
        np.linalg.norm(ridge) <= ball,
        gram_norm(X, ridge, penalty=lam)
        <= gaussian_radius(X, sigma=1.0, penalty=lam, theta_norm=1.0),
        gram_norm(X, deviation, penalty=lam) <= gaussian_radius(X, y=y, penalty=lam),
    ]


@pytest.mark.parametrize("contexts", CONTEXTS)
def test_table_equals_a_loop_over_the_public_functions(contexts):
    X, y, theta = draw(contexts, 150, 2, 50, seed=3)
    shares = np.mean([covered(*pair, theta) for pair in zip(X, y, strict=True)], axis=0)
    rows = coverage_table(settings=[(2, 50)], contexts=[contexts], replicates=150, seed=3)
    assert [row.coverage for row in rows] == pytest.approx(list(shares))


def test_the_same_seed_gives_the_same_table():
    first, again, other = (
        coverage_table(settings=[(2, 50)], replicates=300, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_setting_does_not_depend_on_the_others():
    alone = coverage_table(settings=[(10, 100)], contexts=["unit-norm"], replicates=100)
    both = coverage_table(settings=[(2, 50), (10, 100)], replicates=100)
    assert alone == tuple(row for row in both if (row.contexts, row.d) == ("unit-norm", 10))


def test_smaller_batches_count_every_replicate(monkeypatch):
    """Other batches draw other numbers, so shares differ; the count and the level do not."""
    monkeypatch.setattr("efface.theory.coverage._BATCH", 3 * 100)
    rows = coverage_table(settings=[(2, 50)], contexts=["standardized"], replicates=2000)
    assert all(row.replicates == 2000 for row in rows)
    assert all(abs(row.coverage - 0.95) <= row.margin for row in rows if row.exact)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"replicates": 0}, "'replicates' is 0"),
        ({"signal": "loud"}, "'signal' is 'loud'"),
        ({"contexts": ["raw"]}, "'contexts' is 'raw'"),
    ],
)
def test_bad_options_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        coverage_table(settings=[(2, 50)], **options)


DOCS = Path(__file__).parents[2] / "docs" / "theory-errata.md"


def test_the_documented_table_agrees_with_the_measured_one(table):
    """The printed shares may differ by sampling error only."""
    printed = dict(documented_rows(DOCS.read_text()))
    measured = dict(documented_rows(render_coverage(table)))
    assert printed.keys() == measured.keys()
    assert len(measured) == 24
    for key, shares in measured.items():
        for ours, theirs in zip(shares, printed[key], strict=True):
            spread = 100 * math.sqrt(2 * max(ours / 100 * (1 - ours / 100), 0.005) / 2000)
            assert abs(ours - theirs) <= 4 * spread


def documented_rows(text):
    reading = None
    for line in text.splitlines():
        if match := re.match(r"(standardized|unit-norm) contexts", line):
            reading = match[1]
        elif match := re.match(r"  (\S.{24}) (?:Phi|Phi_lam|Euclidean|largest) +([\d.* ]+)$", line):
            shares = [float(share.rstrip("*")) for share in match[2].split()]
            yield (reading, match[1].strip()), shares
