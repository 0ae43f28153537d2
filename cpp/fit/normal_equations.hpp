// (A + lam) X = B with one right-hand side per response, for penalties that are given or selected.
// A is the Gram matrix of the scaled features, or that of the rows (dual), where these are fewer.
#pragma once
#include "fit/penalty.hpp"
#include "linalg/definite.hpp"

namespace efface {

/// The least of a pivot, squared: what NumPy's rank calls zero, with room for the rounding of sums.
inline double rank_tolerance(index rows, index features) {
  const double share = double(std::max(rows, features)) * std::numeric_limits<double>::epsilon();
  return 16.0 * share * share;
}

inline constexpr double too_strong = 0x1p400;  // of a penalty: the coefficient is 0

template <class Real>
class normal_equations {
  static constexpr bool precise = !std::is_same_v<Real, double>;
  static constexpr double well_conditioned = 1e4;
  static constexpr double enough = 1e-10;  // relative errors of double precision that may stay
  static constexpr double certain = 1e-7;  // errors of the exponent of a penalty that may stay
  using solver = std::conditional_t<precise, semidefinite, definite>;

 public:
  normal_equations(arena& memory, index n, index responses)
      : a{memory.take<Real>(n * n), n},
        b{memory.take<Real>(responses * n), n},
        square(memory.take<Real>(responses)),
        beyond(memory.take<double>(responses)),
        n_(n),
        k_(responses),
        memory_(memory) {}
  rows_of<Real> a, b;  // lower triangle; a row of b per response
  Real* square;        // y'y
  double* beyond;      // of which no row of the dual knows

  /// b <- the solutions. False where they may have lost digits. With `ratio`, in double-double
  /// precision only, the penalty of each feature is multiplied by its own.
  bool solve(const double* lam, double least, index& rank, const double* ratio = nullptr) {
    arena::scope s(memory_);
    auto solver_of = [&] {
      if constexpr (precise)
        return semidefinite(memory_, n_);
      else
        return definite(memory_, n_, k_);
    };
    solver solve = solver_of();
    for (index r = 0, end; r < k_; r = end) {  // responses with one penalty share a factor
      for (end = r + 1; end < k_ && lam[end] == lam[r];) ++end;
      if constexpr (precise) {
        for (index i = 0; i < n_; ++i) {
          if (ratio && lam[r] * ratio[i] > too_strong)
            drop(i);
          else
            a[i][i] += Real(ratio ? lam[r] * ratio[i] : lam[r]);
        }
        rank = solve.factorise({a.data, n_}, least);
        for (index q = r; q < end; ++q) solve.solve(b[q]);
        for (index i = 0; end < k_ && i < n_; ++i) a[i][i] += Real(ratio ? -lam[r] * ratio[i] : -lam[r]);
      } else {
        if (!(solve.solve({a.data, n_}, lam[r], {b[r], n_}, end - r) >= safe)) return false;
        rank = n_;
      }
    }
    return true;
  }

  /// lam <- the penalty that each response selects; b <- the solutions. False as above.
  bool select(evidence e, bool dual, double* lam) {
    arena::scope s(memory_);
    tridiagonal<Real> t(memory_, n_);
    penalty_grid<Real> grid(memory_, n_);
    Real *theta = memory_.take<Real>(n_), *step = memory_.take<Real>(n_);
    double trace = 0.0, largest = 0.0;
    for (index i = 0; i < n_; ++i) trace += value(a[i][i]), largest = std::max(largest, value(a[i][i]));
    if (!(trace > 0.0)) {
      std::fill_n(lam, k_, 0.0), std::fill_n(b.data, k_ * n_, Real(0.0));
      return true;
    }
    const double base = trace / double(e.d);
    t.reduce({a.data, n_});
    grid.factorise(t, base);
    double* words = memory_.take<double>(5 * grid.width);  // not on the stack, which nobody overwrites
    double *left = words, *residual = left + grid.width, *noise = residual + grid.width,
           *free = noise + grid.width, *prior = free + grid.width;
    choice& c = *memory_.take<choice>(1);
    set_prior(e, prior);
    for (int k = 0; k < exponents; ++k) free[k] = e.freedom - double(n_) + grid.lam[k] * grid.trace[k];
    bool sound = true;
    for (index r = 0; r < k_; ++r) {
      std::copy_n(b[r], n_, theta);
      t.to_basis(theta);
      e.square = value(square[r]);
      const bool flat = !(e.square > 0.0);
      if (flat) e.square = 1.0;
      grid.explain(theta, square[r], left);
      for (int k = 0; k < exponents; ++k) {
        const double l = grid.lam[k];
        if (dual) left[k] = l * grid.explained[k] + beyond[r];
        residual[k] = dual ? l * l * grid.length[k] + beyond[r] : left[k] - l * grid.length[k];
        if (flat) left[k] = residual[k] = 1.0;
      }
      c = weigh(e, grid.log_det, free, left, residual, prior);
      lam[r] = base * std::exp2(c.exponent);
      t.solve(Real(lam[r]), theta);
      if (precise || flat) {
        t.from_basis(theta);
        std::copy_n(theta, n_, b[r]);
        continue;
      }
      const double size = value(inner(theta, theta, n_));
      std::copy_n(theta, n_, step);
      t.solve(Real(lam[r]), step);  // minus the derivative of theta with respect to lam
      const double bend = lam[r] * std::sqrt(value(inner(step, step, n_)) / size);
      t.from_basis(theta);
      double scatter = 0.0;
      for (index i = 0; i < n_; ++i) scatter += value(a[i][i] * theta[i] * theta[i]);
      for (int k = 0; k < exponents; ++k) {
        const double spread = scatter * std::max(1.0, grid.length[k] / size);
        noise[k] = 2.2e-16 * (dual ? grid.lam[k] * spread : e.square + spread);
      }
      const double moved = doubt(e, c, left, residual, noise, 4.4e-16 * trace, grid.trace);
      sound &= moved < certain && moved * bend < 0.2 * enough;
      const int below = int((c.exponent - first_exponent) / exponent_step);
      if (!((largest + lam[r]) * grid.trace[below] < well_conditioned))  // a bound of the condition
        sound &= refine(t, lam[r], b[r], theta, step);
      std::copy_n(theta, n_, b[r]);
    }
    return sound;
  }

 private:
  void drop(index i) {
    for (index j = 0; j < n_; ++j) (j <= i ? a[i][j] : a[j][i]) = Real(i == j ? 1.0 : 0.0);
    for (index r = 0; r < k_; ++r) b[r][i] = Real(0.0);
  }
  /// One step with the residual of A itself. Its size tells the digits: true if enough are left.
  bool refine(const tridiagonal<Real>& t, double lam, const Real* b, Real* theta, Real* step) const {
    for (index i = 0; i < n_; ++i) step[i] = mulsub(Real(lam), theta[i], b[i]);
    for (index i = 0; i < n_; ++i) {
      step[i] = mulsub(a[i][i], theta[i], step[i] - inner(a[i], theta, i));
      add_multiple(-theta[i], a[i], step, i);
    }
    t.to_basis(step);
    t.solve(Real(lam), step);
    t.from_basis(step);
    double moved = 0.0, extent = 0.0;
    for (index i = 0; i < n_; ++i) {
      moved = std::max(moved, std::abs(value(step[i])));
      theta[i] = theta[i] + step[i];
      extent = std::max(extent, std::abs(value(theta[i])));
    }
    return moved <= enough * extent;
  }

  index n_, k_;
  arena& memory_;
};

}  // namespace efface
