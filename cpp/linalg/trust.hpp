// Whether a solution that was pieced together, from a factor and from rows outside it, has its digits.
#pragma once
#include "linalg/definite.hpp"

namespace efface {

inline constexpr double least_square = 1e-240;  // of a feature: smaller ones may have underflowed

/// The margin of a factorised matrix from the solutions for random signs, as `definite` finds it.
class random_probes {
 public:
  random_probes(arena& a, index n) : n_(n), rows_{a.take<double>(count * n), count, n, n} {}

  double margin(const blocked_cholesky& factor, const_view l, const double* scale) const {
    for (index p = 0; p < count; ++p)
      for (index j = 0; j < n_; ++j)
        rows_[p][j] = (mix(std::uint64_t(p * n_ + j)) & 1 ? 1.0 : -1.0) * std::sqrt(scale[j]);
    factor.divide_transposed(rows_);
    factor.divide(rows_, l);
    double square = 0.0;
    for (index p = 0; p < count; ++p)
      for (index j = 0; j < n_; ++j) square += scale[j] * rows_[p][j] * rows_[p][j];
    wipe(rows_.data, count * n_ * sizeof(double));
    return std::sqrt(double(count) / square);
  }

 private:
  static constexpr index count = 4;
  index n_;
  matrix_view rows_;
};

/// Coefficients that are sums: of the core's and of w_i Z_i for each row i outside it. Where terms
/// cancel, their rounding errors are left. This happens where one row is far larger than the others,
/// and no pivot shows it. |Z_ij|^2 <= M_jj S_ii, and M_jj is about 1 / scale_j.
struct summed_terms {
  const double *theta, *core;  // n numbers, a multiple of 8
  const double* scale;         // the squared lengths of the core's features
  double reach;                // the largest w_i^2 S_ii
  index n;

  /// Is enough left of the largest coefficient, with all features at one scale? Their squared lengths
  /// in all rows are between `low` and `high`; 0 for what is no feature.
  bool keep_digits(const double* low, const double* high, double margin) const {
    lanes left = 0.0, largest = 0.0;
    for (index j = 0; j < n; j += 8) {
      const lanes t = lanes::load(theta + j), c = lanes::load(core + j);
      const lanes size = lanes::load(low + j) * t * t, inside = c * c;
      const lanes added = lanes(reach) / lanes::load(scale + j);
      const lanes term = lanes::load(high + j) * select(inside > added, inside, added);
      left = select(size > left, size, left), largest = select(term > largest, term, largest);
    }
    double most = 0.0, all = 0.0;
    for (int i = 0; i < lanes::size; ++i) most = std::max(most, left[i]), all = std::max(all, largest[i]);
    const double share = std::max(1e-4, 2e-6 / margin);
    return std::isfinite(all) && most >= share * share * all;
  }
};

}  // namespace efface
