// T with T'T = A^-1 of a definite matrix, in double precision: the inverse of its Cholesky factor.
// Lengths |T u| are what leverages and variances are made of.
#pragma once
#include "linalg/blocked.hpp"

namespace efface {

class half_inverse {
 public:
  half_inverse(arena& a, index n)
      : n_(n),
        w_((n + 7) / 8 * 8),
        rows_{a.take<double>(2 * w_ * w_), w_},
        scale_(a.take<double>(w_)),
        blocked_(a, w_) {}
  index width() const { return w_; }  // vectors have so many numbers, zeros from n on

  /// Row i of the lower triangle of A, to be written before `invert`.
  double* operator[](index i) { return rows_[i]; }

  /// Returns the margin: the least 1 - R^2 of a column regressed on the others; 0 where A is not
  /// definite for sure.
  double invert() {
    for (index i = 0; i < w_; ++i) {
      std::fill_n(rows_[w_ + i], w_, 0.0);
      rows_[w_ + i][i] = 1.0;
      if (i >= n_) std::fill_n(rows_[i], i, 0.0), rows_[i][i] = 1.0;
      scale_[i] = rows_[i][i];
    }
    if (!blocked_.factorise({rows_.data, 2 * w_, w_, w_}, scale_, true).sound) return 0.0;
    double least = 1.0;
    for (index i = 0; i < n_; ++i) least = std::min(least, 1.0 / (diagonal(i) * scale_[i]));
    return least;
  }

  /// Column j of T: n numbers, zeros before j.
  const double* column(index j) const { return rows_[w_ + j]; }
  /// Entry (j, j) of A^-1.
  double diagonal(index j) const {
    const index first = j / 8 * 8;
    return dot(column(j) + first, column(j) + first, w_ - first);
  }
  /// out <- T u
  void halve(const double* u, double* out) const {
    std::fill_n(out, w_, 0.0);
    for (index j = 0, first = 0; j < n_; first = ++j / 8 * 8)
      add_row(u[j], column(j) + first, out + first, w_ - first);
  }
  /// out <- T'u
  void complete(const double* u, double* out) const {
    std::fill(out + n_, out + w_, 0.0);
    for (index j = 0, first = 0; j < n_; first = ++j / 8 * 8)
      out[j] = dot(column(j) + first, u + first, w_ - first);
  }

 private:
  index n_, w_;
  rows_of<double> rows_;
  double* scale_;
  blocked_cholesky blocked_;
};

}  // namespace efface
