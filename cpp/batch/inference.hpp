// Variances of coefficients and sums of squares of least squares on many ranges of rows.
#pragma once
#include "batch/range_measures.hpp"

namespace efface {

/// In units of the noise variance; NaN where the rows do not determine the coefficients.
struct inference {
  double *variance, *base;       // (ranges, d), (ranges): of the coefficients and the intercept
  double *unexplained, *total;   // (ranges, k): squared residuals and responses
};

inline void infer_ranges(const row_ranges& ranges, bool intercept, inference out) {
  const index d = ranges.rows.d, k = ranges.rows.k;
  range_measures each(ranges, {intercept, 0.0, fixed{0.0}});
  const double none = std::numeric_limits<double>::quiet_NaN();
  std::fill_n(out.variance, ranges.count * d, none), std::fill_n(out.base, ranges.count, none);
  std::fill_n(out.unexplained, ranges.count * k, none), std::fill_n(out.total, ranges.count * k, none);
  for (index i = 0; i < ranges.count; ++i) {
    if (ranges.hi[i] - ranges.lo[i] < d + intercept) continue;
    each.start(i);
    if (each.count() < d + intercept) continue;
    each.measure(0.0, 0, k, [&](auto& m) {
      if (!m.full()) return;
      for (index j = 0; j < d; ++j) out.variance[i * d + j] = m.variance(j);
      out.base[i] = m.intercept_variance();
      for (index r = 0; r < k; ++r)
        out.unexplained[i * k + r] = m.unexplained(r), out.total[i * k + r] = m.total(r);
    });
  }
}

}  // namespace efface
