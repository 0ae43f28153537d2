"""The numbers behind E25 to E38, each recomputed without the formula under test."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
import synthetic_results
from twins import experiments as naive_experiments
from twins import findings as naive
from twins import theory as naive_theory

from efface.paper import correction_measures as subject
from efface.paper.comparisons import LimitedSubplot
from efface.paper.correction_experiments import AnyPenalty, DeletedRows, MemorySize, SwingingRanks
from efface.paper.evidence import Evidence
from efface.paper.experiments import RidgeBound


@pytest.fixture
def evidence():
    return Evidence("standardized", synthetic_results.found(methods=()), [], [])


@pytest.fixture(params=["standardized", "unit-norm"])
def reading(request):
    return Evidence(request.param, {}, [], [])


def values(places):
    return [place.value for place in places]


def first(evidence, kind):
    return next(iter(evidence.of(kind)))


def test_coverage_is_in_standard_errors_of_the_nominal_one(evidence):
    setting, numbers = first(evidence, AnyPenalty)
    numbers["ball"][:, 2] = 0.93
    places = list(subject.coverage_at_any_penalty("ball", evidence))
    assert len(places) == 8 * 3
    count = setting.windows * len(numbers["ball"])
    assert places[2].value == pytest.approx(-0.02 / math.sqrt(0.0475 / count))
    assert places[2].detail == f"contexts times 100, 93 % of {count} windows"


def test_tightness_is_a_ratio_of_sums_and_misses_are_counted(evidence):
    setting, numbers = first(evidence, LimitedSubplot)
    place = next(iter(subject.tightness(evidence)))
    slow = naive.mean(numbers["limit"][:, 0].sum(axis=1)) / naive.mean(
        numbers["loss"][:, 0].sum(axis=1)
    )
    assert place.value == pytest.approx(slow)
    assert set(values(subject.steps_beyond_the_limit(evidence))) == {0.0}
    numbers["loss"][0, 1, 3] = 1e9
    share = next(iter(subject.steps_beyond_the_limit(evidence))).value
    assert share == 1 / (len(numbers["loss"]) * len(setting.lines))


def test_means_of_runs_are_those_of_the_settings(evidence):
    _, deletions = first(evidence, DeletedRows)
    place = next(iter(subject.deletion_correlations("frt", evidence)))
    assert place.value == pytest.approx(naive.mean(deletions["frt"]))
    _, swings = first(evidence, SwingingRanks)
    ratio = naive.mean(swings["adaptive"]) / naive.mean(swings["ols"])
    assert next(iter(subject.ridge_where_ranks_swing(evidence))).value == pytest.approx(ratio)
    setting, numbers = first(evidence, MemorySize)
    floor = naive.floor(1, setting.n, 1, setting.d, setting.sigma)
    slow = naive.mean(numbers["oracle"]) / floor
    assert next(iter(subject.best_ridge_over_the_floor(evidence))).value == pytest.approx(slow)


def test_a_bound_exists_where_it_is_a_number(evidence):
    _, numbers = first(evidence, RidgeBound)
    numbers["bound"][:2] = np.nan
    places = list(subject.derived_bound_exists(evidence))
    assert places[0].value == 0.75
    assert values(places)[1:] == [1.0] * 3


def test_the_floor_of_the_sphere_equals_a_grid_of_angles(reading):
    """E27 at d = 2: the posterior mean by summing over 720 directions, no Laplace transform."""
    place = next(iter(subject.sphere_over_gaussian_floor(reading)))
    X, _, _ = naive_experiments.draw(0, 0, 50, 2, "standardized", 1.0, None)
    angles = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    rng, losses = np.random.default_rng(1), []
    for theta in circle[rng.integers(0, 720, 4000)]:
        y = X @ theta + rng.standard_normal(50)
        logs = -0.5 * ((y - circle @ X.T) ** 2).sum(axis=1)
        weights = np.exp(logs - logs.max())
        losses.append(((weights @ circle / weights.sum() - theta) ** 2).sum())
    floor = np.trace(np.linalg.inv(X.T @ X + 2 * np.eye(2)))
    error = np.std(losses) / math.sqrt(len(losses)) / floor
    assert abs(place.value - np.mean(losses) / floor) <= 3 * math.hypot(error, place.error)
    assert place.value < 0.7


def test_narrow_ellipsoids_are_counted_by_the_printed_radii(reading):
    places = list(subject.share_of_narrow_ellipsoids(reading))
    narrow = []
    for run in range(40):
        X, y, theta = naive_experiments.draw(0, run, 50, 10, reading.reading, 1.0, None)
        lam = naive_experiments.adaptive_penalty(X, y, 0.05)
        ols = naive_theory.dense_q(X, 0.0) * math.sqrt(2 * 10 / 50 * math.log(2 * 10 / 0.05))
        positive = theta[theta > 0]
        kappa = math.log(6 * len(positive) / 0.05) / math.sqrt(math.log(2 * 10 / 0.05))
        nu = np.abs(theta).max() / positive.min()
        ridge = kappa * nu * naive_theory.dense_q(X, lam) * math.sqrt(10 / (2 * 50))
        narrow.append(ridge < ols)
    assert places[0].value == pytest.approx(naive.mean(narrow))


def test_the_order_of_theorem_1_equals_the_printed_bound(reading):
    (factor,) = values(subject.order_of_theorem_1(reading))
    X = naive_experiments.draw(0, 0, 8000, 5, reading.reading, 1.0, None)[0]
    d, s = 5, 50
    factors = []
    for T in (2000, 8000):  # zeta cancels
        eta = d * math.log(s * max(x @ x for x in X[:T]) / d)
        factors.append(2 * math.sqrt((T - s) * (eta + T - s)) / T)
    assert factor == pytest.approx(factors[1] / factors[0])


def test_largest_coefficients_equal_those_of_other_draws(reading):
    """E33, with coefficients drawn in another way."""
    rng = np.random.default_rng(9)
    for place, d in zip(subject.largest_coefficients(reading), (2, 10, 100), strict=True):
        drawn = rng.standard_normal((4000, d))
        sizes = np.abs(drawn).max(axis=1) / np.sqrt((drawn**2).sum(axis=1))
        error = math.hypot(place.error, sizes.std() / math.sqrt(len(sizes)))
        assert abs(place.value - sizes.mean()) <= 3.5 * error
    assert place.value == pytest.approx(0.275, abs=0.01)


def test_lengths_are_1_only_for_unit_norm(reading):
    """E36: a standardized row of 100 columns has a length of about 10."""
    (length,) = values(subject.largest_lengths(reading))
    X = naive_experiments.draw(0, 0, 3000, 100, reading.reading, 1.0, None)[0]
    assert length == pytest.approx(max(math.sqrt(math.fsum(v * v for v in x)) for x in X))
    assert (abs(length - 1) < 1e-9) == (reading.reading == "unit-norm")


def test_the_f_step_divides_by_0_where_the_rank_falls(reading):
    """E34: 1 + e2'e2 leaves e1'Gamma e1 - 1 = 0 in the window e1..e4, by hand."""
    (value,) = values(subject.update_at_a_loss_of_rank(reading))
    assert math.isnan(value)


def test_the_mean_of_the_trace_is_infinite_up_to_d_plus_1_rows(reading):
    """E35: the index is (n - d + 1) / 2, from the density of the smallest eigenvalue."""
    for place, n in zip(subject.tail_indices(reading), (3, 4, 5), strict=True):
        assert abs(place.value - (n - 3 + 1) / 2) <= 4 * place.error + 0.05


def test_the_allowed_ratio_solves_its_condition(reading):
    """E31: by bisection in 30 digits."""
    (limit,) = values(subject.allowed_ratios(reading))
    with mp.workdps(30):
        a, b = mp.log(2 * 110 / mp.mpf("0.05")), mp.log(12 * 30 / mp.mpf("0.05"))
        c3 = mp.log(6 * 110 / mp.mpf("0.05")) * a
        root = mp.findroot(lambda u: a * u**2 + 2 * mp.sqrt(c3) * u - b, 0.4)
    assert limit == pytest.approx(float(root), rel=1e-12)


def test_parts_are_sums_of_gaussian_tail_bounds(reading):
    """E31: each part by its exponents at s = 77, sigma = 2, x_max = 3, which cancel."""
    s, sigma, x_max, d, p, delta = 77, 2.0, 3.0, 110, 30, 0.05
    lam = sigma * x_max * math.sqrt(2 * s * math.log(2 * d / delta))
    kappa = math.log(6 * p / delta) / math.sqrt(math.log(2 * d / delta))
    c1 = sigma * x_max * kappa * math.sqrt(s / 2)  # s chi phi^2 / sqrt(d), nu = 1
    scale = 2 * s * x_max**2 * sigma**2
    for place, rest in zip(
        subject.tail_parts_over_their_limit(reading), (0, -1, -0.001), strict=True
    ):
        first = d * math.exp(-(c1**2) / scale)
        second = p * math.exp(-((lam**2 + 2 * lam * c1) / scale))
        third = (
            80 * math.exp(-((lam * rest) ** 2 + 2 * lam * abs(rest) * c1) / scale) if rest else 0
        )
        assert place.value == pytest.approx((first + second + third) / (delta / 2), rel=1e-6)


def test_the_exponent_does_not_contain_the_memory(reading):
    (change,) = values(subject.tail_exponent_steps(reading))
    assert change == pytest.approx(0.0, abs=1e-12)
