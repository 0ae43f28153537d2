"""``efface theory``: rows to keep, the floor, ellipsoids, regret bounds and rank swings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from efface.cli.replay_file import Delimiter, Features, as_delimiter, column, split_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS_EXAMPLE = """[bold]Example[/bold], rows for an error of a tenth of the noise variance:

  efface theory rows --features 100 --noise 1 --signal 1 --error 0.1"""
FLOOR_EXAMPLE = """[bold]Example[/bold]

  efface theory floor --features 100 --noise 1 --signal 1 --rows 20,80,1000"""
ELLIPSOID_EXAMPLE = """[bold]Example[/bold], of the newest 100 rows:

  efface theory ellipsoid rows.csv --target y --window 100 --noise 1 --signal 2 --penalty 5"""
BOUNDS_EXAMPLE = """[bold]Example[/bold]

  efface theory bounds rows.csv --target y --window 100 --noise 1 --signal 2 --penalty 5"""
SWINGS_EXAMPLE = """[bold]Example[/bold]

  efface theory swings rows.csv --target y --window 100"""

theory = typer.Typer(
    help="Quantities of the paper, and those that hold instead.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

File = Annotated[
    list[str], typer.Argument(help="File or files, as of efface replay.", show_default=False)
]
Target = Annotated[str, column(help="Column to predict; it is no feature.")]
Window = Annotated[int, typer.Option(help="Rows of a window.", min=1, show_default=False)]
Columns = Annotated[int, typer.Option(help="Number of features.", show_default=False)]
Noise = Annotated[float, typer.Option(help="Standard deviation of the noise.", show_default=False)]
Signal = Annotated[
    float, typer.Option(help="Euclidean length of the coefficients.", show_default=False)
]
Penalty = Annotated[float, typer.Option(help="Ridge penalty; 0 for least squares.")]
Delta = Annotated[float, typer.Option(help="Probability that a statement fails.")]


@theory.command(epilog=ROWS_EXAMPLE)
def rows(
    features: Columns,
    noise: Noise,
    signal: Signal,
    error: Annotated[
        float, typer.Option(help="Accepted expected squared regret.", show_default=False)
    ],
) -> None:
    """How many rows to keep for an accepted error, for standardised Gaussian features."""
    from efface.inputs.parameters import positive, whole
    from efface.theory import oracle_penalty, rows_needed

    d, sigma = whole("--features", features, 1), positive("--noise", noise)
    rho, accepted = positive("--signal", signal), positive("--error", error)
    best = oracle_penalty(d, sigma=sigma, theta_norm=rho)
    fewest = rows_needed(accepted, d, sigma=sigma, theta_norm=rho)
    ols = rows_needed(accepted, d, sigma=sigma, method="ols")
    shifted = rows_needed(accepted, d, sigma=sigma, method="ols", fit_intercept=True)
    _print_lines(
        {
            "floor: no method needs fewer": f"{fewest:,}",
            f"ridge with the best penalty, {best:.6g}": f"{fewest:,}",
            "least squares": f"{ols:,}",
            "least squares with an intercept": f"{shifted:,}",
        }
    )
    print("The floor and ridge are limits for many features; least squares is exact.")


@theory.command(epilog=FLOOR_EXAMPLE)
def floor(
    features: Columns,
    noise: Noise,
    signal: Signal,
    rows: Annotated[
        str, typer.Option(help="Numbers of rows.", metavar="A,B,C", show_default=False)
    ],
) -> None:
    """The smallest expected squared regret of any method that sees so many rows."""
    from efface.inputs.parameters import positive, whole
    from efface.theory import regret_floor

    counts = [_count(text) for text in split_names(rows) or [rows]]
    d, sigma = whole("--features", features, 1), positive("--noise", noise)
    floors = regret_floor(counts, d, sigma=sigma, theta_norm=positive("--signal", signal))
    _print_lines({f"{n:,} rows": f"{r:.6g}" for n, r in zip(counts, floors, strict=True)})


@theory.command(epilog=ELLIPSOID_EXAMPLE)
def ellipsoid(
    file: File,
    target: Target,
    window: Window,
    noise: Noise,
    signal: Signal,
    features: Features = None,
    penalty: Penalty = 0.0,
    delta: Delta = 0.05,
    delimiter: Delimiter = None,
) -> None:
    """Radii of confidence sets for the coefficients, from the newest rows of a file."""
    from efface.inputs.parameters import error_probability, non_negative, positive
    from efface.theory import euclidean_radius, gaussian_radius, paper_ols_radius

    sigma, rho = positive("--noise", noise), positive("--signal", signal)
    lam, level = non_negative("--penalty", penalty), error_probability("--delta", delta)
    newest = _read(file, target, features, delimiter, window)[-window:]
    known: Any = {"sigma": sigma, "delta": level, "penalty": lam, "theta_norm": rho}
    radii = {
        "ellipsoid, Gaussian noise": gaussian_radius(newest, **known),
        "ball, any noise": euclidean_radius(newest, **known),
    }
    if lam == 0.0:
        radii["ellipsoid as Lemma 1 states it"] = paper_ols_radius(newest, sigma=sigma, delta=level)
    _print_lines({name: f"{radius:.6g}" for name, radius in radii.items()})


@theory.command(epilog=BOUNDS_EXAMPLE)
def bounds(
    file: File,
    target: Target,
    window: Window,
    noise: Noise,
    signal: Signal,
    features: Features = None,
    penalty: Penalty = 0.0,
    delta: Delta = 0.05,
    delimiter: Delimiter = None,
) -> None:
    """Bounds on the sum of absolute regrets when a window passes over the rows of a file."""
    from efface.inputs.parameters import error_probability, non_negative, positive
    from efface.theory import corrected_regret_bound, ols_regret_bound

    sigma, rho = positive("--noise", noise), positive("--signal", signal)
    lam, level = non_negative("--penalty", penalty), error_probability("--delta", delta)
    X = _read(file, target, features, delimiter, window + 1)
    found = corrected_regret_bound(
        X, window, penalties=lam, sigma=sigma, theta_norm=rho, delta=level
    )
    values = {
        "bound that holds": found.bound,
        "  of it noise": found.noise,
        "  of it bias": found.bias,
        "bound through the ellipsoids": found.ellipsoid_bound,
    }
    if lam == 0.0:
        printed = ols_regret_bound(X, window, sigma=sigma, delta=level)
        values["Theorem 1 as the paper states it"] = printed.bound
    _print_lines({name: f"{value:.6g}" for name, value in values.items()})
    print(f"{len(found.steps):,} predictions, each from the {window:,} rows before it.")


@theory.command(epilog=SWINGS_EXAMPLE)
def swings(
    file: File,
    target: Target,
    window: Window,
    features: Features = None,
    delimiter: Delimiter = None,
) -> None:
    """How often the rank of a window rises, stays and falls when it passes over a file."""
    from collections import Counter

    from efface.theory import rank_swing

    X = _read(file, target, features, delimiter, window + 1)
    parts = (X[k : k + window + 1] for k in range(len(X) - window))
    found = Counter(rank_swing(part[:-1], part[0], part[-1]).case for part in parts)
    cases = {"rank rises, case 2": 2, "rank stays, case 3": 3, "rank falls, case 4": 4}
    _print_lines({name: f"{found[case]:,}" for name, case in cases.items()})


def _read(
    file: list[str], target: str, features: str | None, delimiter: str | None, least: int
) -> NDArray[Any]:
    """The features of a file with at least so many rows."""
    from efface.errors import InvalidValue, unusable
    from efface.files.schema import RequestedColumns
    from efface.files.text_readers import TextFormat
    from efface.files.tuning_job import read_all

    roles = RequestedColumns(target, split_names(features))
    X = read_all(file, roles, text=TextFormat(as_delimiter(delimiter))).X
    if len(X) < least:
        expected, advice = f"at least {least:,}", "choose a smaller --window"
        raise InvalidValue(unusable("number of rows", len(X), expected, advice))
    return X


def _count(text: str) -> int:
    from efface.errors import InvalidValue, unusable

    if not text.isdecimal():
        raise InvalidValue(unusable("--rows", text, "whole numbers", "type 20,80,1000"))
    return int(text)


def _print_lines(lines: dict[str, str]) -> None:
    """Names and values in two aligned columns."""
    left, right = max(map(len, lines)), max(map(len, lines.values()))
    for name, value in lines.items():
        print(f"{name:<{left}}  {value:>{right}}")
