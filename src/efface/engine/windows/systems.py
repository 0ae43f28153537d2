"""Normal equations of up to eight neighbouring windows, solved at once, one SIMD lane per window.

Neighbouring windows share most of their rows: the core. The sums over the core are written to every
lane. To these each lane adds the products of its own rows: the oldest rows, which leave within the
batch, and the newest rows, which arrive within it. Sums are made by addition alone: a row outside a
window is in none of its numbers.

Rows are centred (x - c) and multiplied by the square root of their weight. The intercept is a
constant feature. It is eliminated first, so that it takes one column of the factor and no tile.
"""

from __future__ import annotations

from typing import NamedTuple

import numba

from efface.engine.events.core import carried_off, gather, trusted
from efface.engine.jit import views
from efface.engine.jit.compilation import INNER, carving, shared
from efface.engine.jit.simd import (
    LANES,
    TILE,
    add_dot,
    add_tile_products,
    divide_tile,
    multiply_by,
    set_all,
    set_inverse,
    set_inverse_root,
    set_split,
    set_sum,
    subtract_product,
    subtract_scaled,
    subtract_tile_products,
)
from efface.engine.jit.views import VALUE, Matrix, Vector, take
from efface.engine.linalg.batched_cholesky import factorise_lanes, padded, substitute_back
from efface.engine.linalg.dense import CLEAR, SAFE
from efface.engine.sums.sliding import Sums, weight_of
from efface.engine.windows.problem import Problem, add_null

MOST_UNKNOWNS = 28  # with more, ``many_features`` is faster
OWN = LANES - 1  # places for a lane's own rows

# Numbers per window, one entry each, from ``Offsets.numbers`` on. c is the centre of the features
# and cy that of the response; the last four are leverages, and |coefficients|^2.
(
    ROOT,  # 1 / sqrt(sum of weights)
    TOTAL,  # sum of y - cy
    AROUND,  # sum of (y - cy)^2
    SQUARES,  # sum of squared responses: around cy with an intercept, else around 0
    LENGTH,  # sum of |x - c|^2
    SPREAD,  # sum of |x - mean|^2
    HIGH,
    LOW,
    FAR,  # the largest distance of a feature's mean from its centre
    AWAY,  # the largest distance of a feature from its mean
    WORK,
    LEVEL,  # the intercept
    PREDICTION,
    EXPLAINED,  # what the fit explains of SQUARES
    NEW,  # leverage of the new row
    OLD,  # leverage of the oldest row
    CROSS,  # their product
    IMAGE,  # |inverse times new row|^2
    SIZE,  # |coefficients|^2
    INVERSE,  # trace of the inverse
) = range(20)
NUMBERS = 20


class Offsets(NamedTuple):
    """Where each part begins, in entries of LANES numbers; m is d rounded up to full tiles.

    The first fields are those of ``batched_cholesky.System``. A row of the matrix or of the factor
    takes ``step`` = m + 1 entries; the first, before ``matrix`` and ``factor``, is the constant's
    column. Below the m rows lie TILE right-hand sides: the response, the new row, the oldest row,
    zeros.
    """

    m: int
    step: int
    eliminated: int  # 1 with an intercept, else 0
    matrix: int
    factor: int  # the same as ``matrix`` where systems are factorised once only
    penalty: int
    weights: int
    margin: int
    inverse: int  # TILE rows
    unit: int  # a tile of the identity, then one of zeros
    own: int  # OWN entries each of every feature, the response, the constant, and y - cy
    numbers: int
    size: int


class Batch(NamedTuple):
    """Neighbouring windows; the first has the rows before row ``first``."""

    first: int
    windows: int


@carving
def offsets_for(d: int, intercept: bool, in_place: bool) -> Offsets:
    """The offsets for d features. In place, the factor overwrites the matrix."""
    m = padded(d)
    step = m + 1
    size = (m + TILE) * step
    factor, eliminated = 1 if in_place else 1 + size, 1 if intercept else 0
    inverse = factor + size
    unit, own = inverse + TILE * step, inverse + 3 * TILE * step
    weights = own + (m + 3) * OWN
    penalty, margin, numbers = weights + m, weights + m + 1, weights + m + 2
    end = numbers + NUMBERS
    system = m, step, eliminated, 1, factor, penalty, weights, margin
    return Offsets(*system, inverse, unit, own, numbers, end)


@shared()
def form(f: Matrix, at: Offsets, sums: Sums, problem: Problem, batch: Batch) -> bool:
    """Write the matrix and the right-hand side of each window of a batch.

    False where the core's sums are not safe to use; nothing is written then. The penalty of the
    problem is the smallest that the windows will have.
    """
    if not _gather_core(f, at, sums, problem, batch):
        return False
    d, m, step, own = problem.x.shape[1], at.m, at.step, at.own
    shift = 0.0 if problem.intercept else sums.centre[d + 1]
    _write_core(f, at, sums.total, d, shift)
    _write_own_rows(f, at, sums.centre, problem, batch)
    for j in range(0, m, TILE):
        for i in range(j, m, TILE):
            out = at.matrix + i * step + j
            add_tile_products(f, out, out, step, own + i * OWN, own + j * OWN, OWN, OWN)
    for i in range(d):
        add_dot(f, at.matrix + m * step + i, own + i * OWN, own + m * OWN, OWN)
    if problem.intercept:
        _eliminate_constant(f, at)
    return True


@numba.njit(**INNER)
def _gather_core(f: Matrix, at: Offsets, sums: Sums, problem: Problem, batch: Batch) -> bool:
    """Sum the core's rows; False where the sums are not safe to use."""
    x, y, s, penalty, intercept, null = problem
    d, first, stop = x.shape[1], batch.first, batch.first + batch.windows - 1
    start = max(0, stop - s)
    gather(sums, x, y, start, first, batch.windows, intercept)
    add_null(null, sums.total)
    diagonal = take(f, at.weights * LANES, 1, d)[0]  # as scratch: the weights are set later
    for i in range(d):
        diagonal[i] = sums.total[i, i]
    if not trusted(diagonal, sums.total, sums.centre, d, penalty, intercept) > 0.0:
        return False
    outside = weight_of(y, max(0, first - s), start) + weight_of(y, first, stop)
    return not carried_off(sums, d, outside, intercept)


@numba.njit(**INNER)
def _write_core(f: Matrix, at: Offsets, total: Matrix, d: int, shift: float) -> None:
    """Write the core's sums to every lane, padded by the identity.

    The response is y - cy + shift. The padding is written each time: a factor in place overwrites
    it.
    """
    for i in range(at.m):
        row = at.matrix + i * at.step
        for j in range(i // TILE * TILE + TILE):  # above the diagonal, zeros
            padding = 1.0 if i == j else 0.0
            set_all(f, row + j, (total[i, j] if j <= i else 0.0) if i < d else padding)
        moment = total[d + 1, i] + shift * total[d, i] if i < d else 0.0
        set_all(f, at.matrix + at.m * at.step + i, moment)
        if at.eliminated == 1:
            set_all(f, at.factor + i * at.step - 1, total[d, i] if i < d else 0.0)
    if at.eliminated == 1:
        set_all(f, at.factor + at.m * at.step - 1, total[d + 1, d])
        set_all(f, at.numbers + ROOT, total[d, d])


@numba.njit(**INNER)
def _write_own_rows(f: Matrix, at: Offsets, centre: Vector, problem: Problem, batch: Batch) -> None:
    """Write each lane's own rows: place i has an old row in lanes up to i, a new row after them.

    Places without a row, and old rows before the start of the array, are zeros.
    """
    x, y, m, own = problem.x, problem.y, at.m, at.own
    d, last = x.shape[1], batch.first + batch.windows - 2
    shift = centre[d + 1] if problem.intercept else 0.0
    for i in range(OWN):
        new = min(batch.first + i, last)
        old = new - problem.s
        root_new = y[new, views.ROOT] if i < batch.windows - 1 else 0.0
        root_old = y[old, views.ROOT] if i < batch.windows - 1 and old >= 0 else 0.0
        old = max(old, 0)
        for j in range(d):
            before, after = root_old * (x[old, j] - centre[j]), root_new * (x[new, j] - centre[j])
            set_split(f, own + j * OWN + i, before, after, i)
        before, after = root_old * (y[old, VALUE] - shift), root_new * (y[new, VALUE] - shift)
        set_split(f, own + m * OWN + i, before, after, i)
        set_split(f, own + (m + 1) * OWN + i, root_old, root_new, i)


@numba.njit(**INNER)
def _eliminate_constant(f: Matrix, at: Offsets) -> None:
    """The constant's column of the factor: sums of features and response over sqrt(weight)."""
    root, one = at.numbers + ROOT, at.own + (at.m + 1) * OWN
    add_dot(f, root, one, one, OWN)
    set_inverse_root(f, root, root)
    for i in range(at.m + 1):
        column = at.factor + i * at.step - 1
        add_dot(f, column, at.own + i * OWN, one, OWN)
        multiply_by(f, column, root)


@shared()
def write_measured_rows(
    f: Matrix, at: Offsets, centre: Vector, problem: Problem, batch: Batch
) -> None:
    """The row that arrives after each window, and the window's oldest row, as right-hand sides.

    All weights must be 1.
    """
    x, rows = problem.x, at.matrix + (at.m + 1) * at.step
    for i in range(LANES):
        new = batch.first + min(i, batch.windows - 1)
        for j in range(x.shape[1]):
            f[rows + j, i] = x[new, j] - centre[j]
            f[rows + at.step + j, i] = x[new - problem.s, j] - centre[j]
    for i in range(at.m + 1, at.m + 3):
        set_all(f, at.factor + i * at.step - 1, 1.0 if problem.intercept else 0.0)
        multiply_by(f, at.factor + i * at.step - 1, at.numbers + ROOT)


@shared()
def add_moments(f: Matrix, at: Offsets, sums: Sums, problem: Problem, batch: Batch) -> None:
    """Sums of squares of the responses and of all features. All weights must be 1."""
    y, s = problem.y, problem.s
    d, m, step, numbers = sums.centre.size - 2, at.m, at.step, at.numbers
    total, middle = sums.total, sums.centre[d + 1]
    shift, square, linear = middle, total[d + 1, d + 1], total[d + 1, d]
    if problem.intercept:
        shift = 0.0
    set_all(f, numbers + SQUARES, square + shift * (2.0 * linear + shift * total[d, d]))
    set_all(f, numbers + TOTAL, linear)
    set_all(f, numbers + AROUND, square)
    response, one, around = at.own + m * OWN, at.own + (m + 1) * OWN, at.own + (m + 2) * OWN
    for i in range(OWN):
        new = min(batch.first + i, batch.first + batch.windows - 2)
        present = 1.0 if i < batch.windows - 1 else 0.0
        old = max(new - s, 0)  # row -1 does not exist, and NaN times 0 is NaN
        before, after = y[old, VALUE] - middle, y[new, VALUE] - middle
        set_split(f, around + i, present * before, present * after, i)
    add_dot(f, numbers + SQUARES, response, response, OWN)
    add_dot(f, numbers + TOTAL, around, one, OWN)
    add_dot(f, numbers + AROUND, around, around, OWN)
    added = 0.0
    for i in range(problem.null.shape[0]):
        added += problem.null[i, i]
    set_all(f, numbers + LENGTH, -added)
    set_all(f, numbers + SPREAD, 0.0)
    for i in range(d):
        set_sum(f, numbers + LENGTH, numbers + LENGTH, at.matrix + i * step + i)
        column = at.factor + i * step - 1
        subtract_product(f, numbers + SPREAD, column, column)
    set_sum(f, numbers + SPREAD, numbers + SPREAD, numbers + LENGTH)


@shared()
def factorise(f: Matrix, at: Offsets, rows: int) -> None:
    """Factorise the systems with their penalties; substitute ``rows`` right-hand sides forward."""
    for i in range(at.m):
        set_sum(f, at.weights + i, at.matrix + i * at.step + i, at.penalty)
        set_inverse(f, at.weights + i, at.weights + i)
    factorise_lanes(f, at, rows)
    if _doubtful(f, at):
        _set_margins(f, at)


@numba.njit(**INNER)
def _doubtful(f: Matrix, at: Offsets) -> bool:
    """Whether the pivots of a usable system could hide a smaller margin: see ``dense``."""
    doubtful = 0
    for i in range(LANES):
        doubtful += (f[at.margin, i] >= SAFE) & (f[at.margin, i] < CLEAR)
    return doubtful > 0


@numba.njit(**INNER)
def _set_margins(f: Matrix, at: Offsets) -> None:
    """The margins from the diagonals of the inverses."""
    for i in range(0, at.m, TILE):
        _invert_rows(f, at, i)
        for k in range(TILE):
            row = at.inverse + k * at.step + i
            set_all(f, at.numbers + WORK, 0.0)
            add_dot(f, at.numbers + WORK, row, row, at.m - i)
            for lane in range(LANES):
                weight, length = f[at.weights + i + k, lane], f[at.numbers + WORK, lane]
                if weight < f[at.margin, lane] * length:  # False after a failed pivot: NaN or 0
                    f[at.margin, lane] = weight / length


@shared()
def solve(f: Matrix, at: Offsets) -> None:
    """Replace the responses, substituted forward, by the coefficients; set EXPLAINED."""
    row = at.factor + at.m * at.step
    set_all(f, at.numbers + EXPLAINED, 0.0)
    add_dot(f, at.numbers + EXPLAINED, row - 1, row - 1, at.m + 1)
    substitute_back(f, at, row)


@numba.njit(**INNER)
def set_level(f: Matrix, at: Offsets, centre: Vector, d: int) -> None:
    """LEVEL: the intercept for a response y - cy; PREDICTION: the same for features x - c."""
    theta, level, centred = at.factor + at.m * at.step, at.numbers + LEVEL, at.numbers + PREDICTION
    set_all(f, level, 0.0)
    set_sum(f, centred, level, theta - 1)
    for j in range(d):
        subtract_product(f, centred, at.factor + j * at.step - 1, theta + j)
        subtract_scaled(f, level, centre[j], theta + j)
    multiply_by(f, centred, at.numbers + ROOT)
    set_sum(f, level, level, centred)


@shared()
def trace_inverse(f: Matrix, at: Offsets, d: int) -> None:
    """INVERSE: the sum of squares of the factor's inverse, which is made TILE rows at a time."""
    trace = at.numbers + INVERSE
    set_all(f, trace, 0.0)
    for i in range(0, at.m, TILE):
        _invert_rows(f, at, i)
        for k in range(min(TILE, d - i)):
            row = at.inverse + k * at.step + i
            add_dot(f, trace, row, row, at.m - i)


@numba.njit(**INNER)
def _invert_rows(f: Matrix, at: Offsets, i: int) -> None:
    """TILE rows, from row i on, of the transposed inverse of the factor."""
    step = at.step
    for k in range(TILE):
        set_all(f, at.unit + k * (step + 1), 1.0)
    for j in range(i, at.m, TILE):
        start = at.unit if i == j else at.unit + TILE * step
        out, left = at.inverse + j, at.inverse + i
        right, corner = at.factor + j * step + i, at.factor + j * step + j
        subtract_tile_products(f, out, start, step, left, right, step, j - i)
        divide_tile(f, out, corner, step)
