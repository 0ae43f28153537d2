// Solutions of A X = B for a symmetric matrix that may be singular, in double-double arithmetic: a
// Cholesky factor with diagonal pivoting tells the rank, an orthogonal factor gives minimum norms.
#pragma once
#include <limits>

#include "linalg/cholesky.hpp"
#include "memory/arena.hpp"

namespace efface {

template <class Real>
Real inner(const Real* a, const Real* b, index n) {
  Real sums[2] = {Real(0.0), Real(0.0)};  // two chains
  index i = 0;
  for (; i + 2 <= n; i += 2) {
    sums[0] = muladd(a[i], b[i], sums[0]);
    sums[1] = muladd(a[i + 1], b[i + 1], sums[1]);
  }
  if (i < n) sums[0] = muladd(a[i], b[i], sums[0]);
  return sums[0] + sums[1];
}

class semidefinite {
 public:
  semidefinite(arena& a, index n)
      : n_(n),
        l_{a.take<dd>(n * n), n},
        u_{a.take<dd>(n * n), n},
        diagonal_(a.take<dd>(n)),
        step_(a.take<dd>(n)),
        scale_(a.take<double>(n)),
        order_(a.take<index>(n)),
        placed_(a.take<bool>(n)) {}
  index rank() const { return rank_; }

  /// The lower triangle of `a` is read. A pivot below `least` of its diagonal entry is 0. A zero
  /// diagonal entry is a row of zeros. Returns the rank.
  index factorise(rows_of<const dd> a, double least) {
    for (index i = 0; i < n_; ++i) {
      int exponent;
      std::frexp(a[i][i].high, &exponent);
      scale_[i] = a[i][i].high > 0.0 ? std::ldexp(1.0, -(exponent / 2)) : 0.0;
      diagonal_[i] = a[i][i] * dd(scale_[i] * scale_[i]);
      placed_[i] = false;
    }
    for (rank_ = 0; rank_ < n_; ++rank_) {
      index p = -1;
      for (index i = 0; i < n_; ++i)
        if (!placed_[i] && (p < 0 || diagonal_[i].high > diagonal_[p].high)) p = i;
      if (!(diagonal_[p].high > least)) break;
      place(a, p);
    }
    if (rank_ < n_) orthogonalise();
    return rank_;
  }

  /// b <- A^+ b. Returns the squared length of the part of b that A does not reach.
  double solve(dd* b) {
    if (rank_ < n_) return solve_least(b);
    halve(b);
    for (index r = n_ - 1; r >= 0; --r) {
      const index p = order_[r];
      step_[r] = step_[r] / l_[p][r];
      for (index q = 0; q < r; ++q) step_[q] = mulsub(l_[p][q], step_[r], step_[q]);
    }
    for (index r = 0; r < n_; ++r) b[order_[r]] = step_[r] * dd(scale_[order_[r]]);
    return 0.0;
  }

  /// T b, where T'T = A^-1; the numbers stay valid until the next call.
  const dd* halve(const dd* b) {
    index r = 0;
    for (; r < rank_ && b[order_[r]].high == 0.0; ++r) step_[r] = dd(0.0);
    for (const index first = r; r < rank_; ++r) {  // L z = S b, rows in the order of the pivots
      const index p = order_[r];
      step_[r] = (b[p] * dd(scale_[p]) - inner(l_[p] + first, step_ + first, r - first)) / l_[p][r];
    }
    return step_;
  }

  /// Is b in the range of A, up to rounding in each of its numbers?
  bool reaches(const dd* b) {
    halve(b);
    for (index i = 0; i < n_; ++i) {
      if (placed_[i]) continue;
      if (scale_[i] == 0.0 && value(b[i]) != 0.0) return false;
      dd rest = b[i] * dd(scale_[i]);
      double size = rest.high * rest.high;
      for (index r = 0; r < rank_; ++r) {
        const dd term = l_[i][r] * step_[r];
        rest = rest - term, size += term.high * term.high;
      }
      if (rest.high * rest.high > std::numeric_limits<double>::epsilon() * size) return false;
    }
    return true;
  }

 private:
  void place(rows_of<const dd> a, index p) {
    const index r = rank_;
    const dd root = sqrt(diagonal_[p]);
    order_[r] = p, placed_[p] = true, l_[p][r] = root;
    for (index i = 0; i < n_; ++i) {
      if (placed_[i]) continue;
      const dd entry = (i > p ? a[i][p] : a[p][i]) * dd(scale_[i] * scale_[p]);
      l_[i][r] = (entry - inner(l_[i], l_[p], r)) / root;
      diagonal_[i] = mulsub(l_[i][r], l_[i][r], diagonal_[i]);
    }
  }

  /// Householder reflections of the columns of F = S^-1 L (A = F F'): row q of u is what reflects
  /// column q, with a unit length. Before its place q lies column q of the triangle; its diagonal
  /// takes the place of what pivoting left.
  void orthogonalise() {
    for (index q = 0; q < rank_; ++q)
      for (index i = 0; i < n_; ++i) {
        const bool zero = scale_[i] == 0.0 || (placed_[i] && position(i) < q);
        u_[q][i] = zero ? dd(0.0) : l_[i][q] * dd(1.0 / scale_[i]);
      }
    for (index q = 0; q < rank_; ++q) {
      dd* column = u_[q];
      for (index r = 0; r < q; ++r) reflect(u_[r], r, column);
      dd size = sqrt(inner(column + q, column + q, n_ - q));
      if (column[q].high > 0.0) size = -size;
      diagonal_[q] = size;
      column[q] = column[q] - size;
      const dd length = sqrt(inner(column + q, column + q, n_ - q));
      for (index i = q; i < n_; ++i) column[i] = column[i] / length;
    }
  }
  index position(index i) const { return std::find(order_, order_ + rank_, i) - order_; }

  void reflect(const dd* u, index q, dd* b) const {
    const dd twice = inner(u + q, b + q, n_ - q) * dd(-2.0);
    for (index i = q; i < n_; ++i) b[i] = muladd(twice, u[i], b[i]);
  }

  /// b <- Q T'^-1 T^-1 Q'b where F = Q T
  double solve_least(dd* b) const {
    for (index q = 0; q < rank_; ++q) reflect(u_[q], q, b);
    for (index q = rank_ - 1; q >= 0; --q) {
      b[q] = b[q] / diagonal_[q];
      for (index r = 0; r < q; ++r) b[r] = mulsub(u_[q][r], b[q], b[r]);
    }
    for (index q = 0; q < rank_; ++q) b[q] = (b[q] - inner(u_[q], b, q)) / diagonal_[q];
    const double rest = value(inner(b + rank_, b + rank_, n_ - rank_));
    std::fill(b + rank_, b + n_, dd(0.0));
    for (index q = rank_ - 1; q >= 0; --q) reflect(u_[q], q, b);
    return rest;
  }

  index n_, rank_ = 0;
  rows_of<dd> l_, u_;
  dd *diagonal_, *step_;
  double* scale_;
  index* order_;
  bool* placed_;
};

}  // namespace efface
