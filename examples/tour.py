"""A tour of efface in the terminal: learn, forget, and check every claim against a refit."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table

from efface import OLS, AdaptiveRidge, AutoRidge, Ridge, __version__, replay, rolling

Array = NDArray[np.float64]

console = Console(highlight=False)
rng = np.random.default_rng(2021)


def main() -> None:
    """Six demonstrations."""
    console.print(
        Panel.fit(
            "[bold]efface[/bold]: linear regression that forgets exactly\n"
            "[dim]every result is checked against a refit on the live rows[/dim]",
            subtitle=f"version {__version__}",
            padding=(1, 2),
        )
    )
    with console.status("compiling"):
        warm_up()
    for number, show in enumerate((stream, person, giant, ranks, penalty, windows), 1):
        title, *sentences = (show.__doc__ or "").splitlines()
        console.print(f"\n[bold cyan]{number}. {title}[/bold cyan]")
        say(f"[dim]{' '.join(line.strip() for line in sentences).strip()}[/dim]")
        show()
    console.print(
        "\n[bold green]Done.[/bold green] README.md shows how to use efface in your code."
    )


def stream() -> None:
    """A stream, one row at a time

    Predict, learn, and remove the oldest of 500 rows.
    """
    X, y, _ = noisy(20_000, 10)
    model = Ridge(window=500, alpha=1.0).fit(X[:500], y[:500])
    start = time.perf_counter()
    for x, target in zip(X[500:], y[500:].tolist(), strict=True):
        model.predict_one(x)
        model.learn_one(x, target)
    micros = 1e6 * (time.perf_counter() - start) / (len(y) - 500)
    error = distance(model.coef_, refit(X[-500:], y[-500:], 1.0))
    say(f"{len(y):,} rows of 10 features, {micros:.1f} µs each", f"{model.n_rows_} live rows")
    claim("coefficients equal a refit", error <= 1e-9, f"off by {error:.0e}")


def person() -> None:
    """Three customers ask to be forgotten

    Compare the file of a model that forgot them with that of a model that never saw them.
    """
    X, y, _ = noisy(300, 5)
    people = [f"customer {k:03d}" for k in range(300)]
    gone = ["customer 041", "customer 137", "customer 260"]
    model = AutoRidge().fit(X, y, ids=people)
    before = model.coef_
    model.forget(gone)
    stay = [k for k, name in enumerate(people) if name not in gone]
    other = AutoRidge().fit(X[stay], y[stay], ids=[people[k] for k in stay])
    mine, theirs = fingerprint(model), fingerprint(other)
    say(f"forgot {', '.join(gone)}", f"coefficients moved by {distance(before, model.coef_):.0e}")
    say(f"after forgetting  sha256 {mine[:32]}…", f"never saw them    sha256 {theirs[:32]}…")
    claim("the two files have the same bytes", mine == theirs)


def giant() -> None:
    """One row, a hundred million times too large

    It enters a window of 60 rows and leaves again. What remains of it in the coefficients?
    """
    X, y, _ = noisy(400, 4)
    X[200], y[200] = 1e8 * X[200], 1e8
    model, sums = OLS(window=60, fit_intercept=False), RunningSums(4)
    errors = []
    for t in range(400):
        model.learn_one(X[t], float(y[t]))
        sums.slide(X, y, t, 60)
        if t >= 260:
            right = refit(X[t - 59 : t + 1], y[t - 59 : t + 1], 0.0)
            errors.append((distance(sums.coef(), right), distance(model.coef_, right)))
    table = Table(
        "error of the coefficients", "add and subtract", "efface", box=None, pad_edge=False
    )
    for label, at in (("one step after it left", 0), ("100 steps later", 100)):
        table.add_row(
            label, f"[red]{errors[at][0]:.0e}[/red]", f"[green]{errors[at][1]:.0e}[/green]"
        )
    console.print(Padding(table, (0, 0, 0, 3)))
    claim("nothing of it remains", max(mine for _, mine in errors) <= 1e-9)


def ranks() -> None:
    """Windows of deficient rank

    Rows are random unit vectors. With 20 rows and 20 features the rank changes all the time.
    """
    X = np.eye(20)[rng.integers(0, 20, size=2_000)]
    y = X @ rng.normal(size=20) + 0.1 * rng.normal(size=2_000)
    result = replay(OLS(window=20, fit_intercept=False), X, y, coef=True)
    assert result.rank is not None
    assert result.coef is not None
    steps = range(20, 2_000)
    right = [np.linalg.matrix_rank(X[t - 20 : t]) for t in steps]
    errors = [distance(result.coef[t], refit(X[t - 20 : t], y[t - 20 : t], 0.0)) for t in steps]
    say(f"rank  [cyan]{sparkline(result.rank[20:80])}[/cyan]  {min(right)} to {max(right)}")
    claim("every rank is right", list(result.rank[20:]) == right, f"{len(right):,} windows")
    claim("every answer has minimum norm", max(errors) <= 1e-9, f"off by at most {max(errors):.0e}")


def penalty() -> None:
    """A penalty that adapts to the live rows

    Noise rises fourfold and falls again. The paper's adaptive penalty follows within a window.
    """
    noise = np.repeat([1.0, 4.0, 1.0], 400)
    X = rng.normal(size=(1_200, 8))
    y = X @ np.ones(8) + noise * rng.normal(size=1_200)
    model = AdaptiveRidge(window=100, theta_max=1.0, fit_intercept=False)
    lam = replay(model, X, y).penalty
    say(f"noise    [dim]{sparkline(noise[100::22])}[/dim]")
    say(
        f"penalty  [cyan]{sparkline(lam[100::22])}[/cyan]  {lam[100:].min():.0f} to {lam.max():.0f}"
    )
    window, responses = X[-101:-1], y[-101:-1]
    formula = np.sqrt(200 * np.log(2 * 8 / 0.05)) * responses.std(ddof=1) * np.abs(window).max()
    claim(
        "the penalty is the paper's formula on the live rows alone",
        abs(lam[-1] / formula - 1) <= 1e-9,
    )


def windows() -> None:
    """Every window of an array

    Coefficients at each of 100,000 rows with five features and a window of 250.
    """
    X, y, _ = noisy(100_000, 5)
    start = time.perf_counter()
    result = rolling(X, y, 250, fit_intercept=False, outputs=["coef"])
    micros = 1e6 * (time.perf_counter() - start) / len(y)
    assert result.coef is not None
    rows = np.linspace(249, len(y) - 1, 200).astype(int)
    errors = [
        distance(result.coef[t], refit(X[t - 249 : t + 1], y[t - 249 : t + 1], 0.0)) for t in rows
    ]
    say(f"{micros:.2f} µs per row on one core")
    claim("coefficients equal a refit", max(errors) <= 1e-9, f"off by at most {max(errors):.0e}")


class RunningSums:
    """What most rolling regressions do: add the new row, subtract the row that leaves."""

    def __init__(self, d: int) -> None:
        self.gram, self.moment = np.zeros((d, d)), np.zeros(d)

    def slide(self, X: Array, y: Array, t: int, s: int) -> None:
        """Add row t and subtract row t - s."""
        self.gram += np.outer(X[t], X[t])
        self.moment += y[t] * X[t]
        if t >= s:
            self.gram -= np.outer(X[t - s], X[t - s])
            self.moment -= y[t - s] * X[t - s]

    def coef(self) -> Array:
        """The coefficients from the sums."""
        return np.asarray(np.linalg.lstsq(self.gram, self.moment, rcond=None)[0])


def refit(X: Array, y: Array, alpha: float) -> Array:
    """A fit from scratch; with a penalty, around the mean."""
    if alpha:
        X, y = X - X.mean(axis=0), y - y.mean()
        X = np.vstack([X, np.sqrt(alpha) * np.eye(X.shape[1])])
        y = np.concatenate([y, np.zeros(X.shape[1])])
    return np.asarray(np.linalg.lstsq(X, y, rcond=None)[0])


def noisy(n: int, d: int) -> tuple[Array, Array, Array]:
    """Rows, responses and the true coefficients."""
    X, theta = rng.normal(size=(n, d)), rng.normal(size=d)
    return X, X @ theta + rng.normal(size=n), theta


def distance(coef: Array, right: Array) -> float:
    """The largest deviation divided by the largest reference coefficient."""
    return float(np.abs(coef - right).max() / np.abs(right).max())


def fingerprint(model: AutoRidge) -> str:
    """The SHA-256 digest of the file that the model writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.efface"
        model.save(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def sparkline(values: Sequence[float] | NDArray[np.generic]) -> str:
    """A small chart of block characters."""
    line = np.asarray(values, dtype=float)
    span = np.ptp(line) or 1.0
    return "".join("▁▂▃▄▅▆▇█"[int(7.99 * (value - line.min()) / span)] for value in line)


def say(*lines: str) -> None:
    """Print indented lines."""
    for line in lines:
        console.print(Padding(line, (0, 0, 0, 3)))


def claim(what: str, holds: bool, detail: str = "") -> None:
    """Print a claim and whether it holds; stop with an error if it does not."""
    mark = "[bold green]✓[/bold green]" if holds else "[bold red]✗[/bold red]"
    console.print(f" {mark} {what}" + (f" [dim]({detail})[/dim]" if detail else ""))
    if not holds:
        raise SystemExit(f"this does not hold: {what}")


def warm_up() -> None:
    """Compile everything before it is timed."""
    X, y, _ = noisy(40, 3)
    model = OLS(window=10).fit(X, y)
    runs: list[Callable[[], object]] = [
        lambda: rolling(X, y, 10, fit_intercept=False),
        lambda: replay(AdaptiveRidge(window=10), X, y),
        lambda: model.predict_one(X[0]),
        lambda: model.learn_one(X[0], 1.0),
    ]
    for run in runs:
        run()


if __name__ == "__main__":
    main()
