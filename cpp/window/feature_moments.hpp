// Mean and variance of each feature over a sliding range of rows, rounded once.
//
// The range is [head, end) of an array of rows. Let c be a centre. The sums of x - c and of its square
// are kept in double-double precision and made by addition alone. The range is split at a turn:
// suffix sums over [i, turn) for each row i before the turn, and one running sum over [turn, end). The
// centre is the row before the turn. When that row leaves, the turn moves to the end of the range. So
// a row costs O(d), and all that is kept is made of live rows.
//
// Mean and variance follow from these sums with about thirty digits, and are rounded to sixteen. The
// result does not depend on how the sums were made, unless the exact value is so close to a rounding
// boundary that the rounding errors of the sums decide. Then the feature is marked as doubtful, and
// the caller must compute it from exact sums (Ziv's strategy). The rounding boundary between two
// doubles is not the midpoint, where sums of 2^k numbers often lie, but the golden section, which is
// far from all fractions with a small denominator. So fewer than one feature in a million is doubtful.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "memory/arena.hpp"
#include "number/twofold.hpp"

namespace efface {

/// Works on arrays of the caller, so that what they hold can be looked at.
class feature_moments {
 public:
  enum code : std::int64_t { done, doubtful, full };
  static constexpr double section = 0.6180339887498949;  // of the gap between two doubles: up from here
  static constexpr double no_mean = 0x1p-90;             // times deviation and rows: a mean below is 0
  struct range {
    std::int64_t head, end, turn;
    std::int64_t seen;     // the rows before it are in the sums
    std::int64_t shrinks;  // do rows leave by themselves, so that suffix sums are worth keeping?
    std::int64_t known;    // are mean and variance up to date?
  };
  struct scaling {
    bool with_mean, with_std;
  };

  double* x;  // (places, d)
  range* state;
  double* suffixes;  // (kept, 4 d): sums over [i, turn); kept = 1 unless rows leave
  double* recent;    // (4 d): sums over [turn, end)
  double* centre;    // (d)
  double* moments;   // (3, d): mean, variance, and 1 where they are doubtful
  index places, kept, d;

  bool alive() const { return state->end > state->head; }

  /// Mean and variance of the live rows, of which there must be one.
  code update() const {
    if (state->known) return done;
    if (state->head >= state->turn) turn_over();
    for (index i = state->seen; i < state->end; ++i) add(x + i * d, recent);
    state->seen = state->end;
    bool certain = true;
    for (index j = 0; j < d; ++j) {
      const bool rounded = round_moments(suffixes + state->head * 4 * d, j);
      moments[2 * d + j] = rounded ? 0.0 : 1.0;
      certain &= rounded;
    }
    state->known = certain;
    return certain ? done : doubtful;
  }

  /// False if there is no free place.
  bool learn(const double* row, index leaving) const {
    if (state->end == places) return false;
    append(row);
    drop(leaving);
    return true;
  }

  /// Remove the oldest rows, and overwrite all sums that contain them.
  void drop(index count) const {
    if (count == 0) return;
    const index head = state->head;
    wipe(moments, 3 * d * sizeof(double));
    wipe(x + head * d, count * d * sizeof(double));
    for (index i = head; i < std::min(head + count, kept); ++i)
      wipe(suffixes + i * 4 * d, 4 * d * sizeof(double));
    state->head = head + count, state->known = 0;
    if (state->head < state->turn) return;
    wipe(recent, 4 * d * sizeof(double));  // the row of the centre has left
    wipe(centre, d * sizeof(double));
    state->turn = state->seen = 0;
  }

  /// The standard deviations, 1 for a feature that is constant up to rounding. The limit is that of
  /// scikit-learn's StandardScaler, after Chan, Golub and LeVeque.
  void set_scales(double* scale) const {
    const double n = double(state->end - state->head), eps = std::numeric_limits<double>::epsilon();
    for (index j = 0; j < d; ++j) {
      const double variance = moments[d + j], rounding = n * moments[j] * eps;
      scale[j] = variance <= n * eps * variance + rounding * rounding ? 1.0 : std::sqrt(variance);
    }
  }

  /// A row scaled by moments that are up to date.
  void scale(const double* row, scaling way, double* scaled) const {
    set_scales(scaled);
    for (index j = 0; j < d; ++j) {
      const double away = way.with_mean ? row[j] - moments[j] : row[j];
      scaled[j] = way.with_std ? away / scaled[j] : away;
    }
  }

  /// Scale each row by the live rows, and learn it before (joined) or after; NaN if no row is live.
  /// before[t] rows leave before row t comes, after[t] once it was learned. Returns the end; or the
  /// row where the caller must act first. The doubts at row `decided` have been resolved.
  index scale_rows(const double* rows, index count, const std::int64_t* before, const std::int64_t* after,
                   scaling way, bool joined, double* scaled, index start, index decided, code& stop) const {
    for (index t = start; t < count; ++t) {
      const double* row = rows + t * d;
      if (t != decided) {
        stop = full;
        if (state->end == places) return t;
        drop(before[t]);
        if (joined) learn(row, after[t]);
        stop = doubtful;
        if (alive() && update() == doubtful) return t;
      }
      std::fill_n(scaled + t * d, d, std::numeric_limits<double>::quiet_NaN());
      if (alive()) scale(row, way, scaled + t * d);
      if (!joined) learn(row, after[t]);
    }
    stop = done;
    return count;
  }

 private:
  static dd plus(dd a, dd b) {
    const dd total = dd::sum(a.high, b.high);
    return dd::sum(total.high, total.low + (a.low + b.low));
  }
  static dd over(dd a, double n) {
    const double quotient = a.high / n;
    const dd product = dd::product(quotient, n);
    return dd::sum(quotient, (((a.high - product.high) - product.low) + a.low) / n);
  }
  void append(const double* row) const {
    std::copy_n(row, d, x + state->end * d);
    ++state->end, state->known = 0;
  }

  /// Add a row to sums: of x - c, then of its square, the high parts of all features before the low.
  void add(const double* row, double* sums) const {
    for (index j = 0; j < d; ++j) {
      const dd away = dd::sum(row[j], -centre[j]);
      dd square = dd::product(away.high, away.high);
      square.low += 2.0 * away.high * away.low;
      const dd first = plus({sums[j], sums[d + j]}, away);
      const dd second = plus({sums[2 * d + j], sums[3 * d + j]}, square);
      sums[j] = first.high, sums[d + j] = first.low;
      sums[2 * d + j] = second.high, sums[3 * d + j] = second.low;
    }
  }

  /// Start from the live rows.
  void turn_over() const {
    const index head = state->head, turn = state->shrinks ? state->end : head + 1;
    std::copy_n(x + (turn - 1) * d, d, centre);
    wipe(recent, 4 * d * sizeof(double));
    for (index i = turn - 1; i >= head; --i) {
      add(x + i * d, recent);
      std::copy_n(recent, 4 * d, suffixes + i * 4 * d);
    }
    wipe(recent, 4 * d * sizeof(double));
    state->turn = state->seen = turn;
  }

  /// Mean and variance of feature j; `old` has the sums over [head, turn). False where rounding errors
  /// could decide.
  bool round_moments(const double* old, index j) const {
    constexpr double rounding = 0x1p-100;    // relative error of a double-double sum, with bits to spare
    constexpr double least_square = 1e-250;  // sums of squares below have lost digits
    const auto total = [&](index k) { return plus({recent[k], recent[d + k]}, {old[k], old[d + k]}); };
    const double n = double(state->end - state->head);
    const dd linear = total(j), square = total(2 * d + j), offset = over(linear, n);
    const dd product = dd::product(linear.high, offset.high);
    const dd around =
        dd::sum(product.high, product.low + (linear.high * offset.low + linear.low * offset.high));
    const dd variance = over(plus(square, -around), n), mean = plus(offset, dd(centre[j]));
    double error = rounding * (std::abs(centre[j]) + std::sqrt(n * square.high));
    const double least = no_mean * n * std::sqrt(std::max(variance.high, 0.0));
    const bool none = std::abs(mean.high) + error < least;
    bool certain = none || round(mean, error, moments[j]);
    if (none)
      moments[j] = 0.0;
    else
      certain = certain && (std::abs(moments[j]) > least + error || square.high == 0.0);
    error = rounding * (1.0 + 8.0 / n) * square.high;
    certain &= round(variance, error, moments[d + j]);
    return certain && (square.high == 0.0 || square.high > least_square);
  }

  /// a as one double; true if all numbers within `error` round to the same.
  static bool round(dd a, double error, double& out) {
    const double sign = a.high < 0.0 ? -1.0 : 1.0, high = sign * a.high, low = sign * a.low;
    const double below = high * (1.0 - 0.5 * std::numeric_limits<double>::epsilon());
    const double boundary = (section - 1.0) * (high - below);
    out = sign * (low < boundary ? below : high);
    return std::abs(low - boundary) > error || error == 0.0;
  }
};

}  // namespace efface
