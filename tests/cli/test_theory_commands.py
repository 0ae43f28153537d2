"""``efface theory``: the numbers of the paper, and those that hold, from the command line."""

from __future__ import annotations

import re

import numpy as np
import pytest
from command_line import here

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3)).round(4)
NUMBERS = ("--features", "100", "--noise", "1", "--signal", "1")
KNOWN = ("--window", "12", "--noise", "0.5", "--signal", "2")


@pytest.fixture
def efface(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = here("theory", *arguments, monkeypatch=monkeypatch)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


@pytest.fixture
def file(tmp_path):
    lines = [",".join(map(str, row)) + ",0.0\n" for row in X]
    (tmp_path / "rows.csv").write_text("a,b,c,y\n" + "".join(lines))
    return ("rows.csv", "--target", "y")


def values(text):
    """The lines of two columns, as names and numbers."""
    pairs = (re.fullmatch(r"(.*?) {2,}([\d.,e+-]+|inf)", line) for line in text.splitlines())
    return {pair[1].strip(): float(pair[2].replace(",", "")) for pair in pairs if pair}


def test_the_rows_for_an_error_are_those_of_the_formulas(efface):
    code, out, _ = efface("rows", *NUMBERS, "--error", "0.1")
    found = values(out)
    assert code in (0, None)
    assert found["floor: no method needs fewer"] == 990  # d (1 + g) (1 - g / v) / g
    assert found["ridge with the best penalty, 100"] == 990
    assert found["least squares"] == 1101  # the first n with d / (n - d - 1) <= 0.1
    n = found["least squares with an intercept"]
    error = lambda n: 1 / n + (1 + 1 / n) * 100 / (n - 102)  # noqa: E731
    assert error(n) <= 0.1 < error(n - 1)


def test_the_floor_falls_from_the_signal_to_the_error_of_the_rows_needed(efface):
    _, out, _ = efface("floor", *NUMBERS, "--rows", "0,989,990")
    found = values(out)
    assert found["0 rows"] == 1.0
    assert found["990 rows"] <= 0.1 + 1e-9 < found["989 rows"]


def test_the_radii_of_the_newest_rows(efface, file):
    _, out, _ = efface("ellipsoid", *file, *KNOWN)
    found = values(out)
    assert found["ellipsoid, Gaussian noise"] == pytest.approx(0.5 * 7.814728**0.5, rel=1e-5)
    newest = X[-12:]
    q = np.abs(newest).max() / np.linalg.eigvalsh(newest.T @ newest / 12)[0]
    ball = 0.5 * q * np.sqrt(2 * 3 / 12 * np.log(2 * 3 / 0.05))
    assert found["ball, any noise"] == pytest.approx(ball, rel=1e-5)
    assert "ellipsoid as Lemma 1 states it" in found
    _, out, _ = efface("ellipsoid", *file, *KNOWN, "--penalty", "4")
    penalised = values(out)
    assert set(penalised) == {"ellipsoid, Gaussian noise", "ball, any noise"}
    grown = 0.5 * 7.814728**0.5 + 2 * 2  # by sqrt(penalty) times the signal
    assert penalised["ellipsoid, Gaussian noise"] == pytest.approx(grown, rel=1e-5)


def test_the_bound_is_the_sum_of_the_limits_by_dense_algebra(efface, file):
    from scipy.stats import chi2

    _, out, _ = efface("bounds", *file, *KNOWN, "--penalty", "4")
    noise = bias = 0.0
    for t in range(12, 40):
        W, x = X[t - 12 : t], X[t]
        solved = np.linalg.solve(W.T @ W + 4 * np.eye(3), x)
        noise += 0.5 * chi2.isf(0.05 / 28, 3) ** 0.5 * np.linalg.norm(W @ solved)
        bias += 4 * np.linalg.norm(solved) * 2
    found = values(out)
    assert found["of it noise"] == pytest.approx(noise, rel=1e-5)
    assert found["of it bias"] == pytest.approx(bias, rel=1e-5)
    assert found["bound that holds"] == pytest.approx(noise + bias, rel=1e-5)
    assert found["bound through the ellipsoids"] > found["bound that holds"]
    assert "28 predictions, each from the 12 rows before it." in out
    assert "Theorem 1 as the paper states it" in efface("bounds", *file, *KNOWN)[1]


def test_the_swings_are_counted(efface, tmp_path):
    rows = ["1,0", "1,0", "0,1", "0,1", "0,2", "1,0"]
    (tmp_path / "steps.csv").write_text("a,b,y\n" + "".join(f"{row},1\n" for row in rows))
    _, out, _ = efface("swings", "steps.csv", "--target", "y", "--window", "2")
    # ranks of the windows: 1, 2, 1, 1, 2
    assert values(out) == {
        "rank rises, case 2": 2,
        "rank stays, case 3": 1,
        "rank falls, case 4": 1,
    }
    (tmp_path / "steps.tsv").write_text((tmp_path / "steps.csv").read_text().replace(",", ";"))
    words = ("steps.tsv", "--target", "y", "--window", "2", "--delimiter", ";")
    assert efface("swings", *words, "--features", "a,b")[1] == out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rows", *NUMBERS, "--error", "0"), "'--error' is 0.0: expected"),
        (("rows", *NUMBERS[:2], "--noise", "-1", "--signal", "1", "--error", "1"), "'--noise' is"),
        (("floor", *NUMBERS, "--rows", "20,many"), "'--rows' is 'many': expected whole numbers"),
        (("floor", *NUMBERS, "--rows", ","), "'--rows' is ','"),
    ],
)
def test_numbers_that_cannot_be_used_are_named(efface, words, message):
    code, out, err = efface(*words)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("command", ["bounds", "swings", "ellipsoid"])
def test_a_window_as_long_as_the_file_is_refused(efface, file, command):
    known = () if command == "swings" else KNOWN[2:]
    code, _, err = efface(command, *file, "--window", "41", *known)
    assert code == 2
    assert "'number of rows' is 40: expected at least 4" in err
    assert "choose a smaller --window" in err
