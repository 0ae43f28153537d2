// Solutions of (A + penalty I) X = B in double precision, and how far they can be trusted.
#pragma once
#include <cstdint>

#include "linalg/blocked.hpp"

namespace efface {

inline std::uint64_t mix(std::uint64_t z) {  // SplitMix64
  z += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

class definite {
 public:
  definite(arena& a, index n, index k)
      : n_(n),
        k_(k),
        w_((n + 7) / 8 * 8),
        rows_{a.take<double>((w_ + k + probes) * w_), w_},
        scale_(a.take<double>(w_)),
        scratch_(a.take<double>(w_)),
        blocked_(a, n < small ? 0 : w_) {}

  /// Row r of b, n numbers, becomes the r-th solution, for at most the k rows it was made for. Returns the
  /// margin, the least 1 - R^2 of a column regressed on the others, or an estimate that is rarely ten times
  /// too large.
  double solve(rows_of<const double> a, double penalty, rows_of<double> b, index count) {
    k_ = count;
    for (index i = 0; i < w_; ++i) {
      for (index j = 0; j <= i; ++j) rows_[i][j] = i < n_ ? a[i][j] : i == j;
      scale_[i] = rows_[i][i] += i < n_ ? penalty : 0.0;
    }
    for (index r = 0; r < k_; ++r) {
      std::copy_n(b[r], n_, rows_[w_ + r]);
      std::fill(rows_[w_ + r] + n_, rows_[w_ + r] + w_, 0.0);
    }
    const double margin = n_ < small ? solve_small() : solve_large();
    for (index r = 0; r < k_; ++r) std::copy_n(rows_[w_ + r], n_, b[r]);
    return margin;
  }

 private:
  static constexpr index small = 32, probes = 4;
  static constexpr int Tile = 4;

  double solve_small() {
    const auto v = efface::factorise<Tile>(rows_, w_, scale_);
    if (!v.sound) return 0.0;
    for (index r = 0; r < k_; ++r) {
      substitute<Tile>(rows_, w_, rows_[w_ + r]);
      substitute_back<Tile>(rows_, w_, rows_[w_ + r]);
    }
    return v.certain ? clear : margin<Tile>(rows_, w_, scale_, scratch_);
  }

  /// With random signs in b, E |A^-1 b|^2 is the sum of squares of the inverse, with unit diagonal.
  double solve_large() {
    for (index p = 0; p < probes; ++p)
      for (index j = 0; j < w_; ++j)
        rows_[w_ + k_ + p][j] = (mix(p * w_ + j) & 1 ? 1.0 : -1.0) * std::sqrt(scale_[j]);
    const matrix_view all{rows_.data, w_ + k_ + probes, w_, w_};
    if (!blocked_.factorise(all, scale_).sound) return 0.0;
    blocked_.divide(all.at(w_, 0, k_ + probes, w_), all.at(0, 0, w_, w_));
    double square = 0.0;
    for (index p = 0; p < probes; ++p)
      for (index j = 0; j < w_; ++j) square += scale_[j] * rows_[w_ + k_ + p][j] * rows_[w_ + k_ + p][j];
    return std::sqrt(probes / square);
  }

  index n_, k_, w_;
  rows_of<double> rows_;
  double *scale_, *scratch_;
  blocked_cholesky blocked_;
};

}  // namespace efface
