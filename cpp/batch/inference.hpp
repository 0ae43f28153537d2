// Variances of coefficients and sums of squares of regressions on many ranges of rows.
#pragma once
#include "batch/range_measures.hpp"

namespace efface {

/// In units of the noise variance; NaN where the rows do not determine the coefficients.
struct inference {
  double *variance, *base;      // (ranges, d), (ranges): of the coefficients and the intercept
  double *unexplained, *total;  // (ranges, k): squared residuals and responses
  double* unknowns;             // (ranges): tr H^-1 Phi, at most d; without the intercept
};

inline void infer_ranges(const row_ranges& ranges, const model& f, double penalty, inference out) {
  const index d = ranges.rows.d, k = ranges.rows.k, least = penalty > 0.0 ? 1 : d + f.intercept;
  range_measures each(ranges, f);
  const double none = std::numeric_limits<double>::quiet_NaN();
  std::fill_n(out.variance, ranges.count * d, none), std::fill_n(out.base, ranges.count, none);
  std::fill_n(out.unexplained, ranges.count * k, none), std::fill_n(out.total, ranges.count * k, none);
  std::fill_n(out.unknowns, ranges.count, none);
  for (index i = 0; i < ranges.count; ++i) {
    if (ranges.hi[i] - ranges.lo[i] < least) continue;
    each.start(i);
    if (each.count() < least) continue;
    each.measure(penalty, 0, k, [&](auto& m) {
      if (!m.full()) return;
      for (index j = 0; j < d; ++j) out.variance[i * d + j] = m.variance(j);
      out.base[i] = m.intercept_variance(), out.unknowns[i] = m.unknowns();
      for (index r = 0; r < k; ++r)
        out.unexplained[i * k + r] = m.unexplained(r), out.total[i * k + r] = m.total(r);
    });
  }
}

}  // namespace efface
